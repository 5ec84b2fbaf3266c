"""The part of docs/atlas.md about what events cost, and its pictures."""

from collections.abc import Iterator, Mapping
from typing import Final

from compare.showing.pictures.charts import Picture
from tools.atlas import pictures
from tools.atlas.markdown import picture, table
from tools.atlas.pictures import EVENTS_IN_WORDS
from tools.atlas.tables import Events, Spread

_COSTS: Final = (
    ("longest-gap", "event_longest_gap_s", "longest time that a queue has no owner", "s"),
    ("unowned", "event_unowned_queue_s", "time without an owner, all queues together", "s"),
    ("twice", "redelivered", "records that are handled twice", ""),
)


def _of_runs(title: str, events: Events) -> str:
    size = events.size
    return (
        f"{title}; {size.members} members, {size.topics} topics of {size.queues} queues,"
        f" {events.runs} runs (median and nine of ten)"
    )


def drawings(events: Events) -> Iterator[tuple[str, Picture]]:
    """Name of a file and picture."""
    for name, cost, title, unit in _COSTS:
        yield name, pictures.costs(events, cost, _of_runs(title, events), unit)


def section(events: Events) -> list[str]:
    """The section of the page."""
    size = events.size
    parts = [
        "## What a join, a crash, a deploy costs\n",
        f"A group of {size.members} members reads {size.topics} topics of {size.queues} queues,"
        f" {events.produce:g} records per second and queue, with default settings. Each event happens in"
        f" {events.runs} simulated runs per strategy, with different latencies, start times and moments: the median,"
        " and in brackets the range of nine runs in ten. In a crash the process ends and its connections close (a"
        " process that hangs is another event). A deploy restarts one member every 20 s and keeps it away for 5 s.\n",
    ]
    for event in events.events:
        rows = [[variant, *_costs(events.costs[variant, event])] for variant in events.variants]
        parts += [f"### {EVENTS_IN_WORDS[event].capitalize()}\n", table(_COST_HEADS, rows)]
    titles: Mapping[str, str] = {name: title for name, _, title, _ in _COSTS}
    return [*parts, *(picture(name, title.capitalize()) for name, title in titles.items())]


_COST_HEADS: Final = (
    "strategy",
    "longest time without an owner, s",
    "no owner, queue-s",
    "two owners, queue-s",
    "moves",
    "fewest",
    "settled after, s",
    "handled twice",
    "messages",
)
_COST_NAMES: Final = (
    "event_longest_gap_s",
    "event_unowned_queue_s",
    "event_double_owned_queue_s",
    "event_moves",
    "event_fewest_moves",
    "event_settle_s",
    "redelivered",
    "messages",
)


def _costs(told: Mapping[str, Spread]) -> list[str]:
    return [_spread(told[name]) for name in _COST_NAMES]


def _spread(told: Spread) -> str:
    if told.median is None or told.low is None or told.high is None:
        return "-"
    if told.low == told.high:
        return short(told.median)
    return f"{short(told.median)} ({short(told.low)} to {short(told.high)})"


def short(value: float) -> str:
    """A number with as many digits as tell something."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
