"""Settings of a broker with RocketMQ 5.3.3's defaults: its ``BrokerConfig`` and ``NettyServerConfig`` (spec 10.1)."""

from collections.abc import Mapping
from dataclasses import dataclass

from protocols.engine.nodes import Time

DELAY_LEVELS_S = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""``messageDelayLevel``: seconds of levels 1, 2, ..."""


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Times are milliseconds. `REAL_NAMES` gives the system's own configuration names."""

    register_name_server_period_ms: Time = 30_000.0
    """Kept between 10 s and 60 s."""
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


REAL_NAMES: Mapping[str, str] = {
    "registerNameServerPeriod": "register_name_server_period_ms",
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
``serverChannelMaxIdleTimeSeconds`` in seconds)."""

VERSION_4_5: Mapping[str, object] = {
    "notify_broadcasting": True,
    "use_server_side_reset_offset": False,
    "check_commits": False,
    "zero_for_empty_queues": True,
}
"""What 4.5.2 does otherwise (spec 12), as fields."""

VERSIONS: Mapping[str, Mapping[str, object]] = {"5.3": {}, "4.5": VERSION_4_5}
"""Value of the setting ``version`` to what it changes."""
