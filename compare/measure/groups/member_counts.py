"""How many members a group needs: what every number of them gives, and the next number that helps."""

from collections.abc import Sequence
from dataclasses import dataclass

from compare.catalogues import strategies_that_share
from compare.measure.groups.what_if import best_loads, changed, loads_of, under
from compare.reading.group_model import Modelled
from protocols import Group

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
