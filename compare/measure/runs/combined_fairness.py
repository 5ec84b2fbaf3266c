"""How fair the groups of a run are, all members of all groups together."""

from collections.abc import Mapping, Sequence
from typing import cast

from compare.documents.audit import OptimumRecord
from compare.documents.comparison import Fairness
from compare.figures import GroupLoads, counted_figures
from compare.figures.definitions import jain_of
from compare.optimum import Optimum, optimum
from protocols import Allocation
from rocketmq_selfbalance.codes import RETRY_PREFIX


def combined_fairness(allocations: Sequence[Allocation]) -> Fairness:
    """The fairness figures of all members of all groups, as `compare.fairness` has them for one; ``topics`` holds the
    same per topic."""
    return combined_fairness_at_each([allocations])[0]


def combined_fairness_at_each(moments: Sequence[Sequence[Allocation]]) -> list[Fairness]:
    """The same for several moments, counted at once."""
    counted = counted_figures([_loads(allocations) for allocations in moments])
    return [cast("Fairness", {**figures.overall, "topics": figures.topics}) for figures in counted]


def _loads(allocations: Sequence[Allocation]) -> GroupLoads:
    rows = []
    members = 0
    for number, allocation in enumerate(allocations):
        position = {member: members + at for at, member in enumerate(allocation)}
        read = {topic for member in allocation.group.members for topic in member.subscription}
        for queue, owners in allocation.owners.items():
            if (owners or queue.topic in read) and not queue.topic.startswith(RETRY_PREFIX):
                rows.append((queue.topic, (number, queue), tuple(position[owner] for owner in owners), 1))
        members += len(allocation)
    return GroupLoads(members, rows)


def not_shared(figures: Mapping[str, object]) -> dict[str, object]:
    """Figures of groups whose queues are not shared, because every member reads every queue: how many members and
    queues there are; what would say how they are shared is None, of the whole and of every topic."""
    kept = {name: value if name in ("members", "queues") else None for name, value in figures.items()}
    if isinstance(topics := figures.get("topics"), Mapping):
        kept["topics"] = {topic: not_shared(of_topic) for topic, of_topic in topics.items()}
    return kept


def combined_optimum(allocations: Sequence[Allocation]) -> OptimumRecord:
    """The fairest that the subscriptions allow, all groups together."""
    found = [optimum(allocation.group, allocation) for allocation in allocations]
    of_members = [each for each in found if len(each.allocation)]
    if len(of_members) == 1:
        return _record(of_members[0])
    loads = [len(queues) for each in of_members for queues in each.allocation.values()]
    return {
        "max": max(loads, default=None),
        "min": min(loads, default=None),
        "idle_members": loads.count(0) if loads else None,
        "jain": jain_of(loads) if loads else None,
        "moves": sum(each.moves or 0 for each in of_members),
    }


def _record(found: Optimum) -> OptimumRecord:
    return {
        "max": found.max,
        "min": found.min,
        "idle_members": found.idle_members,
        "jain": found.jain,
        "moves": found.moves,
    }
