"""The codec's entities, of every version of an API alike (`kio`, generated from Kafka's own schemas).

Each version has classes of its own. Code that reads an entity is typed by the newest one that has the fields, and asks
for what an older version lacks with ``getattr`` and a default; code that makes one names every field that any version
has, and `make` leaves out what this version lacks. `RefusedError` is an error that a client is told (in Kafka
`org.apache.kafka.common.errors`).
"""

from collections.abc import Mapping
from dataclasses import Field, fields
from functools import cache
from typing import ClassVar, Protocol, TypeAlias, cast, get_args

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity, Header

from kafka_coordinator.errors import NONE
from kafka_coordinator.wire.schemas import response_schema


class Kind(Protocol):
    """The class of an entity of one version; it is called with the fields that it has."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    __header_schema__: ClassVar[type[Header]]
    __version__: ClassVar[int]

    def __call__(self, **values: object) -> Entity: ...

    def __hash__(self) -> int: ...


_Class: TypeAlias = Kind | type[Entity]


@cache
def response(key: int, version: int) -> Kind:
    return cast(Kind, response_schema(key, version))


@cache
def part(of: Kind, *names: str) -> Kind:
    """The class of what stands in a field of an entity; several names lead further in. `KeyError` where this version
    has no such field."""
    found = of
    for name in names:
        found = cast(Kind, _item(_types(found)[name]))
    return found


def make(kind: Kind, **values: object) -> Entity:
    """An entity of this class, without those values for which it has no field."""
    known = _names(kind)
    if values.keys() <= known:
        return kind(**values)
    return kind(**{name: value for name, value in values.items() if name in known})


def has(kind: _Class, name: str) -> bool:
    return name in _names(kind)


@cache
def _names(kind: _Class) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))


@cache
def _types(kind: _Class) -> Mapping[str, object]:
    return {field.name: field.type for field in fields(kind)}


def _item(kind: object) -> object:
    """The class within ``tuple[X, ...]``, ``X | None`` and the like."""
    for inner in get_args(kind):
        if inner is not type(None) and inner is not Ellipsis:
            return _item(inner)
    return kind


OK = ErrorCode.none


@cache
def code(name: str) -> ErrorCode:
    """The error of this name, such as ``REBALANCE_IN_PROGRESS``; `KeyError` where Kafka has none."""
    return OK if name == NONE else ErrorCode[name.lower()]


MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
"""Kafka's default text of INVALID_REQUEST."""


class RefusedError(Exception):
    """Part of a request is refused with this error; ``message`` goes to the client where the answer has a field for it.
    ``details`` are what only some answers tell besides."""

    def __init__(
        self, code: ErrorCode, message: str | None = None, details: tuple[tuple[int, str | None], ...] = ()
    ) -> None:
        super().__init__(message or code.name)
        self.code, self.message, self.details = code, message, details
