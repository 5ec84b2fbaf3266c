"""The rebalance thread: when does a pass over all consumers begin (spec 3.4)?

It sleeps until it is woken or a while has passed. 5.x: no pass begins within a second of the last one, and one that did
not balance is repeated after a second.
"""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.client import blocking
from rocketmq_selfbalance.client.calls import Call
from rocketmq_selfbalance.client.heartbeat import TellNewConnection
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.rebalance import Pass, topics_in_turn, would_repeat
from rocketmq_selfbalance.client.service import PERIODIC, WakeUp
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.client.threads import Handlers, Thread
from rocketmq_selfbalance.member_lists import in_order

THREAD = "rebalance"
TIMER = "rebalance"


class _PassOf(NamedTuple):
    """One consumer's part of the pass."""

    group: str


class _Settle(NamedTuple):
    """The consumer's part is over, which began at this revision."""

    group: str
    revision: int


class _EndPass(NamedTuple):
    """All consumers had their part."""


def begin(client: Instance, now: Time, out: Outbox) -> None:
    """The thread starts, and goes to sleep."""
    client.service.last = client.created
    out.set_timer(TIMER, now + client.settings.rebalance_wait_interval_ms)


def between_passes(settings: ClientSettings) -> Time:
    """How long after a pass the next one begins, if all is balanced and nobody wakes the thread."""
    return max(settings.rebalance_wait_interval_ms, settings.rebalance_min_interval_ms)


def wake(client: Instance, now: Time, why: str, out: Outbox) -> None:
    """``rebalanceImmediately``."""
    service = client.service
    if why not in service.triggers:
        service.triggers.append(why)
    service.notified, service.notified_at = True, now
    if client.running and not service.in_pass:
        look(client, now, out)


def connected(client: Instance, now: Time, broker: str, out: Outbox) -> None:
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
        tell_new(client, now, broker, out)


def tell_new(client: Instance, now: Time, broker: str, out: Outbox) -> None:
    """The thread of connection events tells the broker who is here."""
    blocking.run(client, now, f"connection to {broker}", (TellNewConnection(broker),), out)


def deaf_until(client: Instance, why: str) -> Time:
    """Before this time another wake-up for the same reason would change nothing: the thread waits out the least
    interval, whatever comes, or will when the pass is over that is under way."""
    service = client.service
    if why not in service.triggers:
        return 0.0
    if service.in_pass and service.notified:
        return service.notified_at + client.settings.rebalance_min_interval_ms
    return service.waits_until or 0.0


def look(client: Instance, now: Time, out: Outbox) -> None:
    """The thread is awake: it begins a pass, or waits out the least interval."""
    service, settings = client.service, client.settings
    service.notified = False
    earliest = service.last + settings.rebalance_min_interval_ms
    if now < earliest:
        # Of a thousand notices after each other only the first has anything to set.
        if service.waits_until != earliest:
            service.waits_until = earliest
            out.set_timer(TIMER, earliest)
        return
    out.cancel_timer(TIMER)
    service.in_pass = True
    service.trigger = ", ".join(dict.fromkeys(service.triggers)) or PERIODIC
    service.triggers.clear()
    steps = [_PassOf(consumer.group) for consumer in client.active()]
    blocking.run(client, now, THREAD, [*steps, _EndPass()], out)


def _pass_of(client: Instance, now: Time, thread: Thread, step: _PassOf, out: Outbox) -> Call | None:
    consumer = client.consumer(step.group)
    if client.service.trigger != PERIODIC:
        client.service.begin(consumer, out)
    consumer.seen.clear()
    client.observed.forget_granted(consumer, consumer.subscriptions, out)
    thread.push(Pass(step.group, topics_in_turn(consumer)), _Settle(step.group, consumer.revision))
    return None


def _settle(client: Instance, now: Time, thread: Thread, step: _Settle, out: Outbox) -> Call | None:
    consumer = client.consumer(step.group)
    # Brokers give the same object again and again: few have to be looked into.
    lists = {id(each): each for each in consumer.seen.values()}
    told = all(isinstance(each, tuple) for each in lists.values())
    found = [in_order(each) for each in lists.values()] if told else []
    # Where the list changed during the pass, the later one counts.
    consumer.claim = found[-1] if found else None
    repeated = consumer.revision == step.revision and all(each is found[-1] for each in found)
    quiet = consumer.balanced and (repeated or would_repeat(consumer, client.observed.granted.get(step.group, {})))
    consumer.settled = consumer.revision if quiet else None
    return None


def _end_pass(client: Instance, now: Time, thread: Thread, step: _EndPass, out: Outbox) -> Call | None:
    service, settings = client.service, client.settings
    client.tell_owned(out)
    service.tell_end(out)
    service.in_pass = False
    service.last = now
    balanced = all(consumer.balanced for consumer in client.active())
    if service.notified:
        look(client, now, out)
    elif balanced or not settings.rebalance_min_interval_ms:
        out.set_timer(TIMER, now + between_passes(settings))
    else:
        out.set_timer(TIMER, now + settings.rebalance_min_interval_ms)
    rejoining, service.rejoining = service.rejoining, {}
    for peer, connected in rejoining.items():
        if connected:
            tell_new(client, now, peer, out)
    return None


def _wake_up(client: Instance, now: Time, thread: Thread, step: WakeUp, out: Outbox) -> Call | None:
    wake(client, now, step.why, out)
    return None


HANDLERS: Handlers = {_PassOf: _pass_of, _Settle: _settle, _EndPass: _end_pass, WakeUp: _wake_up}
