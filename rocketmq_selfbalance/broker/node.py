"""A broker as a node: its parts, its clock, its connections (spec 2). What it does on a request is in `requests`
(clients), `pulls` and `administration`; what it tells by itself in `registering` and `notifying`."""

from collections.abc import Callable, Mapping
from typing import Any, Self

from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.queues import Queue
from rocketmq_selfbalance.broker import administration, notifying, pulls, registering, requests
from rocketmq_selfbalance.broker.consumers import CLIENT_UNREGISTER, ConsumerManager
from rocketmq_selfbalance.broker.disk import Disk
from rocketmq_selfbalance.broker.locks import LockManager
from rocketmq_selfbalance.broker.notifying import NOTIFY
from rocketmq_selfbalance.broker.offsets import OffsetManager
from rocketmq_selfbalance.broker.registering import REGISTER
from rocketmq_selfbalance.broker.settings import BrokerSettings
from rocketmq_selfbalance.broker.topics import SYSTEM_TOPICS
from rocketmq_selfbalance.codes import PERM_WRITE
from rocketmq_selfbalance.messages.pulling import PullMessage
from rocketmq_selfbalance.messages.topics import TopicConfig

SCAN, FLUSH, DELIVER, IDLE = "scan", "flush", "deliver", "idle"
"""Names of timers; `IDLE` with the peer as a second part. Those of held pulls: `pulls.HELD`."""


class Broker:
    """A master. Its topics, groups, messages and flushed offsets are on its disk, everything else is in memory."""

    __slots__ = (
        "active",
        "changed_groups",
        "committers",
        "consumers",
        "disk",
        "held",
        "locks",
        "name",
        "name_servers",
        "offsets",
        "settings",
        "unflushed",
    )

    def __init__(
        self,
        name: str,
        disk: Disk,
        settings: BrokerSettings | None = None,
        name_servers: tuple[str, ...] = ("namesrv",),
    ) -> None:
        self.name, self.disk, self.name_servers = name, disk, name_servers
        self.settings = settings = settings or BrokerSettings()
        self.consumers = ConsumerManager(
            settings.channel_expired_timeout_ms,
            fast_channel_events=settings.enable_fast_channel_event_process,
            notify_broadcasting=settings.notify_broadcasting,
        )
        self.offsets = OffsetManager(
            0.0,
            server_side_reset=settings.use_server_side_reset_offset,
            version_step=settings.consumer_offset_update_version_step,
        )
        self.locks = LockManager(settings.lock_max_live_time_ms)
        self.held: dict[Queue, list[pulls.Held]] = {}
        """Pulls that wait, per queue in the order in which they came."""
        self.active: dict[str, Time] = {}
        """Client to the time when something was last read from it or written to it."""
        self.changed_groups: dict[str, None] = {}
        """Groups whose members are to be told at the next `NOTIFY`, where changes are collected."""
        self.unflushed = False
        self.committers: dict[tuple[str, Queue], str] = {}
        """(Group, queue) to who committed last: what he repeats is not told as a fact."""

    def start(self, now: Time, out: Outbox) -> None:
        settings, store = self.settings, self.disk.store
        self.offsets.load(self.disk.offsets)
        store.running = True
        for config in self.disk.topics.configs.values():
            self.open(now, config)
        registering.register(self, self.disk.topics.told(), out)
        out.set_timer(REGISTER, now + settings.register_first_ms)
        out.set_timer(SCAN, now + settings.scan_channels_interval_ms)
        out.set_timer(FLUSH, now + settings.flush_first_ms)
        if not settings.real_time_notify_consumer_change:
            out.set_timer(NOTIFY, now + settings.collected_notify_first_ms)
        self.schedule_delivery(now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        self.busy(now, sender)
        handle = _COMMANDS[type(message)] if sender == OPERATOR else _REQUESTS[type(message)]
        handle(self, now, sender, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if isinstance(timer, tuple):
            if timer[0] == IDLE:
                self._idle(now, timer[1], out)
            else:
                pulls.held_due(self, now, timer, out)
        else:
            _TIMERS[timer](self, now, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        if peer not in self.name_servers:
            self.active[peer] = now
            out.set_timer((IDLE, peer), now + self.settings.server_channel_max_idle_ms)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.active.pop(peer, None)
        out.cancel_timer((IDLE, peer))
        pulls.forget(self, peer, out)
        notifying.tell(self, now, self.consumers.channel_closed(peer), out)

    # What several requests do.

    def busy(self, now: Time, peer: str) -> None:
        """Something was read from this client, or written to it: its connection is not idle."""
        if peer in self.active:
            self.active[peer] = max(now, self.active[peer])

    def beaten(self, now: Time, peer: str, out: Outbox) -> None:
        """A heartbeat has come: its connection will not be looked at before it may be idle."""
        if peer in self.active:
            out.set_timer((IDLE, peer), now + self.settings.server_channel_max_idle_ms)

    def _idle(self, now: Time, peer: str, out: Outbox) -> None:
        """A connection may have been idle for too long: it is closed, or looked at again when it would be."""
        due = self.active[peer] + self.settings.server_channel_max_idle_ms
        if due > now:
            out.set_timer((IDLE, peer), due)
        else:
            self._hang_up(now, peer, out)

    def push(self, now: Time, peer: str, message: Message, out: Outbox) -> None:
        """Send what was not asked for just now."""
        self.busy(now, peer)
        out.send(peer, message)

    def put_topic(self, now: Time, config: TopicConfig, out: Outbox) -> None:
        """The topic is like this from now on; name servers are told at once."""
        if self.disk.topics.put(now, config):
            self.open(now, config)
            pulls.expect(self, now, config.topic, out)
            registering.register(self, (config,), out)

    def open(self, now: Time, config: TopicConfig) -> None:
        """Producers write to the topic's queues as its configuration says."""
        self.disk.store.open(now, config.topic, config.write, write=_takes_load(config))

    def schedule_delivery(self, now: Time, out: Outbox) -> None:
        """Set the clock for the next record that waits for its delivery."""
        if self.disk.store.delayed:
            out.set_timer(DELIVER, max(now, self.disk.store.delayed[0].due))

    def stop(self, now: Time, out: Outbox) -> None:
        """The process ends properly."""
        self.write_offsets()
        registering.unregister(self, out)

    # The clock.

    def _scan(self, now: Time, out: Outbox) -> None:
        silent, events = self.consumers.scan(now)
        notifying.tell(self, now, events, out)
        for channel in silent:
            self._hang_up(now, channel, out)
        for event in events:
            # The end of the connection, which is noticed on another thread, may be quicker than the removal.
            if event.kind == CLIENT_UNREGISTER and out.choose("the end is noticed first", (False, True)):
                notifying.tell(self, now, self.consumers.change(event.group), out)
        out.set_timer(SCAN, now + self.settings.scan_channels_interval_ms)

    def _hang_up(self, now: Time, peer: str, out: Outbox) -> None:
        out.close(peer)
        self.closed(now, peer, out)

    def _flush(self, now: Time, out: Outbox) -> None:
        self.write_offsets()
        out.set_timer(FLUSH, now + self.settings.flush_consumer_offset_interval_ms)

    def write_offsets(self) -> None:
        """The committed offsets are written to the disk, if they changed."""
        if self.unflushed:
            self.disk.offsets = self.offsets.stored()
            self.unflushed = False

    def _deliver(self, now: Time, out: Outbox) -> None:
        for topic, number in self.disk.store.deliver(now):
            pulls.wake(self, now, topic, number, out)
        self.schedule_delivery(now, out)

    def copy(self) -> Self:
        twin = type(self)(self.name, self.disk.copy(), self.settings, self.name_servers)
        twin.consumers, twin.offsets, twin.locks = self.consumers.copy(), self.offsets.copy(), self.locks.copy()
        twin.held = {queue: list(waiting) for queue, waiting in self.held.items()}
        twin.active, twin.changed_groups = dict(self.active), dict(self.changed_groups)
        twin.unflushed, twin.committers = self.unflushed, dict(self.committers)
        return twin

    def key(self, now: Time) -> tuple[Any, ...]:
        return (
            self.disk.key(now),
            self.consumers.key(now),
            self.offsets.key(),
            self.locks.key(now),
            pulls.key(self.held, now),
            tuple(sorted((peer, last - now) for peer, last in self.active.items())),
            tuple(self.changed_groups),
            self.unflushed,
        )


def _takes_load(config: TopicConfig) -> bool:
    return bool(config.perm & PERM_WRITE) and not config.topic.startswith(NOT_PRODUCED)


NOT_PRODUCED = ("%", *SYSTEM_TOPICS)
"""Beginnings of the names of topics to which only brokers write."""

_TIMERS: Mapping[str, Callable[[Broker, Time, Outbox], None]] = {
    REGISTER: registering.register_again,
    SCAN: Broker._scan,
    FLUSH: Broker._flush,
    NOTIFY: notifying.tell_collected,
    DELIVER: Broker._deliver,
}

_REQUESTS: Mapping[type[Message], Callable[[Broker, Time, str, Any, Outbox], None]] = {
    PullMessage: pulls.pull,
    **requests.REQUESTS,
}

_COMMANDS: Mapping[type[Message], Callable[[Broker, Time, str, Any, Outbox], None]] = administration.COMMANDS
