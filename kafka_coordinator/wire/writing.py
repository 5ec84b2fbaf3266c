"""Answers to bytes; long ones piece by piece, so that nobody else has to wait until the last of them is written.

The codec writes an entity in one go. So of a long one the arrays are written here, item by item, and everything else by
the codec's own writers of fields.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import Field, fields
from functools import cache
from typing import Final

from kio.serial import entity_writer
from kio.serial._introspect import get_field_tag
from kio.serial._serialize import get_field_writer
from kio.serial.writers import write_compact_array_length, write_legacy_array_length
from kio.static.primitive import i32
from kio.static.protocol import Entity

from kafka_coordinator.wire.lengths import one_line
from protocols.engine.connection import WireError

LONG: Final = 50
"""Items of an array that are written in one go."""
_LONG_RECORDS: Final = 64 * 1024
"""Bytes of records; more are not copied."""
_PRESENT: Final = b"\x01"
"""Before a structure that may be null."""


class Batches:
    """Long records, batch by batch, in place of the bytes that an entity has; its length is theirs."""

    __slots__ = ("_size", "contents")

    def __init__(self, contents: Sequence[bytes], size: int) -> None:
        self.contents, self._size = contents, size

    def __len__(self) -> int:
        return self._size


def records(batches: Sequence[bytes]) -> bytes | Batches:
    """What an entity has for these batches."""
    size = sum(map(len, batches))
    return Batches(batches, size) if size > _LONG_RECORDS else b"".join(batches)


def content(entity: Entity) -> bytes:
    """The bytes of an entity. Raises `WireError`."""
    buffer = io.BytesIO()
    try:
        entity_writer(type(entity))(buffer, entity)
    except Exception as error:
        raise WireError(f"{type(entity).__name__}: {one_line(error)}") from error
    return buffer.getvalue()


def is_long(entity: Entity) -> bool:
    """Whether an array or the records of the entity, or of what it holds, are long."""
    for name in _records(type(entity)):
        if len(getattr(entity, name) or ()) > _LONG_RECORDS:
            return True
    for name in _arrays(type(entity)):
        items = getattr(entity, name)
        if items and (len(items) > LONG or any(map(is_long, items))):
            return True
    return any(is_long(part) for name in _parts(type(entity)) if (part := getattr(entity, name)) is not None)


def pieces(entity: Entity) -> Iterator[bytes]:
    """The bytes of a long entity. Raises `WireError`."""
    kind = type(entity)
    arrays, tagged = _arrays(kind), [field for field in fields(kind) if get_field_tag(field) is not None]
    for field in fields(kind):
        if field in tagged:
            continue
        value = getattr(entity, field.name)
        if field.name in _parts(kind) and value is not None and is_long(value):
            if "None" in str(field.type):
                yield _PRESENT
            yield from pieces(value)
            continue
        has_records = field.name in _records(kind)
        if not value or not (has_records or field.name in arrays):
            yield _field(kind, field, value)
            continue
        buffer = io.BytesIO()
        (write_compact_array_length if kind.__flexible__ else write_legacy_array_length)(buffer, i32(len(value)))
        if has_records:
            yield buffer.getvalue()
            yield from value.contents if isinstance(value, Batches) else (value,)
            continue
        for place, item in enumerate(value):
            if is_long(item):
                yield buffer.getvalue()
                buffer = io.BytesIO()
                yield from pieces(item)
            else:
                buffer.write(content(item))
                if place % LONG == LONG - 1:
                    yield buffer.getvalue()
                    buffer = io.BytesIO()
        yield buffer.getvalue()
    if kind.__flexible__:
        yield _tags(kind, entity, tagged)


def _field(kind: type[Entity], field: Field[object], value: object) -> bytes:
    buffer = io.BytesIO()
    try:
        get_field_writer(field, kind.__flexible__, False, False)(buffer, value)
    except Exception as error:
        raise WireError(f"{kind.__name__}.{field.name}: {one_line(error)}") from error
    return buffer.getvalue()


def _tags(kind: type[Entity], entity: Entity, tagged: list[Field[object]]) -> bytes:
    """The tagged fields: the end of the entity without its arrays and records."""
    if not tagged:
        return b"\0"
    values = {field.name: getattr(entity, field.name) for field in fields(kind)}
    plain = [field for field in fields(kind) if field not in tagged]
    values |= {field.name: () for field in plain if field.name in _arrays(kind)} | dict.fromkeys(_records(kind), b"")
    before = sum(len(_field(kind, field, values[field.name])) for field in plain)
    return content(kind(**values))[before:]


@cache
def _arrays(kind: type[Entity]) -> frozenset[str]:
    """Names of the fields that hold several entities."""
    return frozenset(
        field.name for field in fields(kind) if "kafka_type" not in field.metadata and "tuple[" in str(field.type)
    )


@cache
def _records(kind: type[Entity]) -> frozenset[str]:
    """Names of the fields that hold records; a length is before them, as before an array."""
    return frozenset(field.name for field in fields(kind) if field.metadata.get("kafka_type") == "records")


@cache
def _parts(kind: type[Entity]) -> frozenset[str]:
    """Names of the fields that hold one entity."""
    plain = [field for field in fields(kind) if "kafka_type" not in field.metadata and get_field_tag(field) is None]
    return frozenset(field.name for field in plain) - _arrays(kind)
