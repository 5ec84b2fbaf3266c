"""Records that the user's code cannot handle (`protocols.poison`): which they are, how often each was tried, and what
becomes of it (spec 6.5, 6.6, 6.7).

A record is known by the queue where it was first. What comes back through a retry topic is a copy that says so, and how
often it was sent back (`Retried`; in RocketMQ ``MessageExt.reconsumeTimes``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from protocols.node_state import NodeState
from protocols.poison import PoisonRecord, PoisonRecords
from protocols.queues import Queue
from rocketmq_selfbalance.messages.pulling import Retried


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
        self.known = {queue: {each.offset: each for each in records} for queue, records in known.items()}

    def find(self, queue: Queue, offset: int) -> Copy | None:
        """The poison record there, None where there is none. One that was never sent back was not tried before."""
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
        offsets = self.copies.get(queue) or self.known.get(queue)
        if not offsets:
            return end
        ahead = min([offset for offset in offsets if first <= offset < end], default=None)
        return end if ahead is None else max(ahead, first + 1)

    def lies_ahead(self, queue: Queue, position: int) -> bool:
        """Whether the queue has poison at this offset or behind it."""
        offsets = self.copies.get(queue) or self.known.get(queue, {})
        return any(offset >= position for offset in offsets)
