"""Groups as Python values: a row per queue with its owners and its weight, and their figures counted without numpy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from compare.figures.definitions import MILLIONTHS, Figure, Loads, deviation_of, figures_of
from protocols.errors import UserError

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


def unit_of(groups: Sequence[GroupLoads]) -> int:
    """The load of weight 1: more than one where some weight is no integer."""
    return MILLIONTHS if any(isinstance(row[3], float) for group in groups for row in group.rows) else 1


def overloaded_group(number: int, unit: int) -> UserError:
    """The weights of a member of the group at this position are too much."""
    most = (1 << 62) // unit
    return UserError(f"the weights of one member of group {number + 1} add up to {most} or more, expected less")


def load_of(weight: Weight, unit: int) -> int:
    """A weight as an integer, 0 where it is unknown; `UserError` unless it is one."""
    if weight is None:
        return 0
    if not 0 <= weight < (1 << 62) / unit:
        raise UserError(f"a weight is {weight}, expected 0 or more and less than {(1 << 62) // unit}")
    # One product in float64, rounded half to even: what Spark's rint does.
    return int(weight) if unit == 1 else round(float(weight) * unit)


_MOST = 1 << 62


def plain_figures(
    groups: Sequence[GroupLoads], unit: int, overloaded: Callable[[int], UserError]
) -> list[GroupFigures]:
    """The figures of every group, in the order given. ``overloaded``: the error to raise for a group (by its number)
    with a member whose load is 2^62 or more."""
    return [_of_group(group, unit, overloaded, number) for number, group in enumerate(groups)]


class _Topic:
    """What is counted of one topic."""

    def __init__(self) -> None:
        self.loads: dict[int, int] = {}
        """Member to its load, where it owns a queue."""
        self.queues = self.unowned = self.double_owned = 0
        self.unknown = False


def _of_group(group: GroupLoads, unit: int, overloaded: Callable[[int], UserError], number: int) -> GroupFigures:
    topics: dict[str, _Topic] = {}
    everything: dict[int, int] = {}
    for name, _, owners, weight in group.rows:
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = _Topic()
        topic.queues += 1
        topic.unowned += not owners
        topic.double_owned += len(owners) > 1
        for owner in owners:
            load = load_of(weight, unit)
            topic.unknown |= weight is None
            topic.loads[owner] = topic.loads.get(owner, 0) + load
            everything[owner] = everything.get(owner, 0) + load
    if max(everything.values(), default=0) >= _MOST:
        raise overloaded(number)
    listed = sorted(topics.items())
    rows = {name: _row(topic.loads, group.members, [topic], unit) for name, topic in listed}
    deviations = [deviation_of(row.loads) for row in rows.values()]
    overall = _row(everything, group.members, list(topics.values()), unit, deviations)
    of_topics: dict[str, dict[str, Figure]] = {name: figures_of(row) for name, row in rows.items()}
    return GroupFigures(figures_of(overall), of_topics)


def _row(
    loads: dict[int, int], members: int, topics: Sequence[_Topic], unit: int, deviations: Sequence[int] = ()
) -> Loads:
    idle = members - len(loads)
    return Loads(
        loads=[0] * idle + sorted(loads.values()),
        idle=idle,
        queues=sum(topic.queues for topic in topics),
        unowned=sum(topic.unowned for topic in topics),
        double_owned=sum(topic.double_owned for topic in topics),
        topic_deviations=deviations,
        unknown=any(topic.unknown for topic in topics),
        unit=unit,
    )
