"""What a broker holds: the managers and tables of RocketMQ's ``BrokerController`` (spec 2), with its settings
(``BrokerConfig``, ``NettyServerConfig``; spec 10.1, defaults of 5.3.3).

Plain state without entry points: the modules beside this one each do one part of a broker's work on it. What is on its
`Disk` outlives the process and is given to the next one: topics (``TopicConfigManager``; spec 1.1, 1.4), subscription
groups (``SubscriptionGroupManager``; spec 2.5), committed offsets, records. Locks (``RebalanceLockManager``; spec 2.9)
and held pulls (``PullRequestHoldService``; spec 6.3) are in memory only.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeAlias

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.java import Queue
from protocols.load import changed
from protocols.node_state import Apart, NodeState
from rocketmq_selfbalance.broker.consumers import ConsumerManager
from rocketmq_selfbalance.broker.offsets import ConsumerOffsetManager, PersistedOffsets
from rocketmq_selfbalance.broker.store import MessageStore
from rocketmq_selfbalance.codes import MASTER_ID, RETRY_PREFIX
from rocketmq_selfbalance.messages.membership import SubscriptionGroup
from rocketmq_selfbalance.messages.nameserver import DataVersion, TopicConfig
from rocketmq_selfbalance.messages.offsets import PullMessage
from rocketmq_selfbalance.messages.popping import QueryAssignment
from rocketmq_selfbalance.pop import RequestModes, TopicRoutes
from rocketmq_selfbalance.popping.state import GivenOut
from rocketmq_selfbalance.versions import DEFAULT, Version

DELAY_LEVELS_S = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""``messageDelayLevel``: seconds of levels 1, 2, ..."""


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Times are milliseconds. `REAL_NAMES` gives the system's own configuration names."""

    register_name_server_period_ms: Time = 30_000.0
    """Kept between 10 s and 60 s."""
    start_to_registration_ms: Time = 0.0
    """How long after its port is open a broker that starts registers."""
    register_first_ms: Time = 10_000.0
    """The first of the periodic registrations, after the one at the start."""
    channel_expired_timeout_ms: Time = 120_000.0
    """A consumer without a heartbeat for longer is removed by the scan."""
    scan_channels_interval_ms: Time = 10_000.0
    scan_channels_first_ms: Time = 10_000.0
    server_channel_max_idle_ms: Time = 120_000.0
    """A connection on which nothing was read and written for so long is closed."""
    notify_consumer_ids_changed_enable: bool = True
    real_time_notify_consumer_change: bool = True
    """False: changes are collected and notified every ``collected_notify_interval_ms``."""
    collected_notify_first_ms: Time = 30_000.0
    collected_notify_interval_ms: Time = 15_000.0
    notify_broadcasting: bool = False
    """4.x: groups in BROADCASTING mode are notified of changes as well."""
    enable_fast_channel_event_process: bool = False
    auto_create_subscription_group: bool = True
    reject_pull_consumer_enable: bool = False
    flush_consumer_offset_interval_ms: Time = 5_000.0
    flush_first_ms: Time = 10_000.0
    consumer_offset_update_version_step: int = 500
    use_server_side_reset_offset: bool = True
    check_commits: bool = True
    """4.x: False; a commit is taken without looking at group and topic."""
    zero_for_empty_queues: bool = False
    """4.x: a group without an offset begins at 0 in an empty queue as well."""
    lock_max_live_time_ms: Time = 60_000.0
    delay_levels_s: tuple[int, ...] = DELAY_LEVELS_S
    version: Version = DEFAULT

    @classmethod
    def of(cls, version: Version) -> Self:
        """The defaults of this version."""
        return changed(cls(version=version), OF_VERSION.get(version.name, {}))


REAL_NAMES: Mapping[str, str] = {
    "registerNameServerPeriod": "register_name_server_period_ms",
    "brokerStartTime": "start_to_registration_ms",
    "channelExpiredTimeout": "channel_expired_timeout_ms",
    "serverChannelMaxIdleTime": "server_channel_max_idle_ms",
    "notifyConsumerIdsChangedEnable": "notify_consumer_ids_changed_enable",
    "realTimeNotifyConsumerChange": "real_time_notify_consumer_change",
    "enableFastChannelEventProcess": "enable_fast_channel_event_process",
    "autoCreateSubscriptionGroup": "auto_create_subscription_group",
    "rejectPullConsumerEnable": "reject_pull_consumer_enable",
    "flushConsumerOffsetInterval": "flush_consumer_offset_interval_ms",
    "consumerOffsetUpdateVersionStep": "consumer_offset_update_version_step",
    "useServerSideResetOffset": "use_server_side_reset_offset",
    "rocketmq.broker.rebalance.lockMaxLiveTime": "lock_max_live_time_ms",
}
"""The system's own configuration name to the field; times are milliseconds (RocketMQ gives
``serverChannelMaxIdleTimeSeconds`` in seconds; ``brokerStartTime`` has no name there)."""

OF_VERSION: Mapping[str, Mapping[str, object]] = {
    "4.5": {
        "notify_broadcasting": True,
        "use_server_side_reset_offset": False,
        "check_commits": False,
        "zero_for_empty_queues": True,
    }
}
"""Version to its other defaults, as fields (spec 12)."""


SYSTEM_TOPICS = ("SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT")
"""Topics that every broker has: a name server refuses the first registration of a broker with a single topic."""


@dataclass(slots=True, init=False, eq=False)
class TopicConfigManager(NodeState):
    """Topic to its configuration at this broker."""

    configs: dict[str, TopicConfig]
    version: DataVersion

    def __init__(self, now: Time = 0.0, configs: Iterable[TopicConfig] = ()) -> None:
        self.configs = {topic: TopicConfig(topic, 1, 1) for topic in SYSTEM_TOPICS}
        self.configs.update((config.topic, config) for config in configs)
        self.version = DataVersion(timestamp=now)

    def put(self, now: Time, config: TopicConfig) -> bool:
        """The topic is like this from now on; whether that changed anything."""
        if self.configs.get(config.topic) == config:
            return False
        self.configs[config.topic] = config
        self._changed(now)
        return True

    def delete(self, now: Time, topic: str) -> bool:
        """The topic is no more; whether it was there."""
        if self.configs.pop(topic, None) is None:
            return False
        self._changed(now)
        return True

    def _changed(self, now: Time) -> None:
        self.version = DataVersion(self.version.state_version, now, self.version.counter + 1)

    def to_register(self) -> tuple[TopicConfig, ...]:
        return tuple(self.configs.values())


@dataclass(slots=True, eq=False)
class SubscriptionGroupManager(NodeState):
    """Group to its configuration. ``auto_create`` is ``autoCreateSubscriptionGroup``."""

    auto_create: bool = field(default=True, kw_only=True)
    configs: dict[str, SubscriptionGroup] = field(default_factory=dict)

    def find(self, group: str) -> SubscriptionGroup | None:
        """The group's configuration, made with the defaults where it may be; None where the group is unknown."""
        config = self.configs.get(group)
        if config is None and self.auto_create:
            config = self.configs[group] = SubscriptionGroup(group)
        return config

    def knows(self, group: str) -> bool:
        """Whether the group is known, or is made whenever somebody asks."""
        return self.auto_create or group in self.configs

    def put(self, config: SubscriptionGroup) -> None:
        self.configs[config.group] = config

    def delete(self, group: str) -> None:
        self.configs.pop(group, None)


def retry_topic(config: SubscriptionGroup) -> TopicConfig:
    return TopicConfig(RETRY_PREFIX + config.group, config.retry_queue_nums, config.retry_queue_nums)


@dataclass(slots=True, eq=False)
class Disk(NodeState):
    """Topics and groups are written when they change, messages when they come, offsets every few seconds."""

    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    store: MessageStore
    offsets: PersistedOffsets = field(default_factory=lambda: PersistedOffsets(DataVersion(), {}))
    """As last flushed."""
    given_out: dict[tuple[str, str], GivenOut] = field(default_factory=dict)
    """(Topic, group) to what was given out by POP."""
    request_modes: RequestModes = field(default_factory=RequestModes)
    """``messageRequestMode.json``."""


GHOST = "!"
"""Between a client and a number in the name of a channel whose connection has ended."""

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
        return self.until if self.arrival is None else min(self.until, self.arrival)

    @property
    def timer(self) -> TimerName:
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


@dataclass(slots=True)
class Lookup(NodeState):
    """A question to the name server for a topic's route: its number, when it was asked, and the members, with their
    questions, who wait for that."""

    number: int
    asked: Time
    wanting: list[tuple[str, QueryAssignment]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Broker(NodeState):
    """Its topics, groups, messages and flushed offsets are on its disk, everything else is in memory. ``address``: the
    name of its node, where that is not its own; those of one name are a master and its slaves."""

    name: str
    disk: Disk
    settings: Apart[BrokerSettings] = field(default_factory=BrokerSettings)
    name_servers: tuple[str, ...] = ("namesrv",)
    address: str = ""
    id: int = MASTER_ID
    consumers: ConsumerManager = field(init=False)
    offsets: ConsumerOffsetManager = field(init=False)
    locks: RebalanceLockManager = field(init=False)
    held: dict[Queue, list[HeldPull]] = field(default_factory=dict)
    """Pulls that wait, per queue in the order in which they came."""
    active: dict[str, Time] = field(default_factory=dict)
    """Client to the time when something was last read from it or written to it."""
    changed_groups: dict[str, None] = field(default_factory=dict)
    """Groups whose members are notified with the next collection, where changes are collected."""
    unflushed: bool = False
    routes: TopicRoutes = field(default_factory=TopicRoutes)
    """Of topics about whose queues members have asked."""
    lookups: dict[str, Lookup] = field(default_factory=dict)
    """Topic to the question for its route that is not answered yet."""
    correlation: int = 0
    """The number of its last question."""
    ghosts: set[str] = field(default_factory=set)
    """Channels in the member lists whose connections have ended: nobody hears what is sent there."""

    def __post_init__(self) -> None:
        settings = self.settings
        self.address = self.address or self.name
        self.consumers = ConsumerManager(
            settings.channel_expired_timeout_ms,
            fast_channel_events=settings.enable_fast_channel_event_process,
            notify_broadcasting=settings.notify_broadcasting,
            version=settings.version,
        )
        self.offsets = ConsumerOffsetManager(
            0.0,
            server_side_reset=settings.use_server_side_reset_offset,
            version_step=settings.consumer_offset_update_version_step,
            version=settings.version,
        )
        self.locks = RebalanceLockManager(settings.lock_max_live_time_ms)

    def busy(self, now: Time, peer: str) -> None:
        """Something was read from this client, or written to it: its connection is not idle."""
        last = self.active.get(peer)
        if last is not None and now > last:
            self.active[peer] = now

    def commit_popped(
        self, now: Time, group: str, topic: str, committed: Mapping[int, int], numbers: Iterable[int]
    ) -> None:
        """The group was given records of these queues by POP. ``committed``: queue number to the offset behind them."""
        known = self.offsets.known(group, topic)
        for number in numbers:
            offset = committed[number]
            if known.get(number, -1) != offset:
                self.offsets.commit(now, group, topic, number, offset)
                self.unflushed = True

    def push(self, now: Time, peer: str, message: Message, out: Outbox) -> None:
        """Send what was not asked for just now."""
        if peer not in self.ghosts:
            self.busy(now, peer)
            out.send(peer, message)


Handler: TypeAlias = Callable[[Broker, Time, str, Any, Outbox], None]
"""What a broker does on a message of one type: its state, the time, the sender, the message, the outbox."""
