"""What a partition remembers of idempotent producers: their last batches, so that one that comes again is not taken
twice and one that is missing is noticed.

In Kafka `ProducerStateManager`, `ProducerStateEntry` and `ProducerAppendInfo`.
"""

from collections import deque
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from kafka_coordinator.wire.records.batches import Header
from kafka_coordinator.wire.refusals import RefusedError

REMEMBERED_BATCHES: Final = 5
"""Of each producer: as many as may be on their way."""


class Written(NamedTuple):
    """A batch that was taken, with its greatest timestamp (which is told when it comes again)."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    max_timestamp: int


class Producer:
    """One producer's epoch and last batches."""

    __slots__ = ("batches", "epoch")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[Written] = deque(maxlen=REMEMBERED_BATCHES)


class Producers:
    """All of one partition; ``most`` are remembered, those go first that wrote longest ago."""

    __slots__ = ("_found", "_most")

    def __init__(self, most: int) -> None:
        self._found: dict[int, Producer] = {}
        self._most = most

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
        for each in producer.batches:
            if each.first_sequence == first and each.last_sequence == last:
                return each
        if first != (producer.batches[-1].last_sequence + 1) & 0x7FFFFFFF:
            raise RefusedError(ErrorCode.out_of_order_sequence_number)
        return None

    def remember(self, header: Header, base_offset: int) -> None:
        """The batch has been taken at this offset."""
        producer = self._found.pop(header.producer_id, None)
        if producer is None or producer.epoch != header.producer_epoch:
            producer = Producer(header.producer_epoch)
        self._found[header.producer_id] = producer
        written = Written(header.base_sequence, header.last_sequence, base_offset, header.max_timestamp)
        producer.batches.append(written)
        if len(self._found) > self._most:
            del self._found[next(iter(self._found))]
