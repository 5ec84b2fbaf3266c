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

How many members a group needs: what every number of them gives, and the next number that helps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from compare.auditing.what_if import best_loads, changed, loads_of, under
from compare.catalogues import strategies_that_share
from compare.reading.group_model import Modelled
from protocols import Allocation, Group

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


PER_TOPIC = strategies_that_share("per topic")
"""Strategies that deal every topic from the first member on: the first ones get every topic's remainder."""

ACROSS_TOPICS = (*strategies_that_share("across topics"), "optimum")
"""Strategies that, with equal subscriptions, leave nobody more than one queue ahead."""


@dataclass(frozen=True, slots=True)
class MemberCount:
    """What a number of members gives, in queues per member.

    ``useful``: every topic is read, and the heaviest load is lower than with any smaller number that reads them all.
    ``even``: all carry the same.
    """

    members: int
    max: int
    min: int
    idle_members: int
    useful: bool
    even: bool


def member_counts(modelled: Modelled, strategy: str, limit: int | None = None) -> tuple[MemberCount, ...]:
    """The table of 1 to ``limit`` members under a strategy of `KAFKA` or `ROCKETMQ`, or under ``optimum``.

    Equal subscriptions take counting only. Others, and CONSISTENT_HASH, are tried out, with today's members leaving
    or made-up ones joining. Left out, ``limit`` is the number beyond which nothing gets better (all queues, and at
    least today's members), where things are tried out at most twice today's members.
    """
    group = modelled.group
    if limit is None:
        limit = max(len(group.queues), len(group.members), 1)
        if not modelled.alike or strategy not in (*PER_TOPIC, *ACROSS_TOPICS):
            limit = min(limit, 2 * len(group.members))
    read = _read(group)
    counts = [len(queues) for topic, queues in group.topics.items() if topic in read]
    by_counting = modelled.alike and bool(group.members)
    table = []
    lowest: int | None = None
    for members in range(1, limit + 1):
        loads, whole = _counted(counts, strategy, members) if by_counting else None, True
        if loads is None:
            after = changed(modelled, members=members)
            loads, whole = _tried_out(after, strategy), _read(after.group) == read
        if loads is None:
            continue
        high, low, idle = loads
        useful = whole and (lowest is None or high < lowest)
        lowest = high if useful else lowest
        table.append(MemberCount(members, high, low, idle, useful, high == low))
    return tuple(table)


def next_effective_member_count(table: Sequence[MemberCount], members: int) -> MemberCount | None:
    """The first row with more than this number of members whose heaviest load is lower; None if there is none."""
    return next((row for row in table if row.members > members and row.useful), None)


def _counted(counts: Sequence[int], strategy: str, members: int) -> tuple[int, int, int] | None:
    """Largest, smallest load and idle members where counting the topics' queues tells; None where it does not."""
    if strategy in PER_TOPIC:
        high = sum(-(-count // members) for count in counts)
        idle = members - min(members, max(counts, default=0))
        return high, sum(count // members for count in counts), idle
    if strategy in ACROSS_TOPICS:
        total = sum(counts)
        return -(-total // members), total // members, max(0, members - total)
    return None


def _tried_out(after: Modelled, strategy: str) -> tuple[int, int, int] | None:
    """The same of a group under the strategy; None where the real one fails."""
    if strategy == "optimum":
        loads = list(best_loads(after.group))
    else:
        allocation = under(after, strategy)
        if allocation is None:
            return None
        loads = loads_of(allocation)
    return max(loads), min(loads), loads.count(0)


def _read(group: Group) -> frozenset[str]:
    """The topics that anybody reads."""
    return frozenset(topic for member in group.members for topic in member.subscription)
