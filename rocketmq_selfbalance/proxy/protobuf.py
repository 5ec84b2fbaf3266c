"""Records of this package to bytes and back, as protobuf's wire format has them.

A record is a named tuple whose fields stand in the order of their numbers, from 1; their annotations say how they are
written: whole numbers and enumerations as varints, texts, bytes and records with their length before them, mappings as
pairs of texts. Fields that nobody here knows are passed over. Nothing is believed:
`MalformedError` for what is no message.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from functools import cache
from struct import Struct
from types import UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T", bound=tuple[object, ...])

_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5
_FLOAT = Struct("<f")
_DEEPEST = 32


class MalformedError(ValueError):
    """Bytes that are no message of the expected kind; its text is one line."""


class _Pair(NamedTuple):
    """An entry of a mapping."""

    name: str = ""
    text: str = ""


class Field:
    """One field: its number, kind and place. ``one``: the class of a value, ``many``: it is repeated, ``optional``:
    None is a value that is not there."""

    __slots__ = ("default", "kind", "length", "many", "number", "one", "optional", "place")

    def __init__(self, place: int, annotation: Any, default: object) -> None:
        self.place, self.number, self.default = place, place + 1, default
        self.optional = get_origin(annotation) is UnionType
        if self.optional:
            annotation = next(part for part in get_args(annotation) if part is not type(None))
        self.many = get_origin(annotation) is tuple
        if self.many:
            annotation = get_args(annotation)[0]
        self.one: Any = Mapping if get_origin(annotation) is Mapping else annotation
        scalar = issubclass(self.one, int) or self.one is float
        self.kind = (_FOUR if self.one is float else _VARINT) if scalar else _LENGTH
        self.length = self.kind == _LENGTH


@cache
def fields_of(record: type[tuple[object, ...]]) -> tuple[Field, ...]:
    hints = get_type_hints(record)
    defaults: Mapping[str, object] = record._field_defaults  # type: ignore[attr-defined]
    return tuple(Field(place, hints[name], defaults[name]) for place, name in enumerate(hints))


_PIECE = 500
"""So many items of a field are encoded together."""


def encode(message: tuple[object, ...]) -> bytes:
    """The bytes of a record."""
    return b"".join(pieces(message))


def pieces(message: tuple[object, ...]) -> Iterator[bytes]:
    """The bytes of a record, a repeated field of many records in pieces. Records that stand in it more than once, the
    same object each time, are encoded once."""
    known: dict[int, bytes] = {}
    fields = fields_of(type(message))
    for field, value in zip(fields, message, strict=True):
        if field.many and field.length and isinstance(value, tuple):
            for at in range(0, len(value), _PIECE):
                yield _encoded((field,), (value[at : at + _PIECE],), known)
        else:
            yield _encoded((field,), (value,), known)


def _encoded(fields: tuple[Field, ...], values: tuple[object, ...], known: dict[int, bytes]) -> bytes:
    """``known``: records, by their identity, that have been encoded already."""
    out = bytearray()
    for value, field in zip(values, fields, strict=True):
        if value is None or (not field.optional and not value):
            continue
        tag = field.number << 3 | field.kind
        if field.one is Mapping:
            assert isinstance(value, Mapping)
            for name, text in value.items():
                _put_length(out, tag, encode(_Pair(name, text)))
        elif field.many:
            assert isinstance(value, tuple)
            if field.length:
                for each in value:
                    _put_length(out, tag, _content(each, known))
            else:
                packed = bytearray()
                for each in value:
                    _put_varint(packed, each)
                _put_length(out, field.number << 3 | _LENGTH, packed)
        elif field.length:
            content = known.get(id(value))
            if content is None:
                content = _content(value, known)
                if isinstance(value, tuple):
                    known[id(value)] = content
            _put_length(out, tag, content)
        elif field.one is float:
            _put_varint(out, tag)
            out += _FLOAT.pack(value)
        else:
            assert isinstance(value, int)
            _put_varint(out, tag)
            _put_varint(out, value)
    return bytes(out)


def _content(value: object, known: dict[int, bytes]) -> bytes:
    if type(value) is str:
        return value.encode()
    if isinstance(value, bytes):
        return value
    assert isinstance(value, tuple)
    return _encoded(fields_of(type(value)), value, known)


def _put_length(out: bytearray, tag: int, content: bytes | bytearray) -> None:
    _put_varint(out, tag)
    _put_varint(out, len(content))
    out += content


def _put_varint(out: bytearray, value: int) -> None:
    if value < 0:
        value += 1 << 64
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def decode(record: type[T], content: bytes) -> T:
    """The record that these bytes are; `MalformedError` where they are none."""
    try:
        return _decoded(record, content, 0)
    except (IndexError, UnicodeDecodeError):
        raise MalformedError(f"{len(content)} bytes are no {record.__name__}") from None


@cache
def _table(record: type[tuple[object, ...]]) -> tuple[tuple[object, ...], Mapping[int, Field]]:
    fields = fields_of(record)
    return tuple(field.default for field in fields), {field.number: field for field in fields}


def _decoded(record: type[T], content: bytes, depth: int) -> T:
    if depth > _DEEPEST:
        raise MalformedError(f"{record.__name__} in more than {_DEEPEST} others")
    defaults, fields = _table(record)
    values: list[Any] = list(defaults)
    at, end = 0, len(content)
    while at < end:
        tag = content[at]
        at += 1
        if tag > 0x7F:
            tag, at = _varint(content, at - 1)
        field, kind = fields.get(tag >> 3), tag & 7
        if kind == _VARINT:
            number, at = _varint(content, at)
            if field is not None and field.kind == _VARINT:
                one = _number(field.one, number)
                values[field.place] = (*values[field.place], one) if field.many else one
            continue
        if kind == _LENGTH:
            length, at = _varint(content, at)
            start, at = at, at + length
            if field is not None:
                _take(values, field, content[start:at], depth)
        else:
            start, at = at, at + {_EIGHT: 8, _FOUR: 4}.get(kind, end)
            if field is not None and field.kind == kind and at <= end:
                values[field.place] = _FLOAT.unpack_from(content, start)[0]
        if at > end or tag < 8:
            raise MalformedError(f"{record.__name__}: a field ends behind the message")
    return record(*values)


def _take(values: list[Any], field: Field, part: bytes, depth: int) -> None:
    """A field with its length before it; of no other kind than it may have."""
    place, one = field.place, field.one
    if one is str:
        value: object = part.decode()
    elif one is bytes:
        value = part
    elif one is Mapping:
        pair = _decoded(_Pair, part, depth + 1)
        values[place] = {**values[place], pair.name: pair.text}
        return
    elif not field.length:
        if field.many:
            at = 0
            while at < len(part):
                number, at = _varint(part, at)
                values[place] = (*values[place], _number(one, number))
        return
    else:
        value = _decoded(one, part, depth + 1)
    values[place] = (*values[place], value) if field.many else value


def _varint(content: bytes, at: int) -> tuple[int, int]:
    byte = content[at]
    at += 1
    if byte < 0x80:
        return byte, at
    value, shift = byte & 0x7F, 7
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7
        if shift > 63:
            raise MalformedError("a number of more than ten bytes")


def _number(one: type, number: int) -> object:
    if one is int:
        return number - (1 << 64) if number >> 63 else number
    if issubclass(one, IntEnum):
        return one(number) if number in one._value2member_map_ else one(0)
    return bool(number)
