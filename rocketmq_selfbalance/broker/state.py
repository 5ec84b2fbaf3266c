"""What a broker holds: the managers and tables of RocketMQ's ``BrokerController`` (spec 2).

Plain state without entry points. The modules beside this one each do one part of a broker's work on it; `node` gives
them the broker's events.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from protocols.engine.nodes import Message, Outbox, Time
from protocols.node_state import Apart, NodeState
from protocols.queues import Queue
from rocketmq_selfbalance.broker.consumers import ConsumerManager
from rocketmq_selfbalance.broker.disk import Disk
from rocketmq_selfbalance.broker.held_pulls import HeldPull
from rocketmq_selfbalance.broker.locks import RebalanceLockManager
from rocketmq_selfbalance.broker.offsets import ConsumerOffsetManager
from rocketmq_selfbalance.broker.settings import BrokerSettings


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
