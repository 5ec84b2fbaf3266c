"""Produce: batches are checked as the real broker checks them, and kept as they came; those of a transaction, once the
transaction coordinator knows that it has the partition (spec 12.4).

What is inside a compressed batch is not looked at (but for keys of compacted topics and times that are out of range).

In Kafka `KafkaApis.handleProduceRequest`, `ReplicaManager.handleProduceAppend`, `LogValidator`,
`AddPartitionsToTxnManager`.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.errors import (
    INVALID_PRODUCER_EPOCH,
    INVALID_TXN_STATE,
    NONE,
    PRODUCER_FENCED,
    TRANSACTION_ABORTABLE,
)
from kafka_coordinator.transactions import Producer
from kafka_coordinator.wire import entities
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.records.batches import (
    ZSTD_SINCE,
    Header,
    has_right_crc,
    has_unknown_compression,
    is_transactional,
    only_batch,
    with_append_time,
)
from kafka_coordinator.wire.records.contents import UnreadableError, records
from kafka_coordinator.wire.records.fetch import wake
from kafka_coordinator.wire.records.log import PartitionLog
from kafka_coordinator.wire.records.partitions import OFFSETS_TOPIC, LeaderHints, check_known, led, topic_of
from kafka_coordinator.wire.records.settings import TopicSettings
from kafka_coordinator.wire.requests import Produce, Rests, Work, answered
from kafka_coordinator.wire.share_records import records_written
from kafka_coordinator.wire.state import NO_THROTTLE, BrokerState
from protocols.engine.nodes import Outbox, Time

if TYPE_CHECKING:
    from kio.schema.produce.v13.request import PartitionProduceData, TopicProduceData

PRODUCE_KEY: Final = 0
_LONG_BATCH: Final = 512 * 1024
"""Bytes of a batch for which others have their turn before."""


class Appended(NamedTuple):
    """Where a batch stands; ``append_time`` is Unix time in milliseconds, -1: records have their producer's times."""

    base_offset: int
    append_time: int
    log_start: int


def produce(state: BrokerState, now: Time, sender: str, request: Produce, out: Outbox) -> None:
    """Take the batches of each partition; the answer comes at once, because all replicas have them at once."""
    answers = _Answers(state, request.version)
    answer = answered(request.correlation, _produce(state, now, sender, request, answers, out))
    if answer.body is not None or not (request.body.acks == 0 and answers.any_refused):
        out.send(sender, answer)


def _produce(state: BrokerState, now: Time, sender: str, request: Produce, answers: "_Answers", out: Outbox) -> Work:
    body, rests = request.body, Rests()
    batches = [partition for topic in body.topic_data for partition in topic.partition_data]
    refused: RefusedError | None = None
    if body.transactional_id is None and any(is_transactional(batch.records) for batch in batches):
        refused = RefusedError(ErrorCode.transactional_id_authorization_failed)
    elif request.version < ZSTD_SINCE and any(
        has_unknown_compression(part.records)
        and 0 <= part.index < len(state.cluster.topics.get(getattr(topic, "name", ""), ()))
        for topic in body.topic_data
        for part in topic.partition_data
    ):
        refused = RefusedError(ErrorCode.unknown_server_error)  # Kafka's code throws here, before it looks at the rest
    elif len(batches) > 1 and _names_producers(state, request):
        refused = RefusedError(ErrorCode.invalid_producer_id_mapping, _SEVERAL)
    changed: list[tuple[str, int]] = []
    for topic in body.topic_data:
        answers.topic(topic)
        for part in topic.partition_data:
            if rests.due() or len(part.records or b"") > _LONG_BATCH:
                yield
            try:
                if refused is not None:
                    raise refused
                name = topic_of(state, topic)
                answers.took(part.index, _append(state, now, name, part, request))
                changed.append((name, part.index))
            except RefusedError as error:
                answers.refused(getattr(topic, "name", ""), part.index, error)
    wake(state, now, changed, out)
    records_written(state, now, changed, out)
    if body.acks != 0:
        return (yield from answers.body(rests))
    if answers.any_refused:
        out.close(sender)  # the producer reads no answers: this tells it to ask for the leaders again
    return None


_SEVERAL: Final = "Transactional records contained more than one producer ID"


def _names_producers(state: BrokerState, request: Produce) -> bool:
    """Whether transactional batches are of more than one producer, or of one with several epochs; those do not count
    that are refused before anybody looks at their producer."""
    found: set[Producer] = set()
    for topic in request.body.topic_data:
        for part in topic.partition_data:
            if is_transactional(part.records):
                try:
                    check_known(state, topic_of(state, topic), part.index)
                    header = only_batch(part.records, request.version)[1]
                except RefusedError:
                    continue
                if header.producer_id >= 0:
                    found.add(Producer(header.producer_id, header.producer_epoch))
    return len(found) > 1


def _append(state: BrokerState, now: Time, topic: str, part: "PartitionProduceData", request: Produce) -> Appended:
    check_known(state, topic, part.index)
    batch, header = only_batch(part.records, request.version)
    if header.is_transactional and header.producer_id >= 0:  # before acks: Kafka verifies before it appends anything
        led(state, topic, part.index)
        claim, partition = Producer(header.producer_id, header.producer_epoch), (topic, part.index)
        _verify(state, now, request, claim, partition, header.base_sequence)
    if request.body.acks not in (-1, 0, 1):
        raise RefusedError(ErrorCode.invalid_required_acks)
    if topic == OFFSETS_TOPIC:
        raise RefusedError(ErrorCode.invalid_topic_exception)
    log = led(state, topic, part.index)
    try:
        return _take(state, now, f"{topic}-{part.index}", topic, log, batch, header)
    except RefusedError as error:
        if error.code in (ErrorCode.corrupt_message, ErrorCode.message_too_large):
            raise
        raise _BatchRefusedError(error, log.start) from None


_ADDS_SINCE: Final = 12
"""From this version of Produce on a batch adds its partition to the transaction (KIP-890)."""
_ABORTABLE_SINCE: Final = 11
"""From this version on a producer is told that it must abort; before, that its transaction is in no such state."""

_NOT_ADDED: Final = "Partition was not added to the transaction"


def _verify(
    state: BrokerState, now: Time, request: Produce, claim: Producer, partition: Partition, sequence: int
) -> None:
    """Raises `RefusedError` where the transaction does not have the partition, and cannot be given it."""
    producers, transactions = state.storage.log(*partition).producers, state.storage.transactions
    if not producers.must_verify(*claim):
        return
    transactional_id, adds = request.body.transactional_id or "", request.version >= _ADDS_SINCE
    producers.transactions.asks(claim.id, claim.epoch, sequence, bumps=adds)
    if adds:
        error = transactions.add(now, transactional_id, claim, (partition,))
    else:
        error = transactions.verify(transactional_id, claim, partition)
    error = of_writer(error, knows_abortable=request.version >= _ABORTABLE_SINCE)
    if error != NONE:
        raise RefusedError(entities.code(error), _NOT_ADDED if error == INVALID_TXN_STATE else None)


def of_writer(error: str, *, knows_abortable: bool) -> str:
    """The error that a writer gets for this error of the transaction coordinator."""
    if error == PRODUCER_FENCED:
        return INVALID_PRODUCER_EPOCH
    return INVALID_TXN_STATE if error == TRANSACTION_ABORTABLE and not knows_abortable else error


def _take(
    state: BrokerState, now: Time, where: str, topic: str, log: PartitionLog, batch: bytes, header: Header
) -> Appended:
    storage = state.storage
    settings = storage.topic_settings(topic)
    _check(batch, header, settings)
    if settings.message_timestamp_type == "LogAppendTime":
        batch, header = with_append_time(batch, header, storage.unix_ms(now))
    else:
        _check_times(batch, header, settings, storage.unix_ms(now))
    if "compact" in settings.cleanup_policy:
        _check_keys(batch, header, where)
    if header.producer_id >= 0:
        written = log.producers.check(header)
        if written is not None:
            return Appended(written.base_offset, written.max_timestamp, log.start)
        _check_transaction(log, header)
    before = log.cost
    base = log.append(batch, header)
    storage.change(log, before)
    storage.trim(topic, log)
    return Appended(base, header.max_timestamp if header.has_append_time else -1, log.start)


def _check_transaction(log: PartitionLog, header: Header) -> None:
    number = header.producer_id
    is_known = log.producers.get(number) is not None
    if log.transactions.is_early(number, header.base_sequence, is_known=is_known):
        raise RefusedError(ErrorCode.out_of_order_sequence_number)
    if number in log.transactions.open and not header.is_transactional:
        raise RefusedError(ErrorCode.invalid_txn_state)


def _check(batch: bytes, header: Header, settings: TopicSettings) -> None:
    if header.base_offset != 0:
        raise RefusedError(ErrorCode.invalid_record)
    if len(batch) > settings.max_message_bytes:
        raise RefusedError(ErrorCode.message_too_large)
    if not has_right_crc(batch, header):
        raise RefusedError(ErrorCode.corrupt_message)
    if has_unknown_compression(batch):
        raise RefusedError(ErrorCode.unknown_server_error)
    is_whole = header.records > 0 and header.last_offset_delta == header.records - 1
    is_numbered = header.producer_id < 0 or header.base_sequence >= 0
    if header.is_control or not is_whole or not is_numbered:
        raise RefusedError(ErrorCode.invalid_record)


def _check_times(batch: bytes, header: Header, settings: TopicSettings, time: int) -> None:
    """Refuse records whose times are too far from the broker's. A batch's first time and greatest time tell whether it
    may have any."""
    early = time - settings.message_timestamp_before_max_ms
    late = time + settings.message_timestamp_after_max_ms
    if header.base_timestamp >= early and header.max_timestamp <= late:
        return
    times = [(at, header.base_timestamp + delta) for at, delta in enumerate(_time_deltas(batch, header))]
    wrong = [
        (
            at,
            f"Timestamp {each} of message with offset {at} is out of range. The timestamp should be within "
            f"[{early}, {late}]",
        )
        for at, each in times
        if each != -1 and not early <= each <= late
    ]
    if wrong:
        text = "One or more records have been rejected due to invalid timestamp"
        raise RefusedError(ErrorCode.invalid_timestamp, text, tuple(wrong))


def _time_deltas(batch: bytes, header: Header) -> Iterable[int]:
    try:
        return [record.timestamp_delta for record in records(batch, header)]
    except UnreadableError:
        return (0, header.max_timestamp - header.base_timestamp)


def _check_keys(batch: bytes, header: Header, where: str) -> None:
    try:
        without = [at for at, record in enumerate(records(batch, header)) if not record.has_key]
    except UnreadableError:
        return
    if without:
        text = f"Compacted topic cannot accept message without key in topic partition {where}"
        shown = ", ".join([f"RecordError(batchIndex={at}, message='{text}')" for at in without[:3]])
        raise RefusedError(
            ErrorCode.invalid_record,
            f"One or more records have been rejected due to {len(without)} record errors in total, and only showing "
            f"the first three errors at most: [{shown}]",
            tuple([(at, text) for at in without]),
        )


class _BatchRefusedError(RefusedError):
    """A batch is refused that reached its log, of which the answer tells the start."""

    def __init__(self, error: RefusedError, log_start: int) -> None:
        super().__init__(error.code, error.message, error.details)
        self.log_start = log_start


class _Answers:
    """The answer to a Produce request, as it grows."""

    def __init__(self, state: BrokerState, version: int) -> None:
        self._kind = entities.response(PRODUCE_KEY, version)
        self._topic_kind = entities.part(self._kind, "responses")
        self._part_kind = entities.part(self._topic_kind, "partition_responses")
        self._hints = LeaderHints(state, self._kind, self._part_kind)
        self._topics: list[tuple[TopicProduceData, list[Entity]]] = []
        self.any_refused = False

    def topic(self, topic: "TopicProduceData") -> None:
        self._topics.append((topic, []))

    def took(self, index: int, appended: Appended) -> None:
        time = appended.append_time
        at = None if time < 0 else datetime.fromtimestamp(time // 1000, UTC).replace(microsecond=time % 1000 * 1000)
        self._add(index, ErrorCode.none, appended.base_offset, at, appended.log_start, (), None, None)

    def refused(self, topic: str, index: int, error: RefusedError) -> None:
        self.any_refused = True
        leader = self._hints.leader(topic, index) if error.code is ErrorCode.not_leader_or_follower else None
        start = error.log_start if isinstance(error, _BatchRefusedError) else -1
        self._add(index, error.code, -1, None, start, error.details, error.message, leader)

    def body(self, rests: Rests) -> Work:
        topics: list[Entity] = []
        for topic, parts in self._topics:
            if rests.due():
                yield
            name, topic_id = getattr(topic, "name", None), getattr(topic, "topic_id", None)
            topics.append(
                entities.make(self._topic_kind, name=name, topic_id=topic_id, partition_responses=tuple(parts))
            )
        return entities.make(
            self._kind, responses=tuple(topics), throttle_time=NO_THROTTLE, node_endpoints=self._hints.nodes()
        )

    def _add(
        self,
        index: int,
        code: ErrorCode,
        base_offset: int,
        append_time: datetime | None,
        log_start: int,
        wrong: tuple[tuple[int, str | None], ...],
        message: str | None,
        leader: Entity | None,
    ) -> None:
        values: dict[str, object] = {
            "index": index,
            "error_code": code,
            "base_offset": base_offset,
            "log_append_time": append_time,
            "log_start_offset": log_start,
            "record_errors": (),
            "error_message": message,
        }
        if wrong and entities.has(self._part_kind, "record_errors"):
            kind = entities.part(self._part_kind, "record_errors")
            values["record_errors"] = tuple(
                [kind(batch_index=at, batch_index_error_message=text) for at, text in wrong]
            )
        if leader is not None:
            values["current_leader"] = leader
        self._topics[-1][1].append(entities.make(self._part_kind, **values))
