"""Offsets as confluent-kafka's calls name them: what a commit is of, where reading begins, what was written when."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Final

from compare.testing.clock import in_ticks
from compare.testing.confluent import arguments as arguments
from compare.testing.confluent import errors as errors
from compare.testing.confluent.member import KafkaMember
from compare.testing.confluent.messages import EPOCH, Message
from compare.testing.kafka.node import Partition
from protocols.engine.nodes import TICK, Time

_TAIL: Final = -2000
"""Offsets from here on down stand for so many records before the end."""

_LOOK_AGAIN_MS: Time = 1000.0


def named(message: Message | None, offsets: errors.Partitions | None) -> errors.Listed | None:
    """The offsets that a call names: the one after a message, or a list; None where it names nothing."""
    if message is not None and offsets is not None:
        raise ValueError("message and offsets are mutually exclusive")
    if message is not None:
        return [after(arguments.message(message))]
    if offsets is not None:
        return [_copied(each) for each in arguments.partitions(offsets)]
    return None


def after(message: Message) -> errors.TopicPartitionDouble:
    """The offset to commit when a message was handled. Raises `KafkaException` for an error."""
    error, topic, number, offset = message.error(), message.topic(), message.partition(), message.offset()
    if error is not None or topic is None or number is None or offset is None:
        said = "" if error is None else error.str()
        raise errors.exception("_INVALID_ARG", f"Cannot commit offsets for message with error: '{said}'")
    made, epoch = errors.TopicPartition(topic, number, offset + 1), message.leader_epoch()
    return made if epoch is None else with_epoch(made, epoch)


def with_epoch(partition: errors.TopicPartitionDouble, epoch: int) -> errors.TopicPartitionDouble:
    """The same with the epoch of its leader."""
    fields = partition.topic, partition.partition, partition.offset
    if partition.metadata is None:
        return errors.TopicPartition(*fields, leader_epoch=epoch)
    return errors.TopicPartition(*fields, partition.metadata, epoch)


def _copied(each: errors.Partitioned) -> errors.TopicPartitionDouble:
    made = errors.TopicPartition(each.topic, each.partition, each.offset)
    return made if each.metadata is None else errors.TopicPartition(*_fields(made), each.metadata)


def _fields(each: errors.TopicPartitionDouble) -> tuple[str, int, int]:
    return each.topic, each.partition, each.offset


def sought(inner: KafkaMember, partitions: Iterable[errors.Partitioned]) -> list[tuple[Partition, int]]:
    """The offsets to read on from, of those partitions that say one."""
    found = []
    for each in partitions:
        partition = each.topic, each.partition
        if each.offset == errors.OFFSET_BEGINNING:
            found.append((partition, 0))
        elif each.offset == errors.OFFSET_END:
            found.append((partition, inner.end_offset(partition)))
        elif each.offset >= 0:
            found.append((partition, each.offset))
        elif each.offset <= _TAIL:
            found.append((partition, max(0, inner.end_offset(partition) + each.offset - _TAIL)))
    return found


def check_answered(inner: KafkaMember, timeout: float | None) -> None:
    """Raises `KafkaException` after ``timeout`` seconds where no broker runs that could tell committed offsets."""
    until = inf if timeout is None else inner.now + in_ticks(timeout)
    while not inner.has_brokers and inner.now < until:
        inner.live(min(until, inner.now + _LOOK_AGAIN_MS), lambda: False)
    if not inner.has_brokers:
        raise errors.exception("_TIMED_OUT", f"Failed to get committed offsets: {errors.said('_TIMED_OUT')}")


def at_times(inner: KafkaMember, partitions: Iterable[errors.Partitioned]) -> errors.Listed:
    """Of each partition the first record written at the time that stands for its offset, or later; `OFFSET_END` where
    there is none."""
    if not inner.has_brokers:
        raise errors.exception("_UNKNOWN_PARTITION", f"Failed to get offsets: {errors.said('_UNKNOWN_PARTITION')}")
    found = []
    for each in partitions:
        partition = each.topic, each.partition
        first = inner.end_offset(partition, each.offset - TICK) if each.offset > 0 else 0
        is_there = first < inner.end_offset(partition)
        found.append(errors.TopicPartition(*partition, first if is_there else errors.OFFSET_END))
    return found


def positions(inner: KafkaMember, partitions: errors.Partitions) -> errors.Listed:
    """Where the user's code stands: after the last record that it was given; else `OFFSET_INVALID`."""
    found = []
    for each in with_offsets(partitions, inner.position):
        found.append(each if each.offset == errors.OFFSET_INVALID else with_epoch(each, EPOCH))
    return found


def watermarks(inner: KafkaMember, partition: errors.Partitioned, *, cached: bool) -> tuple[int, int]:
    """The first offset and the end; as told by the last fetch, if ``cached``. Raises `KafkaException` for a partition
    that is not there."""
    which = partition.topic, partition.partition
    if cached and which not in inner.position:
        return errors.OFFSET_INVALID, errors.OFFSET_INVALID
    if not inner.exists(which) or not (cached or inner.has_brokers):
        raise errors.exception("_UNKNOWN_PARTITION", "Failed to get watermark offsets: Local: Unknown partition")
    return 0, inner.end_offset(which)


def with_offsets(partitions: errors.Partitions, offsets: Mapping[Partition, int]) -> errors.Listed:
    """The partitions with these offsets, `OFFSET_INVALID` where there is none."""
    return [
        errors.TopicPartition(
            each.topic, each.partition, offsets.get((each.topic, each.partition), errors.OFFSET_INVALID)
        )
        for each in partitions
    ]
