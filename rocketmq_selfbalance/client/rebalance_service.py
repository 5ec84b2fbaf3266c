"""The rebalance thread: when does a pass over all consumers begin (spec 3.4)?

It sleeps until it is woken or a while has passed. 5.x: no pass begins within a second of the last one, and one that did
not balance is repeated after a second.
"""

from typing import NamedTuple

from protocols.engine.nodes import Time
from rocketmq_selfbalance.client.calls import Call
from rocketmq_selfbalance.client.heartbeat import TellNewConnection
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.rebalance import Pass, topics_in_turn
from rocketmq_selfbalance.client.service import PERIODIC, WakeUp
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.client.threads import Handlers, Thread

THREAD = "rebalance"
TIMER = "rebalance"


class _PassOf(NamedTuple):
    """One consumer's part of the pass."""

    group: str


class _EndPass(NamedTuple):
    """All consumers had their part."""


def begin(client: Instance) -> None:
    """The thread starts, and goes to sleep."""
    client.service.last = client.created
    client.out.set_timer(TIMER, client.now + client.settings.rebalance_wait_interval_ms)


def between_passes(settings: ClientSettings) -> Time:
    """How long after a pass the next one begins, if all is balanced and nobody wakes the thread."""
    return max(settings.rebalance_wait_interval_ms, settings.rebalance_min_interval_ms)


def wake(client: Instance, why: str) -> None:
    """``rebalanceImmediately``."""
    service = client.service
    if why not in service.triggers:
        service.triggers.append(why)
    service.notified = True
    if client.running and not service.in_pass:
        look(client)


def connected(client: Instance, broker: str) -> None:
    """There is a new connection to this broker, which is to hear who is here.

    When the process has just gone on after it hung, everything happens at once: the pass asks who is in the group, over
    the connection of which the broker is told. It lists the members sooner than it takes in one (in recordings a
    heartbeat took it 8 to 22 ms then), so that the whole pass finds that this client is none.
    """
    service = client.service
    if service.in_pass and broker in service.rejoining:
        service.rejoining[broker] = True
    else:
        service.rejoining.pop(broker, None)
        tell_new(client, broker)


def tell_new(client: Instance, broker: str) -> None:
    """The thread of connection events tells the broker who is here."""
    client.run(f"connection to {broker}", TellNewConnection(broker))


def look(client: Instance) -> None:
    """The thread is awake: it begins a pass, or waits out the least interval."""
    service, settings = client.service, client.settings
    service.notified = False
    earliest = service.last + settings.rebalance_min_interval_ms
    if client.now < earliest:
        # Of a thousand notices after each other only the first has anything to set.
        if service.waits_until != earliest:
            service.waits_until = earliest
            client.out.set_timer(TIMER, earliest)
        return
    client.out.cancel_timer(TIMER)
    service.in_pass = True
    service.trigger = ", ".join(dict.fromkeys(service.triggers)) or PERIODIC
    service.triggers.clear()
    groups = [consumer.group for consumer in client.active()]
    client.run(THREAD, *(_PassOf(group) for group in groups), _EndPass())


def _pass_of(client: Instance, thread: Thread, step: _PassOf) -> Call | None:
    consumer = client.consumer(step.group)
    if client.service.trigger != PERIODIC:
        client.service.begin(client, consumer)
    client.forget_granted(consumer, consumer.subscriptions)
    thread.push(Pass(step.group, topics_in_turn(consumer)))
    return None


def _end_pass(client: Instance, thread: Thread, step: _EndPass) -> Call | None:
    service, settings = client.service, client.settings
    client.tell_owned()
    service.tell_end(client)
    service.in_pass = False
    service.last = client.now
    balanced = all(consumer.balanced for consumer in client.active())
    if service.notified:
        look(client)
    elif balanced or not settings.rebalance_min_interval_ms:
        client.out.set_timer(TIMER, client.now + between_passes(settings))
    else:
        client.out.set_timer(TIMER, client.now + settings.rebalance_min_interval_ms)
    rejoining, service.rejoining = service.rejoining, {}
    for peer, connected in rejoining.items():
        if connected:
            tell_new(client, peer)
    return None


def _wake_up(client: Instance, thread: Thread, step: WakeUp) -> Call | None:
    wake(client, step.why)
    return None


HANDLERS: Handlers = {_PassOf: _pass_of, _EndPass: _end_pass, WakeUp: _wake_up}
