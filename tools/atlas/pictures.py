"""The atlas as pictures: where strategies lose, how many members idle, what events move and cost."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from compare.showing.pictures.charts import Picture
from compare.showing.pictures.heat import HeatMap, Scale, heat_maps
from tools.atlas.figures import SHAPES_IN_WORDS, percent, queues_of
from tools.atlas.spans import Span, spans
from tools.atlas.tables import MOVES, OPTIMUM, Allocations, Events

_AXES: Final = ("members", "queues per topic")

EVENTS_IN_WORDS: Final[Mapping[str, str]] = {
    "join": "a member joins",
    "leave": "a member leaves",
    "grow": "every topic gets twice the queues",
    "crash": "a member crashes",
    "deploy": "all members restart, one after the other",
}


def ratios(atlas: Allocations, shape: str) -> Picture:
    """Per strategy the heaviest load over the heaviest at the optimum, all numbers of topics together. Strategies that
    leave queues without an owner are left out: low loads are no merit there."""
    title = f"heaviest load over the best possible one; {SHAPES_IN_WORDS[shape]}"
    scale = Scale(1.0, 3.0, lambda value: f"{value:.2f}")
    lost = losing(atlas, shape)
    whole = [strategy for strategy in atlas.strategies if strategy not in lost]
    return _maps(
        atlas,
        whole,
        title,
        scale,
        lambda variant: (list(atlas.of(variant, shape, "max")), list(atlas.of(OPTIMUM, shape, "max"))),
    )


def losing(atlas: Allocations, shape: str) -> list[str]:
    """Strategies under which queues have no owner."""
    return [strategy for strategy in atlas.strategies if any(atlas.of(strategy, shape, "unowned"))]


def unread(atlas: Allocations, shape: str) -> Picture:
    """Per strategy that leaves queues without an owner the share of these."""
    title = f"queues that nobody reads; {SHAPES_IN_WORDS[shape]}"
    scale = Scale(0.0, 1.0, percent)
    queues: list[int | None] = [queues_of(size, "none") for size in atlas.sizes]
    return _maps(
        atlas, losing(atlas, shape), title, scale, lambda variant: (list(atlas.of(variant, shape, "unowned")), queues)
    )


def idle(atlas: Allocations, shape: str) -> Picture:
    """Per strategy the share of members that have no queue though they could have one."""
    title = f"members without a queue that could have one; {SHAPES_IN_WORDS[shape]}"
    scale = Scale(0.0, 0.8, percent)
    members: list[int | None] = [size.members for size in atlas.sizes]

    def of(variant: str) -> tuple[list[int | None], list[int | None]]:
        told = zip(atlas.of(variant, shape, "idle"), atlas.of(OPTIMUM, shape, "idle"), strict=True)
        return [None if a is None or b is None else max(0, a - b) for a, b in told], members

    return _maps(atlas, atlas.strategies, title, scale, of)


def moved(atlas: Allocations, shape: str, event: str) -> Picture:
    """Per strategy the share of queues that an event moves."""
    title = f"queues that move when {EVENTS_IN_WORDS[event]}; {SHAPES_IN_WORDS[shape]}"
    scale = Scale(0.0, 1.0, percent)
    queues: list[int | None] = [queues_of(size, event) for size in atlas.sizes]
    return _maps(
        atlas,
        (*atlas.strategies, OPTIMUM),
        title,
        scale,
        lambda variant: (list(atlas.of(variant, shape, MOVES, event)), queues),
    )


def costs(events: Events, cost: str, title: str, unit: str) -> Picture:
    """Per event one panel: a cost of each strategy over all runs."""
    panels: dict[str, dict[str, Span]] = {}
    for event in events.events:
        panel = panels.setdefault(EVENTS_IN_WORDS[event], {})
        for variant in events.variants:
            spread = events.costs[variant, event][cost]
            if spread.low is not None and spread.median is not None and spread.high is not None:
                panel[variant] = (spread.low, spread.median, spread.high)
    return spans(panels, title, unit)


def _maps(
    atlas: Allocations,
    variants: Sequence[str],
    title: str,
    scale: Scale,
    of: Callable[[str], tuple[list[int | None], list[int | None]]],
) -> Picture:
    """A map per variant: the sum of the first numbers over that of the second ones, over all numbers of topics."""
    maps = []
    for variant in variants:
        above: dict[tuple[int, int], int] = {}
        below: dict[tuple[int, int], int] = {}
        for size, a, b in zip(atlas.sizes, *of(variant), strict=True):
            if a is not None and b is not None:
                place = size.members, size.queues
                above[place] = above.get(place, 0) + a
                below[place] = below.get(place, 0) + b
        maps.append(HeatMap(variant, {place: above[place] / below[place] for place in above if below[place]}))
    return heat_maps(maps, atlas.members, atlas.queues, _AXES, scale, title, across=3)
