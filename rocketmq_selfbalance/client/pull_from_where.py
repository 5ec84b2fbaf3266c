"""Where a new owner starts to read a queue: ``computePullFromWhere`` of ``RebalancePushImpl`` (spec 5.3)."""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client.consumer import PULL, PUSH
from rocketmq_selfbalance.client.offset_store import NONE, ReadFrom, RemoteOffsets
from rocketmq_selfbalance.client.persisting import World
from rocketmq_selfbalance.client.threads import (
    AskMaxOffset,
    AskOffsetAt,
    Call,
    Failure,
    Handlers,
    QueryOffset,
    RefreshRoute,
    Thread,
)
from rocketmq_selfbalance.codes import (
    CONSUME_FROM_FIRST_OFFSET,
    CONSUME_FROM_TIMESTAMP,
    QUERY_NOT_FOUND,
    RETRY_PREFIX,
    SYSTEM_ERROR,
)

NO_ANSWER = -1
"""The code of an error that is no broker's answer."""


class Start(NamedTuple):
    """Where to start (negative: it cannot be told now) and why; the code of the error that the real client throws
    within, None where it throws none."""

    offset: int
    why: str
    error: int | None = None


class ComputePullFromWhere(NamedTuple):
    """``computePullFromWhere``: find out where to start; leaves a `Start`."""

    group: str
    queue: Queue


class ReadStored(NamedTuple):
    """Read the offset from memory or store; leaves the offset, or what stands for none (see `offset_store`)."""

    group: str
    queue: Queue
    source: ReadFrom


class QueryBroker(NamedTuple):
    """``fetchConsumeOffsetFromBroker``: ask the queue's broker for the committed offset. ``refreshed``: the route is
    fresh, any replica will do."""

    group: str
    queue: Queue
    refreshed: bool


class QueryAnswered(NamedTuple):
    group: str
    queue: Queue


class DecideStart(NamedTuple):
    group: str
    queue: Queue


class AskAdmin(NamedTuple):
    """Ask the master for the end of the queue, or for the offset at a time. ``refreshed``: the route is fresh."""

    queue: Queue
    timestamp: float | None
    refreshed: bool


class AdminAnswered(NamedTuple):
    group: str
    why: str


def compute_pull_from_where(
    world: World, now: Time, thread: Thread, step: ComputePullFromWhere, out: Outbox
) -> Call | None:
    consumer = world.consumer(step.group)
    if consumer.kind == PULL:
        thread.value = Start(0, "first")
        return None
    source = ReadFrom.STORE if consumer.kind == PUSH else ReadFrom.MEMORY_FIRST
    thread.push(ReadStored(step.group, step.queue, source), DecideStart(step.group, step.queue))
    return None


def _read(world: World, now: Time, thread: Thread, step: ReadStored, out: Outbox) -> Call | None:
    value = world.consumer(step.group).store.read(step.queue, step.source)
    if value is None:
        thread.push(QueryBroker(step.group, step.queue, False))
    thread.value = value
    return None


def _query(world: World, now: Time, thread: Thread, step: QueryBroker, out: Outbox) -> Call | None:
    broker = step.queue.broker
    address = world.master(broker)
    if address is None and step.refreshed:
        address = world.replica(broker)
    if address is not None:
        thread.push(QueryAnswered(step.group, step.queue))
        return QueryOffset(step.group, step.queue, address)
    if step.refreshed:
        thread.value = Failure.FAILED
        thread.push(QueryAnswered(step.group, step.queue))
        return None
    thread.push(QueryBroker(step.group, step.queue, True))
    return RefreshRoute(step.queue.topic)


def _answered(world: World, now: Time, thread: Thread, step: QueryAnswered, out: Outbox) -> Call | None:
    store = world.consumer(step.group).store
    assert isinstance(store, RemoteOffsets)
    thread.value = store.found(step.queue, thread.value)
    return None


def _decide(world: World, now: Time, thread: Thread, step: DecideStart, out: Outbox) -> Call | None:
    consumer, stored = world.consumer(step.group), thread.value
    thread.value = None
    if stored >= 0:
        thread.value = Start(stored, "committed")
    elif stored != NONE:
        # No usable offset: the push consumer throws, the lite pull consumer goes on with -1.
        thread.value = Start(-1, "", QUERY_NOT_FOUND if consumer.kind == PUSH else None)
    elif consumer.consume_from_where == CONSUME_FROM_FIRST_OFFSET:
        thread.value = Start(0, "first")
    elif consumer.consume_from_where == CONSUME_FROM_TIMESTAMP:
        if step.queue.topic.startswith(RETRY_PREFIX):
            thread.push(AskAdmin(step.queue, None, False), AdminAnswered(step.group, "last"))
        else:
            time = consumer.consume_timestamp
            thread.push(AskAdmin(step.queue, time, False), AdminAnswered(step.group, "timestamp"))
    elif step.queue.topic.startswith(RETRY_PREFIX):
        thread.value = Start(0, "first")
    else:
        thread.push(AskAdmin(step.queue, None, False), AdminAnswered(step.group, "last"))
    return None


def _ask_admin(world: World, now: Time, thread: Thread, step: AskAdmin, out: Outbox) -> Call | None:
    address = world.master(step.queue.broker)
    if address is None:
        if step.refreshed:
            thread.value = Failure.FAILED
            return None
        thread.push(AskAdmin(step.queue, step.timestamp, True))
        return RefreshRoute(step.queue.topic)
    if step.timestamp is None:
        return AskMaxOffset(step.queue, address)
    return AskOffsetAt(step.queue, address, step.timestamp)


def _admin_answered(world: World, now: Time, thread: Thread, step: AdminAnswered, out: Outbox) -> Call | None:
    answer = thread.value
    if isinstance(answer, Failure):
        thread.value = Start(-1, "", NO_ANSWER)
    elif answer < 0 and world.consumer(step.group).kind == PUSH:
        thread.value = Start(-1, "", SYSTEM_ERROR)
    else:
        thread.value = Start(answer, step.why)
    return None


HANDLERS: Handlers = {
    ComputePullFromWhere: compute_pull_from_where,
    ReadStored: _read,
    QueryBroker: _query,
    QueryAnswered: _answered,
    DecideStart: _decide,
    AskAdmin: _ask_admin,
    AdminAnswered: _admin_answered,
}
