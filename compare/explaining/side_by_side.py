"""What the variants of a scenario look like beside each other, in plain sentences with the figures they rest on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from compare.documents.comparison import Record, SeedsRecord, SharedRecord
from compare.explaining.harm import LONG_S, Sentence, groups_without_members
from compare.explaining.verdict import NOTICED_S, SAME_JAIN
from compare.figures import Figure
from compare.formatting import amount, duration, many, variant_name
from compare.running.checks import (
    OPEN_ENDS,
    capacities_equal,
    does_the_same_work,
    ends_complete,
    is_behind,
    shares,
    usually_settles,
)
from compare.running.spread import figure
from protocols.scenario.fields import listed

Told: TypeAlias = tuple[Sentence, dict[str, dict[str, Figure]]]
"""A sentence, and per label the figures that it rests on."""


@dataclass(frozen=True, slots=True)
class Side:
    """Records of variants beside each other; ``seeds``: label to the figures that stand for its record."""

    records: Sequence[Record | SharedRecord]
    seeds: Mapping[str, SeedsRecord]

    def values(self, path: str) -> dict[str, float]:
        """Label to a figure, its median over the seeds, of those of which it is known."""
        found = ((record["label"], self._value(record, path)) for record in self.records)
        return {label: value for label, value in found if value is not None}

    def _value(self, record: Record | SharedRecord, path: str) -> Figure:
        figures = self.seeds[record["label"]]["figures"] if record["label"] in self.seeds else {}
        return figures[path]["median"] if path in figures else figure(record, path)

    @property
    def restless(self) -> list[str]:
        """Labels of those that do not settle."""
        overs = {record["label"]: self.seeds.get(record["label"]) for record in self.records}
        return [
            record["label"]
            for record in self.records
            if not usually_settles(record, None if (over := overs[record["label"]]) is None else over["figures"])
        ]


TOLD_FROM = 1.2
"""Most over least from which on it is worth a sentence that variants differ."""

MOST_NAMED = 4
"""Variants that a sentence names."""


def side_by_side(
    records: Sequence[Record],
    seeds: Mapping[str, SeedsRecord] = {},
) -> list[Told]:
    """Sentences about all variants together that do the same work, about all where none does; none where there is only
    one."""
    side = Side([record for record in records if does_the_same_work(record)] or records, seeds)
    if len(side.records) < 2:
        return []
    return [told for tell in _TELLERS for told in tell(side)]


def _names(side: Side, labels: Sequence[str]) -> str:
    names = [variant_name(record) for record in side.records if record["label"] in labels]
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
    return listed(names)


def _resting(text: str, side: Side, path: str) -> Told:
    return Sentence(text), {label: {path: value} for label, value in side.values(path).items()}


def _fairness(every: Side) -> Iterator[Told]:
    side = Side([record for record in every.records if shares(record)], every.seeds)
    values, best = side.values("fairness.jain"), side.values("optimum.jain")
    if len(values) < 2 or any(groups_without_members(record) for record in side.records):
        return
    unowned, shared = (side.values(path) for path in OPEN_ENDS)
    open_ended = [record["label"] for record in side.records if not ends_complete(record)]
    restless = side.restless
    fair = [
        label
        for label, value in values.items()
        if value >= best[label] - SAME_JAIN and label not in (*open_ended, *restless)
    ]
    if len(fair) == len(side.records):
        all_of = "Both" if len(side.records) == 2 else f"All {len(side.records)}"
        owned = "" if len(side.records) == len(every.records) else " whose queues have owners"
        text = f"{all_of} variants{owned} end as fair as the subscriptions allow."
    elif not fair:
        why = _least_even(side, values, best, open_ended, restless)
        text = f"No variant ends as fair as the subscriptions allow; {why}."
    else:
        others = [label for label in values if label not in fair]
        end = "ends" if len(fair) == 1 else "end"
        text = f"{len(fair)} of {len(values)} variants {end} as fair as possible ({_names(side, fair)}); "
        if len(others) > 1:
            text += f"the other {len(others)} do not: {_least_even(side, values, best, open_ended, restless)}."
        elif (other := others[0]) in open_ended:
            count = unowned[other] or shared[other]
            have = f"{'has' if count == 1 else 'have'} {'no owner' if unowned[other] else 'several owners'}"
            text += f"{_names(side, others)} does not: {count} of its queues {have}."
        elif other in restless:
            text += f"{_names(side, others)} does not settle."
        else:
            text += f"{_names(side, others)} does not: its Jain index is {values[other]:.2f} where"
            text += f" {best[other]:.2f} would be possible."
    told = _resting(text, side, "fairness.jain")
    for path, known in (("optimum.jain", best), *zip(OPEN_ENDS, (unowned, shared), strict=True)):
        for label, value in known.items():
            told[1].setdefault(label, {})[path] = value
    yield told


def _least_even(
    side: Side,
    values: Mapping[str, float],
    best: Mapping[str, float],
    open_ended: Sequence[str],
    restless: Sequence[str],
) -> str:
    """Who is least even of those that could be more so; where nobody could, who leaves queues without their one owner,
    or does not settle."""
    uneven = {label: value for label, value in values.items() if value < best[label] - SAME_JAIN}
    if not uneven and not open_ended:
        return f"{_names(side, restless)} {'does' if len(restless) == 1 else 'do'} not settle"
    if not uneven:
        return f"some queues do not have exactly one owner with {_names(side, open_ended)}"
    least = min(uneven.values())
    labels = [label for label, value in uneven.items() if value == least]
    are = "is" if len(labels) == 1 else "are"
    return f"the least even {are} {_names(side, labels)} with a Jain index of {least:.2f}"


def _extremes(side: Side, path: str) -> tuple[str, float, str, float] | None:
    """Who has least and how much, who has most; None where all have the same."""
    values = side.values(path)
    if len(values) < 2 or min(values.values()) == max(values.values()):
        return None
    low, high = min(values.values()), max(values.values())
    few = _names(side, [label for label, value in values.items() if value == low])
    much = _names(side, [label for label, value in values.items() if value == high])
    return few, low, much, high


def _short(seconds: float) -> str:
    return duration(seconds) if seconds >= NOTICED_S else "less than 1 ms"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _telling(
    path: str, least: float, text: Callable[[str, float, str, float], str]
) -> Callable[[Side], Iterator[Told]]:
    def tell(side: Side) -> Iterator[Told]:
        found = _extremes(side, path)
        if found is not None and found[3] >= least and found[3] >= found[1] * TOLD_FROM:
            yield _resting(text(*found), side, path)

    return tell


def _unlike(side: Side) -> Iterator[Told]:
    """That members can handle more in one variant than in another, which decides whatever depends on it."""
    extremes = _extremes(side, "capacity_per_s")
    if capacities_equal(side.records) or extremes is None:
        return
    few, low, much, high = extremes
    text = (
        f"The comparison is not like for like: the members can handle {high:,g} records per second with {much}, and"
        f" {low:,g} with {few}, so lag, stalls and repeated records say little about the protocols."
    )
    yield _resting(text, side, "capacity_per_s")


def _counted(path: str, what: str, least: float = 1) -> Callable[[Side], Iterator[Told]]:
    return _telling(
        path,
        least,
        lambda few, low, much, high: (
            f"The number of records {what} is highest with {much} ({high:,g}), and lowest with {few} ({low:,g})."
        ),
    )


_refused = _counted("harm.work.refused", "that producers cannot write")
_skipped = _counted("harm.work.skipped", "that are never handled")
_repeated = _counted("redelivered", "that are handled more than once")
_again = _counted("shared_delivery.redeliveries", "that are given again")
_still_waiting = _counted("harm.work.waiting", "that still wait at the end")
_stalled = _telling(
    "harm.longest_stall_s",
    LONG_S,
    lambda few, low, much, high: (
        f"The longest time without progress in a queue with waiting records is {duration(high)} with {much}"
        + (f", and {duration(low)} with {few}." if low else f"; there is none with {few}.")
    ),
)


def _waiting(side: Side) -> Iterator[Told]:
    if any(record["harm"]["work"] is not None and is_behind(record["harm"]["work"]) for record in side.records):
        yield from _still_waiting(side)


def _unsettled(side: Side) -> Iterator[Told]:
    restless = side.restless
    if restless and len(restless) < len(side.records):
        does = "does" if len(restless) == 1 else "do"
        text = f"{_names(side, restless)} {does} not settle."
        yield Sentence(text), {label: {"harm.settled": False} for label in restless}


_stops = _telling(
    "longest_gap_s",
    NOTICED_S,
    lambda few, low, much, high: (
        f"The longest time of a queue without an owner is {duration(high)} with {much}"
        + (f"; no queue loses its owner with {few}." if not low else f", and {_short(low)} with {few}.")
    ),
)
_doubles = _telling(
    "two_owners.reading_queue_s",
    NOTICED_S,
    lambda few, low, much, high: (
        f"Two members read the same queues for {amount(high)} queue-seconds in total with {much}"
        f", and {f'for {amount(low)}' if low >= NOTICED_S else 'never'} with {few}."
    ),
)
_moves = _telling(
    "moves",
    1,
    lambda few, low, much, high: (
        f"Queues move most often with {much} ({many(high, 'move')}), and least often with {few} ({many(low, 'move')})."
    ),
)
_messages = _telling(
    "messages",
    1,
    lambda few, low, much, high: (
        f"The number of messages besides those that fetch records is highest with {much} ({high:,g}) and lowest with"
        f" {few} ({low:,g})" + (f", a ratio of {_times(high / low)}." if low and high / low >= 2 else ".")
    ),
)

_TELLERS: Sequence[Callable[[Side], Iterator[Told]]] = (
    _unlike,
    _refused,
    _skipped,
    _repeated,
    _again,
    _stalled,
    _waiting,
    _unsettled,
    _stops,
    _doubles,
    _fairness,
    _moves,
    _messages,
)
"""What makes figures incomparable comes first, then what hurts."""
