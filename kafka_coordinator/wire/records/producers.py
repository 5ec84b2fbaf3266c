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
    """A batch that was taken; ``append_time`` is -1 where its records have their producer's times."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    append_time: int


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

    def check(self, header: Header, where: str) -> Written | None:
        """What was written when this batch came before; None: it is new and in order. Raises `RefusedError`."""
        producer = self._found.get(header.producer_id)
        if producer is None:
            return None
        first, last = header.base_sequence, header.last_sequence
        if header.producer_epoch == producer.epoch:
            for each in producer.batches:
                if each.first_sequence == first and each.last_sequence == last:
                    return each
        elif header.producer_epoch < producer.epoch:
            raise RefusedError(
                ErrorCode.invalid_producer_epoch,
                f"Epoch of producer {header.producer_id} in {where} is {header.producer_epoch}, which is smaller than "
                f"the last seen epoch {producer.epoch}",
            )
        elif first != 0:
            raise RefusedError(
                ErrorCode.out_of_order_sequence_number,
                f"Invalid sequence number for new epoch of producer {header.producer_id} in {where}: "
                f"{header.producer_epoch} (request epoch), {first} (seq. number), {producer.epoch} (current epoch)",
            )
        else:
            return None
        expected = (producer.batches[-1].last_sequence + 1) & 0x7FFFFFFF
        if first != expected:
            raise RefusedError(
                ErrorCode.out_of_order_sequence_number,
                f"Out of order sequence number for producer {header.producer_id} in {where}: {first} (incoming seq. "
                f"number), {producer.batches[-1].last_sequence} (current end sequence number)",
            )
        return None

    def remember(self, header: Header, base_offset: int) -> None:
        """The batch has been taken at this offset."""
        producer = self._found.pop(header.producer_id, None)
        if producer is None or producer.epoch != header.producer_epoch:
            producer = Producer(header.producer_epoch)
        self._found[header.producer_id] = producer
        append_time = header.max_timestamp if header.has_append_time else -1
        producer.batches.append(Written(header.base_sequence, header.last_sequence, base_offset, append_time))
        if len(self._found) > self._most:
            del self._found[next(iter(self._found))]
