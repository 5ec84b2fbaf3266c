"""A consumer's configuration as confluent-kafka takes it: checked in the constructor, refused with the same errors.

What the model knows of it is handed on under Kafka's names; addresses, security and the like are left aside.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from compare.testing.confluent import errors as errors
from compare.testing.confluent.names import CONSUMER_NAMES, LIBRDKAFKA_NAMES
from compare.testing.confluent.types import DEBUG_FLAGS, NUMBERS, TRUTHS, WORDS
from kafka_coordinator.catalogue import CLASSIC, CONSUMER
from kafka_coordinator.consumer.settings import GROUP_PROTOCOL, NAMES

Callback: TypeAlias = Callable[..., object]

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
_ALL = ("acks", "request.required.acks")
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
_MOST_AT_LEAST: Final = 100_000_000
_AT_THE_BROKER: Final[Mapping[str, str]] = {
    "session.timeout.ms": "consumer` or share consumer. It is defined broker side",
    "partition.assignment.strategy": "consumer`. Use `group.remote.assignor` instead",
    "group.protocol.type": "consumer` or share consumer",
    "heartbeat.interval.ms": "consumer` or share consumer. It is defined broker side",
}
"""What is refused under the consumer protocol, in the order in which librdkafka looks, and what it says."""
_LIBRDKAFKAS_DEFAULTS: Final[Mapping[str, object]] = {"auto.offset.reset": "latest"}
"""Where librdkafka's default is another than the model's."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the double does with a configuration."""

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
    logger: Any
    """What is told what librdkafka logs; None: nobody is."""
    given: Mapping[str, object]
    """All of it but callbacks, by the names that were given."""


def configuration(given: Mapping[Any, object], group_settings: Mapping[str, object]) -> Configuration:
    """Of the constructor's dictionary; ``group_settings`` hold where it says nothing.

    Raises what confluent-kafka raises: `ValueError` without ``group.id``, `TypeError` for a callback that is none,
    `KafkaException` else.
    """
    values: dict[str, object] = {str(name): value for name, value in given.items()}
    topics = values.pop("default.topic.config", None)
    if isinstance(topics, Mapping):
        values = {**topics, **values}
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
        elif name not in LIBRDKAFKA_NAMES and name not in CONSUMER_NAMES and name not in NAMES:
            raise _refused(f'No such configuration property: "{name}"')
        elif value is not None and name != "logger":
            plain[name] = _checked(name, value)
    _check_together(plain)
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
        _number(plain.get("statistics.interval.ms", 0)),
        plain.get("enable.auto.offset.store", True) is False,
        plain.get("enable.partition.eof", False) is True,
        str(plain.get("isolation.level", "read_committed")).lower() == "read_committed",
        str(values.get("auto.offset.reset", "")).lower() != "error",
        values.get("logger"),
        plain,
    )


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
        _check_flags(text)
    return value


def _check_flags(text: str) -> None:
    for flag in text.split(","):
        if flag.strip() not in DEBUG_FLAGS:
            raise _refused(f'Invalid value "{flag}" for configuration property "debug"')


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


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


def _check_together(values: Mapping[str, object]) -> None:
    """What librdkafka checks when it makes the client."""
    if values.get(GROUP_PROTOCOL) == CONSUMER:
        for name, instead in _AT_THE_BROKER.items():
            if name in values:
                raise _refused(f"Failed to create consumer: `{name}` is not supported for `group.protocol={instead}")
        return
    session = _number(values.get("session.timeout.ms", 45_000))
    if _number(values.get("max.poll.interval.ms", 300_000)) < session:
        raise _refused("Failed to create consumer: `max.poll.interval.ms`must be >= `session.timeout.ms`")
    least = values.get("fetch.min.bytes", 1)
    if not 1 <= _number(least) <= _MOST_AT_LEAST:
        reason = f'"fetch.min.bytes" value is outside allowed range 1..{_MOST_AT_LEAST}'
        raise _refused(f"Failed to create consumer: Configuration property {reason}")
    given = values.get("partition.assignment.strategy")
    if given is None:
        return
    names = [each.strip() for each in str(given).split(",")]
    for name in names:
        if name not in (*_EAGER, _COOPERATIVE):
            raise _refused(f"Failed to create consumer: Unsupported partition.assignment.strategy: {name}")
    if _COOPERATIVE in names and set(names) != {_COOPERATIVE}:
        raise _refused(
            f"Failed to create consumer: All partition.assignment.strategy ({given}) assignors must have the same"
            " protocol type, online migration between assignors with different protocol types is not supported"
        )


checked, refused, callbacks_refused = _checked, _refused, _CALLBACKS
"""What a producer's configuration has in common with a consumer's."""
