"""What a broker knows: its disk, its parts, whom it last heard from. What it does with that is in the files beside
(`requests`, `pulls`, `administration`, ...), which all take a `Broker`; `node` makes a node of it."""

from typing import NamedTuple, Self

from protocols.engine.nodes import Message, Outbox, Time
from protocols.engine.quiet import Stretch
from protocols.queues import Queue
from rocketmq_selfbalance.broker.consumers import ConsumerManager
from rocketmq_selfbalance.broker.disk import Disk
from rocketmq_selfbalance.broker.locks import LockManager
from rocketmq_selfbalance.broker.offsets import OffsetManager
from rocketmq_selfbalance.broker.settings import BrokerSettings
from rocketmq_selfbalance.broker.topics import SYSTEM_TOPICS
from rocketmq_selfbalance.broker.watches import Watches
from rocketmq_selfbalance.codes import PERM_WRITE
from rocketmq_selfbalance.messages.membership import HeartBeat
from rocketmq_selfbalance.messages.pulling import PullMessage
from rocketmq_selfbalance.messages.topics import TopicConfig

DELIVER, IDLE = "deliver", "idle"
"""Names of timers; `IDLE` with the peer as a second part."""

NOT_PRODUCED = ("%", *SYSTEM_TOPICS)
"""Beginnings of the names of topics to which only brokers write."""


class Held(NamedTuple):
    """A pull that waits."""

    sender: str
    message: PullMessage
    until: Time
    """When it is answered at the latest."""
    due: Time
    """When it is looked at next."""


class Followed(NamedTuple):
    """Reading that was passed over. ``before``: the committed offset at the time ``since``, when it began."""

    before: int
    since: Time
    last: Stretch

    def told_at(self, now: Time) -> int | None:
        """The offset that was committed at this time; None where that is not ahead of what the broker has."""
        return max(self.before, self.last.told_at(now)) if self.since <= now < self.last.until else None


class Broker:
    """A master. Its topics, groups, messages and flushed offsets are on its disk, everything else is in memory."""

    __slots__ = (
        "active",
        "changed_groups",
        "committers",
        "consumers",
        "disk",
        "followed",
        "heartbeats",
        "held",
        "locks",
        "name",
        "name_servers",
        "offsets",
        "settings",
        "unflushed",
        "watches",
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
        self.held: dict[Queue, list[Held]] = {}
        """Pulls that wait, per queue in the order in which they came."""
        self.active: dict[str, Time] = {}
        """Client to the time when something was last read from it or written to it."""
        self.changed_groups: dict[str, None] = {}
        """Groups whose members are to be told at the next `NOTIFY`, where changes are collected."""
        self.unflushed = False
        self.watches = Watches()
        self.heartbeats: dict[str, HeartBeat] = {}
        """Client to its last heartbeat."""
        self.committers: dict[tuple[str, Queue], str] = {}
        """(Group, queue) to who committed last."""
        self.followed: dict[tuple[str, str, int], Followed] = {}
        """(Group, topic, queue number) to reading that was passed over, as long as it may lie ahead."""

    def busy(self, now: Time, peer: str) -> None:
        """Something was read from this client, or written to it: its connection is not idle."""
        last = self.active.get(peer)
        if last is not None and last <= now:
            self.active[peer] = now

    def beaten(self, now: Time, peer: str, out: Outbox) -> None:
        """A heartbeat has come: its connection will not be looked at before it may be idle."""
        if peer in self.active:
            out.set_timer((IDLE, peer), now + self.settings.server_channel_max_idle_ms)

    def push(self, now: Time, peer: str, message: Message, out: Outbox) -> None:
        """Send what was not asked for just now."""
        self.busy(now, peer)
        out.send(peer, message)

    def open(self, now: Time, config: TopicConfig) -> None:
        """Producers write to the topic's queues as its configuration says."""
        self.disk.store.open(now, config.topic, config.write, write=_takes_load(config))

    def schedule_delivery(self, now: Time, out: Outbox) -> None:
        """Set the clock for the next record that waits for its delivery."""
        if self.disk.store.delayed:
            out.set_timer(DELIVER, max(now, self.disk.store.delayed[0].due))

    def copy(self) -> Self:
        twin = type(self)(self.name, self.disk.copy(), self.settings, self.name_servers)
        twin.consumers, twin.offsets, twin.locks = self.consumers.copy(), self.offsets.copy(), self.locks.copy()
        twin.held = {queue: list(waiting) for queue, waiting in self.held.items()}
        twin.active, twin.changed_groups = dict(self.active), dict(self.changed_groups)
        twin.heartbeats = dict(self.heartbeats)
        twin.followed = dict(self.followed)
        twin.unflushed, twin.watches, twin.committers = self.unflushed, self.watches.copy(), dict(self.committers)
        return twin


def _takes_load(config: TopicConfig) -> bool:
    return bool(config.perm & PERM_WRITE) and not config.topic.startswith(NOT_PRODUCED)
