"""Counting in Python: from the ownership of a few groups to the integer sums of `definitions`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from compare.figures.definitions import COUNTS, Sums, last_step

Figure: TypeAlias = int | float | None
Row: TypeAlias = tuple[str, object, tuple[int, ...], int]
"""Topic, the queue within the topic, the positions of its owners among the members, its weight (an integer)."""


@dataclass(frozen=True, slots=True)
class GroupLoads:
    """One group: its number of members and one row per queue."""

    members: int
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Figure name to value for the whole group, and the same per topic."""

    overall: dict[str, Figure]
    topics: dict[str, dict[str, Figure]]


@dataclass(slots=True)
class _Counted:
    members: int
    queues: int
    unowned: int
    double_owned: int
    loads: Counter[int]
    topic_squares: int = 0
    topic_totals_squared: int = 0


def counted_figures(groups: Sequence[GroupLoads]) -> list[GroupFigures]:
    """The figures of every group, in the order given."""
    counted: list[_Counted] = []
    topics_of: list[list[str]] = []
    for group in groups:
        whole, topics = _count(group)
        counted += [whole, *topics.values()]
        topics_of.append(list(topics))
    figures = last_step(_sums(counted))
    columns = {name: values.tolist() for name, values in figures.items()}
    records = [{name: _value(name, columns[name][at]) for name in columns} for at in range(len(counted))]
    found, at = [], 0
    for topics_here in topics_of:
        of_topics = records[at + 1 : at + 1 + len(topics_here)]
        found.append(GroupFigures(records[at], dict(zip(topics_here, of_topics, strict=True))))
        at += 1 + len(topics_here)
    return found


def _value(name: str, value: float | int) -> Figure:
    if name in COUNTS:
        return int(value)
    if value != value:
        return None
    return int(value) if name in ("min", "max", "spread") and float(value).is_integer() else value


def _count(group: GroupLoads) -> tuple[_Counted, dict[str, _Counted]]:
    whole = _Counted(group.members, 0, 0, 0, Counter())
    topics: dict[str, _Counted] = {}
    for topic, _, owners, weight in group.rows:
        of_topic = topics.get(topic)
        if of_topic is None:
            of_topic = topics[topic] = _Counted(group.members, 0, 0, 0, Counter())
        for each in (whole, of_topic):
            each.queues += 1
            each.unowned += not owners
            each.double_owned += len(owners) > 1
            for owner in owners:
                each.loads[owner] += weight
    for of_topic in topics.values():
        squares = sum(load * load for load in of_topic.loads.values())
        total_squared = sum(of_topic.loads.values()) ** 2
        of_topic.topic_squares, of_topic.topic_totals_squared = squares, total_squared
        whole.topic_squares += squares
        whole.topic_totals_squared += total_squared
    return whole, dict(sorted(topics.items()))


def _sums(counted: Sequence[_Counted]) -> Sums:
    rows: list[tuple[int, ...]] = []
    histogram: list[tuple[int, int, int]] = []
    for at, each in enumerate(counted):
        loads = sorted(load for load in each.loads.values() if load)
        zeros = each.members - len(loads)
        ranked = sum(rank * load for rank, load in enumerate(loads, zeros + 1))
        low = (0 if zeros else loads[0]) if each.members else 0
        rows.append(
            (
                each.members,
                # Who owns only queues without weight (no lag) is not idle.
                each.members - len(each.loads),
                each.queues,
                each.unowned,
                each.double_owned,
                sum(loads),
                sum(load * load for load in loads),
                ranked,
                low,
                loads[-1] if loads else 0,
                each.topic_squares,
                each.topic_totals_squared,
            )
        )
        histogram += [(at, load, holders) for load, holders in sorted(Counter(loads).items())]
    columns = _columns(rows, 12)
    row, load, holders = _columns(histogram, 3)
    return Sums(*columns, row.astype(np.int64), load, holders)


def _columns(rows: Iterable[tuple[int, ...]], width: int) -> list[np.ndarray]:
    listed = list(rows)
    return [np.array([row[at] for row in listed], dtype=object) for at in range(width)]
