"""Why queues have no owner at the end of a run, or had none yet."""

from collections.abc import Sequence

from compare.running.reason_kinds import NEVER_OWNED, NEW_QUEUES, OPEN, UNOWNED
from compare.running.reasons import Reason
from compare.running.work import ReadQueue
from protocols.engine.nodes import Time
from protocols.timeline import Timeline
from protocols.timeline.ownership import Gap


def event_before(timeline: Timeline, at: Time) -> str | None:
    """The latest event of the scenario until this time."""
    before = [happening for happening in timeline.causes.happenings if happening.at <= at and happening.follows is None]
    return before[-1].text if before else None


FOLLOWS_MS = 30_000.0
"""Within so long the next pass or heartbeat of any client comes, and with it what is given to it: RocketMQ's clients
share every 20 s."""


def why_open(timeline: Timeline, gap: Gap) -> Reason:
    """Why a queue has no owner any more: that nobody takes it is known only where the rebalances are over, and no
    other can still follow."""
    event, lasted = event_before(timeline, gap.since), timeline.end - gap.since
    of_group = [rebalance for rebalance in timeline.rebalances if rebalance.group == gap.group]
    longest = max((each.ended - each.began for each in of_group if each.ended is not None), default=0.0)
    if of_group and of_group[-1].ended is None:
        return Reason(OPEN, 0.0, event, "during a rebalance", lasted=lasted)
    noticed = of_group and of_group[-1].began >= gap.since
    if not noticed and timeline.causes.ended_between(gap.before, gap.since, timeline.end):
        return Reason(OPEN, 0.0, event, "before a rebalance begins", lasted=lasted)
    if lasted < max(longest, FOLLOWS_MS):
        return Reason(OPEN, 0.0, event, lasted=lasted)
    return Reason(UNOWNED, 0.0, event, lasted=lasted)


def why_never_owned(timeline: Timeline, read: ReadQueue, first: Time | None) -> Reason:
    """Why a queue had no owner before ``first``; None: nobody ever owned it. Of a queue that came into being later the
    group knows when it has rebalanced."""
    lives = timeline.lives.get(read.queue, ())
    until = timeline.end if first is None else first
    since = max((start for start, _ in lives if start < until), default=0.0)
    rebalanced = any(each.group == read.reader and each.began >= since for each in timeline.rebalances)
    if not since or (first is None and rebalanced):
        return Reason(NEVER_OWNED, 0.0, lasted=until - since)
    return Reason(NEW_QUEUES, 0.0, event_before(timeline, since), lasted=until - since, alike=first is None)


def never_owned(timeline: Timeline, reads: Sequence[ReadQueue]) -> list[Reason]:
    """Why queues that groups share have never had an owner."""
    owned = {(belief.group, belief.queue) for belief in timeline.beliefs}
    without = (read for read in reads if read.reader not in timeline.without_owners)
    return [why_never_owned(timeline, read, None) for read in without if (read.reader, read.queue) not in owned]
