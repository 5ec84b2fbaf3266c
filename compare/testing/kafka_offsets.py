"""Offsets as confluent-kafka's calls name them: what a commit is of, where reading begins, what was written when."""

from collections.abc import Iterable, Mapping

from compare.testing import kafka_errors as errors
from compare.testing.kafka_member import KafkaMember, Partition
from compare.testing.kafka_messages import Message
from protocols.engine.nodes import TICK


def named(message: Message | None, offsets: errors.Partitions | None) -> dict[Partition, int] | None:
    """The offsets that a call names: the one after a message, or a list; None where it names nothing."""
    if message is not None and offsets is not None:
        raise ValueError("message and offsets are mutually exclusive")
    if message is not None:
        topic, number, offset = message.topic(), message.partition(), message.offset()
        if topic is None or number is None or offset is None or message.error() is not None:
            raise errors.exception("_NO_OFFSET", "Commit failed: an error has no offset")
        return {(topic, number): offset + 1}
    if offsets is not None:
        return {(each.topic, each.partition): each.offset for each in offsets}
    return None


def to_commit(inner: KafkaMember, message: Message | None, offsets: errors.Partitions | None) -> dict[Partition, int]:
    """What a commit is of: what it names, else the stored offsets of what is read that differ from the committed."""
    wanted = named(message, offsets)
    if wanted is not None:
        return wanted
    subscription = inner.state.subscription
    committed, held = inner.committed(), {*subscription.owned, *subscription.assigned_by_user}
    return {each: at for each, at in inner.stored.items() if each in held and committed.get(each) != at}


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
    return found


def at_times(inner: KafkaMember, partitions: Iterable[errors.Partitioned]) -> errors.Listed:
    """Of each partition the first record written at the time that stands for its offset, or later; `OFFSET_END` where
    there is none."""
    found = []
    for each in partitions:
        partition = each.topic, each.partition
        first = inner.end_offset(partition, each.offset - TICK) if each.offset > 0 else 0
        is_there = first < inner.end_offset(partition)
        found.append(errors.TopicPartition(*partition, first if is_there else errors.OFFSET_END))
    return found


def with_offsets(partitions: errors.Partitions, offsets: Mapping[Partition, int]) -> errors.Listed:
    """The partitions with these offsets, `OFFSET_INVALID` where there is none."""
    return [
        errors.TopicPartition(
            each.topic, each.partition, offsets.get((each.topic, each.partition), errors.OFFSET_INVALID)
        )
        for each in partitions
    ]
