"""Weighted loads: what some member must carry at least, whoever gets what."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from compare.measure.optimum.kinds import blocks_of
from compare.measure.optimum.problem import Problem
from compare.measure.optimum.record import Bound
from compare.measure.optimum.semi_matching import Level
from compare.measure.optimum.units import Units, in_units
from protocols import Group, Queue


def lower_bound(group: Group, problem: Problem, levels: Sequence[Level], units: Units) -> Bound | None:
    """The best bound that the members of the first k blocks give, for any k.

    ``problem`` and ``levels`` are those of the group with weights that can be split unit by unit: their first block
    gives the best equal share that any set of members does. None without members.
    """
    members: list[str] = []
    topics: list[str] = []
    heaviest: list[int] = []
    best, found = -1, None
    for level, bundles in zip(levels, blocks_of(problem.bundles, levels), strict=True):
        members += [group.members[each].id for n in sorted(level.classes) for each in problem.classes[n]]
        added = [topic for bundle, _ in bundles for topic in bundle.topics]
        topics += added
        heaviest = sorted([*heaviest, *(units.of[queue] for topic in added for queue in group.topics[topic])])[::-1]
        for together, value in enumerate(_forced(heaviest, len(members))):
            if value > best:
                best, found = value, (tuple(members), tuple(sorted(topics)), together)
    return None if found is None else Bound(units.amount(best), *found)


def holds(bound: Bound, group: Group, weights: Mapping[Queue, float]) -> bool:
    """Whether the bound follows from its members and topics as `Bound` says, however it was found."""
    members = set(bound.members)
    outside = {topic for member in group.members if member.id not in members for topic in member.subscription}
    if not members or outside.intersection(bound.topics):
        return False
    units = in_units(weights, [queue for topic in bound.topics for queue in group.topics[topic]])
    forced = _forced(sorted(units.of.values(), reverse=True), len(members))
    return bound.together < len(forced) and bound.value <= units.amount(forced[bound.together])


def _forced(heaviest: Sequence[int], members: int) -> list[int]:
    """What some member must carry: its equal share of these weights, and, for k = 1, 2, ..., the k queues it must get.

    Of the (k - 1) * members + 1 heaviest queues somebody gets k, at the best the lightest k of them.
    """
    values = [-(-sum(heaviest) // members)]
    sums = [0, *accumulate(heaviest)]
    for together, last in enumerate(range(1, len(sums), members), 1):
        values.append(sums[last] - sums[last - together])
    return values
