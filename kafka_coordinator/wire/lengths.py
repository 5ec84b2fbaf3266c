"""Whether the lengths in a message fit into its bytes, looked at before the codec reads it.

The codec's native code reserves memory for as many items as an array claims to have, and ends the process where there
is not so much. So nothing that came from outside is given to it before every length in it was compared with the bytes
that follow: of arrays, strings, bytes, records and tagged fields, in any depth. The rules are Kafka's for every type of
its schemas, and a class of the codec says of which types its fields are; so they hold for every API and version.

A message is walked once, in time linear in its bytes, and items of a fixed size are passed over together. What is
refused here the codec would refuse as well, but for null in place of an array that must be there, which it lets pass,
and but for more than `MOST_ITEMS`.
"""

import struct
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from struct import Struct
from types import NoneType, UnionType
from typing import Final, NamedTuple, TypeAlias, cast, get_args, get_origin

from kio.serial import entity_reader
from kio.static.protocol import Entity

from protocols.engine.connection import WireError

MOST_ITEMS: Final = 21_000
"""Items of arrays that one message may have, nested ones included: a time and an amount of memory that nobody else
notices. Kafka 4.4 allows 1,000,000 in one array."""

Raw: TypeAlias = bytes | memoryview
"""What came from outside; it does not change."""

Skip: TypeAlias = Callable[[Raw, int, "_Items"], int]
"""Bytes, where a value begins and the items still allowed, to where the value ends. An end behind the last byte is
found out by whoever goes on reading there."""

_INT16, _INT32 = Struct(">h"), Struct(">i")
_SIZES: Final = {"bool": 1, "error_code": 2, "timedelta_i32": 4, "timedelta_i64": 8, "datetime_i64": 8, "uuid": 16}
_NULL_MARKER, _MARKER = 0xFF, 0x01
"""The byte before a structure that may be null."""


class _Items:
    """Items that a message may still have."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_ITEMS

    def take(self, count: int, rest: int) -> None:
        """There are so many more, in ``rest`` bytes."""
        if count > rest:
            raise WireError(f"{count} items in {max(rest, 0)} bytes")
        self.left -= count
        if self.left < 0:
            raise WireError(f"more than {MOST_ITEMS} items")


class _Plan(NamedTuple):
    """How a value is passed over: it has always ``size`` bytes, or (None) ``skip`` tells where it ends."""

    size: int | None
    skip: Skip


@cache
def reader(kind: type[Entity]) -> Callable[[Raw, int], Entity]:
    """What reads an entity of this class at a place of bytes from outside; bytes after its end are passed over, as
    Kafka does it: librdkafka sends some. Raises `WireError`, or whatever the codec raises."""
    skip, read = _structure(kind).skip, entity_reader(kind)

    def checked(message: Raw, at: int) -> Entity:
        _end(skip, message, at)
        return read(message, at)[0]

    return checked


def after_tags(header: Raw, at: int) -> int:
    """Where the tagged fields of a request's header that begin at ``at`` end. Raises `WireError`."""
    return at + 1 if at < len(header) and header[at] == 0 else _end(_unknown_tags, header, at)


def one_line(error: Exception) -> str:
    """What the codec raised."""
    return " ".join(f"{type(error).__name__} {error}".split())[:200]


def _end(skip: Skip, message: Raw, at: int) -> int:
    try:
        end = skip(message, at, _Items())
    except (struct.error, IndexError):
        end = len(message) + 1
    if end > len(message):
        raise WireError("it ends within a field")
    return end


def _uvarint(message: Raw, at: int) -> tuple[int, int]:
    """The number of variable length at ``at``, and where it ends. Raises `WireError`, or `IndexError` at the end."""
    value = message[at]
    if value < 0x80:
        return value, at + 1
    value &= 0x7F
    for shift in (7, 14, 21, 28):
        at += 1
        byte = message[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
    raise WireError("a number that is longer than five bytes")


@cache
def _structure(kind: type[Entity]) -> _Plan:
    """All fields of a class one after the other, and its tagged fields."""
    flexible = kind.__flexible__
    tagged: dict[int, Skip] = {}
    plans: list[_Plan] = []
    for field in fields(kind):
        tag = field.metadata.get("tag")
        plan = _field(field.type, field.name, field.metadata.get("kafka_type", ""), flexible, is_tagged=tag is not None)
        if tag is None:
            plans.append(plan)
        else:
            tagged[tag] = plan.skip
    if flexible:
        plans.append(_Plan(None, _tags(tagged)))
    steps = _merged(plans)
    if len(steps) == 1:
        return steps[0]
    skips = tuple([step.skip for step in steps])

    def skip(message: Raw, at: int, items: _Items) -> int:
        for step in skips:
            at = step(message, at, items)
        return at

    return _Plan(None, skip)


def _merged(plans: list[_Plan]) -> list[_Plan]:
    """The same with one plan for fields of fixed sizes that stand together."""
    merged: list[_Plan] = []
    for plan in plans:
        before = merged[-1].size if merged else None
        if plan.size is not None and before is not None:
            merged[-1] = _fixed(before + plan.size)
        else:
            merged.append(plan)
    return merged or [_fixed(0)]


def _field(kind: object, name: str, kafka_type: str, flexible: bool, *, is_tagged: bool) -> _Plan:
    """Of a field's type as the codec annotates it: ``X``, ``X | None``, ``tuple[X, ...]``, ``tuple[X, ...] | None``."""
    is_nullable = get_origin(kind) is UnionType
    if is_nullable:
        kind = next(each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        plan = _structure(cast(type[Entity], item)) if is_dataclass(item) else _plain(kafka_type, flexible)
        return _Plan(None, _array(plan, None if is_nullable else name, flexible))
    if not is_dataclass(kind):
        return _plain(kafka_type, flexible)
    structure = _structure(cast(type[Entity], kind))
    return _Plan(None, _nullable(structure.skip)) if is_nullable and not is_tagged else structure


def _plain(kafka_type: str, flexible: bool) -> _Plan:
    if kafka_type in ("string", "bytes", "records"):
        return _Plan(None, _compact if flexible else _short_text if kafka_type == "string" else _long_bytes)
    size = _SIZES.get(kafka_type)
    return _fixed(int(kafka_type.lstrip("uintfloa")) // 8 if size is None else size)


def _fixed(size: int) -> _Plan:
    return _Plan(size, lambda message, at, items: at + size)


def _compact(message: Raw, at: int, items: _Items) -> int:
    """A string or bytes behind their length and 1 as a number of variable length; 0: null."""
    length, at = _uvarint(message, at)
    return at + length - 1 if length else at


def _short_text(message: Raw, at: int, items: _Items) -> int:
    return _behind(_INT16.unpack_from(message, at)[0], at + 2)


def _long_bytes(message: Raw, at: int, items: _Items) -> int:
    return _behind(_INT32.unpack_from(message, at)[0], at + 4)


def _behind(length: int, at: int) -> int:
    if length < -1:
        raise WireError(f"a length of {length}")
    return at + max(length, 0)


def _array(item: _Plan, name: str | None, flexible: bool) -> Skip:
    """``name`` of an array that must not be null."""
    size, skip_item = item

    def skip(message: Raw, at: int, items: _Items) -> int:
        if flexible:
            count, at = _uvarint(message, at)
            count -= 1
        else:
            (count,) = _INT32.unpack_from(message, at)
            at += 4
        if count <= 0:
            if count < -1 or (count == -1 and name is not None):
                raise WireError(f"a length of {count}" if count < -1 else f"{name} is null")
            return at
        items.take(count, (len(message) - at) // (size or 1))
        if size is not None:
            return at + count * size
        for _ in range(count):
            at = skip_item(message, at, items)
        return at

    return skip


def _nullable(structure: Skip) -> Skip:
    def skip(message: Raw, at: int, items: _Items) -> int:
        marker = message[at]
        if marker == _NULL_MARKER:
            return at + 1
        if marker != _MARKER:
            raise WireError(f"a structure behind the byte {marker}")
        return structure(message, at + 1, items)

    return skip


def _tags(known: dict[int, Skip]) -> Skip:
    """Tagged fields: their count, and for each its tag, its size, so many bytes."""

    def skip(message: Raw, at: int, items: _Items) -> int:
        if message[at] == 0:
            return at + 1
        count, at = _uvarint(message, at)
        items.take(count, len(message) - at)
        for _ in range(count):
            tag, at = _uvarint(message, at)
            size, at = _uvarint(message, at)
            end = at + size
            if tag in known and known[tag](message, at, items) != end:
                raise WireError(f"a tagged field of {size} bytes that ends elsewhere")
            at = end
        return at

    return skip


_unknown_tags: Final = _tags({})
