"""A producer's configuration as confluent-kafka takes it: checked in the constructor, refused with the same errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from compare.testing.confluent.configuration import callbacks_refused, checked, refused
from compare.testing.confluent.names import LIBRDKAFKA_NAMES
from compare.testing.confluent.partitioners import DEFAULT, KEYED

_DEFAULTS: Final[Mapping[str, object]] = {
    "linger.ms": 5.0,
    "queue.buffering.max.messages": 100_000,
    "message.max.bytes": 1_000_000,
    "message.timeout.ms": 300_000,
    "topic.metadata.propagation.max.ms": 30_000,
    "transaction.timeout.ms": 60_000,
    "sticky.partitioning.linger.ms": 10,
    "delivery.report.only.error": False,
    "partitioner": DEFAULT,
    "transactional.id": "",
    "client.id": "rdkafka",
    "max.in.flight": 1_000_000,
    "request.required.acks": -1,
}
_ALIASES: Final[Mapping[str, str]] = {
    "queue.buffering.max.ms": "linger.ms",
    "delivery.timeout.ms": "message.timeout.ms",
    "max.in.flight.requests.per.connection": "max.in.flight",
    "acks": "request.required.acks",
}
_LONGEST_LINGER_MS = 900_000
_MOST_IN_FLIGHT = 5
_INTERNAL = ("dr_cb", "dr_msg_cb", "log_cb", "socket_cb", "connect_cb", "closesocket_cb", "open_cb")
"""Callbacks of C, which Python's classes set."""


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
    on_delivery: Callable[..., object] | None


def producer_configuration(given: Mapping[Any, object]) -> ProducerConfiguration:
    """Of the constructor's dictionary. Raises what confluent-kafka raises: `TypeError` for a callback that is none,
    `KafkaException` else."""
    values: dict[str, object] = {str(name): value for name, value in given.items()}
    topics = values.pop("default.topic.config", None)
    if isinstance(topics, Mapping):
        values = {**topics, **values}
    on_delivery = values.pop("on_delivery", None)
    if on_delivery is not None and not callable(on_delivery):
        raise refused("on_delivery requires a callable object")
    plain: dict[str, object] = {}
    for name, value in values.items():
        if name in callbacks_refused and name != "on_commit":
            if value is not None and not callable(value):
                raise callbacks_refused[name](name)
        elif name in _INTERNAL:
            raise refused(f'Property "{name}" must be set through dedicated .._set_..() function')
        elif name not in LIBRDKAFKA_NAMES and name != "logger":
            raise refused(f'No such configuration property: "{name}"')
        elif value is not None and name != "logger":
            plain[_ALIASES.get(name, name)] = _value(_ALIASES.get(name, name), value)
    _check_together(plain)
    known = {**_DEFAULTS, **plain}
    return ProducerConfiguration(
        _number(known["linger.ms"]),
        int(_number(known["queue.buffering.max.messages"])),
        int(_number(known["message.max.bytes"])),
        _number(known["message.timeout.ms"]),
        _number(known["topic.metadata.propagation.max.ms"]),
        _number(known["transaction.timeout.ms"]),
        _number(known["sticky.partitioning.linger.ms"]),
        known["delivery.report.only.error"] is True,
        str(known["partitioner"]),
        str(known["transactional.id"]),
        str(known["client.id"]),
        on_delivery,
    )


def _value(name: str, value: object) -> object:
    if name == "linger.ms":
        return _linger(value)
    if name == "partitioner" and str(value) not in KEYED:
        raise refused(f'Invalid value for configuration property "partitioner": {value}')
    if name == "request.required.acks" and str(value) == "all":
        return -1
    return checked(name, value)


def _linger(value: object) -> float:
    name = "queue.buffering.max.ms"
    try:
        linger = float(str(value))
    except ValueError:
        raise refused(f'Invalid value for configuration property "{name}"') from None
    if not 0 <= linger <= _LONGEST_LINGER_MS:
        said = f'Configuration property "{name}" value {linger:g} is outside allowed range 0..{_LONGEST_LINGER_MS}\n'
        raise refused(said)
    return linger


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0


def _check_together(values: Mapping[str, object]) -> None:
    """What librdkafka checks when it makes the client."""
    transactional = bool(values.get("transactional.id"))
    if transactional and values.get("enable.idempotence") is False:
        raise refused("Failed to create producer: `transactional.id` requires `enable.idempotence=true`")
    if not transactional and values.get("enable.idempotence") is not True:
        return
    if _number(values.get("max.in.flight", _MOST_IN_FLIGHT)) > _MOST_IN_FLIGHT:
        raise refused(
            f"Failed to create producer: `max.in.flight` must be set <= {_MOST_IN_FLIGHT} when"
            " `enable.idempotence` is true"
        )
    if values.get("request.required.acks", -1) != -1:
        raise refused("Failed to create producer: `acks` must be set to `all` when `enable.idempotence` is true")
