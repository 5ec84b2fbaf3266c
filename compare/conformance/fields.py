"""Fields of recorded cases, read and compared. Whatever is not as the format has it is a `MalformedCase`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Annotated, Any, TypeAlias, TypeVar, cast, overload

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import to_json

from compare.conformance.cases import MalformedCase, read_as
from compare.json_types import Json
from protocols import Queue

NO_FIELD = "no such field"

T = TypeVar("T")

MOST_COUNT = 1_000_000
"""Of whatever is counted; a case with more is damaged rather than recorded."""

Count: TypeAlias = Annotated[int, Field(le=MOST_COUNT)]
"""How many there are of something."""

_NOT_READ = ("self", "now", "step", "version")
"""Parameters that are no fields of a record: whoever calls gives them."""


@overload
def get(record: Mapping[str, Json], name: str, kind: type[dict[str, Json]], /) -> dict[str, Json]: ...
@overload
def get(record: Mapping[str, Json], name: str, kind: type[list[Json]], /) -> list[Json]: ...
@overload
def get(record: Mapping[str, Json], name: str, *types: type[T]) -> T: ...
def get(record: Mapping[str, Json], name: str, *types: type[object]) -> object:
    """The value of a field, which has one of these types."""
    value = record.get(name, NO_FIELD)
    # In Python a truth value is a number; in JSON it is not.
    if name not in record or not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        names = {type(None): "null", dict: "an object", list: "a list", str: "a text", int: "a number"}
        raise MalformedCase(name, " or ".join(names.get(each, each.__name__) for each in types), value)
    return value


def only(record: Json, path: str, names: Iterable[str]) -> dict[str, Json]:
    """The record, refused if it has fields that nobody would compare."""
    if not isinstance(record, dict):
        raise MalformedCase(path, "an object", record)
    for name in record:
        if name not in names:
            raise MalformedCase(f"{path}.{name}" if path else name, NO_FIELD, record[name])
    return record


@cache
def _read_by(function: Callable[..., object]) -> Mapping[str, tuple[Any, Any]]:
    """What is read of a record for a function: name of the argument to its type and default."""
    fields: dict[str, tuple[Any, Any]] = {}
    for each in signature(function).parameters.values():
        if _is_record(each.annotation):
            fields |= _read_by(each.annotation)
        elif each.name not in _NOT_READ:
            # Of `object` nothing is expected.
            missing = None if each.annotation is object else ...
            fields[each.name] = each.annotation, missing if each.default is Parameter.empty else each.default
    return fields


@cache
def _model(function: Callable[..., object]) -> type[BaseModel]:
    return create_model("Arguments", __config__=ConfigDict(strict=True), **cast(Any, _read_by(function)))


def _is_record(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, tuple) and annotation is not Queue


def names_of(function: Callable[..., object]) -> tuple[str, ...]:
    """The fields of a record that a function takes."""
    return tuple(_read_by(function))


def arguments(function: Callable[..., object], record: Mapping[str, Json], **others: object) -> list[Any]:
    """What a function is called with, in order: fields of the record, which have its parameters' names and must be of
    their types (a parameter that is a record takes the fields of its own), and ``others`` (`_NOT_READ`)."""
    text = to_json({name: record[name] for name in _read_by(function) if name in record})
    read = {**others, **dict(read_as(_model(function), text))}
    return [
        kind(*(read[name] for name in kind._fields)) if _is_record(kind := each.annotation) else read[each.name]
        for each in signature(function).parameters.values()
        if each.name != "self"
    ]


def differing(path: str, expected: object, got: object, missing: str) -> Iterator[tuple[str, object, object]]:
    """The smallest parts in which two JSON values differ, with their paths; ``missing`` stands for a field that one of
    them does not have."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for name in dict.fromkeys([*expected, *got]):
            yield from differing(f"{path}.{name}", expected.get(name, missing), got.get(name, missing), missing)
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for number, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from differing(f"{path}[{number}]", one, other, missing)
    # In JSON true is no number, in Python True == 1.
    elif expected != got or isinstance(expected, bool) != isinstance(got, bool):
        yield path, expected, got
