"""The calls of a client's threads as requests to brokers and name servers, and the answers as their values
(``MQClientAPIImpl``): with the heartbeats (``sendHeartbeatToAllBrokerWithLock``; spec 2.1, 3.3, 3.5), and the routes
that a name server tells (``updateTopicRouteInfoFromNameServer``; spec 1.5)."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from protocols.engine.nodes import Message, Outbox, Time
from protocols.java import Queue, sorted_as_java, string_entry_order
from rocketmq_selfbalance.client import blocking, threads
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.instance import Begin, Instance, Understand, Wait, WakeUp
from rocketmq_selfbalance.codes import MASTER_ID, QUERY_NOT_FOUND, SUCCESS
from rocketmq_selfbalance.messages import nameserver, offsets
from rocketmq_selfbalance.messages.membership import (
    ConsumerData,
    ConsumerList,
    GetConsumerListByGroup,
    HeartBeat,
    Subscription,
    UnregisterClient,
)
from rocketmq_selfbalance.messages.popping import QueryAssignment, QueuesToAsk
from rocketmq_selfbalance.messages.requests import Answer, LockBatchMq, LockBatchMqAnswer, UnlockBatchMq
from rocketmq_selfbalance.pop import POP


class Beat(NamedTuple):
    """``sendHeartbeatToAllBrokerWithLock``: one round to all known addresses, unless another thread is at it. Leaves
    whether it was carried out."""

    def do(self, client: Instance, now: Time, thread: threads.Thread, out: Outbox) -> None:
        thread.value = False
        if client.heartbeating:
            return
        addresses = addresses_in_turn(client)
        if not addresses or not client.active():
            return
        client.heartbeating = True
        thread.push(_TellNext(addresses), _RoundDone(True))


class TellNewConnection(NamedTuple):
    """A connection to this address became active: ``sendHeartbeatToBroker`` says who is here; where that was told, the
    rebalance thread is woken."""

    address: str

    def do(self, client: Instance, now: Time, thread: threads.Thread, out: Outbox) -> threads.Call | None:
        if client.heartbeating or not client.active():
            return None
        client.heartbeating = True
        thread.push(_Told(self.address))
        return threads.TellBroker(self.address)


class _Told(NamedTuple):
    address: str

    def do(self, client: Instance, now: Time, thread: threads.Thread, out: Outbox) -> None:
        client.heartbeating = False
        if thread.value is True:
            thread.push(WakeUp(f"connection to {self.address}"))


class _TellNext(NamedTuple):
    addresses: tuple[str, ...]

    def do(self, client: Instance, now: Time, thread: threads.Thread, out: Outbox) -> threads.Call | None:
        if not self.addresses:
            return None
        thread.push(_TellNext(self.addresses[1:]))
        return threads.TellBroker(self.addresses[0])


class _RoundDone(NamedTuple):
    carried_out: bool

    def do(self, client: Instance, now: Time, thread: threads.Thread, out: Outbox) -> None:
        client.heartbeating = False
        thread.value = self.carried_out


def consumer_data(consumer: Consumer) -> ConsumerData:
    """What a heartbeat says of this consumer: the same object while that does not change."""
    if consumer.data is None:
        topics = sorted_as_java(consumer.subscriptions)
        consumer.data = ConsumerData(
            consumer.group,
            consumer.consume_type,
            consumer.message_model,
            consumer.consume_from_where,
            tuple(Subscription(topic, "*", consumer.subscriptions[topic]) for topic in topics),
        )
    return consumer.data


def addresses_in_turn(client: Instance) -> tuple[str, ...]:
    """All known addresses, in the order in which a client goes round the brokers: that of its map of their names."""
    return tuple(
        client.addresses[broker][number]
        for broker in string_entry_order(list(client.addresses))
        for number in sorted(client.addresses[broker])
    )


def drop_offline(client: Instance) -> None:
    """``cleanOfflineBroker``: forget the addresses that no cached route mentions any more."""
    known = {address for route in client.routes.values() for data in route.brokers for _, address in data.addresses}
    for broker, addresses in list(client.addresses.items()):
        for number in [number for number, address in addresses.items() if address not in known]:
            del addresses[number]
        if not addresses:
            del client.addresses[broker]


def on_channel_active(client: Instance, now: Time, broker: str, out: Outbox) -> None:
    """``onChannelActive`` (5.x): there is a new connection to this broker, which is to hear who is here.

    When the process has just gone on after it hung, everything happens at once: the pass asks who is in the group, over
    the connection of which the broker is told. It lists the members sooner than it takes in one (in recordings a
    heartbeat took it 8 to 22 ms then), so that the whole pass finds that this client is none.
    """
    service = client.service
    if service.in_pass and broker in service.rejoining:
        service.rejoining[broker] = True
    else:
        service.rejoining.pop(broker, None)
        tell_new_connection(client, now, broker, out)


def tell_new_connection(client: Instance, now: Time, broker: str, out: Outbox) -> None:
    blocking.run(client, now, f"connection to {broker}", (TellNewConnection(broker),), out)


def _heartbeat(client: Instance, number: int, call: threads.TellBroker) -> HeartBeat:
    return HeartBeat(number, client.client_id, tuple(consumer_data(consumer) for consumer in client.active()))


def refresh(
    client: Instance, now: Time, name: str, thread: threads.Thread, call: threads.RefreshRoute, out: Outbox
) -> Wait:
    server = client.name_servers[client.name_server]
    timeout = client.settings.instance.mq_client_api_timeout_ms
    return blocking.ask(
        client, now, name, server, timeout, nameserver.GetRouteInfo(client.next_correlation(), call.topic), out
    )


def answered(client: Instance, call: threads.RefreshRoute, message: nameserver.RouteInfoAnswer) -> None:
    """Take the route over. A topic that does not exist (any more) keeps what the client knew."""
    if message.code == SUCCESS and message.route is not None:
        take_over(client, call.topic, message.route)


def take_over(client: Instance, topic: str, route: nameserver.Route) -> None:
    """Replace the cached route, the addresses, and the queue sets of the consumers that subscribe to the topic, where
    the route is another than before or a consumer lacks it. That wakes nobody."""
    readers = [consumer for consumer in client.consumers.values() if topic in consumer.subscriptions]
    if client.routes.get(topic) == route and all(topic in consumer.routes for consumer in readers):
        return
    client.addresses.update(nameserver.addresses_of(route))
    queues = nameserver.subscribe_queues(topic, route)
    for consumer in readers:
        consumer.set_route(topic, queues)
    client.routes[topic] = route
    client.askable[topic] = nameserver.askable(route.brokers)


def name_server_failed(client: Instance, address: str) -> None:
    """The name server that was asked does not answer: the next one is asked from now on."""
    if client.name_servers[client.name_server] == address:
        client.name_server = (client.name_server + 1) % len(client.name_servers)


def _members(
    client: Instance, now: Time, name: str, thread: threads.Thread, call: threads.AskMembers, out: Outbox
) -> Wait | threads.Failure:
    known = client.askable.get(call.topic)
    if not known:
        return threads.Failure.FAILED
    addresses = out.choose(threads.BROKER_ASKED, known)
    address = addresses.get(MASTER_ID) or out.choose("replica asked", sorted(addresses.values()))
    request = GetConsumerListByGroup(client.next_correlation(), call.group)
    return blocking.ask(client, now, name, address, client.settings.instance.mq_client_api_timeout_ms, request, out)


def _assignment(
    client: Instance, now: Time, name: str, thread: threads.Thread, call: threads.AskAssignment, out: Outbox
) -> Wait | threads.Failure:
    known = client.askable.get(call.topic)
    if not known:
        return threads.Failure.FAILED
    addresses, consumer = out.choose(threads.BROKER_ASKED, known), client.consumer(call.group)
    address = addresses.get(MASTER_ID) or out.choose("replica asked", sorted(addresses.values()))
    who = call.topic, call.group, client.client_id, consumer.strategy.name, consumer.message_model
    request = QueryAssignment(client.next_correlation(), *who)
    return blocking.ask(client, now, name, address, client.settings.instance.mq_client_api_timeout_ms, request, out)


def _asks(of: str, question: Callable[[Instance, int, Any], Message]) -> Begin:
    """How a call begins that the broker at its address answers. ``of``: the setting that says after how many
    milliseconds it is overdue; ``question``: of instance, number and call the request."""

    def begin(client: Instance, now: Time, name: str, thread: threads.Thread, call: Any, out: Outbox) -> Wait:
        request = question(client, client.next_correlation(), call)
        return blocking.ask(client, now, name, call.address, getattr(client.settings.instance, of), request, out)

    return begin


def consume_lock_free(client: Instance, now: Time, group: str, queue: Queue, out: Outbox) -> None:
    """No listener works on the queue any more: the thread that waits for that has the lock."""
    for name, thread in list(client.threads.items()):
        waiting = thread.waiting
        if isinstance(waiting, threads.AwaitConsumeLock) and waiting.group == group and waiting.queue == queue:
            out.cancel_timer(("thread", name))
            blocking.resume(client, now, name, True, out)


CALLS: Mapping[type, Begin] = {
    threads.AskMembers: _members,
    threads.AskAssignment: _assignment,
    threads.RefreshRoute: refresh,
    threads.QueryOffset: _asks(
        "offset_timeout_ms", lambda client, number, call: offsets.QueryConsumerOffset(number, call.group, call.queue)
    ),
    threads.AskMaxOffset: _asks(
        "offset_timeout_ms", lambda client, number, call: offsets.GetMaxOffset(number, call.queue)
    ),
    threads.AskOffsetAt: _asks(
        "offset_timeout_ms",
        lambda client, number, call: offsets.SearchOffsetByTimestamp(number, call.queue, call.timestamp),
    ),
    threads.LockQueues: _asks(
        "lock_timeout_ms",
        lambda client, number, call: LockBatchMq(number, call.group, client.client_id, call.queues),
    ),
    threads.UnlockQueues: _asks(
        "lock_timeout_ms",
        lambda client, number, call: UnlockBatchMq(number, call.group, client.client_id, call.queues),
    ),
    threads.Unregister: _asks(
        "mq_client_api_timeout_ms",
        lambda client, number, call: UnregisterClient(number, client.client_id, call.group),
    ),
    threads.TellBroker: _asks("mq_client_api_timeout_ms", _heartbeat),
    threads.HeartbeatToAll: lambda client, now, name, thread, call, out: thread.push(Beat()),
    threads.Sleep: lambda client, now, name, thread, call, out: blocking.wait(client, now, name, call.duration, out),
    threads.AwaitConsumeLock: lambda client, now, name, thread, call, out: blocking.wait(
        client, now, name, call.at_most, out
    ),
}


def _offset(client: Instance, call: threads.Call, message: offsets.OffsetAnswer) -> int | threads.Failure:
    if message.code == SUCCESS:
        return message.offset
    return threads.Failure.NOT_FOUND if message.code == QUERY_NOT_FOUND else threads.Failure.FAILED


def _assigned(client: Instance, call: threads.Call, message: QueuesToAsk) -> threads.Assigned | None:
    if message.queues is None:
        return None
    popped = message.mode == POP
    return threads.Assigned(() if popped else message.queues, message.queues if popped else ())


ANSWERS: Mapping[type, Understand] = {
    ConsumerList: lambda client, call, message: (
        message.client_ids if message.code == SUCCESS else threads.Failure.FAILED
    ),
    QueuesToAsk: _assigned,
    nameserver.RouteInfoAnswer: answered,
    offsets.OffsetAnswer: _offset,
    LockBatchMqAnswer: lambda client, call, message: (
        message.locked if message.code == SUCCESS else threads.Failure.FAILED
    ),
    Answer: lambda client, call, message: message.code == SUCCESS,
}
"""Messages that answer a thread's call. (`Answer` to a record that was sent back is another matter.)"""
