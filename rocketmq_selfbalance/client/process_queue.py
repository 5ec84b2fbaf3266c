"""``ProcessQueue``: the client's record of one queue it owns, what was fetched and is not finished, and flags (spec
6.4).

Why it exists: records of one queue are finished in any order by a pool of threads, but a committed offset says "all
before this". So the client keeps what it fetched until it is finished, and commits the smallest offset that is not:
after a crash everything behind that is handled again, finished or not.

Why ``dropped`` is a flag and not a removal: a rebalance takes the queue away while threads still work on its records.
They see the flag when they are done, and neither commit nor fetch on; the next owner may have begun by then.
"""

from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field

from protocols.engine.nodes import Time
from protocols.node_state import NodeState
from protocols.offsets import OffsetSet

NOTHING = -1
"""``remove`` of an empty queue: no offset to commit."""


@dataclass(slots=True, eq=False)
class PopProcessQueue(NodeState):
    """What a consumer holds for a queue that it pops, or for all queues of a broker. ``created`` counts as the first
    request."""

    created: InitVar[Time]
    number: int = 0
    """Tells it from earlier ones of the same queue: what is on its way belongs to one of them."""
    dropped: bool = False
    last_pop: Time = field(init=False)
    waiting_acks: int = 0
    """Records given to it that it has not answered yet (``waitAckCounter``)."""

    def __post_init__(self, created: Time) -> None:
        self.last_pop = created


@dataclass(slots=True, eq=False)
class ProcessQueue(NodeState):
    """Offsets of fetched records, as ranges (``first`` to ``end - 1``). Times are milliseconds of virtual time;
    ``created`` counts as the first pull and the first lock."""

    created: InitVar[Time]
    locked: bool = field(default=False, kw_only=True)
    record_bytes: int = field(default=0, kw_only=True)
    waiting: OffsetSet = field(default_factory=OffsetSet)
    """Fetched, and not finished; of ordered consumption: not taken."""
    taken: OffsetSet = field(default_factory=OffsetSet)
    """Ordered: in consumption."""
    count: int = 0
    bytes: int = 0
    highest: int = 0
    """The last offset that was put anew."""
    consuming: bool = False
    accumulated: int = 0
    """Records behind the last fetched one, as its broker told."""
    dropped: bool = False
    last_pull: Time = field(init=False)
    last_lock: Time = field(init=False)
    try_unlock_times: int = 0
    listeners: int = 0
    """Calls of the user's listener that work on the queue now: they hold the shared side of the consume lock."""
    number: int = 0
    """Tells it from earlier process queues of the same queue: what is on its way belongs to one of them."""
    next_offset: int = 0
    """Where the next pull begins."""
    previously_locked: bool = False
    """Ordered: the starting offset was read again after the lock was there."""
    task_since: Time | None = None
    """Ordered: since when its consume task runs; None where none does."""
    tries: dict[int, int] = field(default_factory=dict)
    """Ordered: offset of a record that failed to how often it was tried again, where that matters."""

    def __post_init__(self, created: Time) -> None:
        self.last_pull = self.last_lock = created

    def put(self, ranges: Iterable[tuple[int, int]], end_of_queue: int | None = None) -> bool:
        """Records have been fetched, in this order. ``end_of_queue``: the broker's end offset, told with the last.

        Returns whether to begin consuming (ordered): there is something, and nobody is at it.
        """
        last, waiting = None, self.waiting
        for first, end in ranges:
            last = end - 1
            newest = waiting.last_missing(first, end)
            if newest is not None:
                new = waiting.add(first, end)
                self.count += new
                self.bytes += new * self.record_bytes
                self.highest = newest
        if last is not None and end_of_queue is not None and end_of_queue > last:
            self.accumulated = end_of_queue - last
        if self.consuming or not waiting:
            return False
        self.consuming = True
        return True

    def remove(self, ranges: Iterable[tuple[int, int]]) -> int:
        """These are finished. Returns the offset to commit: the smallest one left, or the one after the highest;
        `NOTHING` where there was nothing."""
        waiting = self.waiting
        if not waiting:
            return NOTHING
        for first, end in ranges:
            gone = waiting.remove(first, end)
            self.count -= gone
            self.bytes -= gone * self.record_bytes
        if not self.count:
            self.bytes = 0
        return waiting.first if waiting else self.highest + 1

    def take(self, most: int) -> list[tuple[int, int]]:
        """Ordered: take the first records into consumption, at most so many. Nothing there: consuming ends."""
        found = []
        while most and self.waiting:
            first, end = self.waiting.first_range()
            end = min(end, first + most)
            self.waiting.remove(first, end)
            self.taken.add(first, end)
            most -= end - first
            found.append((first, end))
        if not found:
            self.consuming = False
        return found

    def commit(self) -> int | None:
        """Ordered: what was taken is done. Returns the offset to commit, None where nothing was taken."""
        if not self.taken:
            return None
        end, count = self.taken.end, len(self.taken)
        self.count -= count
        self.bytes = self.bytes - count * self.record_bytes if self.count else 0
        self.taken = OffsetSet()
        self.tries = {offset: tries for offset, tries in self.tries.items() if offset >= end}
        return end

    def rollback(self) -> None:
        self.consume_again(self.taken.ranges())

    def gives_up(self, first: int, end: int, most: int) -> bool:
        """Ordered: these could not be handled. Whether every one of them was tried again ``most`` times already; who
        was not is counted once more."""
        again = [offset for offset in range(first, end) if self.tries.get(offset, 0) < most]
        for offset in again:
            self.tries[offset] = self.tries.get(offset, 0) + 1
        return not again

    def tried(self, offset: int) -> int:
        """Ordered: how often this record was tried, this time included, as far as tries are counted."""
        return self.tries.get(offset, 0) + 1

    def count_try(self, offset: int) -> None:
        """Ordered, without a limit: the record was tried once more."""
        self.tries[offset] = self.tried(offset)

    def consume_again(self, ranges: Iterable[tuple[int, int]]) -> None:
        for first, end in ranges:
            self.taken.remove(first, end)
            self.waiting.add(first, end)

    def clear(self) -> None:
        self.waiting, self.taken = OffsetSet(), OffsetSet()
        self.count, self.bytes, self.highest = 0, 0, 0
        self.tries = {}

    @property
    def max_span(self) -> int:
        """Distance from the first to the last record that waits."""
        waiting = self.waiting
        return waiting.end - 1 - waiting.first if waiting else 0

    def pull_expired(self, now: Time, after: Time) -> bool:
        """Whether the last pull began more than ``after`` ms ago."""
        return now - self.last_pull > after

    def lock_expired(self, now: Time, after: Time) -> bool:
        """Whether the lock was last seen to hold more than ``after`` ms ago."""
        return now - self.last_lock > after
