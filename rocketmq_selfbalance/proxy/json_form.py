"""Records of the proxy's messages from protobuf's JSON: names in camel case, enumerations by name, durations as
``20s``, times as RFC 3339, whole numbers of 64 bits as texts; what is zero is left out."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any, TypeVar

from rocketmq_selfbalance.proxy.definitions import Duration, Timestamp
from rocketmq_selfbalance.proxy.protobuf import fields_of

T = TypeVar("T", bound=tuple[object, ...])

_NANOS = 1_000_000_000


def from_json(record: type[T], told: object) -> T:
    """The record; `ValueError` where a value is none of its field's."""
    if not isinstance(told, dict):
        raise ValueError(f"{record.__name__}: expected an object, got {told!r}")
    names: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
    values: dict[str, object] = {}
    for name, field in zip(names, fields_of(record), strict=True):
        camel = "".join(part if place == 0 else part.title() for place, part in enumerate(name.split("_")))
        if camel in told:
            value = told[camel]
            if field.many:
                if not isinstance(value, list):
                    raise ValueError(f"{record.__name__}.{camel}: expected a list, got {value!r}")
                values[name] = tuple(_value(field.one, each) for each in value)
            else:
                values[name] = _value(field.one, value)
    return record(**values)


def _value(kind: Any, told: object) -> object:
    if kind is Mapping:
        if isinstance(told, dict):
            return {str(name): str(value) for name, value in told.items()}
    elif kind is bytes and isinstance(told, str):
        return told.encode()
    elif kind is Duration and isinstance(told, str):
        return Duration(*_parts(told.removesuffix("s")))
    elif kind is Timestamp and isinstance(told, str):
        return Timestamp(*_parts(str(Decimal(str(datetime.fromisoformat(told).timestamp())))))
    elif kind is bool and isinstance(told, bool):
        return told
    elif issubclass(kind, IntEnum) and isinstance(told, str):
        return kind[told]
    elif kind is int and isinstance(told, int | str):
        return int(told)
    elif kind is float and isinstance(told, int | float):
        return float(told)
    elif kind is str and isinstance(told, str):
        return told
    elif isinstance(told, dict):
        return from_json(kind, told)
    raise ValueError(f"expected a {kind.__name__}, got {told!r}")


def _parts(text: str) -> tuple[int, int]:
    seconds = Decimal(text)
    return int(seconds), int((seconds % 1) * _NANOS)
