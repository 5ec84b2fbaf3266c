"""Settings of the variant ``rocketmq:POP``, under RocketMQ's own names: of the group, the proxy, and each kind of
client."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.load import changed
from rocketmq_selfbalance.client import settings as of_classic
from rocketmq_selfbalance.proxy.settings import ProxySettings

_PROXY: Final = ProxySettings()
LEAST_INVISIBLE_MS, MOST_INVISIBLE_MS = _PROXY.least_invisible_ms, _PROXY.most_invisible_ms
LEAST_POLLING_MS = _PROXY.least_polling_ms

CLIENT: Final = "client"
"""The setting that says which class of client a member is."""
PUSH, SIMPLE, CLASSIC = "PushConsumer", "SimpleConsumer", "DefaultMQPushConsumer"
CLIENTS: Final = (PUSH, SIMPLE, CLASSIC)


@dataclass(frozen=True, slots=True)
class PopSettings:
    """Defaults of RocketMQ 5.5 and its Java client 5.2; of a simple consumer, which has none, what the client's own
    example takes. Times are milliseconds."""

    client: str = PUSH
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
    max_message_num: int = 16
    simple_invisible_ms: Time = 15_000.0
    await_ms: Time = 30_000.0
    change_ms: Time = 0.0
    """For how long a simple consumer's code hides a record that it cannot handle; 0: it says nothing."""
    share: int = -1
    """``popShareQueueNum`` of the brokers' tables of request modes."""
    user_threads: int = 1
    """To how many threads a simple consumer's loop hands what it receives. (No setting of RocketMQ.)"""


class Setting(NamedTuple):
    """A field of `PopSettings`: the clients whom it concerns, the least and the most that it may be, and whether a
    member may have its own."""

    field: str
    clients: Collection[str]
    least: float = 1
    most: float = float("inf")
    of_members: bool = False


_BEHIND_PROXY: Final = (PUSH, SIMPLE)
SETTINGS: Final[Mapping[str, Setting]] = {
    CLIENT: Setting("client", CLIENTS, of_members=True),
    "retryMaxTimes": Setting("retry_max_times", _BEHIND_PROXY, 0),
    "consumeMessageOrderly": Setting("consume_message_orderly", _BEHIND_PROXY),
    "consumptionThreadCount": Setting("consumption_thread_count", (PUSH,), of_members=True),
    "maxCacheMessageCount": Setting("max_cache_message_count", (PUSH,), of_members=True),
    "grpcClientConsumerLongPollingBatchSize": Setting("receive_batch_size", _BEHIND_PROXY),
    "grpcClientConsumerMaxLongPollingTimeoutMillis": Setting("polling_ms", _BEHIND_PROXY),
    "defaultInvisibleTimeMills": Setting("invisible_ms", (PUSH,)),
    "enableProxyAutoRenew": Setting("auto_renew", (PUSH,)),
    "channelExpiredTimeout": Setting("channel_expired_ms", _BEHIND_PROXY),
    "maxMessageNum": Setting("max_message_num", (SIMPLE,), of_members=True),
    "invisibleDuration": Setting("simple_invisible_ms", (SIMPLE,), LEAST_INVISIBLE_MS, MOST_INVISIBLE_MS, True),
    # With the client's 3 s a request lasts 5 s at least, or the proxy refuses it (ILLEGAL_POLLING_TIME).
    "awaitDuration": Setting("await_ms", (SIMPLE,), 2_000, of_members=True),
    "changeInvisibleDuration": Setting("change_ms", (SIMPLE,), 0, MOST_INVISIBLE_MS, True),
    "popShareQueueNum": Setting("share", (CLASSIC,), float("-inf")),
}
"""RocketMQ's own name to what it sets. (``client`` and ``maxMessageNum`` to ``changeInvisibleDuration``, but for
``awaitDuration``, are ours: in RocketMQ one chooses a class, and these are arguments of its calls.)"""

CLASSIC_NAMES: Final[Mapping[str, str]] = {
    **of_classic.POP_NAMES,
    **{
        name: of_classic.REAL_NAMES[name]
        for name in (
            *("consumeThreadMax", "maxReconsumeTimes", "consumeFromWhere", "mqClientApiTimeout"),
            *("pollNameServerInterval", "heartbeatBrokerInterval", "enableHeartbeatChannelEventListener"),
            *("rocketmq.client.rebalance.waitInterval", "rocketmq.client.rebalance.minInterval"),
            "rocketmq.client.pull.pullMaxIdleTime",
        )
    },
}
"""Those of a classic client, as its `ClientSettings` has them."""

POOLS: Final[Mapping[object, str]] = {PUSH: "consumptionThreadCount", CLASSIC: of_classic.THREADS}
"""Class of client to the setting that says in how many threads its code handles records; a simple consumer has none."""

OF_MEMBERS: Final = frozenset((*CLASSIC_NAMES, *(name for name, setting in SETTINGS.items() if setting.of_members)))


def clients_of(name: str) -> Collection[str]:
    """The clients whom a setting concerns; nobody for one that is none of `SETTINGS` and `CLASSIC_NAMES`."""
    if name in SETTINGS:
        return SETTINGS[name].clients
    return (CLASSIC,) if name in CLASSIC_NAMES else ()


def with_settings(base: PopSettings, given: Mapping[str, object], where: str) -> PopSettings:
    """``base`` with these of `SETTINGS`. Raises `UserError`, naming ``where``, for a wrong value."""
    kinds = {field.name: type(getattr(base, field.name)) for field in fields(base)}
    changes: dict[str, object] = {}
    for name, value in given.items():
        setting = SETTINGS[name]
        kind = kinds[setting.field]
        if kind is str:
            right, expected = value in CLIENTS, f"one of {', '.join(CLIENTS)}"
        elif kind is bool:
            right, expected = isinstance(value, bool), "true or false"
        else:
            right, expected = _is_in_range(value, setting), _range(setting)
        if not right:
            raise UserError(f"{where}: {name} is {value!r}, expected {expected}")
        changes[setting.field] = kind(value)
    return changed(base, changes)


def _is_in_range(value: object, setting: Setting) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value == int(value) and setting.least <= value <= setting.most


def _range(setting: Setting) -> str:
    if setting.least == float("-inf"):
        return "a whole number"
    upwards = f"{setting.least:.0f} or more" if setting.most == float("inf") else ""
    return f"a whole number{', ' if upwards else ' '}{upwards or f'from {setting.least:.0f} to {setting.most:.0f}'}"
