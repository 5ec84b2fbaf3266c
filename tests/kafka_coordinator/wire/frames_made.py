"""Requests of every API and version as bytes, and broken ones."""

import io
import types
import uuid
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from struct import pack
from typing import Any, get_args, get_origin

from kio.serial import entity_writer

from kafka_coordinator.wire.apis import APIS
from kafka_coordinator.wire.entities import make
from kafka_coordinator.wire.schemas import request_schema

VERSIONS = [(api.key, version) for api in APIS.values() for version in range(api.versions[0], api.versions[1] + 1)]
"""API key and version of all that is served."""


def frame(entity: Any, correlation: int = 7, client_id: str | None = "someone") -> bytes:
    """A request with its length and header."""
    header = entity.__header_schema__
    buffer = io.BytesIO()
    head = make(
        header,
        request_api_key=entity.__api_key__,
        request_api_version=entity.__version__,
        correlation_id=correlation,
        client_id=client_id,
    )
    entity_writer(header)(buffer, head)
    entity_writer(type(entity))(buffer, entity)
    content = buffer.getvalue()
    return pack(">i", len(content)) + content


def any_request(key: int, version: int, random: Random) -> Any:
    """A request with random values in all fields."""
    return any_entity(request_schema(key, version), random)


def any_entity(kind: Any, random: Random) -> Any:
    """An entity of this class with random values in all fields."""
    return kind(**{each.name: _value(each, each.type, random) for each in fields(kind)})


def _value(field: Any, kind: Any, random: Random) -> Any:
    if get_origin(kind) in (types.UnionType,) or type(None) in get_args(kind):
        if random.random() < 0.3:
            return None
        kind = next(each for each in get_args(kind) if each is not type(None))
        return _value(field, kind, random)
    if get_origin(kind) is tuple:
        return tuple([_value(field, get_args(kind)[0], random) for _ in range(random.randrange(3))])
    if is_dataclass(kind):
        return any_entity(kind, random)
    return _plain(field, field.metadata.get("kafka_type", ""), kind, random)


def _plain(field: Any, kafka_type: str, kind: Any, random: Random) -> Any:
    if kafka_type == "string":
        return random.choice(["", "orders", "g", "ü", "x" * 40])
    if kafka_type in ("bytes", "records"):
        return random.randbytes(random.randrange(20))
    if kafka_type == "bool":
        return random.random() < 0.5
    if kafka_type == "uuid":
        return uuid.UUID(int=random.getrandbits(128))
    if kafka_type.startswith("timedelta"):
        return timedelta(milliseconds=random.choice([0, 500, 45_000]))
    if kafka_type == "datetime_i64":
        return datetime.fromtimestamp(random.randrange(2_000_000_000), UTC)
    if kafka_type == "float64":
        return random.random()
    if kafka_type == "error_code":
        return kind(0)
    bits = int(kafka_type.lstrip("uint"))
    low, high = (0, 2**bits - 1) if kafka_type.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return random.choice([0, 1, 5, low, high, random.randint(low, high)])


def broken_frames(random: Random, count: int) -> Iterator[bytes]:
    """Truncated, lengthened, flipped, of unknown APIs and versions, of wrong lengths, and plain noise."""
    for _ in range(count):
        whole = frame(any_request(*random.choice(VERSIONS), random))
        how = random.randrange(6)
        if how == 0:
            content = whole[4 : random.randrange(4, len(whole))]
            yield pack(">i", len(content)) + content
        elif how == 1:
            more = whole[4:] + random.randbytes(random.randrange(1, 20))
            yield pack(">i", len(more)) + more
        elif how == 2:
            flipped = bytearray(whole)
            for _ in range(random.randrange(1, 5)):
                flipped[random.randrange(4, len(flipped))] = random.randrange(256)
            yield bytes(flipped)
        elif how == 3:
            yield whole[:4] + pack(">hh", random.randrange(-5, 200), random.randrange(-5, 40)) + whole[8:]
        elif how == 4:
            yield pack(">i", random.choice([-1, -(2**31), 2**31 - 1, 200_000_000])) + random.randbytes(8)
        else:
            noise = random.randbytes(random.randrange(1, 60))
            yield pack(">i", len(noise)) + noise
