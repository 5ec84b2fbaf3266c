"""Settings of the variant ``rocketmq:POP``, under RocketMQ's own names: of the group, the client and the proxy."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.load import changed


@dataclass(frozen=True, slots=True)
class PopSettings:
    """Defaults of RocketMQ 5.5 and its Java client 5.2. Times are milliseconds."""

    retry_max_times: int = 16
    """Of the group: so often a record comes again, then it goes to the dead letters."""
    consume_message_orderly: bool = False
    """Of the group: a queue gives out nothing while records of its last batch are not done."""
    consumption_thread_count: int = 20
    """Of a push consumer."""
    max_cache_message_count: int = 1_024
    """Of a push consumer, over all that it asks: it asks again at once until it has so many that wait."""
    receive_batch_size: int = 32
    """``grpcClientConsumerLongPollingBatchSize``."""
    polling_ms: Time = 20_000.0
    """``grpcClientConsumerMaxLongPollingTimeoutMillis``."""
    invisible_ms: Time = 60_000.0
    auto_renew: bool = True
    """False: the proxy renews nothing; what is not done in time comes again."""
    channel_expired_ms: Time = 120_000.0
    """The proxy drops a client whose last heartbeat is older."""


NAMES: Final[Mapping[str, str]] = {
    "retryMaxTimes": "retry_max_times",
    "consumeMessageOrderly": "consume_message_orderly",
    "consumptionThreadCount": "consumption_thread_count",
    "maxCacheMessageCount": "max_cache_message_count",
    "grpcClientConsumerLongPollingBatchSize": "receive_batch_size",
    "grpcClientConsumerMaxLongPollingTimeoutMillis": "polling_ms",
    "defaultInvisibleTimeMills": "invisible_ms",
    "enableProxyAutoRenew": "auto_renew",
    "channelExpiredTimeout": "channel_expired_ms",
}
"""RocketMQ's own name to the field."""

OF_MEMBERS: Final = frozenset({"consumptionThreadCount", "maxCacheMessageCount"})


def with_settings(base: PopSettings, given: Mapping[str, object], where: str) -> PopSettings:
    """``base`` with these. Raises `UserError`, naming ``where``, for an unknown name or a wrong value."""
    kinds = {field.name: type(getattr(base, field.name)) for field in fields(base)}
    changes: dict[str, object] = {}
    for name, value in given.items():
        if name not in NAMES:
            raise UserError(f"{where}: unknown setting {name!r} of rocketmq:POP, expected one of {', '.join(NAMES)}")
        kind = kinds[NAMES[name]]
        if kind is bool:
            right, expected = isinstance(value, bool), "true or false"
        else:
            right = isinstance(value, int | float) and not isinstance(value, bool) and value == int(value) and value > 0
            expected = "a whole number, 1 or more"
            if name == "retryMaxTimes":
                right, expected = right or value == 0, "a whole number, 0 or more"
        if not right:
            raise UserError(f"{where}: {name} is {value!r}, expected {expected}")
        changes[NAMES[name]] = kind(value)
    return changed(base, changes)
