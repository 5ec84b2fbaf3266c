"""Figures of groups that are at hand as Python values: `audit`, notebooks, small jobs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from compare.measure.figures.counting import count
from compare.measure.figures.definitions import COUNTS, MILLIONTHS, Floats, Integers, last_step
from compare.measure.figures.rows import NumberedRows
from protocols.errors import UserError

Figure: TypeAlias = int | float | None
Weight: TypeAlias = int | float | None
Row: TypeAlias = tuple[str, object, tuple[int, ...], Weight]
"""Topic, the queue within the topic, the positions of its owners among the members, its weight (None: unknown)."""


@dataclass(frozen=True, slots=True)
class GroupLoads:
    """One group: its number of members and one row per queue."""

    members: int
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Figure name to value for the whole group, and the same per topic, topics sorted."""

    overall: dict[str, Figure]
    topics: dict[str, dict[str, Figure]]


def counted_figures(groups: Sequence[GroupLoads]) -> list[GroupFigures]:
    """The figures of every group by numpy, in the order given.

    If the weight of any queue is no integer, weights are counted in millionths. Raises `UserError` for a weight below
    0, not finite or too large, and for weights of one member that add up to too much.
    """
    topics_of, rows = _numbered(groups)
    of_groups, of_topics = count(rows, lambda group: overloaded_group(group, rows.unit))
    overall = records(last_step(of_groups))
    each_topic = records(last_step(of_topics))
    return [GroupFigures(next(overall), {topic: next(each_topic) for topic in topics}) for topics in topics_of]


def records(figures: Mapping[str, Integers | Floats]) -> Iterator[dict[str, Figure]]:
    """Columns to one mapping per row; null is None, and integral extremes are integers."""
    columns = [[_value(name, value) for value in values.tolist()] for name, values in figures.items()]
    for row in zip(*columns, strict=True):
        yield dict(zip(figures, row, strict=True))


def _value(name: str, value: float | int | None) -> Figure:
    if name in COUNTS:
        return int(value or 0)
    if value is None or value != value:
        return None
    return int(value) if name in ("min", "max", "spread") and float(value).is_integer() else float(value)


def unit_of(groups: Sequence[GroupLoads]) -> int:
    """The load of weight 1: more than one where some weight is no integer."""
    return MILLIONTHS if any(isinstance(row[3], float) for group in groups for row in group.rows) else 1


def overloaded_group(number: int, unit: int) -> UserError:
    """The weights of a member of the group at this position are too much."""
    most = (1 << 62) // unit
    return UserError(f"the weights of one member of group {number + 1} add up to {most} or more, expected less")


def _numbered(groups: Sequence[GroupLoads]) -> tuple[list[list[str]], NumberedRows]:
    unit = unit_of(groups)
    topics_of: list[list[str]] = []
    topic_group: list[int] = []
    counts: list[list[int]] = []
    topic, member, load, unknown = [], [], [], []
    for number, group in enumerate(groups):
        names = sorted({row[0] for row in group.rows})
        at = {name: len(topic_group) + position for position, name in enumerate(names)}
        topics_of.append(names)
        topic_group += [number] * len(names)
        counts += ([0, 0, 0] for _ in names)
        for name, _, owners, weight in group.rows:
            here = at[name]
            counted = counts[here]
            counted[0] += 1
            counted[1] += not owners
            counted[2] += len(owners) > 1
            for owner in owners:
                topic.append(here)
                member.append(owner)
                load.append(load_of(weight, unit))
                unknown.append(weight is None)
    queues, unowned, double_owned = np.array(counts, dtype=np.int64).reshape(-1, 3).T
    return topics_of, NumberedRows(
        members=np.array([group.members for group in groups], dtype=np.int64),
        topic_group=np.array(topic_group, dtype=np.int64),
        queues=queues,
        unowned=unowned,
        double_owned=double_owned,
        topic=np.array(topic, dtype=np.int64),
        member=np.array(member, dtype=np.int64),
        load=np.array(load, dtype=np.int64),
        unknown=np.array(unknown, dtype=bool),
        unit=unit,
    )


def load_of(weight: Weight, unit: int) -> int:
    """A weight as an integer, 0 where it is unknown; `UserError` unless it is one."""
    if weight is None:
        return 0
    if not 0 <= weight < (1 << 62) / unit:
        raise UserError(f"a weight is {weight}, expected 0 or more and less than {(1 << 62) // unit}")
    # One product in float64, rounded half to even: what Spark's rint does.
    return int(weight) if unit == 1 else round(float(weight) * unit)
