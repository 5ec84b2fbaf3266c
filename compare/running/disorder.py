"""Why records were handled out of order: again, in several threads, by several members, or under other queues."""

from collections.abc import Iterator

from compare.running.given_again import why_overtaken
from compare.running.open_ends import event_before
from compare.running.reason_kinds import AT_ONCE, KEYS_MOVED, LATER, OVERLAPPING
from compare.running.reasons import Reason
from protocols.timeline import Timeline
from protocols.timeline.order import OutOfOrder


def why_out_of_order(timeline: Timeline, found: OutOfOrder) -> Iterator[Reason]:
    """Records that were handled again, those that began together in several threads, or with several members, those
    that others overtook which had to be given again, and those whose keys went to other queues."""
    event = event_before(timeline, timeline.end)
    if found.moved:
        yield Reason(KEYS_MOVED, found.moved, event_before(timeline, found.moved_at), records=found.moved)
    if found.again:
        yield Reason(LATER, found.again, event, records=found.again)
    left = found.queue - found.again
    for overtaken in why_overtaken(timeline) if left > 0 else ():
        count = min(left, overtaken.records or 0)
        yield overtaken._replace(weight=count, records=count)
        left -= count
    if left > 0:
        parallel = {each.member for each in timeline.deliveries if each.at_once > 1 and each.end > each.first + 1}
        kind, members = (AT_ONCE, tuple(sorted(parallel))) if parallel else (OVERLAPPING, ())
        yield Reason(kind, left, None if parallel else event, members=members, records=left)
