"""What the client knows of topics and brokers, and how it learns it from a name server
(``updateTopicRouteInfoFromNameServer``; spec 1.5).

The calls of a client's threads as requests to brokers, and the answers as their values (``MQClientAPIImpl``).
"""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from protocols.engine.nodes import Message, Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client import blocking, heartbeat
from rocketmq_selfbalance.client.instance import Begin, Instance, Understand, Wait
from rocketmq_selfbalance.client.threads import (
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
    Thread,
    UnlockQueues,
    Unregister,
)
from rocketmq_selfbalance.codes import MASTER_ID, QUERY_NOT_FOUND, SUCCESS
from rocketmq_selfbalance.messages.membership import ConsumerList, GetConsumerListByGroup, UnregisterClient
from rocketmq_selfbalance.messages.nameserver import (
    GetRouteInfo,
    Route,
    RouteInfoAnswer,
    addresses_of,
    askable,
    subscribe_queues,
)
from rocketmq_selfbalance.messages.offsets import (
    GetMaxOffset,
    OffsetAnswer,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
)
from rocketmq_selfbalance.messages.requests import Answer, LockBatchMq, LockBatchMqAnswer, UnlockBatchMq


def refresh(client: Instance, now: Time, name: str, thread: Thread, call: RefreshRoute, out: Outbox) -> Wait:
    """The call `RefreshRoute`."""
    server = client.name_servers[client.name_server]
    timeout = client.settings.instance.mq_client_api_timeout_ms
    return blocking.ask(client, now, name, server, timeout, GetRouteInfo(client.next_correlation(), call.topic), out)


def answered(client: Instance, call: RefreshRoute, message: RouteInfoAnswer) -> None:
    """Take the route over. A topic that does not exist (any more) keeps what the client knew."""
    if message.code == SUCCESS and message.route is not None:
        take_over(client, call.topic, message.route)


def take_over(client: Instance, topic: str, route: Route) -> None:
    """Replace the cached route, the addresses, and the queue sets of the consumers that subscribe to the topic, where
    the route is another than before or a consumer lacks it. That wakes nobody."""
    readers = [consumer for consumer in client.consumers.values() if topic in consumer.subscriptions]
    if client.routes.get(topic) == route and all(topic in consumer.routes for consumer in readers):
        return
    client.addresses.update(addresses_of(route))
    queues = subscribe_queues(topic, route)
    for consumer in readers:
        consumer.set_route(topic, queues)
    client.routes[topic] = route
    client.askable[topic] = askable(route.brokers)


def name_server_failed(client: Instance, address: str) -> None:
    """The name server that was asked does not answer: the next one is asked from now on."""
    if client.name_servers[client.name_server] == address:
        client.name_server = (client.name_server + 1) % len(client.name_servers)


def _members(client: Instance, now: Time, name: str, thread: Thread, call: AskMembers, out: Outbox) -> Wait | Failure:
    known = client.askable.get(call.topic)
    if not known:
        return Failure.FAILED
    addresses = out.choose(BROKER_ASKED, known)
    address = addresses.get(MASTER_ID) or out.choose("replica asked", sorted(addresses.values()))
    request = GetConsumerListByGroup(client.next_correlation(), call.group)
    return blocking.ask(client, now, name, address, client.settings.instance.mq_client_api_timeout_ms, request, out)


class _ToBroker(Protocol):
    """A call that is answered by the broker at this address."""

    @property
    def address(self) -> str: ...


C = TypeVar("C", bound=_ToBroker)


def _asks(question: Callable[[Instance, C], tuple[Time, Message]]) -> Begin:
    """How such a call begins. ``question``: milliseconds until it is overdue, and the request."""

    def begin(client: Instance, now: Time, name: str, thread: Thread, call: C, out: Outbox) -> Wait:
        timeout, request = question(client, call)
        return blocking.ask(client, now, name, call.address, timeout, request, out)

    return begin


@_asks
def _query(client: Instance, call: QueryOffset) -> tuple[Time, Message]:
    request = QueryConsumerOffset(client.next_correlation(), call.group, call.queue)
    return client.settings.instance.offset_timeout_ms, request


@_asks
def _max_offset(client: Instance, call: AskMaxOffset) -> tuple[Time, Message]:
    return client.settings.instance.offset_timeout_ms, GetMaxOffset(client.next_correlation(), call.queue)


@_asks
def _offset_at(client: Instance, call: AskOffsetAt) -> tuple[Time, Message]:
    request = SearchOffsetByTimestamp(client.next_correlation(), call.queue, call.timestamp)
    return client.settings.instance.offset_timeout_ms, request


@_asks
def _lock(client: Instance, call: LockQueues) -> tuple[Time, Message]:
    request = LockBatchMq(client.next_correlation(), call.group, client.client_id, call.queues)
    return client.settings.instance.lock_timeout_ms, request


@_asks
def _unlock(client: Instance, call: UnlockQueues) -> tuple[Time, Message]:
    request = UnlockBatchMq(client.next_correlation(), call.group, client.client_id, call.queues)
    return client.settings.instance.lock_timeout_ms, request


@_asks
def _unregister(client: Instance, call: Unregister) -> tuple[Time, Message]:
    request = UnregisterClient(client.next_correlation(), client.client_id, call.group)
    return client.settings.instance.mq_client_api_timeout_ms, request


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


CALLS: Mapping[type, Begin] = {
    AskMembers: _members,
    RefreshRoute: refresh,
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


ANSWERS: Mapping[type, Understand] = {
    ConsumerList: _listed,
    RouteInfoAnswer: answered,
    OffsetAnswer: _offset,
    LockBatchMqAnswer: _locked,
    Answer: heartbeat.understood,
}
"""Messages that answer a thread's call. (`Answer` to a record that was sent back is another matter.)"""
