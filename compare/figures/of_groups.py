"""Figures of groups that are at hand as Python values: of audits, notebooks, small jobs, and of one allocation.

A group has one row per queue, with its owners and its weight. All are counted in plain Python, whatever their number:
there is one way, and numpy need not be there. A single large group takes about as long as with numpy, thousands of
small ones up to 1.7 times as long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from compare.catalogues import UNCOUNTED
from compare.figures.definitions import MILLIONTHS, Figure, Loads, deviation_of, figures_of
from protocols import Allocation, GroupError, Queue
from protocols.errors import UserError

_MOST = 1 << 62

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
    most = _MOST // unit
    return UserError(f"the weights of one member of group {number + 1} add up to {most} or more, expected less")


def load_of(weight: Weight, unit: int) -> int:
    """A weight as an integer, 0 where it is unknown. Raises `UserError` for what is none."""
    if weight is None:
        return 0
    if not 0 <= weight < _MOST / unit:
        raise UserError(f"a weight is {weight}, expected 0 or more and less than {_MOST // unit}")
    # One product in float64, rounded half to even: what Spark's rint does.
    return int(weight) if unit == 1 else round(float(weight) * unit)


def counted_figures(groups: Sequence[GroupLoads]) -> list[GroupFigures]:
    """The figures of every group in the order given.

    If the weight of any queue is no integer, weights are counted in millionths. Raises `UserError` for a weight below
    0, not finite or too large, and for weights of one member that add up to too much.
    """
    unit = unit_of(groups)
    return [_of_group(group, unit, number) for number, group in enumerate(groups)]


class _Topic:
    """What is counted of one topic."""

    def __init__(self) -> None:
        self.loads: dict[int, int] = {}
        """Member to its load, where it owns a queue."""
        self.queues = self.unowned = self.double_owned = 0
        self.unknown = False


def _of_group(group: GroupLoads, unit: int, number: int) -> GroupFigures:
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
        raise overloaded_group(number, unit)
    listed = sorted(topics.items())
    rows = {name: _row(topic.loads, group.members, [topic], unit) for name, topic in listed}
    deviations = [deviation_of(row.loads) for row in rows.values()]
    overall = _row(everything, group.members, list(topics.values()), unit, deviations)
    return GroupFigures(figures_of(overall), {name: figures_of(row) for name, row in rows.items()})


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


@dataclass(frozen=True, slots=True)
class Fairness:
    """The figures of the design, overall; ``topics`` holds the same per topic. None where a figure is not defined."""

    members: int
    idle_members: int
    queues: int
    unowned_queues: int
    double_owned_queues: int
    min: Figure
    max: Figure
    mean: Figure
    spread: Figure
    idle_share: Figure
    cv: Figure
    jain: Figure
    gini: Figure
    theil: Figure
    max_over_mean: Figure
    pile_up: Figure
    topics: Mapping[str, "Fairness"] = field(default_factory=dict, repr=False)


def fairness(
    allocation: Allocation, weights: Mapping[Queue, int | float] | None = None, *, with_retry: bool = False
) -> Fairness:
    """How fair an allocation is.

    ``weights``: queue to its weight (its lag, its rate), 1 each if left out; every queue of the group needs
    one, else `GroupError`. Topics that nobody reads do not count, queues of ``%RETRY%`` topics only ``with_retry``.
    """
    position = {member: at for at, member in enumerate(allocation)}
    read = {topic for member in allocation.group.members for topic in member.subscription}
    rows = []
    for queue, owners in allocation.owners.items():
        if (owners or queue.topic in read) and (with_retry or not queue.topic.startswith(UNCOUNTED)):
            if weights is not None and queue not in weights:
                raise GroupError(f"no weight for {queue}, expected one for every queue of the group")
            weight = 1 if weights is None else weights[queue]
            rows.append((queue.topic, queue, tuple(position[owner] for owner in owners), weight))
    (found,) = counted_figures([GroupLoads(len(allocation), rows)])
    topics = {topic: Fairness(**figures) for topic, figures in found.topics.items()}  # type: ignore[arg-type]
    return Fairness(**found.overall, topics=topics)  # type: ignore[arg-type]
