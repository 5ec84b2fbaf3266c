"""What a broker has on its disk: it outlives the process and is given to the next one. (RocketMQ's
``topics.json``, ``subscriptionGroup.json`` and ``consumerOffset.json``, each written by its ``ConfigManager``, and its
``CommitLog``.)

A pull that a broker holds because its queue has nothing for it yet: a ``PullRequest`` in the table of RocketMQ's
``PullRequestHoldService`` (spec 6.3). What is done with it is in `pulls`.

A broker's locks on queues, for consumers that work in order: RocketMQ's ``RebalanceLockManager`` (spec 2.9). In
memory only.

What a broker holds: the managers and tables of RocketMQ's ``BrokerController`` (spec 2).

Plain state without entry points. The modules beside this one each do one part of a broker's work on it; `node` gives
them the broker's events.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.java import Queue
from protocols.node_state import Apart, NodeState
from rocketmq_selfbalance.broker.consumers import ConsumerManager
from rocketmq_selfbalance.broker.offsets import ConsumerOffsetManager, PersistedOffsets
from rocketmq_selfbalance.broker.settings import BrokerSettings
from rocketmq_selfbalance.broker.store import MessageStore
from rocketmq_selfbalance.broker.topics import SubscriptionGroupManager, TopicConfigManager
from rocketmq_selfbalance.messages.nameserver import DataVersion
from rocketmq_selfbalance.messages.offsets import PullMessage


@dataclass(slots=True, eq=False)
class Disk(NodeState):
    """Topics and groups are written when they change, messages when they come, offsets every few seconds."""

    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    store: MessageStore
    offsets: PersistedOffsets = field(default_factory=lambda: PersistedOffsets(DataVersion(), {}))
    """As last flushed."""


HELD = "held pull"
"""First part of a timer's name; the others are the queue, the client and the number of its request."""


class HeldPull(NamedTuple):
    """A pull that waits."""

    sender: str
    message: PullMessage
    until: Time
    """When it is answered at the latest."""
    arrival: Time | None
    """When the record comes for which it asks; None where nobody knows."""

    @property
    def due(self) -> Time:
        """When it is answered, as far as is known."""
        return self.until if self.arrival is None else min(self.until, self.arrival)

    @property
    def timer(self) -> TimerName:
        """Its timer's name."""
        return HELD, self.message.queue, self.sender, self.message.correlation


class Lock(NamedTuple):
    """Who holds a queue, and when it last said so."""

    client_id: str
    renewed: Time


@dataclass(slots=True, eq=False)
class RebalanceLockManager(NodeState):
    """Group to queue to lock. A lock that was not renewed for longer than ``max_live_ms`` may be taken by anybody."""

    max_live_ms: Time
    table: dict[str, dict[Queue, Lock]] = field(default_factory=dict)

    def try_lock(self, now: Time, group: str, queue: Queue, client_id: str) -> bool:
        """Take or renew the lock of a queue; whether the client holds it now."""
        locks = self.table.setdefault(group, {})
        held = locks.get(queue)
        if held is not None and held.client_id != client_id and not self._expired(now, held):
            return False
        locks[queue] = Lock(client_id, now)
        return True

    def try_lock_batch(self, now: Time, group: str, queues: Iterable[Queue], client_id: str) -> tuple[Queue, ...]:
        """Those of the queues that the client holds now, in the order given."""
        return tuple(queue for queue in queues if self.try_lock(now, group, queue, client_id))

    def unlock_batch(self, group: str, queues: Iterable[Queue], client_id: str) -> None:
        """Give up the client's own locks on these queues; those of others stay."""
        locks = self.table.get(group)
        if locks is None:
            return
        for queue in queues:
            held = locks.get(queue)
            if held is not None and held.client_id == client_id:
                del locks[queue]

    def all_expired(self, now: Time, group: str) -> bool:
        """Whether nobody holds any queue of the group (true also where nobody ever did)."""
        return all(self._expired(now, held) for held in self.table.get(group, {}).values())

    def _expired(self, now: Time, held: Lock) -> bool:
        return now - held.renewed > self.max_live_ms


@dataclass(slots=True, init=False, eq=False)
class Broker(NodeState):
    """A master. Its topics, groups, messages and flushed offsets are on its disk, everything else is in memory."""

    name: str
    disk: Disk
    name_servers: tuple[str, ...]
    settings: Apart[BrokerSettings]
    consumers: ConsumerManager
    offsets: ConsumerOffsetManager
    locks: RebalanceLockManager
    held: dict[Queue, list[HeldPull]]
    """Pulls that wait, per queue in the order in which they came."""
    active: dict[str, Time]
    """Client to the time when something was last read from it or written to it."""
    changed_groups: dict[str, None]
    """Groups whose members are notified with the next collection, where changes are collected."""
    unflushed: bool

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
        self.offsets = ConsumerOffsetManager(
            0.0,
            server_side_reset=settings.use_server_side_reset_offset,
            version_step=settings.consumer_offset_update_version_step,
        )
        self.locks = RebalanceLockManager(settings.lock_max_live_time_ms)
        self.held = {}
        self.active = {}
        self.changed_groups = {}
        self.unflushed = False

    def busy(self, now: Time, peer: str) -> None:
        """Something was read from this client, or written to it: its connection is not idle."""
        if peer in self.active:
            self.active[peer] = max(now, self.active[peer])

    def push(self, now: Time, peer: str, message: Message, out: Outbox) -> None:
        """Send what was not asked for just now."""
        self.busy(now, peer)
        out.send(peer, message)


Handler: TypeAlias = Callable[[Broker, Time, str, Any, Outbox], None]
"""What a broker does on a message of one type: its state, the time, the sender, the message, the outbox."""
