"""What a recording says of its cluster's settings, under RocketMQ's own names."""

from collections.abc import Mapping

from compare.conformance.cases import MalformedCase
from compare.conformance.rocketmq_recordings.reading import Recording
from rocketmq_selfbalance.cluster import VERSIONS, ClientSettings, with_settings

_SHORTEST_INTERVAL = "rocketmq.client.rebalance.minInterval"

_NAMES: Mapping[str, str] = {
    "rebalanceIntervalMs": "rocketmq.client.rebalance.waitInterval",
    "rebalanceMinIntervalMs": _SHORTEST_INTERVAL,
    "heartbeatIntervalMs": "heartbeatBrokerInterval",
    "pollNameServerIntervalMs": "pollNameServerInterval",
    "persistOffsetIntervalMs": "persistConsumerOffsetInterval",
    "consumeFromWhere": "consumeFromWhere",
    "consumeThreads": "consumeThreadMax",
    "orderlyLockIntervalMs": "rocketmq.client.rebalance.lockInterval",
    "orderlyBrokerLockExpiryMs": "rocketmq.broker.rebalance.lockMaxLiveTime",
    "channelExpiryMs": "channelExpiredTimeout",
}
"""What the recording calls a setting to what RocketMQ calls it."""

_VERSION = "version"


def settings_of(recording: Recording) -> dict[str, object]:
    """The settings of clients and brokers. Raises `MalformedCase` for a release that is not modelled."""
    given = recording.settings
    settings = {real: given[name] for name, real in _NAMES.items() if name in given}
    if _VERSION in given:
        release = ".".join(str(given[_VERSION]).split(".")[:2])
        if release not in VERSIONS:
            raise MalformedCase("settings.version", f"one of {', '.join(VERSIONS)}", given[_VERSION])
        settings[_VERSION] = release
    return settings


def shortest_interval(recording: Recording) -> float:
    """From one pass of a client to the next, and from its making to the first: so many milliseconds at least."""
    given = {name: value for name, value in settings_of(recording).items() if name in (_SHORTEST_INTERVAL, _VERSION)}
    return with_settings(ClientSettings(), given, "settings").rebalance.rebalance_min_interval_ms
