"""Configurations as confluent-kafka takes them: checked in the constructor, refused with the same errors.

What the model knows of a consumer's is handed on under Kafka's names; addresses, security and the like are left aside.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, cast

from compare.testing.confluent import errors
from compare.testing.confluent.properties import (
    DEBUG_FLAGS,
    DEFAULT_PARTITIONER,
    LIBRDKAFKA_NAMES,
    NUMBERS,
    PARTITIONERS,
    TRUTHS,
    WORDS,
)
from kafka_coordinator.catalogue import CLASSIC, CONSUMER
from kafka_coordinator.cluster import GROUP_PROTOCOL, NAMES

Callback: TypeAlias = Callable[..., object]


class Logger(Protocol):
    """What a client's log is told to: `logging.Logger`, or anything with such a method."""

    def log(self, level: int, msg: str, /, *args: object) -> object: ...


_ON, _OFF = ("true", "t", "1"), ("false", "f", "0")
_EAGER, _COOPERATIVE = ("range", "roundrobin"), "cooperative-sticky"
_RESETS: Final[Mapping[str, str]] = {
    "smallest": "earliest",
    "beginning": "earliest",
    "largest": "latest",
    "end": "latest",
    "error": "latest",
}
"""Other words of librdkafka's for ``auto.offset.reset``; ``error`` tells an error, and reading does not begin."""
_ALL: Final = ("acks", "request.required.acks")
"""Numbers that may be the word ``all``."""
_OF_MEMBERS: Final[Mapping[str, str]] = {"group.instance.id": "instance_id", "client.rack": "rack"}
_CALLBACKS: Final[Mapping[str, Callable[[str], Exception]]] = {
    "error_cb": lambda name: TypeError(f"expected {name} property as a callable function"),
    "stats_cb": lambda name: TypeError(f"expected {name} property as a callable function"),
    "throttle_cb": lambda name: ValueError(f"expected {name} property as a callable function"),
    "oauth_cb": lambda name: TypeError(f"expected {name} property as a callable function"),
    "on_commit": lambda name: _refused(f"{name} requires a callable object"),
}
"""Name of a callback to what is raised for one that cannot be called."""
_OF_C: Final = ("dr_cb", "dr_msg_cb", "log_cb", "socket_cb", "connect_cb", "closesocket_cb", "open_cb")
"""Callbacks of C, which Python's producer sets itself."""
_MOST_AT_LEAST: Final = 100_000_000
_LONGEST_LINGER_MS: Final = 900_000
_MOST_IN_FLIGHT: Final = 5
_AT_THE_BROKER: Final[Mapping[str, str]] = {
    "session.timeout.ms": "consumer` or share consumer. It is defined broker side",
    "partition.assignment.strategy": "consumer`. Use `group.remote.assignor` instead",
    "group.protocol.type": "consumer` or share consumer",
    "heartbeat.interval.ms": "consumer` or share consumer. It is defined broker side",
}
"""What is refused under the consumer protocol, in the order in which librdkafka looks, and what it says."""
_LIBRDKAFKAS_DEFAULTS: Final[Mapping[str, object]] = {"auto.offset.reset": "latest"}
"""Where librdkafka's default is another than the model's."""
_ALIASES: Final[Mapping[str, str]] = {
    "queue.buffering.max.ms": "linger.ms",
    "delivery.timeout.ms": "message.timeout.ms",
    "max.in.flight.requests.per.connection": "max.in.flight",
    "acks": "request.required.acks",
}
"""Other names of a producer's properties to the ones that stand here."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the double does with a consumer's configuration."""

    group_id: str
    settings: Mapping[str, object]
    """What the model knows, under Kafka's names."""
    fields: Mapping[str, object]
    """The same of what a scenario says of a member."""
    callbacks: Mapping[str, Callback]
    """``on_commit``, ``stats_cb``, ``error_cb`` and the like."""
    statistics_ms: int
    """How often ``stats_cb`` is called; 0: never."""
    stores_itself: bool
    """Whether the user's code says what is stored (``enable.auto.offset.store`` is off)."""
    tells_ends: bool
    """``enable.partition.eof``."""
    committed_only: bool
    """``isolation.level``: whether only committed records are read."""
    resets: bool
    """Whether ``auto.offset.reset`` names where reading begins; else an error is told (``error``)."""
    logger: Logger | None
    """Who is told what librdkafka logs; None: nobody."""
    given: Mapping[str, object]
    """All of it but callbacks, by the names that were given."""


@dataclass(frozen=True, slots=True)
class ProducerConfiguration:
    """What the double does with a producer's configuration; times in milliseconds."""

    linger: float
    most_messages: int
    most_bytes: int
    message_timeout: float
    propagation: float
    """How long a topic may be unknown before its records fail."""
    transaction_timeout: float
    sticky: float
    """How long records without a key go to the same partition."""
    only_errors: bool
    """``delivery.report.only.error``."""
    partitioner: str
    transactional_id: str
    """Empty: none."""
    client_id: str
    on_delivery: Callback | None


def configuration(given: Mapping[str, object], group_settings: Mapping[str, object]) -> Configuration:
    """Of a consumer's constructor; ``group_settings`` hold where it says nothing.

    Raises what confluent-kafka raises: `ValueError` without ``group.id``, `TypeError` for a callback that is none,
    `KafkaException` else.
    """
    values = _named(given)
    if values.get("group.id") is None:
        raise ValueError("Failed to create consumer: group.id must be set")
    callbacks: dict[str, Callback] = {}
    plain: dict[str, object] = {}
    for name, value in values.items():
        if name in _CALLBACKS:
            if callable(value):
                callbacks[name] = value
            elif value is not None or name == "on_commit":
                raise _CALLBACKS[name](name)
        elif name not in LIBRDKAFKA_NAMES and name not in NAMES and name != "logger":
            raise _refused(f'No such configuration property: "{name}"')
        elif value is not None and name != "logger":
            plain[name] = _checked(name, value)
    _check_consumer(plain)
    settings = {**_LIBRDKAFKAS_DEFAULTS, **{name: value for name, value in plain.items() if name in NAMES}}
    if plain.get(GROUP_PROTOCOL, group_settings.get(GROUP_PROTOCOL, CLASSIC)) == CLASSIC:
        settings.pop("group.remote.assignor", None)  # librdkafka does not mind it
    if "auto.offset.reset" in group_settings and "auto.offset.reset" not in plain:
        del settings["auto.offset.reset"]
    return Configuration(
        str(values["group.id"]),
        settings,
        {field: plain[name] for name, field in _OF_MEMBERS.items() if plain.get(name)},
        callbacks,
        _whole(plain.get("statistics.interval.ms", 0)),
        plain.get("enable.auto.offset.store", True) is False,
        plain.get("enable.partition.eof", False) is True,
        str(plain.get("isolation.level", "read_committed")).lower() == "read_committed",
        str(values.get("auto.offset.reset", "")).lower() != "error",
        cast(Logger | None, values.get("logger")),
        plain,
    )


def producer_configuration(given: Mapping[str, object]) -> ProducerConfiguration:
    """Of a producer's constructor. Raises what confluent-kafka raises: `TypeError` for a callback that is none,
    `KafkaException` else."""
    values = _named(given)
    on_delivery = values.pop("on_delivery", None)
    if on_delivery is not None and not callable(on_delivery):
        raise _refused("on_delivery requires a callable object")
    plain: dict[str, object] = {}
    for name, value in values.items():
        if name in _CALLBACKS and name != "on_commit":
            if value is not None and not callable(value):
                raise _CALLBACKS[name](name)
        elif name in _OF_C:
            raise _refused(f'Property "{name}" must be set through dedicated .._set_..() function')
        elif name not in LIBRDKAFKA_NAMES and name != "logger":
            raise _refused(f'No such configuration property: "{name}"')
        elif value is not None and name != "logger":
            real = _ALIASES.get(name, name)
            plain[real] = _of_producer(real, value)
    _check_producer(plain)

    def number(name: str, default: float) -> float:
        value = plain.get(name, default)
        return value if isinstance(value, int | float) else 0

    return ProducerConfiguration(
        number("linger.ms", 5.0),
        int(number("queue.buffering.max.messages", 100_000)),
        int(number("message.max.bytes", 1_000_000)),
        number("message.timeout.ms", 300_000),
        number("topic.metadata.propagation.max.ms", 30_000),
        number("transaction.timeout.ms", 60_000),
        number("sticky.partitioning.linger.ms", 10),
        plain.get("delivery.report.only.error") is True,
        str(plain.get("partitioner", DEFAULT_PARTITIONER)),
        str(plain.get("transactional.id", "")),
        str(plain.get("client.id", "rdkafka")),
        on_delivery,
    )


def _named(given: Mapping[str, object]) -> dict[str, object]:
    """All properties by name; those of ``default.topic.config`` hold where nothing else is said."""
    values = {str(name): value for name, value in given.items()}
    topics = values.pop("default.topic.config", None)
    return {**topics, **values} if isinstance(topics, Mapping) else values


def _refused(reason: str) -> Exception:
    return errors.exception("_INVALID_ARG", reason)


def _checked(name: str, value: object) -> object:
    """The value as the model wants it."""
    text = str(value)
    if name in TRUTHS:
        if text.lower() not in _ON + _OFF:
            raise _refused(f'Expected bool value for "{name}": true or false')
        return text.lower() in _ON
    if name in NUMBERS and not (name in _ALL and text == "all"):
        return _in_range(name, text)
    if name in WORDS:
        if text.lower() not in WORDS[name]:
            raise _refused(f'Invalid value "{text}" for configuration property "{name}"')
        if name == "auto.offset.reset":
            return _RESETS.get(text.lower(), text.lower())
        if name == GROUP_PROTOCOL:
            return text.lower()
    if name == "debug":
        for flag in text.split(","):
            if flag.strip() not in DEBUG_FLAGS:
                raise _refused(f'Invalid value "{flag}" for configuration property "debug"')
    return value


def _of_producer(name: str, value: object) -> object:
    """The same for a producer's property."""
    if name == "linger.ms":
        return _linger(value)
    if name == "partitioner" and str(value) not in PARTITIONERS:
        raise _refused(f'Invalid value for configuration property "partitioner": {value}')
    if name == "request.required.acks" and str(value) == "all":
        return -1
    return _checked(name, value)


def _in_range(name: str, text: str) -> int:
    """A whole number; librdkafka leaves a fraction's rest aside."""
    try:
        number = int(text.strip().partition(".")[0])
    except ValueError:
        raise _refused(f'Invalid value for configuration property "{name}"') from None
    least, most = NUMBERS[name]
    if not least <= number <= most:
        raise _refused(f'Configuration property "{name}" value {number} is outside allowed range {least}..{most}\n')
    return number


def _linger(value: object) -> float:
    """Milliseconds, which may be a fraction."""
    name = "queue.buffering.max.ms"
    try:
        linger = float(str(value))
    except ValueError:
        raise _refused(f'Invalid value for configuration property "{name}"') from None
    if not 0 <= linger <= _LONGEST_LINGER_MS:
        said = f'Configuration property "{name}" value {linger:g} is outside allowed range 0..{_LONGEST_LINGER_MS}\n'
        raise _refused(said)
    return linger


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _check_consumer(values: Mapping[str, object]) -> None:
    """What librdkafka checks when it makes a consumer."""
    if values.get(GROUP_PROTOCOL) == CONSUMER:
        for name, instead in _AT_THE_BROKER.items():
            if name in values:
                raise _refused(f"Failed to create consumer: `{name}` is not supported for `group.protocol={instead}")
        return
    session = _whole(values.get("session.timeout.ms", 45_000))
    if _whole(values.get("max.poll.interval.ms", 300_000)) < session:
        raise _refused("Failed to create consumer: `max.poll.interval.ms`must be >= `session.timeout.ms`")
    if not 1 <= _whole(values.get("fetch.min.bytes", 1)) <= _MOST_AT_LEAST:
        reason = f'"fetch.min.bytes" value is outside allowed range 1..{_MOST_AT_LEAST}'
        raise _refused(f"Failed to create consumer: Configuration property {reason}")
    given = values.get("partition.assignment.strategy")
    if given is None:
        return
    names = [name.strip() for name in str(given).split(",")]
    for name in names:
        if name not in (*_EAGER, _COOPERATIVE):
            raise _refused(f"Failed to create consumer: Unsupported partition.assignment.strategy: {name}")
    if _COOPERATIVE in names and set(names) != {_COOPERATIVE}:
        raise _refused(
            f"Failed to create consumer: All partition.assignment.strategy ({given}) assignors must have the same"
            " protocol type, online migration between assignors with different protocol types is not supported"
        )


def _check_producer(values: Mapping[str, object]) -> None:
    """What librdkafka checks when it makes a producer."""
    transactional = bool(values.get("transactional.id"))
    if transactional and values.get("enable.idempotence") is False:
        raise _refused("Failed to create producer: `transactional.id` requires `enable.idempotence=true`")
    if not transactional and values.get("enable.idempotence") is not True:
        return
    if _whole(values.get("max.in.flight", _MOST_IN_FLIGHT)) > _MOST_IN_FLIGHT:
        raise _refused(
            f"Failed to create producer: `max.in.flight` must be set <= {_MOST_IN_FLIGHT} when"
            " `enable.idempotence` is true"
        )
    if values.get("request.required.acks", -1) != -1:
        raise _refused("Failed to create producer: `acks` must be set to `all` when `enable.idempotence` is true")
