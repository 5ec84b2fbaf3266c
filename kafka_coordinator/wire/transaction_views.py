"""Transactions as administrators see them: DescribeTransactions, ListTransactions, DescribeProducers (spec 12.9).

In Kafka `TransactionCoordinator.handleDescribeTransactions`, `TransactionStateManager.listTransactionStates` and
`ReplicaManager.activeProducerState`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.coordinator.consumer_groups.patterns import BadPattern, compiled
from kafka_coordinator.errors import INVALID_REQUEST, NONE, TRANSACTIONAL_ID_NOT_FOUND
from kafka_coordinator.transactions.states import NAMES, ONGOING
from kafka_coordinator.wire import requests
from kafka_coordinator.wire.entities import Kind, RefusedError, code, make, part, response
from kafka_coordinator.wire.group_views import made_of
from kafka_coordinator.wire.opaque import by_topic
from kafka_coordinator.wire.records.partitions import led
from kafka_coordinator.wire.requests import Answer, Rests, Work, answered
from kafka_coordinator.wire.state import NO_THROTTLE, BrokerState, Handler
from protocols.engine.nodes import Message, Outbox, Time

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_TIME: Final = _EPOCH - timedelta(milliseconds=1)
"""What the codec writes as -1."""


def describe_transactions(
    state: BrokerState, now: Time, sender: str, request: requests.DescribeTransactions, out: Outbox
) -> None:
    """State, timeout, begin and partitions of each of the ids."""
    out.send(sender, answered(request.correlation, _all_transactions(state, request)))


def _all_transactions(state: BrokerState, request: requests.DescribeTransactions) -> Work:
    kind = response(requests.KEYS[requests.DescribeTransactions], request.version)
    described = partial(_described, state, part(kind, "transaction_states"))
    told = yield from made_of(request.body.transactional_ids, Rests(), described)
    return make(kind, throttle_time=NO_THROTTLE, transaction_states=told)


def _described(state: BrokerState, kind: Kind, name: str) -> Entity:
    known = state.storage.transactions.get(name)
    error = state.broker.coordinator.core.refusal(name) if name else INVALID_REQUEST
    if error == NONE and known is None:
        error = TRANSACTIONAL_ID_NOT_FOUND
    if known is None or error != NONE:
        return kind(
            error_code=code(error),
            transactional_id=name,
            transaction_state="",
            transaction_timeout=timedelta(0),
            transaction_start_time=_EPOCH,
            producer_id=0,
            producer_epoch=0,
            topics=(),
        )
    topic_kind = part(kind, "topics")
    began = known.began
    return kind(
        error_code=code(NONE),
        transactional_id=name,
        transaction_state=known.state,
        transaction_timeout=timedelta(milliseconds=known.timeout_ms),
        transaction_start_time=_NO_TIME
        if began is None
        else _EPOCH + timedelta(milliseconds=state.storage.unix_ms(began)),
        producer_id=known.producer.id,
        producer_epoch=known.producer.epoch,
        topics=tuple([topic_kind(topic=topic, partitions=numbers) for topic, numbers in by_topic(known.partitions)]),
    )


def list_transactions(
    state: BrokerState, now: Time, sender: str, request: requests.ListTransactions, out: Outbox
) -> None:
    """The ids that this broker coordinates, and their states; those that pass the filters."""
    body, core = request.body, state.broker.coordinator.core
    kind = response(requests.KEYS[requests.ListTransactions], request.version)
    item = part(kind, "transaction_states")
    duration, pattern = getattr(body, "duration_filter", -1), getattr(body, "transactional_id_pattern", None)
    wanted = frozenset(body.state_filters)
    told, error, matches = [], ErrorCode.none, None
    try:
        matches = compiled(pattern) if pattern else None
    except BadPattern:
        error = ErrorCode.invalid_regular_expression
    for each in state.storage.transactions if error is ErrorCode.none else ():
        is_open_for = now - each.began if each.state == ONGOING and each.began is not None else -1
        if (
            core.refusal(each.id) == NONE
            and (not wanted or each.state in wanted)
            and (not body.producer_id_filters or each.producer.id in body.producer_id_filters)
            and (duration < 0 or is_open_for > duration)
            and (matches is None or matches.fullmatch(each.id))
        ):
            told.append(item(transactional_id=each.id, producer_id=each.producer.id, transaction_state=each.state))
    unknown = tuple([name for name in body.state_filters if name not in NAMES])
    answer = make(
        kind,
        throttle_time=NO_THROTTLE,
        error_code=error,
        unknown_state_filters=unknown,
        transaction_states=tuple(told),
    )
    out.send(sender, Answer(request.correlation, answer))


def describe_producers(
    state: BrokerState, now: Time, sender: str, request: requests.DescribeProducers, out: Outbox
) -> None:
    """Who writes to a partition with sequence numbers, and where its open transaction begins."""
    out.send(sender, answered(request.correlation, _all_producers(state, request)))


def _all_producers(state: BrokerState, request: requests.DescribeProducers) -> Work:
    kind, rests = response(requests.KEYS[requests.DescribeProducers], request.version), Rests()
    topic_kind, topics = part(kind, "topics"), []
    for topic in request.body.topics:
        found = partial(_producers, state, part(topic_kind, "partitions"), topic.name)
        partitions = yield from made_of(topic.partition_indexes, rests, found)
        topics.append(topic_kind(name=topic.name, partitions=partitions))
    return make(kind, throttle_time=NO_THROTTLE, topics=tuple(topics))


def _producers(state: BrokerState, kind: Kind, topic: str, number: int) -> Entity:
    error, told = ErrorCode.none, []
    try:
        log = led(state, topic, number)
        item = part(kind, "active_producers")
        told = [
            item(
                producer_id=producer_id,
                producer_epoch=each.epoch,
                last_sequence=each.last_sequence,
                last_timestamp=each.timestamp,
                coordinator_epoch=each.marked_by,
                current_txn_start_offset=log.transactions.open.get(producer_id, -1),
            )
            for producer_id, each in log.producers.items()
        ]
    except RefusedError as refused:
        error = refused.code
    return kind(partition_index=number, error_code=error, error_message=None, active_producers=tuple(told))


HANDLERS: Final[Mapping[type[Message], Handler]] = {
    requests.DescribeTransactions: describe_transactions,
    requests.ListTransactions: list_transactions,
    requests.DescribeProducers: describe_producers,
}
