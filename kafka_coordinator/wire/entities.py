"""The codec's entities, of every version of an API alike (`kio`, generated from Kafka's own schemas).

Each version has classes of its own. Code that reads an entity asks for what its version may lack with ``getattr`` and a
default; code that makes one names every field that any version has, and `make` leaves out what this version lacks.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin

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


def lacks(entity: Any) -> str | None:
    """The name of an array that is null though its type does not allow it, anywhere in the entity: the codec reads such
    a one as None. None where there is no such."""
    kind: Any = type(entity)
    for name, nullable, holds_entities in _arrays(kind):
        items = getattr(entity, name)
        if items is None:
            if not nullable:
                return name
        elif holds_entities:
            for each in items:
                found = lacks(each)
                if found is not None:
                    return found
    return None


@cache
def _arrays(kind: Any) -> tuple[tuple[str, bool, bool], ...]:
    """Name of each array of this class, whether it may be null, and whether it holds entities."""
    found = []
    for name, given in _types(kind).items():
        choices = get_args(given) if get_origin(given) is UnionType else (given,)
        if any(get_origin(each) is tuple for each in choices):
            found.append((name, type(None) in choices, is_dataclass(_item(given))))
    return tuple(found)
