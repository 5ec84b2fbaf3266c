"""A group's score: 100 where every member works and the load is shared as well as the subscriptions allow, less what
each defect weighs.

| defect | takes away up to | share of it |
|---|---|---|
| distance to the optimum: heaviest load | 25 | 1 - (heaviest load of the fairest allocation) / (heaviest load) |
| distance to the optimum: misplaced queues | 10 | queues above the fairest loads, both sorted, of all owned queues |
| idle members | 25 | idle members, of all members |
| queues without owner | 25 | square root of their share of all queues |
| queues with two owners | 15 | square root of their share of all queues |

Roots, because a single queue that nobody reads is a defect already. Members that no allocation could employ count as
well: they do nothing and cost money, and fewer members or more queues would mend it. Loads are numbers of queues.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from compare.measure.groups.what_if import best_loads, loads_of
from protocols import Allocation

HEAVIEST, MISPLACED, IDLE, UNOWNED, DOUBLE_OWNED = 25.0, 10.0, 25.0, 25.0, 15.0
"""The weights, in points of 100."""


@dataclass(frozen=True, slots=True)
class Points:
    """What each defect takes away, in points of 100."""

    heaviest: float
    misplaced: float
    idle: float
    unowned: float
    double_owned: float

    @property
    def score(self) -> float:
        """0 to 100."""
        return 100.0 - (self.heaviest + self.misplaced + self.idle + self.unowned + self.double_owned)


def misplaced_queues(allocation: Allocation, best: Sequence[int]) -> int:
    """Queues above the fairest loads (``best``, descending), loads sorted likewise: 0 where loads cannot be fairer."""
    loads = sorted(loads_of(allocation), reverse=True)
    return sum(max(0, load - fair) for load, fair in zip(loads, best, strict=True))


def points_lost(allocation: Allocation, best: Sequence[int] | None = None) -> Points:
    """What the defects of an allocation cost; ``best``: the fairest loads of its group, descending, if known."""
    loads = loads_of(allocation)
    if best is None:
        best = best_loads(allocation.group)
    highest, members = max(loads, default=0), len(loads)
    above = misplaced_queues(allocation, best)
    subscribed = {topic for member in allocation.group.members for topic in member.subscription}
    queues = sum(len(of_topic) for topic, of_topic in allocation.group.topics.items() if topic in subscribed)
    return Points(
        heaviest=HEAVIEST * max(0.0, 1 - best[0] / highest) if highest else 0.0,
        misplaced=MISPLACED * above / sum(loads) if highest else 0.0,
        idle=IDLE * loads.count(0) / members if members else 0.0,
        unowned=UNOWNED * sqrt(min(1.0, len(allocation.unowned) / queues)) if queues else 0.0,
        double_owned=DOUBLE_OWNED * sqrt(min(1.0, len(allocation.double_owned) / queues)) if queues else 0.0,
    )


def score(allocation: Allocation, best: Sequence[int] | None = None) -> float:
    """0 to 100; arguments as in `points_lost`."""
    return points_lost(allocation, best).score
