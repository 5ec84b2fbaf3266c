"""Figures of groups that are at hand as Python values: of audits, notebooks, small jobs, and of one allocation.

A group has one row per queue, with its owners and its weight. Small groups are counted without numpy, group by group;
many groups at once by numpy, with the same digits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compare.figures.definitions import Figure
from compare.figures.weights import GroupFigures, GroupLoads, overloaded_group, plain_figures, unit_of
from protocols import Allocation, GroupError, Queue
from rocketmq_selfbalance.cluster import RETRY_PREFIX

_SMALL = 2000
"""Queues up to which numpy gains nothing, and need not be imported."""


def counted_figures(groups: Sequence[GroupLoads]) -> list[GroupFigures]:
    """The figures of every group in the order given: by numpy where there is one and much to count, with the same
    digits as without.

    If the weight of any queue is no integer, weights are counted in millionths. Raises `UserError` for a weight below
    0, not finite or too large, and for weights of one member that add up to too much.
    """
    unit = unit_of(groups)
    if sum(len(group.rows) + group.members for group in groups) > _SMALL:
        try:
            from compare.figures.numbered import numbered_figures
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
        else:
            return numbered_figures(groups, unit, lambda number: overloaded_group(number, unit))
    return plain_figures(groups, unit, lambda number: overloaded_group(number, unit))


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
        if (owners or queue.topic in read) and (with_retry or not queue.topic.startswith(RETRY_PREFIX)):
            if weights is not None and queue not in weights:
                raise GroupError(f"no weight for {queue}, expected one for every queue of the group")
            weight = 1 if weights is None else weights[queue]
            rows.append((queue.topic, queue, tuple(position[owner] for owner in owners), weight))
    (found,) = counted_figures([GroupLoads(len(allocation), rows)])
    topics = {topic: Fairness(**figures) for topic, figures in found.topics.items()}  # type: ignore[arg-type]
    return Fairness(**found.overall, topics=topics)  # type: ignore[arg-type]
