"""Requests and answers of Kafka's wire protocol as plain values, so that what brokers answer can be kept as JSON."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any
from uuid import UUID

from kafka_coordinator.wire import entities
from kafka_coordinator.wire.schemas import request_schema

_EMPTY: Mapping[str, Any] = {
    "timedelta_i32": timedelta(seconds=5),
    "int8": 0,
    "bool": False,
    "uuid": None,
    "string": None,
}


def request(key: int, version: int, /, **values: Any) -> Any:
    """A request's entity from plain values; fields that are left out get their default, an empty tuple or nothing."""
    return _entity(request_schema(key, version), values)


def _entity(kind: Any, values: Mapping[str, Any]) -> Any:
    known = {each.name: each for each in fields(kind)}
    assert values.keys() <= known.keys(), (kind, values)
    made = {}
    for name, each in known.items():
        if name in values:
            made[name] = _value(kind, name, values[name], each.metadata.get("kafka_type"))
        elif each.default is MISSING:
            made[name] = _EMPTY.get(each.metadata.get("kafka_type", ""), ())
    return kind(**made)


def _value(kind: Any, name: str, value: Any, kafka_type: str | None) -> Any:
    if isinstance(value, Mapping):
        return _entity(entities.part(kind, name), value)
    if isinstance(value, list):
        return tuple([_value(kind, name, each, kafka_type) for each in value])
    if kafka_type == "timedelta_i32":
        return timedelta(milliseconds=value)
    return value


def plain(value: Any) -> Any:
    """What JSON can hold: error codes by name, bytes in hexadecimal, times in milliseconds, ids of topics as texts."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value) if each.name != "throttle_time"}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, UUID):
        return f"id {value}"
    if isinstance(value, timedelta):
        return value / timedelta(milliseconds=1)
    if isinstance(value, datetime):
        return "a time"
    return value
