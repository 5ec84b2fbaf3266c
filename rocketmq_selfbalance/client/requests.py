"""The calls of a client's threads as requests to brokers, and the answers as their values (``MQClientAPIImpl``)."""

from collections.abc import Mapping
from typing import Any

from protocols.engine.nodes import Outbox, Time
from protocols.queues import Queue
from rocketmq_selfbalance.client import blocking, heartbeat, routing
from rocketmq_selfbalance.client.calls import (
    BROKER_ASKED,
    AskMaxOffset,
    AskMembers,
    AskOffsetAt,
    AwaitConsumeLock,
    Call,
    Failure,
    HeartbeatToAll,
    LockQueues,
    QueryOffset,
    RefreshRoute,
    Sleep,
    TellBroker,
    UnlockQueues,
    Unregister,
)
from rocketmq_selfbalance.client.instance import Begin, Instance, Understand, Wait
from rocketmq_selfbalance.client.threads import Thread
from rocketmq_selfbalance.codes import MASTER_ID, QUERY_NOT_FOUND, SUCCESS
from rocketmq_selfbalance.messages.answer import Answer
from rocketmq_selfbalance.messages.locks import LockBatchMq, LockBatchMqAnswer, UnlockBatchMq
from rocketmq_selfbalance.messages.membership import ConsumerList, GetConsumerListByGroup, UnregisterClient
from rocketmq_selfbalance.messages.nameserver import RouteInfoAnswer
from rocketmq_selfbalance.messages.offsets import (
    GetMaxOffset,
    OffsetAnswer,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
)


def _members(client: Instance, now: Time, name: str, thread: Thread, call: AskMembers, out: Outbox) -> Wait | Failure:
    known = client.askable.get(call.topic)
    if not known:
        return Failure.FAILED
    addresses = out.choose(BROKER_ASKED, known)
    address = addresses.get(MASTER_ID) or out.choose("replica asked", sorted(addresses.values()))
    timeout = client.settings.instance.mq_client_api_timeout_ms
    return blocking.ask(
        client, now, name, address, timeout, GetConsumerListByGroup(client.next_correlation(), call.group), out
    )


def _query(client: Instance, now: Time, name: str, thread: Thread, call: QueryOffset, out: Outbox) -> Wait:
    timeout = client.settings.instance.offset_timeout_ms
    return blocking.ask(
        client,
        now,
        name,
        call.address,
        timeout,
        QueryConsumerOffset(client.next_correlation(), call.group, call.queue),
        out,
    )


def _max_offset(client: Instance, now: Time, name: str, thread: Thread, call: AskMaxOffset, out: Outbox) -> Wait:
    timeout = client.settings.instance.offset_timeout_ms
    return blocking.ask(
        client, now, name, call.address, timeout, GetMaxOffset(client.next_correlation(), call.queue), out
    )


def _offset_at(client: Instance, now: Time, name: str, thread: Thread, call: AskOffsetAt, out: Outbox) -> Wait:
    timeout = client.settings.instance.offset_timeout_ms
    return blocking.ask(
        client,
        now,
        name,
        call.address,
        timeout,
        SearchOffsetByTimestamp(client.next_correlation(), call.queue, call.timestamp),
        out,
    )


def _lock(client: Instance, now: Time, name: str, thread: Thread, call: LockQueues, out: Outbox) -> Wait:
    timeout, own = client.settings.instance.lock_timeout_ms, client.client_id
    return blocking.ask(
        client,
        now,
        name,
        call.address,
        timeout,
        LockBatchMq(client.next_correlation(), call.group, own, call.queues),
        out,
    )


def _unlock(client: Instance, now: Time, name: str, thread: Thread, call: UnlockQueues, out: Outbox) -> Wait:
    timeout, own = client.settings.instance.lock_timeout_ms, client.client_id
    return blocking.ask(
        client,
        now,
        name,
        call.address,
        timeout,
        UnlockBatchMq(client.next_correlation(), call.group, own, call.queues),
        out,
    )


def _unregister(client: Instance, now: Time, name: str, thread: Thread, call: Unregister, out: Outbox) -> Wait:
    timeout, own = client.settings.instance.mq_client_api_timeout_ms, client.client_id
    return blocking.ask(
        client, now, name, call.address, timeout, UnregisterClient(client.next_correlation(), own, call.group), out
    )


def _sleep(client: Instance, now: Time, name: str, thread: Thread, call: Sleep, out: Outbox) -> Wait:
    return blocking.wait(client, now, name, call.duration, out)


def _await_lock(client: Instance, now: Time, name: str, thread: Thread, call: AwaitConsumeLock, out: Outbox) -> Wait:
    return blocking.wait(client, now, name, call.at_most, out)


def consume_lock_free(client: Instance, now: Time, group: str, queue: Queue, out: Outbox) -> None:
    """No listener works on the queue any more: the thread that waits for that has the lock."""
    for name, thread in list(client.threads.items()):
        waiting = thread.waiting
        if isinstance(waiting, AwaitConsumeLock) and waiting.group == group and waiting.queue == queue:
            out.cancel_timer(("thread", name))
            blocking.resume(client, now, name, True, out)


CALLS: Mapping[type[Any], Begin] = {
    AskMembers: _members,
    RefreshRoute: routing.refresh,
    QueryOffset: _query,
    AskMaxOffset: _max_offset,
    AskOffsetAt: _offset_at,
    LockQueues: _lock,
    UnlockQueues: _unlock,
    AwaitConsumeLock: _await_lock,
    HeartbeatToAll: heartbeat.begin_round,
    Sleep: _sleep,
    TellBroker: heartbeat.tell_broker,
    Unregister: _unregister,
}


def _listed(client: Instance, call: Call, message: ConsumerList) -> tuple[str, ...] | Failure:
    return message.client_ids if message.code == SUCCESS else Failure.FAILED


def _locked(client: Instance, call: Call, message: LockBatchMqAnswer) -> tuple[Queue, ...] | Failure:
    return message.locked if message.code == SUCCESS else Failure.FAILED


def _offset(client: Instance, call: Call, message: OffsetAnswer) -> int | Failure:
    if message.code == SUCCESS:
        return message.offset
    return Failure.NOT_FOUND if message.code == QUERY_NOT_FOUND else Failure.FAILED


ANSWERS: Mapping[type[Any], Understand] = {
    ConsumerList: _listed,
    RouteInfoAnswer: routing.answered,
    OffsetAnswer: _offset,
    LockBatchMqAnswer: _locked,
    Answer: heartbeat.understood,
}
"""Messages that answer a thread's call. (`Answer` to a record that was sent back is another matter.)"""
