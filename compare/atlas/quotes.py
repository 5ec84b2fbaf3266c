"""What the atlas says about groups like a given one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from compare.atlas.likeness import SHAPES_IN_WORDS, Alike, alike
from compare.atlas.tables import MOVES, OPTIMUM, Allocations, Events, Size, Values
from protocols import Group

CHANGES: Final = ("join", "leave", "grow")


@dataclass(frozen=True, slots=True)
class OfStrategy:
    """How a strategy shares the queues of the groups that are alike.

    ``fairest``: groups that are as fair as can be, with one owner for every queue. ``max_over_best`` and
    ``max_over_best_worst``: the heaviest load over the heaviest at the optimum, median and largest. ``idle`` and
    ``unowned``: share of all members without a queue and of all queues without an owner; ``moved``: event to the share
    of queues that it moves.
    """

    variant: str
    fairest: int
    max_over_best: float
    max_over_best_worst: float
    idle: float
    unowned: float
    moved: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Quote:
    """``strategies``: the group's own and those that it can be configured to use, the fairest first (of equals the one
    that moves less).
    ``best_idle`` and ``best_moved``: what there must be of them. ``own``: the variant that the group uses, None where
    it is not in the atlas; ``fairest``: the fairest variant that it can be configured to use, its own one where no
    other is fairer in more groups."""

    groups: int
    shape: str
    least: Size
    most: Size
    own: str | None
    fairest: str
    strategies: tuple[OfStrategy, ...]
    best_idle: float
    best_moved: Mapping[str, float]

    @property
    def of_own(self) -> OfStrategy | None:
        """The figures of the group's own strategy."""
        return next((each for each in self.strategies if each.variant == self.own), None)

    @property
    def best(self) -> OfStrategy:
        """Those of the fairest one."""
        return next(each for each in self.strategies if each.variant == self.fairest)


def quote(
    group: Group, system: str, strategy: str | None, atlas: Allocations, reachable: Sequence[str] = ()
) -> Quote | None:
    """What the atlas knows about a group of ``system`` (``kafka``, ``rocketmq``) and strategy. ``reachable``: the
    strategies that it can be configured to use, any where there are none. None where no group of the atlas is like this
    one, and for a single member, which shares with nobody."""
    found = alike(group, atlas) if len(group.members) > 1 else None
    if found is None:
        return None
    variants = [each for each in atlas.strategies if each.startswith(f"{system}:")]
    named, usable = f"{system}:{strategy}", [each for each in variants if of_system(each) in reachable] or variants
    shown = [each for each in variants if each in usable or each == named]
    told = sorted((of_strategy(each, found, atlas) for each in shown), key=_merit)
    own = next((each for each in told if each.variant == named), None)
    best_usable = next(each for each in told if each.variant in usable)
    fairest = best_usable if own is None or best_usable.fairest > own.fairest else own
    best = _of(atlas, OPTIMUM, found, "idle")
    return Quote(
        len(found.places),
        found.shape,
        found.least,
        found.most,
        None if own is None else own.variant,
        fairest.variant,
        tuple(told),
        sum(best) / _members(atlas, found),
        {event: moved(OPTIMUM, event, found, atlas) for event in CHANGES},
    )


def of_strategy(variant: str, found: Alike, atlas: Allocations) -> OfStrategy:
    """A strategy's figures over the groups that are alike."""
    most, best = _of(atlas, variant, found, "max"), _of(atlas, OPTIMUM, found, "max")
    least, best_least = _of(atlas, variant, found, "min"), _of(atlas, OPTIMUM, found, "min")
    unowned, twice = _of(atlas, variant, found, "unowned"), _of(atlas, variant, found, "twice")
    ratios = [each / of for each, of in zip(most, best, strict=True)]
    columns = zip(most, best, least, best_least, unowned, twice, strict=True)
    return OfStrategy(
        variant,
        sum(a == b and c == d and not e and not f for a, b, c, d, e, f in columns),
        median(ratios),
        max(ratios),
        sum(_of(atlas, variant, found, "idle")) / _members(atlas, found),
        sum(unowned) / _queues(atlas, found),
        {event: moved(variant, event, found, atlas) for event in CHANGES},
    )


def moved(variant: str, event: str, found: Alike, atlas: Allocations) -> float:
    """The share of the queues that an event moves; groups that it leaves without members are not counted."""
    values = atlas.of(variant, found.shape, MOVES, event)
    pairs = [(values[place], queues_of(atlas.size_of(place), event)) for place in found.places]
    there = [(moves, queues) for moves, queues in pairs if moves is not None]
    return sum(moves for moves, _ in there) / sum(queues for _, queues in there) if there else 0.0


def of_system(variant: str) -> str:
    """The strategy of a variant, without the system."""
    return variant.partition(":")[2]


def queues_of(size: Size, event: str) -> int:
    """All queues of a group after an event."""
    return size.topics * size.queues * (2 if event == "grow" else 1)


def _merit(each: OfStrategy) -> tuple[float, float, float, float]:
    return -each.fairest, each.unowned, each.max_over_best, sum(each.moved.values())


def _of(atlas: Allocations, variant: str, found: Alike, told: str) -> list[int]:
    values: Values = atlas.of(variant, found.shape, told)
    return [value for place in found.places if (value := values[place]) is not None]


def _members(atlas: Allocations, found: Alike) -> int:
    return sum(atlas.size_of(place).members for place in found.places)


def _queues(atlas: Allocations, found: Alike) -> int:
    return sum(queues_of(atlas.size_of(place), "none") for place in found.places)


# Sentences.


def sentences(found: Quote) -> list[str]:
    """The quote for people: how even groups like this one are, under the own strategy and the fairest one, and what
    moves."""
    own, best = found.of_own, found.best
    lines = [f"The atlas has {found.groups} groups like this one: {sizes(found)}; {SHAPES_IN_WORDS[found.shape]}."]
    shown = [best] if own is None or own.variant == best.variant else [own, best]
    lines += [fairness(each, found) for each in shown]
    lines.append(moves(shown, found))
    return lines


def sizes(found: Quote) -> str:
    """Between which sizes the groups lie."""
    low, high = found.least, found.most
    return (
        f"{_range(low.members, high.members)} members, {_range(low.topics, high.topics)} topics of"
        f" {_range(low.queues, high.queues)} queues"
    )


def fairness(told: OfStrategy, found: Quote) -> str:
    """How even they are under a strategy."""
    name = of_system(told.variant)
    if told.fairest == found.groups:
        return f"Under {name} all of them are as fair as can be."
    more = [f"{told.fairest} of them are as fair as can be"]
    if not told.unowned:  # low loads are no merit where queues are left over
        more.append(
            f"the heaviest load is {told.max_over_best:.2f} times what it must be in the median,"
            f" {told.max_over_best_worst:.2f} times at worst"
        )
    if told.idle > found.best_idle:
        more.append(f"{percent(told.idle)} of the members are idle ({percent(found.best_idle)} must be)")
    if told.unowned:
        more.append(f"{percent(told.unowned)} of the queues have no owner")
    return f"Under {name} {'; '.join(more)}."


def moves(shown: Sequence[OfStrategy], found: Quote) -> str:
    """What events move."""
    names = " and ".join(f"{{}} under {of_system(each.variant)}" for each in shown)
    join, leave, grow = (
        [*(percent(each.moved[event]) for each in shown), percent(found.best_moved[event])] for event in CHANGES
    )
    *shares, fewest = join
    return (
        f"Of the queues a member that joins moves {names.format(*shares)} (the fairest allocation needs {fewest}); one"
        f" that leaves {' and '.join(leave[:-1])} ({leave[-1]}); twice as many queues {' and '.join(grow[:-1])}"
        f" ({grow[-1]})."
    )


_HAPPENED: Final = (
    ("join", "a member that joins"),
    ("crash", "a member that crashes"),
    ("deploy", "a deploy that restarts all members, one after the other,"),
)


def cost_sentences(variant: str, told: Events) -> list[str]:
    """What events cost under a variant in the simulated runs, as one sentence; none where it was not run."""
    if variant not in told.variants:
        return []
    size = told.size
    parts = [f"{words} {_cost(told, variant, event)}" for event, words in _HAPPENED]
    return [
        f"In {told.runs} simulated runs of a group with {size.members} members and {size.topics} topics of"
        f" {size.queues} queues under {of_system(variant)} (medians): {'; '.join(parts)}."
    ]


def _cost(told: Events, variant: str, event: str) -> str:
    of = told.costs[variant, event]
    gap, twice = of["event_longest_gap_s"].median, of["redelivered"].median
    left = f"leaves a queue without an owner for up to {gap:.1f} s" if gap else "leaves no queue without an owner"
    return f"{left} and {twice:,.0f} records are handled twice" if twice else f"{left} and no record is handled twice"


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def percent(share: float) -> str:
    """A share without decimals."""
    return f"{100 * share:.0f} %"
