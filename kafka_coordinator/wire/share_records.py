"""Records of share groups on the wire: ShareFetch and ShareAcknowledge, as the leaders of partitions answer them.

In Kafka `KafkaApis.handleShareFetchRequest` and `handleShareAcknowledgeRequest`, `ShareFetchUtils`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from uuid import UUID

from kio.static.protocol import Entity

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.errors import (
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kafka_coordinator.share import fetching, requests
from kafka_coordinator.share.acquiring import Read
from kafka_coordinator.share.leader import Call
from kafka_coordinator.share.messages import (
    Acknowledgements,
    AcquiredRanges,
    ShareAcknowledge,
    ShareAcknowledgeAnswer,
    SharedRecords,
    ShareFetch,
    ShareFetchAnswer,
)
from kafka_coordinator.share.partition import DeadLetter
from kafka_coordinator.share.records import State
from kafka_coordinator.wire import dead_letters
from kafka_coordinator.wire.entities import Kind, code, make, part
from kafka_coordinator.wire.group_views import made_of
from kafka_coordinator.wire.opaque import by_topic
from kafka_coordinator.wire.records.fetch import wake
from kafka_coordinator.wire.records.offsets import offset_at
from kafka_coordinator.wire.records.partitions import LeaderHints
from kafka_coordinator.wire.requests import Piece, Rests
from kafka_coordinator.wire.share_groups import TEXTS
from kafka_coordinator.wire.state import NO_ID, NO_THROTTLE, Asked, BrokerState, Translation, milliseconds
from kafka_coordinator.wire.writing import Batches, records
from protocols.engine.nodes import Message, Outbox, Time, TimerName

if TYPE_CHECKING:
    from kio.schema.share_acknowledge.v2.request import ShareAcknowledgeRequest
    from kio.schema.share_fetch.v2.request import ShareFetchRequest


class ExpireLocks(NamedTuple):
    """A command: the locks of all records that members of the group have acquired end now."""

    group: str


REQUESTS: Final = (ShareFetch, ShareAcknowledge, ExpireLocks)
TIMERS: Final = requests.TIMERS
_TYPES: Final = ("GAP", "ACCEPT", "RELEASE", "REJECT", "RENEW")
_NO_TYPE: Final = "unknown"
_RECORD_LIMIT: Final = 1
"""Acquire mode."""


@dataclass(frozen=True, slots=True)
class BrokerLogs:
    """The partitions of a served broker (`kafka_coordinator.share.leader.Logs`)."""

    state: BrokerState
    now: Time
    out: Outbox

    def error(self, partition: Partition) -> str:
        topic, number = partition
        leaders = self.state.cluster.topics.get(topic)
        if leaders is None:
            return UNKNOWN_TOPIC_ID
        if not 0 <= number < len(leaders):
            return UNKNOWN_TOPIC_OR_PARTITION
        return NONE if leaders[number] == self.state.name else NOT_LEADER_OR_FOLLOWER

    def leader_epoch(self, partition: Partition) -> int:
        return self.state.storage.log(*partition).leader_epoch

    def start(self, partition: Partition) -> int:
        return self.state.storage.log(*partition).start

    def end(self, partition: Partition, only_committed: bool = False) -> int:
        log = self.state.storage.log(*partition)
        return log.stable_end if only_committed else log.end

    def read(self, partition: Partition, offset: int, max_bytes: int, end: int) -> Read:
        if offset >= end:
            return ()
        found = self.state.storage.log(*partition).batches_from(offset, max_bytes, end - 1)
        return [(batch.base_offset, batch.last_offset) for batch in found]

    def aborted(self, partition: Partition, read: Read) -> Read:
        found = self.state.storage.log(*partition).aborted(read[0][0], read[-1][1])
        return [(batch.base_offset, batch.last_offset) for batch in found]

    def size(self, partition: Partition, offset: int, end: int) -> int:
        return self.state.storage.log(*partition).bytes_from(offset, end)

    def comes(self, partition: Partition, offset: int) -> Time | None:
        """Nobody knows what clients will write."""
        return None

    def offset_at(self, partition: Partition, time: Time) -> int:
        log = self.state.storage.log(*partition)
        found = offset_at(log, max(0, self.state.storage.unix_ms(time)), log.end).offset
        return log.end if found < 0 else found

    def bury(self, group: str, partition: Partition, letter: DeadLetter) -> None:
        """Share groups may wait for dead letters, too."""
        written = dead_letters.bury(self.state, self.now, group, partition, letter, self.out)
        if written is not None and self.state.leads(*written):
            records_written(self.state, self.now, [written], self.out)


def _call(state: BrokerState, now: Time, out: Outbox) -> Call:
    leader, storage = state.share, state.storage
    if state.configs_seen != storage.config_changes:
        state.configs_seen = storage.config_changes
        leader.configure(storage.group_configs())
    return Call(now, BrokerLogs(state, now, out), out)


def receive(
    state: BrokerState, now: Time, sender: str, request: ShareFetch | ShareAcknowledge | ExpireLocks, out: Outbox
) -> None:
    call = _call(state, now, out)
    if not isinstance(request, ExpireLocks):
        requests.receive(state.share, call, sender, request)
        return
    for group, partition in list(state.share.shares):
        if group == request.group:
            fetching.locks_ended(state.share, call, group, partition, inf)


def timeout(state: BrokerState, now: Time, timer: TimerName, out: Outbox) -> None:
    requests.timeout(state.share, _call(state, now, out), timer)


def closed(state: BrokerState, now: Time, peer: str, out: Outbox) -> None:
    requests.closed(state.share, _call(state, now, out), peer)


def cluster_changed(state: BrokerState, now: Time, out: Outbox) -> None:
    requests.cluster_changed(state.share, _call(state, now, out))


def letters_written(
    state: BrokerState, now: Time, sender: str, message: dead_letters.LettersWritten, out: Outbox
) -> None:
    """Another broker has written dead letters to partitions that this one leads."""
    wake(state, now, message.partitions, out)
    records_written(state, now, message.partitions, out)


def records_written(state: BrokerState, now: Time, partitions: Iterable[Partition], out: Outbox) -> None:
    """Records were written to these partitions: fetches may wait for them."""
    if state.share.watching:
        fetching.look(
            state.share, _call(state, now, out), [each for each in partitions if each in state.share.watching]
        )


class Hidden(NamedTuple):
    """Records that a member has acquired: nobody else gets them before ``until`` (ms of the world's time), unless they
    are released. ``deliveries``: how often they were delivered, this time included."""

    topic: str
    partition: int
    first: int
    last: int
    member: str
    deliveries: int
    until: Time


def hidden(state: BrokerState, group: str) -> list[Hidden]:
    """All records that members of the group have acquired of partitions that this broker leads."""
    found = []
    for (name, (topic, number)), share in state.share.shares.items():
        for batch in share.batches if name == group else ():
            for first, last, entry in batch.pieces():
                if entry.state is State.ACQUIRED and entry.owner is not None and entry.lock is not None:
                    member = state.share.name_of(entry.owner)
                    found.append(Hidden(topic, number, first, last, member, entry.deliveries, entry.lock.due))
    return sorted(found)


# Translations.


def _name(topic_id: UUID | None, asked: Asked) -> str:
    """Of a topic; in place of one that there is not, its id."""
    return asked.state.topic_names.get(topic_id or NO_ID) or str(topic_id or NO_ID)


def _acknowledged(topics: Iterable[Any], asked: Asked) -> Acknowledgements:
    return tuple(
        [
            (
                (_name(topic.topic_id, asked), each.partition_index),
                tuple(
                    [
                        (batch.first_offset, batch.last_offset, tuple(map(_type, batch.acknowledge_types)))
                        for batch in each.acknowledgement_batches
                    ]
                ),
            )
            for topic in topics
            for each in topic.partitions
            if each.acknowledgement_batches
        ]
    )


def _type(number: int) -> str:
    return _TYPES[number] if 0 <= number < len(_TYPES) else _NO_TYPE


def _client(body: "ShareFetchRequest | ShareAcknowledgeRequest", asked: Asked) -> str:
    known = asked.names.known(body.group_id or "", body.member_id or "")
    return asked.client_id if known is None else known


def _read_fetch(body: "ShareFetchRequest", asked: Asked) -> Sequence[Message]:
    topics = [(_name(topic.topic_id, asked), topic.partitions) for topic in body.topics]
    forgotten = [(_name(topic.topic_id, asked), topic.partitions) for topic in body.forgotten_topics_data]
    return [
        ShareFetch(
            asked.first,
            cast(str, body.group_id),  # of None the leader knows
            body.member_id or "",
            body.share_session_epoch,
            tuple([(topic, each.partition_index) for topic, partitions in topics for each in partitions]),
            tuple([(topic, number) for topic, numbers in forgotten for number in numbers]),
            _acknowledged(body.topics, asked),
            milliseconds(body.max_wait),
            body.min_bytes,
            body.max_bytes,
            body.max_records,
            body.batch_size,
            getattr(body, "share_acquire_mode", 0) == _RECORD_LIMIT,
            getattr(body, "is_renew_ack", False),
            _client(body, asked),
        )
    ]


def _write_fetch(kind: Kind, body: "ShareFetchRequest", asked: Asked, answers: Sequence[ShareFetchAnswer]) -> Piece:
    (answer,) = answers
    item = part(kind, "responses")
    row = part(item, "partitions")
    hints, rests = LeaderHints(asked.state, kind, row), Rests()
    rows = {each.partition: each for each in answer.partitions}
    topics: list[Entity] = []
    for topic, numbers in by_topic(rows):
        read = [rows[topic, number] for number in numbers]
        fetched = yield from made_of(read, rests, lambda each: _fetched(row, each, hints, asked))
        topics.append(make(item, topic_id=_id(topic, asked), partitions=fetched))
    return _whole(kind, answer.error, answer.lock_duration_ms, topics, hints)


def _whole(kind: Kind, error: str, lock_duration_ms: int, topics: list[Entity], hints: LeaderHints) -> Entity:
    return make(
        kind,
        throttle_time=NO_THROTTLE,
        error_code=code(error),
        error_message=_text(error),
        acquisition_lock_timeout=timedelta(milliseconds=lock_duration_ms),
        responses=tuple(topics),
        node_endpoints=hints.nodes(),
    )


def _text(error: str) -> str | None:
    return None if error == NONE else TEXTS.get(error)


def _id(topic: str, asked: Asked) -> UUID:
    known = asked.state.topic_ids.get(topic)
    if known is not None:
        return known
    gone = next((topic_id for topic_id, name in asked.state.gone_topics.items() if name == topic), None)
    return UUID(topic) if gone is None else gone


def _fetched(kind: Kind, read: SharedRecords, hints: LeaderHints, asked: Asked) -> Entity:
    topic, number = read.partition
    acquired = part(kind, "acquired_records")
    rows = [
        make(acquired, first_offset=first, last_offset=last, delivery_count=deliveries)
        for first, last, deliveries in read.acquired
    ]
    return make(
        kind,
        partition_index=number,
        error_code=code(read.error),
        error_message=None,
        acknowledge_error_code=code(read.acknowledge_error).value,
        acknowledge_error_message=_text(read.acknowledge_error),
        records=_content(asked.state, read.partition, read.acquired),
        acquired_records=tuple(rows),
        current_leader=_leader(kind, read.error, topic, number, hints),
    )


def _content(state: BrokerState, partition: Partition, acquired: AcquiredRanges) -> bytes | Batches:
    """Whole batches, from that of the first acquired record to that of the last."""
    if not acquired:
        return b""
    found = state.storage.log(*partition).batches_from(acquired[0][0], None, acquired[-1][1])
    return records([batch.content for batch in found])


def _leader(kind: Kind, error: str, topic: str, number: int, hints: LeaderHints) -> Entity:
    leader = hints.leader(topic, number) if error == NOT_LEADER_OR_FOLLOWER else None
    return leader or make(part(kind, "current_leader"), leader_id=0, leader_epoch=0)


def _read_acknowledge(body: "ShareAcknowledgeRequest", asked: Asked) -> Sequence[Message]:
    return [
        ShareAcknowledge(
            asked.first,
            cast(str, body.group_id),  # of None the leader knows
            body.member_id or "",
            body.share_session_epoch,
            _acknowledged(body.topics, asked),
            getattr(body, "is_renew_ack", False),
            _client(body, asked),
        )
    ]


def _write_acknowledge(
    kind: Kind, body: "ShareAcknowledgeRequest", asked: Asked, answers: Sequence[ShareAcknowledgeAnswer]
) -> Entity:
    (answer,) = answers
    item = part(kind, "responses")
    row, errors = part(item, "partitions"), dict(answer.partitions)
    hints = LeaderHints(asked.state, kind, row)
    topics = [
        make(
            item,
            topic_id=_id(topic, asked),
            partitions=tuple(
                [
                    make(
                        row,
                        partition_index=number,
                        error_code=code(errors[topic, number]),
                        error_message=_text(errors[topic, number]),
                        current_leader=_leader(row, errors[topic, number], topic, number, hints),
                    )
                    for number in numbers
                ]
            ),
        )
        for topic, numbers in by_topic(errors)
    ]
    return _whole(kind, answer.error, answer.lock_duration_ms, topics, hints)


TRANSLATIONS: Final[Mapping[int, Translation]] = {
    78: Translation(_read_fetch, _write_fetch),
    79: Translation(_read_acknowledge, _write_acknowledge),
}
"""API key to its translation."""
