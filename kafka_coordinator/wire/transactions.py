"""Requests about transactions on the wire (spec 12): `kafka_coordinator.transactions` knows what to answer, and
`kafka_coordinator.wire.markers` writes to the partitions of a transaction that has ended.

In Kafka `KafkaApis.handleInitProducerIdRequest`, `handleAddPartitionsToTransactionRequest` and `handleEndTxnRequest`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kio.static.protocol import Entity

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.log import offsets_partition
from kafka_coordinator.coordinator.refusals import commit_refused
from kafka_coordinator.coordinator.transactional_offsets import has_room
from kafka_coordinator.errors import (
    COORDINATOR_NOT_AVAILABLE,
    INVALID_PRODUCER_EPOCH,
    INVALID_REQUEST,
    NONE,
    OPERATION_NOT_ATTEMPTED,
    PRODUCER_FENCED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kafka_coordinator.messages import TxnOffsetCommit
from kafka_coordinator.transactions import Ended, Producer
from kafka_coordinator.wire import markers, requests
from kafka_coordinator.wire.entities import Kind, RefusedError, code, make, part, response
from kafka_coordinator.wire.records.partitions import OFFSETS_TOPIC
from kafka_coordinator.wire.records.produce import of_writer
from kafka_coordinator.wire.requests import Answer, Request, Rests, Work, answered
from kafka_coordinator.wire.state import NO_THROTTLE, BrokerState, Handler, milliseconds
from protocols.engine.nodes import Message, Outbox, Time, TimerName

if TYPE_CHECKING:
    from kio.schema.add_partitions_to_txn.v5.request import AddPartitionsToTxnTransaction

TRANSACTIONS: Final[TimerName] = ("transactions",)
"""The timer of the search for transactions that take too long."""

_FENCED_SINCE: Final[Mapping[type[Request], int]] = {
    requests.InitProducerId: 4,
    requests.AddPartitionsToTxn: 2,
    requests.AddOffsetsToTxn: 2,
    requests.EndTxn: 2,
}
"""The version from which on a fenced producer is told PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH (KIP-588)."""
_BUMPS_SINCE: Final = 5
"""From this version of EndTxn on the producer's epoch goes up with each transaction (KIP-890)."""
_ADDS_SINCE: Final = 5
"""From this version of TxnOffsetCommit on it adds the group to the transaction; before, AddOffsetsToTxn did."""


class FenceProducer(NamedTuple):
    """A command: another producer has begun with this id. A broker that does not coordinate it does nothing."""

    transactional_id: str


# Producers.


def init_producer_id(state: BrokerState, now: Time, sender: str, request: requests.InitProducerId, out: Outbox) -> None:
    """A producer begins, idempotent (a new id with epoch 0) or transactional (the next epoch of its id)."""
    body = request.body
    claim = Producer(getattr(body, "producer_id", -1), getattr(body, "producer_epoch", -1))
    found, error, ended = Producer(), NONE, None
    if (claim.id == -1) != (claim.epoch == -1):
        error = INVALID_REQUEST
    elif body.transactional_id is None:
        found = Producer(state.storage.new_producer_id(), 0)
    else:
        error = _coordinator_error(state, body.transactional_id)
        if error == NONE:
            timeout_ms = milliseconds(body.transaction_timeout)
            error, found, ended = state.storage.transactions.init(body.transactional_id, timeout_ms, claim)
    _answer(state, now, sender, request, error, out, ended, producer_id=found.id, producer_epoch=found.epoch)


def fence(state: BrokerState, now: Time, message: FenceProducer, out: Outbox) -> None:
    """An open transaction is aborted; what the producer asks from now on is of an epoch before."""
    transactions, name = state.storage.transactions, message.transactional_id
    known = transactions.get(name)
    if known is not None and _coordinator_error(state, name) == NONE:
        ended = transactions.init(name, known.timeout_ms, Producer()).ended
        markers.write_later(state, now, ended, out)
        if ended is not None:
            transactions.init(name, known.timeout_ms, Producer())


def end_transaction(state: BrokerState, now: Time, sender: str, request: requests.EndTxn, out: Outbox) -> None:
    """Commit or abort: markers are written before the answer."""
    body = request.body
    error, found, ended = _coordinator_error(state, body.transactional_id), Producer(), None
    if error == NONE:
        error, found, ended = state.storage.transactions.end(
            now,
            body.transactional_id,
            Producer(body.producer_id, body.producer_epoch),
            commits=body.committed,
            bumps=request.version >= _BUMPS_SINCE,
        )
    _answer(state, now, sender, request, error, out, ended, producer_id=found.id, producer_epoch=found.epoch)


def time_out(state: BrokerState, now: Time, out: Outbox) -> None:
    """Abort the transactions that have taken too long, of the ids that this broker coordinates; look again later."""
    transactions = state.storage.transactions
    for ended in transactions.time_out(now, lambda name: _coordinator_error(state, name) == NONE):
        markers.write_later(state, now, ended, out)
    start(state, now, out)


def start(state: BrokerState, now: Time, out: Outbox) -> None:
    every = state.storage.transactions.settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
    out.set_timer(TRANSACTIONS, now + every)


def _answer(
    state: BrokerState,
    now: Time,
    sender: str,
    request: Request,
    error: str,
    out: Outbox,
    ended: Ended | None = None,
    **values: object,
) -> None:
    """Answer when the markers of the transaction that has ``ended`` are written."""
    kind = response(requests.KEYS[type(request)], request.version)
    answer = make(kind, throttle_time=NO_THROTTLE, error_code=code(_told(request, error)), **values)

    def made() -> Work:
        yield from markers.write(state, now, ended, out)
        return answer

    out.send(sender, answered(request.correlation, made()))


def _told(request: Request, error: str) -> str:
    is_old = error == PRODUCER_FENCED and request.version < _FENCED_SINCE[type(request)]
    return INVALID_PRODUCER_EPOCH if is_old else error


def _coordinator_error(state: BrokerState, transactional_id: str) -> str:
    return state.broker.coordinator.core.refusal(transactional_id) if transactional_id else NONE


# Partitions of a transaction.


def add_partitions(
    state: BrokerState, now: Time, sender: str, request: requests.AddPartitionsToTxn, out: Outbox
) -> None:
    """Partitions are added to transactions, or it is verified that they have them."""
    body, kind = request.body, response(requests.KEYS[requests.AddPartitionsToTxn], request.version)
    if not hasattr(body, "transactions"):
        found = _added(
            state,
            now,
            request,
            body.v3_and_below_transactional_id,
            Producer(body.v3_and_below_producer_id, body.v3_and_below_producer_epoch),
            body.v3_and_below_topics,
            part(kind, "results_by_topic_v3_and_below"),
        )
        answer = make(kind, throttle_time=NO_THROTTLE, results_by_topic_v3_and_below=found)
        out.send(sender, Answer(request.correlation, answer))
        return
    out.send(sender, answered(request.correlation, _all_added(state, now, request, body.transactions)))


def _all_added(
    state: BrokerState, now: Time, request: Request, transactions: "Sequence[AddPartitionsToTxnTransaction]"
) -> Work:
    kind, rests = response(requests.KEYS[requests.AddPartitionsToTxn], request.version), Rests()
    item, results = part(kind, "results_by_transaction"), []
    for each in transactions:
        if rests.due():
            yield
        claim = Producer(each.producer_id, each.producer_epoch)
        told = part(item, "topic_results")
        name = each.transactional_id
        found = _added(state, now, request, name, claim, each.topics, told, only_verify=each.verify_only)
        results.append(item(transactional_id=name, topic_results=found))
    return make(kind, throttle_time=NO_THROTTLE, error_code=code(NONE), results_by_transaction=tuple(results))


def _added(
    state: BrokerState,
    now: Time,
    request: Request,
    transactional_id: str,
    claim: Producer,
    topics: Iterable[Any],
    kind: Kind,
    *,
    only_verify: bool = False,
) -> tuple[Entity, ...]:
    """Results by topic. Where a partition is unknown, none is added."""
    asked = [(topic.name, number) for topic in topics for number in topic.partitions]
    missing = [each for each in asked if not 0 <= each[1] < len(state.cluster.topics.get(each[0], ()))]
    transactions, errors = state.storage.transactions, dict[Partition, str]()
    if missing:
        errors = dict.fromkeys(asked, OPERATION_NOT_ATTEMPTED) | dict.fromkeys(missing, UNKNOWN_TOPIC_OR_PARTITION)
    else:
        error = _coordinator_error(state, transactional_id)
        if error == NONE and only_verify:
            errors = {each: transactions.verify(transactional_id, claim, each) for each in asked}
        else:
            error = error if error != NONE else transactions.add(now, transactional_id, claim, asked)
            errors = dict.fromkeys(asked, error)
    item = part(kind, "results_by_partition")
    return tuple(
        [
            kind(
                name=topic.name,
                results_by_partition=tuple(
                    [
                        item(
                            partition_index=number,
                            partition_error_code=code(_told(request, errors[topic.name, number])),
                        )
                        for number in topic.partitions
                    ]
                ),
            )
            for topic in topics
        ]
    )


def add_offsets(state: BrokerState, now: Time, sender: str, request: requests.AddOffsetsToTxn, out: Outbox) -> None:
    """The group's partition of ``__consumer_offsets`` is added to the transaction."""
    body = request.body
    error = _coordinator_error(state, body.transactional_id)
    if error == NONE:
        claim, partition = Producer(body.producer_id, body.producer_epoch), _of_group(state, body.group_id)
        error = state.storage.transactions.add(now, body.transactional_id, claim, (partition,))
    _answer(state, now, sender, request, error, out)


def _of_group(state: BrokerState, group: str) -> Partition:
    return OFFSETS_TOPIC, offsets_partition(group, len(state.cluster.offsets_leaders))


def commit_offsets(state: BrokerState, now: Time, sender: str, request: TxnOffsetCommit, out: Outbox) -> None:
    """The group's coordinator keeps offsets, once it is known that the transaction has the group."""
    core = state.broker.coordinator.core
    error = NONE if core.refusal(request.group) != NONE else _verified(state, now, request)
    bounds = state.storage.bounds
    if error == NONE and not (
        has_room(core, request, bounds.pending_offset_bytes)
        and state.offset_room.make(core, now, request, bounds.offset_bytes, out)
    ):
        error = COORDINATOR_NOT_AVAILABLE
    if error != NONE:
        out.send(sender, commit_refused(request, error))
        return
    state.broker.receive(now, sender, request, out)
    if request.producer_id in core.pending.get(request.group, {}):
        producers = state.storage.offsets_producers(core.partition_of(request.group))
        producers.latest(request.producer_id, request.producer_epoch, state.storage.unix_ms(now))
        producers.transactions.wrote(request.producer_id, 0)


def _verified(state: BrokerState, now: Time, request: TxnOffsetCommit) -> str:
    """NONE: the transaction has the group, from now on where the version adds it; else an error's name."""
    transactions, partition = state.storage.transactions, _of_group(state, request.group)
    claim, error = Producer(request.producer_id, request.producer_epoch), NONE
    producers = state.storage.offsets_producers(partition[1])
    try:
        if producers.must_verify(*claim):
            if request.version >= _ADDS_SINCE:
                error = transactions.add(now, request.transactional_id, claim, (partition,))
            else:
                error = transactions.verify(request.transactional_id, claim, partition)
    except RefusedError:
        error = INVALID_PRODUCER_EPOCH
    return of_writer(error, knows_abortable=request.version >= _ADDS_SINCE - 1)


HANDLERS: Final[Mapping[type[Message], Handler]] = {
    requests.InitProducerId: init_producer_id,
    requests.AddPartitionsToTxn: add_partitions,
    requests.AddOffsetsToTxn: add_offsets,
    TxnOffsetCommit: commit_offsets,
    requests.EndTxn: end_transaction,
    FenceProducer: lambda state, now, sender, message, out: fence(state, now, message, out),
    **markers.HANDLERS,
}
