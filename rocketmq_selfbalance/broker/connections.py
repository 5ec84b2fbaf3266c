"""Connections of clients at a broker: RocketMQ's ``ClientHousekeepingService``, and its remoting server's idle check
(``IdleStateHandler``) (spec 2.4)."""

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.broker import notifying, pulls
from rocketmq_selfbalance.broker.consumers import CLIENT_UNREGISTER
from rocketmq_selfbalance.broker.state import Broker

IDLE = "idle"
"""First part of a timer's name; the second is the peer."""

SCAN = "scan"
"""Name of the timer."""


def connected(broker: Broker, now: Time, peer: str, out: Outbox) -> None:
    """A connection is open. Those to name servers are not watched."""
    if peer not in broker.name_servers:
        broker.active[peer] = now
        out.set_timer((IDLE, peer), now + broker.settings.server_channel_max_idle_ms)


def closed(broker: Broker, now: Time, peer: str, out: Outbox) -> None:
    """A connection ended (``onChannelClose``): its client leaves all its groups."""
    broker.active.pop(peer, None)
    out.cancel_timer((IDLE, peer))
    pulls.forget(broker, peer, out)
    notifying.handle(broker, now, broker.consumers.channel_closed(peer), out)


def put_off_idle_check(broker: Broker, now: Time, peer: str, out: Outbox) -> None:
    """A heartbeat has come: its connection will not be looked at before it may be idle."""
    if peer in broker.active:
        out.set_timer((IDLE, peer), now + broker.settings.server_channel_max_idle_ms)


def idle_due(broker: Broker, now: Time, peer: str, out: Outbox) -> None:
    """A connection may have been idle for too long: it is closed, or looked at again when it would be."""
    due = broker.active[peer] + broker.settings.server_channel_max_idle_ms
    if due > now:
        out.set_timer((IDLE, peer), due)
    else:
        _hang_up(broker, now, peer, out)


def scan(broker: Broker, now: Time, out: Outbox) -> None:
    """Close the connections of consumers without a heartbeat for too long (``scanExceptionChannel``, which calls
    ``ConsumerManager.scanNotActiveChannel``)."""
    silent, events = broker.consumers.scan(now)
    notifying.handle(broker, now, events, out)
    for channel in silent:
        _hang_up(broker, now, channel, out)
    for event in events:
        # The end of the connection, which is noticed on another thread, may be quicker than the removal.
        if event.kind == CLIENT_UNREGISTER and out.choose("the end is noticed first", (False, True)):
            notifying.handle(broker, now, broker.consumers.change(event.group), out)
    out.set_timer(SCAN, now + broker.settings.scan_channels_interval_ms)


def _hang_up(broker: Broker, now: Time, peer: str, out: Outbox) -> None:
    out.close(peer)
    closed(broker, now, peer, out)
