"""The codec's entities, of every version of an API alike (`kio`, generated from Kafka's own schemas).

Each version has classes of its own. Code that reads an entity asks for what its version may lack with ``getattr`` and a
default; code that makes one names every field that any version has, and `make` leaves out what this version lacks.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_args

from kio.index import load_response_schema


@cache
def response(key: int, version: int) -> Any:
    """The class of an API's response in this version."""
    return load_response_schema(key, version)


@cache
def part(of: Any, *names: str) -> Any:
    """The class of what stands in a field of an entity; several names lead further in. `KeyError` where this version
    has no such field."""
    found = of
    for name in names:
        found = _item(_types(found)[name])
    return found


def make(kind: Any, **values: Any) -> Any:
    """An entity of this class, without those values for which it has no field."""
    known = _names(kind)
    return kind(**{name: value for name, value in values.items() if name in known})


def has(kind: Any, name: str) -> bool:
    """Whether entities of this class have this field."""
    return name in _names(kind)


@cache
def _names(kind: Any) -> frozenset[str]:
    return frozenset(each.name for each in fields(kind))


@cache
def _types(kind: Any) -> Mapping[str, Any]:
    return {each.name: each.type for each in fields(kind)}


def _item(kind: Any) -> Any:
    """The class within ``tuple[X, ...]``, ``X | None`` and the like."""
    for inner in get_args(kind):
        if inner is not type(None) and inner is not Ellipsis:
            return _item(inner)
    return kind
