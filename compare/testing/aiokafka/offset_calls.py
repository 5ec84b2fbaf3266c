"""The calls of AIOKafkaConsumer about positions, offsets and topics."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any

from compare.testing.aiokafka.classes import OffsetAndTimestamp, TopicPartition, errors
from compare.testing.aiokafka.subscription import Subscription
from compare.testing.aiokafka.waiting import Waiting
from compare.testing.kafka.reader import EARLIEST, LATEST, Reader

_NOT_STARTED = "'NoneType' object has no attribute '{}'"
_NAMEDTUPLES = "partitions must be TopicPartition namedtuples"
_INSTANCES = "partitions must be TopicPartition instances"


class OffsetCalls:
    """The part of a consumer that moves its positions and asks for offsets."""

    _reader: Reader
    _subscription: Subscription
    _waiting: Waiting
    _started: bool
    _values: dict[str, Any]

    async def committed(self, partition: Any) -> int | None:
        """The group's committed offset; None where there is none."""
        raise NotImplementedError

    def _called(self) -> AbstractAsyncContextManager[None]:
        raise NotImplementedError

    # Positions.

    async def position(self, partition: Any) -> int:
        """The offset of the next record that the user's code is given, waited for until it is known. Raises
        `IllegalStateError` for a partition that is not assigned."""
        async with self._called():
            self._check_assigned(partition)
            which = tuple(partition)
            reader = self._reader
            await self._waiting.until(lambda: which not in reader.read or reader.position(which) is not None)
            self._check_assigned(partition)
            at = reader.position(which)
            assert at is not None
            return at

    def highwater(self, partition: Any) -> int | None:
        """The end of a partition as the last fetch told; None before the first."""
        self._assert_assigned(partition)
        return self._reader.highwater.get(tuple(partition))

    def last_stable_offset(self, partition: Any) -> int | None:
        """The end of what no open transaction holds back."""
        return self.highwater(partition)

    def seek(self, partition: Any, offset: int) -> None:
        """Read on in a partition from this offset."""
        if not isinstance(offset, int) or offset < 0:
            raise ValueError("Offset must be a positive integer")
        if not self._started:
            raise AttributeError(_NOT_STARTED.format("seek_to"))
        self._reader.seek([(self._subscription.check(partition), offset)])

    async def seek_to_beginning(self, *partitions: Any) -> bool:
        """Read from the first record on: these partitions, or all that are assigned."""
        return await self._seek_to(partitions, EARLIEST)

    async def seek_to_end(self, *partitions: Any) -> bool:
        """Read only what is written from now on."""
        return await self._seek_to(partitions, LATEST)

    async def _seek_to(self, partitions: tuple[Any, ...], where: str) -> bool:
        wanted = self._wanted(partitions)
        async with self._called():
            ends = [(tuple(each), 0 if where == EARLIEST else self._reader.end_offset(tuple(each))) for each in wanted]
            self._reader.seek(ends)
            return True

    async def seek_to_committed(self, *partitions: Any) -> dict[Any, int | None]:
        """Read on from the committed offsets, where there are some; these."""
        found = {each: await self.committed(each) for each in self._wanted(partitions)}
        self._reader.seek([(tuple(each), at) for each, at in found.items() if at])
        return found

    def _wanted(self, partitions: tuple[Any, ...]) -> Iterable[Any]:
        if not all(isinstance(each, TopicPartition) for each in partitions):
            raise TypeError(_INSTANCES)
        assigned = self._subscription.assigned()
        if not partitions:
            if not assigned:
                raise AssertionError("No partitions are currently assigned")
            return sorted(assigned)
        missing = set(partitions) - assigned
        if missing:
            raise errors.IllegalStateError(f"Partitions {missing} are not assigned")
        return partitions

    def pause(self, *partitions: Any) -> None:
        """Hand out no records of these partitions; everything else goes on."""
        self._change_paused(partitions, self._reader.paused.add)

    def resume(self, *partitions: Any) -> None:
        """Hand them out again."""
        self._change_paused(partitions, self._reader.paused.discard)

    def _change_paused(self, partitions: tuple[Any, ...], change: Callable[[Any], None]) -> None:
        if not all(isinstance(each, TopicPartition) for each in partitions):
            raise TypeError(_NAMEDTUPLES)
        for each in partitions:
            change(self._subscription.check(each))

    def paused(self) -> set[Any]:
        """The partitions that are paused."""
        return {TopicPartition(*each) for each in self._reader.paused}

    def _check_assigned(self, partition: Any) -> None:
        if partition not in self._subscription.assigned():
            raise errors.IllegalStateError(f"Partition {partition} is not assigned")

    def _assert_assigned(self, partition: Any) -> None:
        if partition not in self._subscription.assigned():
            raise AssertionError("Partition is not assigned")

    # Offsets and topics.

    async def beginning_offsets(self, partitions: Iterable[Any]) -> dict[Any, int]:
        """Partition to its first offset."""
        return dict.fromkeys(await self._there(partitions), 0)

    async def end_offsets(self, partitions: Iterable[Any]) -> dict[Any, int]:
        """Partition to the offset of the next record that will be written."""
        return {each: self._reader.end_offset(tuple(each)) for each in await self._there(partitions)}

    async def offsets_for_times(self, timestamps: dict[Any, float]) -> dict[Any, Any]:
        """Partition to the first record written at the time (milliseconds) or later; None where there is none."""
        for partition, time in timestamps.items():
            timestamps[partition] = int(time)
            if time < 0:
                said = f"The target time for partition {partition} is {time}. The target time cannot be negative."
                raise ValueError(said)
        found = {}
        for each in await self._there(timestamps):
            first = self._reader.at_time(tuple(each), int(timestamps[each]))
            found[each] = None if first is None else OffsetAndTimestamp(*first)
        return found

    async def _there(self, partitions: Iterable[Any]) -> list[Any]:
        """The partitions, all of which exist. Raises `KafkaTimeoutError` where one does not, when the time is over."""
        if not self._started:
            raise AttributeError(_NOT_STARTED.format("beginning_offsets"))
        listed = list(partitions)
        async with self._called():
            if not all(self._reader.exists(tuple(each)) for each in listed):
                timeout = self._values["request_timeout_ms"]
                await asyncio.sleep(timeout / 1000)
                raise errors.KafkaTimeoutError(f"Failed to get offsets by times in {timeout} ms")
            return listed

    async def topics(self) -> set[str]:
        """All topics that there are."""
        async with self._called():
            return set(self._reader.all_topics())

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The numbers of a topic's partitions; None for one that the client has not asked for."""
        queues = self._reader.queues([topic])
        return {each.number for each in queues} if queues and self._subscription.has_asked_for(topic) else None
