"""The records of a group: which were handled, which are lost, and which came more than once.

Where reading begins: at a queue's first position. A queue that came into being while the group already read its topic
is the group's from its first record on. A topic that was deleted and created again has new records.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeVar

from protocols.engine.nodes import Time
from protocols.facts import Position
from protocols.java import Queue, queue_key
from protocols.offsets import OffsetSet
from protocols.timeline import Lifetimes, Timeline
from protocols.timeline.timeline import Commit
from protocols.timeline.trace import queue_name

BY_ITSELF = ("committed", "seek")
"""Why a member reads from an offset: the group has committed it, or the user's code has said so. Else it was reset."""

INTERNAL = "%"
"""Topics whose names begin so are RocketMQ's own: records in them have come from another topic."""


class Handled(NamedTuple):
    """The member's code has handled the records ``first`` to ``end - 1`` at ``at``."""

    at: Time
    member: str
    queue: Queue
    first: int
    end: int


class CodeEnded(NamedTuple):
    """The user's code of a member was stopped, and how."""

    at: Time
    member: str
    how: str


class Record(NamedTuple):
    """A record; ``by``: the members that handled it, in order of time."""

    topic: str
    broker: str
    number: int
    offset: int
    by: tuple[str, ...] = ()

    def __str__(self) -> str:
        who = f" ({', '.join(self.by)})" if self.by else ""
        return f"{queue_name(Queue(*self[:3]))}/{self.offset}{who}"


class RecordRange(NamedTuple):
    """The records ``first`` to ``end - 1`` of a queue; ``by``: who handled them, in order of time."""

    queue: Queue
    first: int
    end: int
    by: tuple[str, ...] = ()


def single(ranges: Iterable[RecordRange]) -> list[Record]:
    return [
        Record(*record_range.queue, offset, record_range.by)
        for record_range in ranges
        for offset in range(record_range.first, record_range.end)
    ]


class Reads(NamedTuple):
    """A member begins to read a queue at an offset, and why."""

    at: Time
    member: str
    queue: Queue
    offset: int
    why: str


T = TypeVar("T", Handled, Commit, Reads)


class HandledRecords:
    """What is known of a group's records at one time.

    ``lives``: when queues existed; ``handled``: in order of time; ``failed``: queue and offset of those that the user's
    code could not handle; ``given_up``: of those that are dead letters; ``hidden``: of
    those that nobody has to handle.
    """

    def __init__(
        self,
        timeline: Timeline,
        lives: Lifetimes,
        handled: list[Handled],
        failed: set[tuple[Queue, int]],
        given_up: set[tuple[Queue, int]],
        hidden: Collection[tuple[Queue, int]] = (),
    ) -> None:
        self._timeline, self._lives = timeline, lives
        self._retried, self.given_up = failed - given_up, given_up
        self._hidden = hidden
        self._all_handled = handled

    def began(self, queue: Queue) -> Time:
        """When the queue as it is now came into being, in milliseconds."""
        return max((since for since, _ in self._lives.get(queue, ())), default=0.0)

    def exists(self, queue: Queue) -> bool:
        lives = self._lives.get(queue)
        return lives is None or any(since <= self._timeline.end < until for since, until in lives)

    def _is_now(self, at: Time, queue: Queue) -> bool:
        return at >= self.began(queue) and self.exists(queue) and not queue.topic.startswith(INTERNAL)

    @cached_property
    def handled(self) -> Mapping[Queue, list[Handled]]:
        return _by_queue(each for each in self._all_handled if self._is_now(each.at, each.queue))

    @cached_property
    def commits(self) -> Mapping[Queue, list[Commit]]:
        """Queue to its commits, refused ones too."""
        return _by_queue(commit for commit in self._timeline.commits if self._is_now(commit.at, commit.queue))

    @cached_property
    def reads(self) -> Mapping[Queue, list[Reads]]:
        """Queue to when members began to read it, and where."""
        told = self._timeline.told(Position)
        found = (Reads(now, fact.member, fact.queue, fact.offset, fact.why) for now, fact in told)
        return _by_queue(record_range for record_range in found if self._is_now(record_range.at, record_range.queue))

    def start(self, queue: Queue) -> int | None:
        """The first record that is the group's; None of a queue that nobody has begun to read."""
        if queue not in self.reads:
            return None
        since = min(reads[0].at for key, reads in self.reads.items() if key.topic == queue.topic)
        return 0 if self.began(queue) > since else self.reads[queue][0].offset

    def covered(self, queue: Queue) -> OffsetSet:
        """The offsets of a queue that were handled, or need not be."""
        covered = OffsetSet((each.first, each.end) for each in self.handled.get(queue, ()))
        covered.update((offset, offset + 1) for each, offset in self._hidden if each == queue)
        return covered

    def lost(self) -> list[RecordRange]:
        """Records that nobody handled and nobody will: the group has committed beyond them, or has begun to read beyond
        them after its position was reset; and if they were to be tried again, they were given up. Sorted."""
        found = []
        for queue in sorted({*self.commits, *self.reads}, key=queue_key):
            taken = [commit.offset for commit in self.commits.get(queue, ()) if commit.taken]
            resets = [read.offset for read in self.reads.get(queue, ()) if read.why not in BY_ITSELF]
            end = max([*taken[-1:], *resets], default=0)
            start = self.start(queue)
            begin = taken[0] if start is None and taken else start or 0
            for first, last in self.covered(queue).gaps(begin, max(begin, end)):
                found += [RecordRange(queue, *each) for each in self._not_retried(queue, first, last)]
        return found

    def _not_retried(self, queue: Queue, first: int, end: int) -> Iterator[tuple[int, int]]:
        waiting = sorted(offset for each, offset in self._retried if each == queue and first <= offset < end)
        for offset in [*waiting, end]:
            if first < offset:
                yield first, offset
            first = offset + 1

    def twice(self) -> list[RecordRange]:
        """Records that were handled more than once, by one member or several: ranges handled alike, sorted."""
        record_ranges: list[RecordRange] = []
        for queue, handled in sorted(self.handled.items(), key=lambda item: queue_key(item[0])):
            again = _repeated(handled)
            about = [each for each in handled if again.count(each.first, each.end)] if again else []
            bounds = sorted({bound for each in about for bound in (each.first, each.end)})
            for first, end in pairwise(bounds):
                by = tuple(each.member for each in about if each.first <= first < each.end)
                if len(by) < 2:
                    continue
                before = record_ranges[-1] if record_ranges else None
                if before is not None and (before.queue, before.end, before.by) == (queue, first, by):
                    record_ranges[-1] = before._replace(end=end)
                else:
                    record_ranges.append(RecordRange(queue, first, end, by))
        return record_ranges

    def open(self, ends: Mapping[Queue, int]) -> list[RecordRange]:
        """Records below these ends of the queues that are the group's and that nobody has handled yet, sorted."""
        found = []
        for queue, end in sorted(ends.items(), key=lambda item: queue_key(item[0])):
            if self.exists(queue):
                gaps = self.covered(queue).gaps(self.start(queue) or 0, end)
                found += [RecordRange(queue, *gap) for gap in gaps]
        return found


def _repeated(handled: Iterable[Handled]) -> OffsetSet:
    """The offsets that were handled more than once."""
    once, again = OffsetSet(), OffsetSet()
    for each in handled:
        if once.count(each.first, each.end):
            fresh = OffsetSet(once.gaps(each.first, each.end))
            again.update(fresh.gaps(each.first, each.end))
        once.add(each.first, each.end)
    return again


def _by_queue(found: Iterable[T]) -> dict[Queue, list[T]]:
    by: dict[Queue, list[T]] = {}
    for record_range in found:
        by.setdefault(record_range.queue, []).append(record_range)
    return by
