"""What a group's state costs, by which the audit puts the worst first: records that wait, queues that nobody or two
own, members that do nothing; unevenness last, for it is no harm by itself.

| what | points |
|---|---|
| records that wait where nobody reads (no owner, no member) | 10 times log10(1 + records) |
| other records that wait | 3 times log10(1 + records) |
| queues without owner | 40 times the square root of their share of all queues |
| queues with two owners | 30 times the square root of their share |
| idle members | 20 times their share of all members |
| subscribed topics that do not exist | 10 times the square root of their share of all subscribed topics |
| heaviest load over the mean | 5 times (1 - mean / heaviest) |

What the sources do not tell costs nothing. Groups that share no queues (broadcasting, POP) cost what waits.
"""

from collections.abc import Collection, Mapping
from math import log10, sqrt

from compare.figures import Figure
from compare.reading.known_ownership import missing_share, unowned_queues
from compare.reading.observed import ObservedGroup
from protocols import Queue

UNREAD, WAITING = 10.0, 3.0
"""Points for each power of ten of the records that wait."""

UNOWNED, DOUBLE_OWNED, IDLE, MISSING, HEAVIEST = 40.0, 30.0, 20.0, 10.0, 5.0
"""Points at the most."""


def waiting(observed: ObservedGroup, unowned: Collection[Queue]) -> tuple[int, int]:
    """Records that wait where nobody reads, and the others. A negative lag (the queue was made anew) counts 0.

    Consumers that call assign() are members of nothing: of their group it is not told whether somebody reads.
    """
    nobody = (observed.members == () and not observed.only_offsets) or observed.seems_deserted
    unread = others = 0
    for queue, lag in observed.lag.items():
        if lag is not None and lag > 0:
            if nobody or queue in unowned:
                unread += lag
            else:
                others += lag
    return unread, others


def cost(observed: ObservedGroup, figures: Mapping[str, Figure]) -> float:
    """Points, 0 for a group that is perfectly served."""
    # Of a group that only stores offsets nobody tells whether somebody reads.
    unread, others = waiting(observed, () if observed.only_offsets else frozenset(unowned_queues(observed)))
    points = UNREAD * log10(1 + unread) + WAITING * log10(1 + others)
    if observed.mode != "shared":
        return points
    queues, members, over = figures["queues"], figures["members"], figures["max_over_mean"]
    if queues and members:
        points += UNOWNED * sqrt(min(1.0, (figures["unowned_queues"] or 0) / queues))
        points += DOUBLE_OWNED * sqrt(min(1.0, (figures["double_owned_queues"] or 0) / queues))
    if members:
        points += IDLE * (figures["idle_members"] or 0) / members
    points += MISSING * sqrt(missing_share(observed))
    if over:
        points += HEAVIEST * (1 - 1 / over)
    return points
