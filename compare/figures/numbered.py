"""Figures of groups that are at hand as Python values, counted by numpy: many groups, or large ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from compare.figures.counting import NumberedRows, count
from compare.figures.definitions import Figure, whole
from compare.figures.last_step import Floats, Integers, last_step
from compare.figures.metrics import COUNTS
from compare.figures.weights import GroupFigures, GroupLoads, load_of
from protocols.errors import UserError


def numbered_figures(
    groups: Sequence[GroupLoads], unit: int, overloaded: Callable[[int], UserError]
) -> list[GroupFigures]:
    """The figures of every group, in the order given. ``overloaded``: the error to raise for a group (by its number)
    with a member whose load is 2^62 or more."""
    topics_of, rows = _numbered(groups, unit)
    of_groups, of_topics = count(rows, overloaded)
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
    return whole(float(value)) if name in ("min", "max", "spread") else float(value)


def _numbered(groups: Sequence[GroupLoads], unit: int) -> tuple[list[list[str]], NumberedRows]:
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
