"""What a broker holds: the managers and tables of RocketMQ's ``BrokerController`` (spec 2).

Plain state without entry points. The modules beside this one each do one part of a broker's work on it; `node` gives
them the broker's events.
"""

from collections.abc import Callable
from typing import Any, Self, TypeAlias

from protocols.engine.nodes import Message, Outbox, Time
from protocols.queues import Queue
from rocketmq_selfbalance.broker import held_pulls
from rocketmq_selfbalance.broker.consumers import ConsumerManager
from rocketmq_selfbalance.broker.disk import Disk
from rocketmq_selfbalance.broker.held_pulls import HeldPull
from rocketmq_selfbalance.broker.locks import RebalanceLockManager
from rocketmq_selfbalance.broker.offsets import ConsumerOffsetManager
from rocketmq_selfbalance.broker.settings import BrokerSettings


class Broker:
    """A master. Its topics, groups, messages and flushed offsets are on its disk, everything else is in memory."""

    __slots__ = (
        "active",
        "changed_groups",
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
        self.offsets = ConsumerOffsetManager(
            0.0,
            server_side_reset=settings.use_server_side_reset_offset,
            version_step=settings.consumer_offset_update_version_step,
        )
        self.locks = RebalanceLockManager(settings.lock_max_live_time_ms)
        self.held: dict[Queue, list[HeldPull]] = {}
        """Pulls that wait, per queue in the order in which they came."""
        self.active: dict[str, Time] = {}
        """Client to the time when something was last read from it or written to it."""
        self.changed_groups: dict[str, None] = {}
        """Groups whose members are notified with the next collection, where changes are collected."""
        self.unflushed = False

    def busy(self, now: Time, peer: str) -> None:
        """Something was read from this client, or written to it: its connection is not idle."""
        if peer in self.active:
            self.active[peer] = max(now, self.active[peer])

    def push(self, now: Time, peer: str, message: Message, out: Outbox) -> None:
        """Send what was not asked for just now."""
        self.busy(now, peer)
        out.send(peer, message)

    def copy(self) -> Self:
        """An independent copy."""
        twin = type(self)(self.name, self.disk.copy(), self.settings, self.name_servers)
        twin.consumers, twin.offsets, twin.locks = self.consumers.copy(), self.offsets.copy(), self.locks.copy()
        twin.held = {queue: list(waiting) for queue, waiting in self.held.items()}
        twin.active, twin.changed_groups = dict(self.active), dict(self.changed_groups)
        twin.unflushed = self.unflushed
        return twin

    def key(self, now: Time) -> tuple[object, ...]:
        """The state as nested plain tuples, times relative to now; see `protocols.engine.nodes.Node.key`."""
        return (
            self.disk.key(now),
            self.consumers.key(now),
            self.offsets.key(),
            self.locks.key(now),
            held_pulls.key(self.held, now),
            tuple(sorted((peer, last - now) for peer, last in self.active.items())),
            tuple(self.changed_groups),
            self.unflushed,
        )


Handler: TypeAlias = Callable[[Broker, Time, str, Any, Outbox], None]
"""What a broker does on a message of one type: its state, the time, the sender, the message, the outbox."""
