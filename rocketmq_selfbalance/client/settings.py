"""The settings of a client (``ClientConfig``, ``DefaultMQPushConsumer``) by what they concern, with the defaults of
5.3.3 (spec 10.2).

Fields that end in ``_ms`` are milliseconds of virtual time. No field's name stands in two parts. The names that users
write are in `settings.REAL_NAMES`.

Settings of a client (``ClientConfig``, ``DefaultMQPushConsumer``) with the defaults of 5.3.3 and of 4.5.2 (spec
10.2, 12).
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import NamedTuple, TypeGuard

from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.load import changed
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.versions import DEFAULT, VERSIONS, Version


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """The client instance: its tasks, its requests, and its end."""

    tasks_begin_ms: Time = 100.0
    """No setting of RocketMQ's: so long after its creation the instance sets its scheduled tasks going, as it starts
    other services first. In recorded sessions the first periodic heartbeat comes 65 to 145 ms after the first pass, and
    both are due a second after these moments; so the heartbeat of that pass is not in the way of the other."""
    poll_name_server_interval_ms: Time = 30_000.0
    poll_name_server_first_ms: Time = 10.0
    heartbeat_broker_interval_ms: Time = 30_000.0
    heartbeat_first_ms: Time = 1_000.0
    persist_consumer_offset_interval_ms: Time = 5_000.0
    persist_first_ms: Time = 10_000.0
    mq_client_api_timeout_ms: Time = 3_000.0
    """Routes, heartbeats, member lists, taking leave."""
    offset_timeout_ms: Time = 5_000.0
    lock_timeout_ms: Time = 1_000.0
    send_back_timeout_ms: Time = 5_000.0
    enable_heartbeat_channel_event_listener: bool = True
    """A connection that becomes active is told who is here, and wakes the rebalance thread."""
    pull_service_stop_ms: Time = 1_000.0
    """How long a client that shuts down waits for pulls that are put off, where there are any."""
    event_executor_stop_ms: Time = 3_000.0
    """How long it waits for the thread that handles events of connections, where that has missed the last one."""


@dataclass(frozen=True, slots=True)
class RebalanceSettings:
    """The rebalance thread, and what its passes do."""

    rebalance_wait_interval_ms: Time = 20_000.0
    rebalance_min_interval_ms: Time = 1_000.0
    """No pass within this time of the last one, and the pause after a pass that did not balance; 0: neither."""
    lock_refused_delay_ms: Time | None = 500.0
    """The thread is woken so long after a refused lock; None: it is not."""
    first_pull_delay_ms: Time = 500.0
    pull_max_idle_time_ms: Time = 120_000.0
    message_listener_for_unknown_topics: bool = True
    """5.x: a topic without a route is reported as changed at every pass."""
    reset_offset_pause_ms: Time = 10_000.0


@dataclass(frozen=True, slots=True)
class OrderlySettings:
    """Ordered consumption, and its locks."""

    lock_interval_ms: Time = 20_000.0
    lock_first_ms: Time = 1_000.0
    pop_service_locks: bool = True
    """5.x: the consume service for POP, which starts with every push consumer, renews all locks as well."""
    lock_max_live_time_ms: Time = 30_000.0
    unlock_delay_time_ms: Time = 20_000.0
    consume_lock_wait_ms: Time = 500.0
    """How long a removal waits for the listener that works on the queue."""
    queue_starts_locked: bool = True
    """4.5: a new queue is marked as locked only by the next lock round."""
    broadcasting_orderly_locks: bool = False
    delayed_unlock: bool = False
    """4.x: the offset is forgotten first; with messages still in the cache the unlock follows after
    ``unlock_delay_time_ms``."""
    max_time_consume_continuously_ms: Time = 60_000.0
    suspend_current_queue_time_ms: Time = 1_000.0
    try_lock_later_ms: Time = 100.0
    """A consume task without a valid lock tries to get it after this time,"""
    locked_then_consume_ms: Time = 10.0
    """goes on so long after it has it,"""
    not_locked_then_consume_ms: Time = 3_000.0
    """or so long after it was refused."""


@dataclass(frozen=True, slots=True)
class PullSettings:
    """Pulling, and the flow control that holds pulls back."""

    pull_time_delay_when_exception_ms: Time = 1_000.0
    pull_time_delay_when_flow_control_ms: Time = 50.0
    pull_time_delay_when_suspend_ms: Time = 1_000.0
    broker_suspend_max_time_ms: Time = 15_000.0
    consumer_timeout_when_suspend_ms: Time = 30_000.0
    pull_interval_ms: Time = 0.0
    pull_batch_size: int = 32
    pull_threshold_for_queue: int = 1000
    pull_threshold_size_for_queue: int = 100
    """MiB."""
    pull_threshold_for_topic: int = -1
    pull_threshold_size_for_topic: int = -1
    consume_concurrently_max_span: int = 2000
    offset_repair_delay_ms: Time = 0.0
    freeze_repaired_offset: bool = True
    record_bytes: int = 0
    """Size of every record's body. (No setting of RocketMQ: records here have no content.)"""


@dataclass(frozen=True, slots=True)
class PoppingSettings:
    """Popping, of a consumer whose queues a broker computes."""

    pop_invisible_ms: Time = 60_000.0
    pop_batch_nums: int = 32
    pop_threshold_for_queue: int = 96
    """With more records of a pop queue that are not answered it is not asked."""
    pop_polling_ms: Time = 15_000.0
    pop_timeout_ms: Time = 25_000.0


@dataclass(frozen=True, slots=True)
class ConsumeSettings:
    """The threads in which the listener of a push consumer works."""

    consume_message_batch_max_size: int = 1
    consume_thread_max: int = 20
    consume_timeout_ms: Time = 900_000.0
    max_reconsume_times: int = -1
    """How often a record is tried again; -1: as the group's ``retryMaxTimes`` at the broker says, ordered for ever."""
    send_back_retry_ms: Time = 5_000.0
    """A record that could not be sent back is given to the listener again after this time."""
    expired_delay_level: int = 3


@dataclass(frozen=True, slots=True)
class LitePullSettings:
    """Pull consumers, and the loop of their user."""

    auto_commit_interval_ms: Time = 5_000.0
    lite_pull_batch_size: int = 10
    lite_pull_threshold_for_all: int = 10_000
    poll_timeout_ms: Time = 5_000.0
    user_threads: int = 1
    """To how many threads of his own the user's loop hands the records of a poll. (No setting of RocketMQ.)"""


PUSH, LITE_PULL, PULL = "push", "lite_pull", "pull"
"""Kinds of consumers."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What a consumer is, and the settings of its parts. The names that users write are in `REAL_NAMES`."""

    kind: str = PUSH
    orderly: bool = False
    message_model: str = codes.CLUSTERING
    consume_from_where: str = codes.CONSUME_FROM_LAST_OFFSET
    client_rebalance: bool = True
    """False: a broker computes the consumer's queues, and says whether it pulls or pops them."""
    consume_timestamp_back_ms: Time = 1_800_000.0
    """CONSUME_FROM_TIMESTAMP: so long before the consumer was created, in whole seconds."""
    instance: InstanceSettings = field(default_factory=InstanceSettings)
    rebalance: RebalanceSettings = field(default_factory=RebalanceSettings)
    ordered: OrderlySettings = field(default_factory=OrderlySettings)
    pulling: PullSettings = field(default_factory=PullSettings)
    popping: PoppingSettings = field(default_factory=PoppingSettings)
    consuming: ConsumeSettings = field(default_factory=ConsumeSettings)
    lite_pull: LitePullSettings = field(default_factory=LitePullSettings)
    version: Version = DEFAULT


_DEFAULTS = ClientSettings()
_PARTS = tuple(part.name for part in fields(ClientSettings) if part.default_factory is not MISSING)
_PART_OF: Mapping[str, str] = {field.name: part for part in _PARTS for field in fields(getattr(_DEFAULTS, part))}
"""Name of a field to the name of the part in which it stands; those of `ClientSettings` itself stand in none."""


def with_fields(base: ClientSettings, changes: Mapping[str, object]) -> ClientSettings:
    own: dict[str, object] = {name: value for name, value in changes.items() if name not in _PART_OF}
    for part in _PARTS:
        of_part = {name: value for name, value in changes.items() if _PART_OF.get(name) == part}
        if of_part:
            own[part] = changed(getattr(base, part), of_part)
    return changed(base, own)


def field_of(settings: ClientSettings, name: str) -> object:
    return getattr(getattr(settings, _PART_OF[name]) if name in _PART_OF else settings, name)


OF_VERSION: Mapping[str, Mapping[str, object]] = {
    "4.5": {
        "rebalance_min_interval_ms": 0.0,
        "lock_refused_delay_ms": None,
        "first_pull_delay_ms": 0.0,
        "pop_service_locks": False,
        "queue_starts_locked": False,
        "broadcasting_orderly_locks": True,
        "delayed_unlock": True,
        "consume_lock_wait_ms": 1_000.0,
        "pull_time_delay_when_exception_ms": 3_000.0,
        "event_executor_stop_ms": 0.0,
        "offset_repair_delay_ms": 10_000.0,
        "freeze_repaired_offset": False,
        "enable_heartbeat_channel_event_listener": False,
        "message_listener_for_unknown_topics": False,
    }
}
"""Version to its other defaults, as fields (the table of spec 12, as far as it concerns clients)."""


class Range(NamedTuple):
    """What a whole number may be; -1 too, where that switches something off."""

    least: int
    most: int
    off: bool = False


RANGES: Mapping[str, Range] = {
    "pull_threshold_for_queue": Range(1, 65535),
    "pull_threshold_size_for_queue": Range(1, 1024),
    "pull_threshold_for_topic": Range(1, 6_553_500, True),
    "pull_threshold_size_for_topic": Range(1, 102_400, True),
    "consume_concurrently_max_span": Range(1, 65535),
    "pull_batch_size": Range(1, 1024),
    "pop_batch_nums": Range(1, 32),
    "pop_invisible_ms": Range(5_000, 300_000),
    "pop_threshold_for_queue": Range(1, 1 << 31),
    "lite_pull_batch_size": Range(1, 1024),
    "consume_message_batch_max_size": Range(1, 1024),
    "consume_thread_max": Range(1, 1000),
    "max_reconsume_times": Range(0, 1 << 31, True),
    "record_bytes": Range(0, 1 << 31),
    "lite_pull_threshold_for_all": Range(1, 1 << 31),
}

CHOICES: Mapping[str, tuple[str, ...]] = {
    "kind": (PUSH, LITE_PULL, PULL),
    "message_model": (codes.CLUSTERING, codes.BROADCASTING),
    "consume_from_where": (
        codes.CONSUME_FROM_LAST_OFFSET,
        codes.CONSUME_FROM_FIRST_OFFSET,
        codes.CONSUME_FROM_TIMESTAMP,
        "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
        "CONSUME_FROM_MIN_OFFSET",
        "CONSUME_FROM_MAX_OFFSET",
    ),
}

REAL_NAMES: Mapping[str, str] = {
    "pollNameServerInterval": "poll_name_server_interval_ms",
    "heartbeatBrokerInterval": "heartbeat_broker_interval_ms",
    "persistConsumerOffsetInterval": "persist_consumer_offset_interval_ms",
    "mqClientApiTimeout": "mq_client_api_timeout_ms",
    "enableHeartbeatChannelEventListener": "enable_heartbeat_channel_event_listener",
    "rocketmq.client.rebalance.waitInterval": "rebalance_wait_interval_ms",
    "rocketmq.client.rebalance.minInterval": "rebalance_min_interval_ms",
    "rocketmq.client.rebalance.lockInterval": "lock_interval_ms",
    "rocketmq.client.rebalance.lockMaxLiveTime": "lock_max_live_time_ms",
    "rocketmq.client.unlockDelayTimeMills": "unlock_delay_time_ms",
    "rocketmq.client.pull.pullMaxIdleTime": "pull_max_idle_time_ms",
    "rocketmq.client.maxTimeConsumeContinuously": "max_time_consume_continuously_ms",
    "pullTimeDelayMillsWhenException": "pull_time_delay_when_exception_ms",
    "suspendCurrentQueueTimeMillis": "suspend_current_queue_time_ms",
    "pullInterval": "pull_interval_ms",
    "pullBatchSize": "pull_batch_size",
    "pullThresholdForQueue": "pull_threshold_for_queue",
    "pullThresholdSizeForQueue": "pull_threshold_size_for_queue",
    "pullThresholdForTopic": "pull_threshold_for_topic",
    "pullThresholdSizeForTopic": "pull_threshold_size_for_topic",
    "consumeConcurrentlyMaxSpan": "consume_concurrently_max_span",
    "consumeMessageBatchMaxSize": "consume_message_batch_max_size",
    "consumeThreadMax": "consume_thread_max",
    "consumeTimeout": "consume_timeout_ms",
    "maxReconsumeTimes": "max_reconsume_times",
    "messageModel": "message_model",
    "consumeFromWhere": "consume_from_where",
    "consumeTimestampBack": "consume_timestamp_back_ms",
    "autoCommitIntervalMillis": "auto_commit_interval_ms",
    "litePullBatchSize": "lite_pull_batch_size",
    "pullThresholdForAll": "lite_pull_threshold_for_all",
    "consumer": "kind",
    "orderly": "orderly",
    "recordBytes": "record_bytes",
}
"""The system's own configuration name to the field. (``consumer``, ``orderly``, ``consumeTimestampBack`` and
``recordBytes`` are ours: in RocketMQ one chooses a class, a listener and a time of day; records here have no body.)"""

POP_NAMES: Mapping[str, str] = {
    "popInvisibleTime": "pop_invisible_ms",
    "popBatchNums": "pop_batch_nums",
    "popThresholdForQueue": "pop_threshold_for_queue",
}
"""Those of a consumer that pops, likewise."""

ONLY_DEFAULT: Mapping[str, object] = {"awaitTerminationMillisWhenShutdown": 0}
"""Settings of RocketMQ's of which only the default is modelled: a consumer that shuts down does not wait for listeners
that run, but interrupts them."""

THREADS = "consumeThreadMax"
"""The setting that stands for both ends of the pool of a push consumer: its queue has no bound, so that no thread
beyond ``consumeThreadMin`` ever starts."""

VERSION = "version"
"""The setting that names the version of a variant, or of a member."""


def with_settings(
    base: ClientSettings, given: Mapping[str, object], where: str, names: Mapping[str, str] = REAL_NAMES
) -> ClientSettings:
    """The settings changed by what is given under these names; ``version``, one of `VERSIONS`, comes first.

    Times are milliseconds. Raises `UserError`, naming ``where``, for an unknown name or a value that cannot be.
    """
    changes: dict[str, object] = {}
    if VERSION in given:
        version = VERSIONS.named(given[VERSION], f"{where}: {VERSION}")
        changes = {**OF_VERSION.get(version.name, {}), VERSION: version}
    for name, value in given.items():
        if name == VERSION:
            continue
        if name in ONLY_DEFAULT:
            if value != ONLY_DEFAULT[name]:
                raise UserError(f"{where}: {name} is {value!r}, which is not modelled, expected {ONLY_DEFAULT[name]}")
            continue
        if name not in names:
            raise UserError(f"{where}: unknown client setting {name!r} of RocketMQ, expected one of {', '.join(names)}")
        of = names[name]
        changes[of] = _checked(of, name, value, where, field_of(base, of))
    return with_fields(base, changes)


def _checked(of: str, name: str, value: object, where: str, default: object) -> object:
    if of in CHOICES:
        if value not in CHOICES[of]:
            raise UserError(f"{where}: {name} is {value!r}, expected one of {', '.join(CHOICES[of])}")
    elif of in RANGES:
        least, most, off = RANGES[of]
        if not _is_whole(value) or not (least <= value <= most or (off and value == -1)):
            minus = "-1 or " if off else ""
            raise UserError(f"{where}: {name} is {value!r}, expected {minus}a whole number from {least} to {most}")
        return float(value) if isinstance(default, float) else value
    elif isinstance(default, bool):
        if not isinstance(value, bool):
            raise UserError(f"{where}: {name} is {value!r}, expected true or false")
    elif isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise UserError(f"{where}: {name} is {value!r}, expected milliseconds, 0 or more")
    else:
        return float(value)
    return value


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
