"""Settings of the proxy (``ProxyConfig``), and of the client settings that it hands out."""

from collections.abc import Mapping
from dataclasses import dataclass

from protocols.engine.nodes import Time
from protocols.load import changed


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """Times are milliseconds, sizes bytes. `REAL_NAMES` gives the system's own configuration names."""

    route_refresh_ms: Time = 20_000.0
    """Who asks for a route that is older gets it still, and a new one is loaded."""
    route_expires_ms: Time = 300_000.0
    least_polling_ms: Time = 5_000.0
    most_polling_ms: Time = 20_000.0
    request_timeout_ms: Time = 3_000.0
    default_invisible_ms: Time = 60_000.0
    """What is received with renewal is invisible for so long at a time."""
    least_invisible_ms: int = 10_000
    most_invisible_ms: int = 43_200_000
    clear_invisible_ms: Time = 1_000.0
    """What a client that has left had received is invisible for so long."""
    renew_ahead_ms: Time = 10_000.0
    renew_scan_ms: Time = 5_000.0
    renew_most_ms: Time = 3 * 3_600_000.0
    """So long after its delivery a record is renewed no more."""
    renew_most_failures: int = 3
    channel_expired_ms: Time = 120_000.0
    channel_scan_ms: Time = 10_000.0
    receive_batch_size: int = 32
    lite_subscription_quota: int = 2_000
    most_lite_topic_size: int = 64
    most_body_bytes: int = 4_194_304
    most_user_properties: int = 128
    most_property_bytes: int = 16_384
    most_message_group_bytes: int = 64
    most_delay_ms: int = 86_400_000
    transaction_expires_ms: Time = 30_000.0
    """How long a transaction can be ended after its first half, or after the question what became of it."""
    transaction_heartbeat_ms: Time = 20_000.0
    """How often brokers are told which topics have producers of transactions (``transactionHeartbeatPeriodSecond``)."""
    auto_renew: bool = True
    port_of_request: bool = False
    """Routes name the port that the client has asked at, not the proxy's own."""


REAL_NAMES: Mapping[str, str] = {
    "grpcClientConsumerMinLongPollingTimeoutMillis": "least_polling_ms",
    "grpcClientConsumerMaxLongPollingTimeoutMillis": "most_polling_ms",
    "grpcClientConsumerLongPollingBatchSize": "receive_batch_size",
    "defaultInvisibleTimeMills": "default_invisible_ms",
    "minInvisibleTimeMillsForRecv": "least_invisible_ms",
    "maxInvisibleTimeMills": "most_invisible_ms",
    "invisibleTimeMillisWhenClear": "clear_invisible_ms",
    "renewAheadTimeMillis": "renew_ahead_ms",
    "renewSchedulePeriodMillis": "renew_scan_ms",
    "renewMaxTimeMillis": "renew_most_ms",
    "maxRenewRetryTimes": "renew_most_failures",
    "channelExpiredTimeout": "channel_expired_ms",
    "maxMessageSize": "most_body_bytes",
    "userPropertyMaxNum": "most_user_properties",
    "maxUserPropertySize": "most_property_bytes",
    "maxMessageGroupSize": "most_message_group_bytes",
    "maxDelayTimeMills": "most_delay_ms",
    "transactionDataExpireMillis": "transaction_expires_ms",
    "enableProxyAutoRenew": "auto_renew",
    "useEndpointPortFromRequest": "port_of_request",
}
"""The system's own configuration name to the field."""


def renamed(given: Mapping[str, object]) -> ProxySettings:
    """Settings under the system's own names; `KeyError` for a name that is not modelled."""
    return changed(ProxySettings(), {REAL_NAMES[name]: value for name, value in given.items()})
