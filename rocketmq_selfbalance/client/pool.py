"""The user's side of one consumer: what waits for his code, and what it is working on (each ``ConsumeRequest`` in the
``consumeExecutor``); and the records that it cannot handle (`protocols.load`; spec 6.5 to 6.7).

Work is done on ranges of records. The code of a push consumer runs in so many threads at once; that of a pull consumer
in one loop of the user's own. A poison record is known by the queue where it was first: what comes back through a retry
topic is a copy that says so, and how often it was sent back (`Retried`; in RocketMQ ``MessageExt.reconsumeTimes``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.load import PoisonRecord, PoisonRecords
from protocols.node_state import NodeState
from rocketmq_selfbalance.messages.offsets import Retried
from rocketmq_selfbalance.pop import Handle


class Copy(NamedTuple):
    """A poison record as it is fetched. ``tried``: how often it was tried before it came to its retry queue."""

    record: PoisonRecord
    tried: int

    def is_skipped_after(self, tried: int) -> bool:
        """Whether the code skips it after it has tried it so often."""
        return self.record.attempts is not None and tried >= self.record.attempts


@dataclass(slots=True, init=False, eq=False)
class Poison(NodeState):
    """What one consumer's code cannot handle."""

    known: Mapping[Queue, Mapping[int, PoisonRecord]]
    """Queue to its poison records by their offsets."""
    copies: dict[Queue, dict[int, Copy]]
    """Of retry queues the same, as far as they were fetched."""

    def __init__(self, known: PoisonRecords[Queue]) -> None:
        self.known = {}
        self.copies = {}
        self.learn(known)

    def learn(self, known: PoisonRecords[Queue]) -> None:
        """These are the records now, and no others."""
        self.known = {queue: {record.offset: record for record in records} for queue, records in known.items()}

    def find(self, queue: Queue, offset: int) -> Copy | None:
        """The poison record there, None where there is none. One that was never sent back was not tried before."""
        if not (self.copies or self.known):
            return None
        copies = self.copies.get(queue)
        if copies is not None:
            return copies.get(offset)
        records = self.known.get(queue)
        record = None if records is None else records.get(offset)
        return None if record is None else Copy(record, 0)

    def fetched(self, queue: Queue, first: int, retried: Iterable[Retried]) -> None:
        """Records of a retry topic have been fetched, the first with this offset."""
        for offset, each in enumerate(retried, first):
            record = self.known.get(each.origin, {}).get(each.origin_offset)
            if record is not None:
                self.copies.setdefault(queue, {})[offset] = Copy(record, each.times)

    def alone(self, queue: Queue, first: int, end: int) -> int:
        """Where a piece of work that begins with ``first`` ends, ``end`` at the latest: a poison record is one of its
        own (code that is given several says which of them failed)."""
        offsets = self.copies.get(queue) or self.known.get(queue) if self.copies or self.known else None
        if not offsets:
            return end
        ahead = min([offset for offset in offsets if first <= offset < end], default=None)
        return end if ahead is None else max(ahead, first + 1)

    def lies_ahead(self, queue: Queue, position: int) -> bool:
        """Whether the queue has poison at this offset or behind it."""
        offsets = self.copies.get(queue) or self.known.get(queue, {})
        return any(offset >= position for offset in offsets)


class Batch(NamedTuple):
    """Records ``first`` to ``end - 1`` of a queue that wait to be consumed. ``number``: of its process queue."""

    queue: Queue
    number: int
    first: int
    end: int


class Work(NamedTuple):
    """Records that the user's code works on, since this time, in so many threads."""

    batch: Batch
    since: Time
    threads: int


@dataclass(slots=True, eq=False)
class Pool(NodeState):
    """Waiting batches in the order they came, and what is being worked on."""

    backlog: list[Batch] = field(default_factory=list)
    running: dict[int, Work] = field(default_factory=dict)
    serial: int = 0
    busy: int = 0
    """Threads that work now."""
    standing_still: bool = False
    """The user's code makes no progress: what it works on is not finished, nothing new is begun."""
    stalled: list[int] = field(default_factory=list)
    """Works whose time is over while the code stands still."""
    takes: dict[tuple[Queue, int], Time] = field(default_factory=dict)
    """(Queue, offset) of records that take another time than the others."""
    fails: set[tuple[Queue, int]] = field(default_factory=set)
    """(Queue, offset) of records that the user's code cannot handle."""
    poison: Poison = field(default_factory=lambda: Poison({}))
    """Records that the user's code cannot handle, whoever is given them."""
    in_hand: list[Batch] = field(default_factory=list)
    """Pull consumers: what the last poll returned beside that which is worked on, in order."""
    next_commit: Time = 0.0
    """Pull consumers: when the next poll commits."""

    def finish(self, serial: int) -> Work | None:
        """The time of a work is over: its threads are idle. None where the code stands still: it is over later."""
        if self.standing_still:
            self.stalled.append(serial)
            return None
        work = self.running.pop(serial)
        self.busy -= work.threads
        return work


class PoppedRecord(NamedTuple):
    """A record that waits for a thread or is handled, with the pop queue by which it came and its number; ``born``:
    when it was written first."""

    source: Queue
    number: int
    handle: Handle
    born: Time

    @property
    def queue(self) -> Queue:
        """Where it was first."""
        return Queue(self.source.topic, self.source.broker, self.handle.record.number)


class PopWork(NamedTuple):
    """A thread at a record, since this time."""

    record: PoppedRecord
    since: Time


@dataclass(slots=True, eq=False)
class PopPool(NodeState):
    """Records that wait for a thread, in the order in which they came, and what threads work on: beside the threads
    for what is pulled."""

    backlog: list[PoppedRecord] = field(default_factory=list)
    running: dict[int, PopWork] = field(default_factory=dict)
    serial: int = 0
    stalled: list[int] = field(default_factory=list)
    """Works whose time is over while the code stands still."""
