"""The calls of KafkaConsumer about positions, offsets and topics."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from compare.testing.handling import HandlingGroup
from compare.testing.kafka.reader import EARLIEST, LATEST, Reader
from compare.testing.kafka_python.classes import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition, errors
from compare.testing.kafka_python.polling import Polling

_ONE, _SEVERAL = "partition must be a TopicPartition namedtuple", "partitions must be TopicPartition namedtuples"


class OffsetCalls:
    """The part of a consumer that moves its positions and asks for offsets. ``timeout_ms`` everywhere: how long the
    call waits, in milliseconds of virtual time."""

    group: ClassVar[HandlingGroup]
    """The group that it is a member of."""
    _reader: Reader
    _polling: Polling
    _values: dict[str, Any]

    def _call(self) -> AbstractContextManager[None]:
        raise NotImplementedError

    def _until(self, timeout_ms: float | None) -> float:
        raise NotImplementedError

    # Positions.

    def position(self, partition: Any, timeout_ms: float | None = None) -> int | None:
        """The offset of the next record that is handed out; None where it is not known in time."""
        _check_one(partition)
        with self._call():
            if tuple(partition) not in self._reader.read:
                raise errors.IllegalStateError("Partition is not assigned")
            self._polling.until_positions(self._until(timeout_ms))
            return self._reader.position(tuple(partition))

    def highwater(self, partition: Any) -> int | None:
        """The end of a partition as the last fetch told."""
        _check_one(partition)
        if tuple(partition) not in self._reader.read:
            raise errors.IllegalStateError("Partition is not assigned")
        return self._reader.highwater.get(tuple(partition))

    def seek(self, partition: Any, offset: int) -> None:
        """Read on in a partition from this offset."""
        _check_one(partition)
        if not isinstance(offset, int) or offset < 0:
            raise ValueError("Offset must be int >= 0")
        with self._call():
            if tuple(partition) not in self._reader.read:
                raise ValueError("Unassigned partition")
            self._reader.seek([(tuple(partition), offset)])

    def seek_to_beginning(self, *partitions: Any) -> None:
        """Read from the first record on: these partitions, or all that are assigned."""
        self._seek_to(partitions, EARLIEST)

    def seek_to_end(self, *partitions: Any) -> None:
        """Read only what is written from now on."""
        self._seek_to(partitions, LATEST)

    def _seek_to(self, partitions: tuple[Any, ...], where: str) -> None:
        _check_all(partitions)
        with self._call():
            wanted = [tuple(each) for each in partitions] or list(self._reader.read)
            if not wanted:
                raise ValueError("No partitions are currently assigned")
            for each in wanted:
                if each not in self._reader.read:
                    raise ValueError(f"Unassigned partition: {TopicPartition(*each)}")
            self._reader.seek([(each, 0 if where == EARLIEST else self._reader.end_offset(each)) for each in wanted])

    def pause(self, *partitions: Any) -> None:
        """Hand out no records of these partitions; everything else goes on."""
        self._change_paused(partitions, self._reader.paused.add)

    def resume(self, *partitions: Any) -> None:
        """Hand them out again."""
        self._change_paused(partitions, self._reader.paused.discard)

    def _change_paused(self, partitions: tuple[Any, ...], change: Callable[[Any], None]) -> None:
        _check_all(partitions)
        for each in partitions:
            if tuple(each) not in self._reader.read:
                raise KeyError(each)
            change(tuple(each))

    def paused(self) -> set[Any]:
        """The partitions that are paused."""
        return {TopicPartition(*each) for each in self._reader.paused}

    # Offsets and topics.

    def committed(self, partition: Any, metadata: bool = False, timeout_ms: float | None = None) -> Any:
        """The group's committed offset (with what was committed beside it); None where there is none."""
        if self._values["group_id"] is None:
            raise errors.IllegalStateError("Requires group_id")
        _check_one(partition)
        with self._call():
            offset = self._reader.committed().get(tuple(partition))
            if offset is None or not metadata:
                return offset
            noted, text = self.group.handling.metadata.get(tuple(partition), (None, ""))
            return OffsetAndMetadata(offset, text if noted == offset else "", 0)

    def beginning_offsets(self, partitions: Iterable[Any], timeout_ms: float | None = None) -> dict[Any, int]:
        """Partition to its first offset."""
        return dict.fromkeys(self._there(partitions, timeout_ms), 0)

    def end_offsets(self, partitions: Iterable[Any], timeout_ms: float | None = None) -> dict[Any, int]:
        """Partition to the offset of the next record that will be written."""
        return {each: self._reader.end_offset(tuple(each)) for each in self._there(partitions, timeout_ms)}

    def offsets_for_times(self, timestamps: dict[Any, float], timeout_ms: float | None = None) -> dict[Any, Any]:
        """Partition to the first record written at the time (milliseconds) or later; None where there is none."""
        for partition, time in timestamps.items():
            timestamps[partition] = int(time)
            if time < 0:
                said = f"The target time for partition {partition} is {time}. The target time cannot be negative."
                raise ValueError(said)
        found = {}
        for each in self._there(timestamps, timeout_ms):
            first = self._reader.at_time(tuple(each), int(timestamps[each]))
            found[each] = None if first is None else OffsetAndTimestamp(*first, 0)
        return found

    def _there(self, partitions: Iterable[Any], timeout_ms: float | None) -> list[Any]:
        listed = list(partitions)
        with self._call():
            if not all(self._reader.exists(tuple(each)) for each in listed):
                timeout = self._values["request_timeout_ms"] if timeout_ms is None else timeout_ms
                self._reader.live_on(self.group.clock.time + timeout)
                raise errors.KafkaTimeoutError(f"Failed to get offsets by timestamps in {timeout} ms")
            return listed

    def topics(self) -> set[str]:
        """All topics that there are."""
        with self._call():
            return set(self._reader.all_topics())

    def partitions_for_topic(self, topic: str) -> set[int]:
        """The numbers of a topic's partitions; none for a topic that is not there."""
        with self._call():
            return {each.number for each in self._reader.queues([topic])}

    def metrics(self, raw: bool = False) -> Mapping[str, Mapping[str, float]] | None:
        """Of the figures that kafka-python keeps, those that the model knows; None where they are switched off."""
        if not self._values["metrics_enabled"]:
            return None
        reader = self._reader
        positions = reader.positions() if reader.node is not None else {}
        lags = {each: reader.end_offset(each) - at for each, at in positions.items()}
        fetched = {"records-lag-max": float(max(lags.values(), default=0))}
        return {
            "consumer-coordinator-metrics": {"assigned-partitions": float(len(reader.read))},
            "consumer-fetch-manager-metrics": fetched,
        }


def _check_one(partition: Any) -> None:
    if not isinstance(partition, TopicPartition):
        raise TypeError(_ONE)


def _check_all(partitions: tuple[Any, ...]) -> None:
    if not all(isinstance(each, TopicPartition) for each in partitions):
        raise TypeError(_SEVERAL)
