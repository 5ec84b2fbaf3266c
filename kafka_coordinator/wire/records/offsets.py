"""Offsets of a partition: by time, at the ends, at the end of a leader's epoch; and records deleted up to one.

In Kafka `ReplicaManager` (`fetchOffset`, `lastOffsetForLeaderEpoch`, `deleteRecords`) and
`UnifiedLog.fetchOffsetByTimestamp`.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.wire import entities
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.records.batches import header_of
from kafka_coordinator.wire.records.contents import UnreadableError, records
from kafka_coordinator.wire.records.fetch import reads_committed
from kafka_coordinator.wire.records.log import Batch, PartitionLog
from kafka_coordinator.wire.records.partitions import (
    ISOLATION_LEVELS,
    OFFSETS_TOPIC,
    READ_UNCOMMITTED,
    check_known,
    led,
)
from kafka_coordinator.wire.requests import DeleteRecords, ListOffsets, OffsetForLeaderEpoch, Rests, Work, answered
from kafka_coordinator.wire.state import NO_THROTTLE, BrokerState
from protocols.engine.nodes import Outbox, Time

if TYPE_CHECKING:
    from kio.schema.delete_records.v2.request import DeleteRecordsPartition
    from kio.schema.list_offsets.v11.request import ListOffsetsPartition
    from kio.schema.offset_for_leader_epoch.v4.request import OffsetForLeaderPartition

P = TypeVar("P")
"""What a request says of a partition."""

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
_SINCE: Final[Mapping[int, int]] = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""What a negative timestamp asks for, and the version from which on it may be asked."""
_ANY_REPLICA: Final = -2
_LIST_KEY, _EPOCH_KEY, _DELETE_KEY = 2, 23, 21


class Found(NamedTuple):
    """An offset, the time of its record (Unix, milliseconds) and its leader epoch; -1: none."""

    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = -1


def list_offsets(state: BrokerState, now: Time, sender: str, request: ListOffsets, out: Outbox) -> None:
    """Offsets by time, and the first and last ones."""
    out.send(sender, answered(request.correlation, _list_offsets(state, request)))


def _list_offsets(state: BrokerState, request: ListOffsets) -> Work:
    body, version = request.body, request.version
    kind = entities.response(_LIST_KEY, version)
    topic_kind = entities.part(kind, "topics")
    part_kind = entities.part(topic_kind, "partitions")
    named = Counter[tuple[str, int]](
        [(topic.name, part.partition_index) for topic in body.topics for part in topic.partitions]
    )
    is_known = getattr(body, "isolation_level", READ_UNCOMMITTED) in ISOLATION_LEVELS
    from_leader, only_committed = body.replica_id != _ANY_REPLICA, reads_committed(body)

    def told(topic: str, part: "ListOffsetsPartition") -> Entity:
        code, found = ErrorCode.none, Found()
        try:
            if not is_known:
                raise RefusedError(ErrorCode.unknown_server_error)  # Kafka's code throws here
            if named[topic, part.partition_index] > 1:
                raise RefusedError(ErrorCode.invalid_request)
            if part.timestamp < 0 and version < _SINCE.get(part.timestamp, version + 1):
                raise RefusedError(ErrorCode.unsupported_version)
            epoch = getattr(part, "current_leader_epoch", -1)
            log = led(state, topic, part.partition_index, epoch, only_leader=from_leader)
            found = offset_at(log, part.timestamp, log.stable_end if only_committed else log.end)
        except RefusedError as error:
            code = error.code
        return entities.make(part_kind, partition_index=part.partition_index, error_code=code, **found._asdict())

    once: dict[str, dict[int, ListOffsetsPartition]] = {}
    for topic in body.topics if is_known else ():
        once.setdefault(topic.name, {}).update({part.partition_index: part for part in topic.partitions})
    asked = [(name, parts.values()) for name, parts in once.items()]
    answers = yield from _of_each(asked if is_known else [(each.name, each.partitions) for each in body.topics], told)
    topics = tuple(topic_kind(name=topic, partitions=parts) for topic, parts in answers)
    return entities.make(kind, throttle_time=NO_THROTTLE, topics=topics)


def _of_each(
    asked: Iterable[tuple[str, Iterable[P]]], told: Callable[[str, P], Entity]
) -> Generator[None, None, list[tuple[str, tuple[Entity, ...]]]]:
    """What is told of the partitions of each topic; others have their turn meanwhile."""
    answers, rests = [], Rests()
    for topic, partitions in asked:
        of_topic = []
        for partition in partitions:
            if rests.due():
                yield
            of_topic.append(told(topic, partition))
        answers.append((topic, tuple(of_topic)))
    return answers


def offset_at(log: PartitionLog, time: int, end: int) -> Found:
    """The first record of this time (Unix, milliseconds) or later, or what a negative number asks for; ``end``: before
    which the asker reads."""
    if time == LATEST:
        return Found(end, -1, log.leader_epoch)
    if time in (EARLIEST, EARLIEST_LOCAL):
        return Found(log.start, -1, log.epoch_at(log.start))
    if time in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return Found()  # nothing is stored elsewhere
    batches = log.batches()
    if time == MAX_TIMESTAMP:
        if not batches:
            return Found()
        newest = max(batches, key=lambda batch: batch.max_timestamp)
        found = _in_batch(newest, newest.max_timestamp, log.start)
        return found if found.offset < end else Found()
    for batch in batches:
        if batch.max_timestamp >= time:
            found = _in_batch(batch, time, log.start)
            if found.offset >= 0:
                return found if found.offset < end else Found()
    return Found()


def _in_batch(batch: Batch, time: int, least: int) -> Found:
    """The batch's first record of this time or later, from offset ``least`` on. Of a batch that cannot be read that is
    its first one: a reader gets some older records, and misses none."""
    header = header_of(batch.content)
    if header.has_append_time:
        return Found(max(batch.base_offset, least), batch.max_timestamp, batch.leader_epoch)
    try:
        for record in records(batch.content, header):
            timestamp, offset = header.base_timestamp + record.timestamp_delta, batch.base_offset + record.offset_delta
            if timestamp >= time and offset >= least:
                return Found(offset, timestamp, batch.leader_epoch)
    except UnreadableError:
        return Found(max(batch.base_offset, least), header.base_timestamp, batch.leader_epoch)
    return Found()


def offsets_for_leader_epochs(
    state: BrokerState, now: Time, sender: str, request: OffsetForLeaderEpoch, out: Outbox
) -> None:
    """Where the records of a leader's epoch end."""
    out.send(sender, answered(request.correlation, _offsets_for_leader_epochs(state, request)))


def _offsets_for_leader_epochs(state: BrokerState, request: OffsetForLeaderEpoch) -> Work:
    kind = entities.response(_EPOCH_KEY, request.version)
    topic_kind = entities.part(kind, "topics")
    part_kind = entities.part(topic_kind, "partitions")

    def told(topic: str, part: "OffsetForLeaderPartition") -> Entity:
        code, epoch, end = ErrorCode.none, -1, -1
        try:
            current = getattr(part, "current_leader_epoch", -1)
            epoch, end = led(state, topic, part.partition, current).end_of_epoch(part.leader_epoch)
        except RefusedError as error:
            code = error.code
        return entities.make(part_kind, error_code=code, partition=part.partition, leader_epoch=epoch, end_offset=end)

    answers = yield from _of_each(((topic.topic, topic.partitions) for topic in request.body.topics), told)
    topics = tuple(topic_kind(topic=topic, partitions=parts) for topic, parts in answers)
    return entities.make(kind, throttle_time=NO_THROTTLE, topics=topics)


def delete_records(state: BrokerState, now: Time, sender: str, request: DeleteRecords, out: Outbox) -> None:
    """Forget records before an offset."""
    out.send(sender, answered(request.correlation, _delete_records(state, request)))


def _delete_records(state: BrokerState, request: DeleteRecords) -> Work:
    kind = entities.response(_DELETE_KEY, request.version)
    topic_kind = entities.part(kind, "topics")
    part_kind = entities.part(topic_kind, "partitions")

    def told(topic: str, part: "DeleteRecordsPartition") -> Entity:
        code, low = ErrorCode.none, -1
        try:
            low = _delete(state, topic, part.partition_index, part.offset)
        except RefusedError as error:
            code = error.code
        return part_kind(partition_index=part.partition_index, low_watermark=low, error_code=code)

    answers = yield from _of_each(((topic.name, topic.partitions) for topic in request.body.topics), told)
    topics = tuple(topic_kind(name=topic, partitions=parts) for topic, parts in answers)
    return kind(throttle_time=NO_THROTTLE, topics=topics)


def _delete(state: BrokerState, topic: str, partition: int, offset: int) -> int:
    check_known(state, topic, partition)
    if topic == OFFSETS_TOPIC:
        raise RefusedError(ErrorCode.invalid_topic_exception)
    log = led(state, topic, partition)
    if "delete" not in state.storage.topic_settings(topic).cleanup_policy:
        raise RefusedError(ErrorCode.policy_violation)
    until = log.end if offset == -1 else offset
    if not 0 <= until <= log.end:
        raise RefusedError(ErrorCode.offset_out_of_range)
    before = log.cost
    log.raise_start(until)
    state.storage.change(log, before)
    return log.start
