"""Markers in the partitions of a transaction that has ended (spec 12.5), written in turns.

In Kafka `TransactionMarkerChannelManager` and `KafkaApis.handleWriteTxnMarkersRequest`.
"""

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.commands import MarkerWritten
from kafka_coordinator.coordinator.log import MarkerKey
from kafka_coordinator.transactions import Ended, Producer
from kafka_coordinator.wire import requests
from kafka_coordinator.wire.entities import Kind, RefusedError, make, part, response
from kafka_coordinator.wire.records.batches import marker
from kafka_coordinator.wire.records.fetch import wake
from kafka_coordinator.wire.records.partitions import OFFSETS_TOPIC, led
from kafka_coordinator.wire.requests import Rests, Work, answered
from kafka_coordinator.wire.share_records import records_written
from kafka_coordinator.wire.state import NO_THROTTLE, BrokerState, Handler
from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName

if TYPE_CHECKING:
    from kio.schema.write_txn_markers.v2.request import WritableTxnMarker

MARKERS: Final[TimerName] = ("markers",)
"""The timer of markers that are still to be written, for which nobody waits."""
_COORDINATOR_EPOCH: Final = 0
_TOGETHER: Final = 200
"""Markers that are written in one turn."""


class MarkersWritten(NamedTuple):
    """One broker tells another, which leads partitions of these, that markers have been written to them."""

    ended: Ended


def write(state: BrokerState, now: Time, ended: Ended | None, out: Outbox) -> Generator[None, None, None]:
    """Write the markers of a transaction that has ended, and tell the brokers that lead its partitions."""
    if ended is None or not ended.partitions:
        return
    ending, partitions = state.storage.transactions.ending, ended.partitions
    for first in range(0, len(partitions), _TOGETHER):
        if first:
            ending[ended.producer.id] = state.name, ended._replace(partitions=partitions[first:])
            state.marking.add(ended.producer.id)
            yield
        some = ended._replace(partitions=partitions[first : first + _TOGETHER])
        for partition in some.partitions:
            _mark(state, now, some, partition, _COORDINATOR_EPOCH)
        written(state, now, MarkersWritten(some), out)
        _tell_leaders(state, some, out)
    ending.pop(ended.producer.id, None)
    state.marking.discard(ended.producer.id)


def write_later(state: BrokerState, now: Time, ended: Ended | None, out: Outbox) -> None:
    """The same, where nobody waits for the end of it."""
    work = write(state, now, ended, out)
    if not _is_over(work):
        state.markers.append(work)
        out.set_timer(MARKERS, now)


def go_on(state: BrokerState, now: Time, out: Outbox) -> None:
    """The timer was due."""
    if state.markers and _is_over(state.markers[0]):
        state.markers.popleft()
    if state.markers:
        out.set_timer(MARKERS, now)


def take_over(state: BrokerState, now: Time, out: Outbox) -> None:
    """Write the markers that brokers have left when they ended, this one before it was started again, too. To be called
    at the start, and when the cluster has changed."""
    for owner, ended in list(state.storage.transactions.ending.values()):
        if ended.producer.id not in state.marking and owner not in set(state.cluster.brokers) - {state.name}:
            write_later(state, now, ended, out)


def _is_over(work: Generator[None, None, None]) -> bool:
    """Whether nothing is left of the work after one more step."""
    return next(work, True) is True


def _tell_leaders(state: BrokerState, ended: Ended, out: Outbox) -> None:
    cluster = state.cluster
    leaders = {
        (cluster.offsets_leaders if topic == OFFSETS_TOPIC else cluster.topics.get(topic, ()))[number : number + 1]
        for topic, number in ended.partitions
    }
    for leader in sorted(name for names in leaders for name in names if name not in ("", state.name)):
        out.send(leader, MarkersWritten(ended))


def _mark(state: BrokerState, now: Time, ended: Ended, partition: Partition, coordinator_epoch: int) -> None:
    topic, number = partition
    if topic == OFFSETS_TOPIC:
        producers = state.storage.offsets_producers(number)
        producers.mark(*ended.producer, state.storage.unix_ms(now), coordinator_epoch)
        producers.transactions.ended(ended.producer.id, 0, 0, commits=True)
        offsets = state.broker.coordinator.core.storage
        offsets.partitions[number].append(MarkerKey(ended.producer.id), ended.commits)
    elif number < len(state.cluster.topics.get(topic, ())):
        log = state.storage.log(topic, number)
        before = log.cost
        batch = marker(
            *ended.producer, state.storage.unix_ms(now), commits=ended.commits, coordinator_epoch=coordinator_epoch
        )
        log.mark(batch, commits=ended.commits, coordinator_epoch=coordinator_epoch)
        state.storage.change(log, before)


def written(state: BrokerState, now: Time, message: MarkersWritten, out: Outbox) -> None:
    """Partitions that this broker leads have a marker more: it ends the wait of fetches, and of offsets."""
    ended = message.ended
    for topic, number in ended.partitions:
        if topic == OFFSETS_TOPIC:
            command = MarkerWritten(number, ended.producer.id, ended.commits)
            state.broker.receive(now, OPERATOR, command, out)
    wake(state, now, ended.partitions, out)
    records_written(state, now, ended.partitions, out)


def write_markers(state: BrokerState, now: Time, sender: str, request: requests.WriteTxnMarkers, out: Outbox) -> None:
    """Markers that an administrator has written (``kafka-transactions --abort``); brokers here need no request."""
    out.send(sender, answered(request.correlation, _all_marked(state, now, request, out)))


def _all_marked(state: BrokerState, now: Time, request: requests.WriteTxnMarkers, out: Outbox) -> Work:
    kind, told, rests = response(requests.KEYS[requests.WriteTxnMarkers], request.version), [], Rests()
    item = part(kind, "markers")
    for each in request.body.markers:
        topics = yield from _marked(state, now, each, part(item, "topics"), out, rests)
        told.append(item(producer_id=each.producer_id, topics=topics))
    return make(kind, throttle_time=NO_THROTTLE, markers=tuple(told))


def _marked(
    state: BrokerState, now: Time, asked: "WritableTxnMarker", kind: Kind, out: Outbox, rests: Rests
) -> Generator[None, None, tuple[Entity, ...]]:
    item, topics = part(kind, "partitions"), []
    for topic in asked.topics:
        parts = []
        for number in topic.partition_indexes:
            if rests.due():
                yield
            producer = Producer(asked.producer_id, asked.producer_epoch)
            ended = Ended(producer, asked.transaction_result, ((topic.name, number),))
            error = ErrorCode.none
            try:
                if topic.name == OFFSETS_TOPIC:
                    _check_led(state, number)
                else:
                    led(state, topic.name, number)
                _mark(state, now, ended, (topic.name, number), asked.coordinator_epoch)
                written(state, now, MarkersWritten(ended), out)
            except RefusedError as refused:
                error = refused.code
            parts.append(item(partition_index=number, error_code=error))
        topics.append(kind(name=topic.name, partitions=tuple(parts)))
    return tuple(topics)


def _check_led(state: BrokerState, number: int) -> None:
    """Raises `RefusedError` unless this broker leads the partition of ``__consumer_offsets``."""
    leaders = state.cluster.offsets_leaders
    if not 0 <= number < len(leaders):
        raise RefusedError(ErrorCode.unknown_topic_or_partition)
    if leaders[number] != state.name:
        raise RefusedError(ErrorCode.not_leader_or_follower)


HANDLERS: Final[Mapping[type[Message], Handler]] = {
    requests.WriteTxnMarkers: write_markers,
    MarkersWritten: lambda state, now, sender, message, out: written(state, now, message, out),
}
