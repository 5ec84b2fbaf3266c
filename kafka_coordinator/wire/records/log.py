"""The records of one partition: batches as they came, oldest ones forgotten first; and what it remembers of idempotent
producers: their last batches, so that one that comes again is not taken twice and one that is missing is noticed.

In Kafka `UnifiedLog`, `LeaderEpochFileCache`, `ProducerStateManager`, `ProducerStateEntry` and `ProducerAppendInfo`.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable
from operator import attrgetter
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.records.batches import Header, header_of, placed
from kafka_coordinator.wire.records.settings import BATCH_COST
from kafka_coordinator.wire.records.transactions import PartitionTransactions
from kafka_coordinator.wire.writing import Batches, records

_FORGOTTEN_AT_ONCE = 16
"""What is too much goes together with a sixteenth of the bound, as Kafka forgets segments, not batches."""


_INDEX_INTERVAL: Final = 4096


class Batch(NamedTuple):
    """A batch in its place; ``content`` begins with its header."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    content: bytes


class PartitionLog:
    """Offsets from ``start`` to before ``end``, which is the high watermark, too: the log is every replica's.
    ``leader_epoch`` is the current one."""

    __slots__ = (
        "_batches",
        "_lasts",
        "_positions",
        "_written",
        "end",
        "epochs",
        "leader_epoch",
        "producers",
        "start",
    )

    def __init__(self, producers: int) -> None:
        self.start = self.end = 0
        self.leader_epoch = 0
        self.epochs: list[tuple[int, int]] = [(0, 0)]
        """Leader epochs and the offset at which each began, rising."""
        self.producers = Producers(producers)
        self._batches: list[Batch] = []
        self._lasts: list[int] = []
        """Last offset of each batch."""
        self._positions: list[int] = []
        """Bytes that were ever written before each batch."""
        self._written = 0

    @property
    def cost(self) -> int:
        if not self._batches:
            return 0
        return self._written - self._positions[0] + BATCH_COST * len(self._batches)

    @property
    def transactions(self) -> PartitionTransactions:
        return self.producers.transactions

    @property
    def stable_end(self) -> int:
        """The last stable offset: read_committed readers get nothing from here on."""
        return max(self.start, self.transactions.first_open(self.end))

    def lead(self) -> None:
        """Another broker leads from now on, or the same one again."""
        self.leader_epoch += 1
        self.epochs = [*[epoch for epoch in self.epochs if epoch[1] < self.end], (self.leader_epoch, self.end)]

    def append(self, batch: bytes, header: Header) -> int:
        """Take a batch; returns its base offset."""
        base = self.end
        last = base + header.last_offset_delta
        content = placed(batch, base, self.leader_epoch)
        self._batches.append(Batch(base, last, header.max_timestamp, self.leader_epoch, content))
        self._lasts.append(last)
        self._positions.append(self._written)
        self._written += len(content)
        self.end = last + 1
        if header.is_control:
            return base
        if header.producer_id >= 0:
            self.producers.remember(header, base)
        if header.is_transactional:
            self.transactions.wrote(header.producer_id, base)
        return base

    def mark(self, batch: bytes, *, commits: bool, coordinator_epoch: int) -> None:
        """Take the marker that ends a producer's transaction."""
        header = header_of(batch)
        self.producers.mark(header.producer_id, header.producer_epoch, header.max_timestamp, coordinator_epoch)
        at = self.append(batch, header)
        self.transactions.ended(header.producer_id, at, self.end, commits=commits)

    def read(self, offset: int, most: int, until: int | None = None, *, at_least_one: bool = True) -> bytes | Batches:
        """Whole batches from the one with this offset on, to before offset ``until`` (None: the end), at most so many
        bytes; ``at_least_one`` even if longer."""
        first = bisect_left(self._lasts, offset)
        stop = len(self._lasts) if until is None else bisect_left(self._lasts, until, lo=first)
        after = self._after(first, stop, most)
        if after <= first < stop and at_least_one:
            return self._batches[first].content
        return records([batch.content for batch in self._batches[first:after]])

    def batches_from(self, offset: int, most: int | None, last: int | None = None) -> list[Batch]:
        """Batches from the one with this offset on, to the one with the offset ``last`` (None: the end), of at most so
        many bytes; at least one, if there is one."""
        first = bisect_left(self._lasts, offset)
        stop = len(self._lasts) if last is None else bisect_left(self._lasts, last, lo=first) + 1
        after = stop if most is None else max(self._after(first, stop, most), first + 1)
        return self._batches[first:after]

    def aborted(self, first: int, last: int) -> list[Batch]:
        """Of the batches from the one with offset ``first`` to the one with offset ``last`` those whose records belong
        to aborted transactions; markers are none of them."""
        begun = sorted(self.transactions.aborted_within(first, last + 1), key=attrgetter("first"))
        found: list[Batch] = []
        producers: set[int] = set()
        at = 0
        for batch in self.batches_from(first, None, last) if begun else ():
            while at < len(begun) and begun[at].first <= batch.last_offset:
                producers.add(begun[at].producer_id)
                at += 1
            header = header_of(batch.content)
            if header.is_control:
                producers.discard(header.producer_id)
            elif header.is_transactional and header.producer_id in producers:
                found.append(batch)
        return found

    def _after(self, first: int, stop: int, most: int) -> int:
        """Behind the batches from this one on, to before ``stop``, that have at most so many bytes together."""
        if first >= stop:
            return first
        begin = self._positions[first]
        after = bisect_right(self._positions, begin + most, lo=first, hi=stop) - 1
        return stop if after == stop - 1 and self._position(stop) - begin <= most else after

    def bytes_from(self, offset: int, until: int | None = None) -> int:
        """Bytes of the batches from the one with this offset on, to before offset ``until`` (None: the end)."""
        first = bisect_left(self._lasts, offset)
        stop = len(self._lasts) if until is None else bisect_left(self._lasts, until, lo=first)
        return self._position(stop) - self._position(first)

    def index_after(self, offset: int, size: int) -> int:
        """The offset that Kafka's index, which has an entry for every 4 KiB, names as the end of so many bytes from
        this offset on."""
        first = bisect_left(self._lasts, offset)
        if first == len(self._batches):
            return self.end
        after = bisect_left(self._positions, self._positions[first] + size + _INDEX_INTERVAL, lo=first)
        return self._batches[after].base_offset if after < len(self._batches) else self.end

    def _position(self, batch: int) -> int:
        return self._positions[batch] if batch < len(self._batches) else self._written

    def batches(self) -> list[Batch]:
        """All that are there, oldest first; not to be changed."""
        return self._batches

    def epoch_at(self, offset: int) -> int:
        """The leader epoch in which this offset was, or will be, written."""
        return next((epoch for epoch, began in reversed(self.epochs) if began <= offset), self.epochs[0][0])

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The greatest epoch up to this one and the offset where it ended; -1, -1 where the epoch is unknown."""
        if epoch == self.leader_epoch:
            return epoch, self.end
        after = next((at for at, (known, _) in enumerate(self.epochs) if known > epoch), None)
        if epoch < 0 or after is None:
            return -1, -1
        return (self.epochs[after - 1][0] if after else epoch), self.epochs[after][1]

    def raise_start(self, offset: int) -> None:
        """Records before this offset are gone; batches that end before it are forgotten."""
        self.start = max(self.start, offset)
        self._forget(bisect_left(self._lasts, self.start))
        self.transactions.forget(self.start)

    def keep(self, most: int) -> None:
        """Forget the oldest batches where they cost more than ``most`` bytes together, but for the newest."""
        excess = self.cost - most
        if excess <= 0:
            return
        excess += most // _FORGOTTEN_AT_ONCE
        count, cost = 0, 0
        while cost < excess and count < len(self._batches) - 1:
            cost += len(self._batches[count].content) + BATCH_COST
            count += 1
        if count:
            self.raise_start(self._lasts[count - 1] + 1)

    def _forget(self, count: int) -> None:
        if count:
            del self._batches[:count], self._lasts[:count], self._positions[:count]


REMEMBERED_BATCHES: Final = 5
"""Of each producer: as many as may be on their way."""


class Written(NamedTuple):
    """A batch that was taken, with its greatest timestamp (which is told when it comes again)."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    max_timestamp: int


class Producer:
    """One producer's epoch and last batches; its marker's coordinator epoch; the time of what it wrote last."""

    __slots__ = ("batches", "epoch", "marked_by", "timestamp")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[Written] = deque(maxlen=REMEMBERED_BATCHES)
        self.marked_by = self.timestamp = -1

    @property
    def last_sequence(self) -> int:
        """-1: it has written nothing in this epoch."""
        return self.batches[-1].last_sequence if self.batches else -1


class Producers:
    """All of one partition, and their transactions; ``most`` are remembered, those go first that wrote longest ago."""

    __slots__ = ("_found", "_most", "transactions")

    def __init__(self, most: int) -> None:
        self.transactions = PartitionTransactions()
        self._found: dict[int, Producer] = {}
        self._most = most

    def get(self, producer_id: int) -> Producer | None:
        return self._found.get(producer_id)

    def items(self) -> Iterable[tuple[int, Producer]]:
        return self._found.items()

    def must_verify(self, producer_id: int, epoch: int) -> bool:
        """Whether somebody else must say that the producer's transaction has the partition: it has not written in it.
        Raises `RefusedError` for an older epoch than the partition knows."""
        known = self._found.get(producer_id)
        if known is not None and epoch < known.epoch:
            raise RefusedError(ErrorCode.invalid_producer_epoch)
        return known is None or epoch != known.epoch or producer_id not in self.transactions.open

    def check(self, header: Header) -> Written | None:
        """What was written when this batch came before; None: it is new and in order. Raises `RefusedError`."""
        producer = self._found.get(header.producer_id)
        if producer is None:
            return None
        first, last = header.base_sequence, header.last_sequence
        if header.producer_epoch != producer.epoch:
            if header.producer_epoch < producer.epoch:
                raise RefusedError(ErrorCode.invalid_producer_epoch)
            if first != 0:
                raise RefusedError(ErrorCode.out_of_order_sequence_number)
            return None
        for batch in producer.batches:
            if batch.first_sequence == first and batch.last_sequence == last:
                return batch
        if first != (producer.last_sequence + 1) & 0x7FFFFFFF:
            raise RefusedError(ErrorCode.out_of_order_sequence_number)
        return None

    def remember(self, header: Header, base_offset: int) -> None:
        """The batch has been taken at this offset."""
        producer = self.latest(header.producer_id, header.producer_epoch, header.max_timestamp)
        written = Written(header.base_sequence, header.last_sequence, base_offset, header.max_timestamp)
        producer.batches.append(written)

    def mark(self, producer_id: int, epoch: int, time: int, coordinator_epoch: int) -> None:
        """A marker is taken. Raises `RefusedError` for one of an older epoch, or of an older coordinator."""
        known = self._found.get(producer_id)
        if known is not None and epoch < known.epoch:
            raise RefusedError(ErrorCode.invalid_producer_epoch)
        if known is not None and coordinator_epoch < known.marked_by:
            raise RefusedError(ErrorCode.transaction_coordinator_fenced)
        self.latest(producer_id, epoch, time).marked_by = coordinator_epoch

    def latest(self, producer_id: int, epoch: int, time: int) -> Producer:
        """The producer is the one that wrote last, in this epoch and at this time (Unix, milliseconds)."""
        producer = self._found.pop(producer_id, None) or Producer(epoch)
        if producer.epoch != epoch:
            producer.epoch = epoch
            producer.batches.clear()
        producer.timestamp = time
        self._found[producer_id] = producer
        if len(self._found) > self._most:
            del self._found[next(iter(self._found))]
        return producer
