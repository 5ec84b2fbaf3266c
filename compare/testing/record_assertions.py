"""What a test demands of a group's records: that none is lost, that none is handled twice, that all are handled.

Records count as handled as `compare.testing.handling.Handling` says. A failure tells the story of the first of them.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from compare.formatting import many
from compare.testing.assertions import Judged, judged
from compare.testing.clock import in_ticks
from compare.testing.handled_records import RecordRange
from compare.testing.handling import HandlingGroup
from compare.testing.record_stories import MOST, RecordStories, names_of
from compare.testing.sentences import fail
from compare.testing.world import end_offset
from protocols.java import Queue

CATCHING_UP_S = 5.0
"""Records that were written in the last so many seconds need not have been handled."""


def assert_nothing_lost(group: Judged[HandlingGroup]) -> None:
    """No record is lost: every record before the group's committed offset, and every one that a reset position has
    skipped, was handled by some member."""
    __tracebackhide__ = True
    for each in judged(group):
        _nothing_lost(each)


def assert_handled_once(group: Judged[HandlingGroup]) -> None:
    """No record was handled more than once, by one member or by several."""
    __tracebackhide__ = True
    for each in judged(group):
        found = each.handling.records.twice()
        if found:
            _fail(
                each,
                f"{_count(found)} handled more than once: {names_of(found)}",
                found,
                RecordStories.of_repeated,
            )


def assert_at_least_once(group: Judged[HandlingGroup], within: float = CATCHING_UP_S) -> None:
    """Every record was handled at least once: all that the group is to read and that was written up to ``within``
    seconds ago. None was lost, and none still waits."""
    __tracebackhide__ = True
    for each in judged(group):
        _nothing_lost(each)
        waiting = each.handling.records.open(_ends(each, within))
        if waiting:
            _fail(
                each,
                f"{_count(waiting)} not handled, {within:g} s and longer after being written: {names_of(waiting)}",
                waiting,
                RecordStories.of_waiting,
            )


def _nothing_lost(group: HandlingGroup) -> None:
    __tracebackhide__ = True
    lost = group.handling.records.lost()
    if lost:
        lie, them = ("lies", "it") if _amount(lost) == 1 else ("lie", "them")
        what = f"{_count(lost)} lost: {names_of(lost)} {lie} before the committed offset, and nobody has handled {them}"
        _fail(group, what, lost, RecordStories.of_lost)


def _ends(group: HandlingGroup, within: float) -> dict[Queue, int]:
    """The queues of the topics that members read, to their ends so many seconds ago."""
    now = max(0.0, group.clock.time - in_ticks(within))
    read = {queue.topic for queue in group.handling.records.reads}
    read |= {queue.topic for _, queue in group.world.ending.expected()}
    cluster = group.world.cluster
    return {
        queue: end_offset(cluster, queue, now)
        for topic, queues in group.topics.items()
        if topic in read
        for queue in queues
    }


def _amount(ranges: Sequence[RecordRange]) -> int:
    return sum(record_range.end - record_range.first for record_range in ranges)


def _count(ranges: Sequence[RecordRange]) -> str:
    count = _amount(ranges)
    return f"{many(count, 'record')} {'was' if count == 1 else 'were'}"


@runtime_checkable
class Pauses(Protocol):
    """A consumer that can pause partitions."""

    @property
    def paused(self) -> set[tuple[str, int]]: ...


def _fail(
    group: HandlingGroup,
    what: str,
    ranges: Sequence[RecordRange],
    story: Callable[[RecordStories, RecordRange], list[str]],
) -> None:
    """Fail with the story of the first range."""
    __tracebackhide__ = True
    handling = group.handling
    doubles = [(name, double) for name, double in handling.doubles.items() if isinstance(double, Pauses)]
    paused = {(name, Queue(topic, "", number)) for name, double in doubles for topic, number in double.paused}
    stories = RecordStories(group.timeline, handling.records, handling.ends, handling.calls_of_handlers, paused)
    fail(group, what, story(stories, ranges[0]), most=MOST + 2)
