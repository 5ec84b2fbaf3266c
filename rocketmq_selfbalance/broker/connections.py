"""A broker's connections, and what it does by the clock. It notices clients that are gone
(``ClientHousekeepingService``, ``IdleStateHandler``; spec 2.4), tells everybody in a group that its members or topics
have changed (``DefaultConsumerIdsChangeListener``; spec 2.3), writes its committed offsets to its disk
(``ConsumerOffsetManager.persist``; spec 2.7), and registers its topics with the name servers
(``BrokerController.registerBrokerAll``; spec 1.1)."""

from collections.abc import Iterable
from math import inf

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.broker import giving_out, pulls
from rocketmq_selfbalance.broker.consumers import CHANGE, CLIENT_UNREGISTER, ConsumerEvent
from rocketmq_selfbalance.broker.state import Broker, BrokerSettings
from rocketmq_selfbalance.messages.membership import NotifyConsumerIdsChanged
from rocketmq_selfbalance.messages.nameserver import RegisterBroker, TopicConfig, UnregisterBroker

NOTIFY = "notify"
"""Name of the timer, where changes are collected."""


def handle(broker: Broker, now: Time, events: tuple[ConsumerEvent, ...], out: Outbox) -> None:
    """Notify the channels that a CHANGE among the events names, now or with the next collection."""
    settings = broker.settings
    for event in events:
        if event.kind != CHANGE or not settings.notify_consumer_ids_changed_enable:
            continue
        if not settings.real_time_notify_consumer_change:
            broker.changed_groups[event.group] = None
            continue
        _notify(broker, now, event.group, event.channels, out)


def notify_collected(broker: Broker, now: Time, out: Outbox) -> None:
    """The time of a collection has come: notify the groups that have changed since the last one."""
    changed, broker.changed_groups = broker.changed_groups, {}
    for name in changed:
        group = broker.consumers.groups.get(name)
        if group is not None:
            _notify(broker, now, name, tuple(group.channels), out)
    out.set_timer(NOTIFY, now + broker.settings.collected_notify_interval_ms)


def _notify(broker: Broker, now: Time, group: str, channels: tuple[str, ...], out: Outbox) -> None:
    notice = NotifyConsumerIdsChanged(0, group)
    for channel in channels:
        broker.push(now, channel, notice, out)


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
    giving_out.closed(broker, now, peer, out)
    handle(broker, now, broker.consumers.channel_closed(peer), out)


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
    for channel in silent:
        _hang_up(broker, now, channel, out)
    scanned(broker, now, events, out)


def scan_in_turns(broker: Broker, now: Time, out: Outbox) -> None:
    """The same, where each of the connections is closed in a turn of its own: thousands may be silent together."""
    silent, events = broker.consumers.scan(now)
    for channel in silent:
        broker.active[channel] = -inf
        out.set_timer((IDLE, channel), now)
    scanned(broker, now, events, out)


def scanned(broker: Broker, now: Time, events: Iterable[ConsumerEvent], out: Outbox) -> None:
    """Channels have been taken out of their groups, which hear of it once at most."""
    # The end of a connection, which is noticed on another thread, may be quicker than the removal.
    left = [event.group for event in events if event.kind == CLIENT_UNREGISTER]
    for group in dict.fromkeys([group for group in left if out.choose("the end is noticed first", (False, True))]):
        handle(broker, now, broker.consumers.change(group), out)
    out.set_timer(SCAN, now + broker.settings.scan_channels_interval_ms)


def _hang_up(broker: Broker, now: Time, peer: str, out: Outbox) -> None:
    broker.ghosts.discard(peer)
    out.close(peer)
    closed(broker, now, peer, out)


FLUSH = "flush"
"""Name of the timer."""


def persist(broker: Broker) -> None:
    """Write the offsets if any has changed since they were written last."""
    if broker.unflushed:
        broker.disk.offsets = broker.offsets.stored()
        broker.unflushed = False


def persist_again(broker: Broker, now: Time, out: Outbox) -> None:
    persist(broker)
    out.set_timer(FLUSH, now + broker.settings.flush_consumer_offset_interval_ms)


REGISTER = "register"
"""Name of the timer."""

CLUSTER = "DefaultCluster"

SHORTEST_PERIOD_MS, LONGEST_PERIOD_MS = 10_000.0, 60_000.0
"""Between these the broker keeps the period of its registrations, whatever it is set to."""


def register(broker: Broker, topics: tuple[TopicConfig, ...], out: Outbox) -> None:
    name, version = broker.name, broker.disk.topics.version
    for name_server in broker.name_servers:
        out.send(name_server, RegisterBroker(0, CLUSTER, name, broker.id, broker.address, topics, version))


def register_again(broker: Broker, now: Time, out: Outbox) -> None:
    register(broker, broker.disk.topics.to_register(), out)
    out.set_timer(REGISTER, now + period(broker.settings))


def unregister(broker: Broker, out: Outbox) -> None:
    for name_server in broker.name_servers:
        out.send(name_server, UnregisterBroker(0, CLUSTER, broker.name, broker.id, broker.address))


def period(settings: BrokerSettings) -> Time:
    return min(max(settings.register_name_server_period_ms, SHORTEST_PERIOD_MS), LONGEST_PERIOD_MS)
