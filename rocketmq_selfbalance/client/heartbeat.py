"""Heartbeats: what a client tells the brokers about its consumers, and when (``sendHeartbeatToAllBrokerWithLock`` and
its siblings; spec 2.1, 3.3, 3.5)."""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java, string_entry_order
from rocketmq_selfbalance.client import blocking
from rocketmq_selfbalance.client.consumer import Consumer, WakeUp
from rocketmq_selfbalance.client.instance import Instance, Wait
from rocketmq_selfbalance.client.threads import Call, Handlers, HeartbeatToAll, TellBroker, Thread
from rocketmq_selfbalance.codes import SUCCESS
from rocketmq_selfbalance.messages.membership import ConsumerData, HeartBeat, Subscription
from rocketmq_selfbalance.messages.requests import Answer


class Beat(NamedTuple):
    """``sendHeartbeatToAllBrokerWithLock``: one round to all known addresses, unless another thread is at it. Leaves
    whether it was carried out."""


class TellNewConnection(NamedTuple):
    """A connection to this address became active: ``sendHeartbeatToBroker`` says who is here; where that was told, the
    rebalance thread is woken."""

    address: str


class _Told(NamedTuple):
    address: str


class _TellNext(NamedTuple):
    addresses: tuple[str, ...]


class _RoundDone(NamedTuple):
    carried_out: bool


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
    """The thread of connection events tells the broker who is here."""
    blocking.run(client, now, f"connection to {broker}", (TellNewConnection(broker),), out)


def begin_round(client: Instance, now: Time, name: str, thread: Thread, call: HeartbeatToAll, out: Outbox) -> None:
    """The call `HeartbeatToAll`: a round, of which the thread sees only whether it was carried out."""
    thread.push(Beat())


def tell_broker(client: Instance, now: Time, name: str, thread: Thread, call: TellBroker, out: Outbox) -> Wait:
    """The call `TellBroker`."""
    data = tuple(consumer_data(consumer) for consumer in client.active())
    timeout = client.settings.instance.mq_client_api_timeout_ms
    return blocking.ask(
        client, now, name, call.address, timeout, HeartBeat(client.next_correlation(), client.client_id, data), out
    )


def understood(client: Instance, call: Call, message: Answer) -> bool:
    """Whether the broker took what was asked."""
    return message.code == SUCCESS


def _beat(client: Instance, now: Time, thread: Thread, step: Beat, out: Outbox) -> Call | None:
    thread.value = False
    if client.heartbeating:
        return None
    addresses = addresses_in_turn(client)
    if not addresses or not client.active():
        return None
    client.heartbeating = True
    thread.push(_TellNext(addresses), _RoundDone(True))
    return None


def _tell_next(client: Instance, now: Time, thread: Thread, step: _TellNext, out: Outbox) -> Call | None:
    if not step.addresses:
        return None
    thread.push(_TellNext(step.addresses[1:]))
    return TellBroker(step.addresses[0])


def _round_done(client: Instance, now: Time, thread: Thread, step: _RoundDone, out: Outbox) -> Call | None:
    client.heartbeating = False
    thread.value = step.carried_out
    return None


def _tell_new(client: Instance, now: Time, thread: Thread, step: TellNewConnection, out: Outbox) -> Call | None:
    if client.heartbeating or not client.active():
        return None
    client.heartbeating = True
    thread.push(_Told(step.address))
    return TellBroker(step.address)


def _told(client: Instance, now: Time, thread: Thread, step: _Told, out: Outbox) -> Call | None:
    client.heartbeating = False
    if thread.value is True:
        thread.push(WakeUp(f"connection to {step.address}"))
    return None


HANDLERS: Handlers = {
    Beat: _beat,
    _TellNext: _tell_next,
    _RoundDone: _round_done,
    TellNewConnection: _tell_new,
    _Told: _told,
}
