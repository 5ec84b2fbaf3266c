"""Whether a JSON value is what a type says: the types of documents are compared with documents."""

import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict


def faults(value: object, shape: Any, at: str = "", bound: Mapping[Any, Any] | None = None) -> list[str]:
    """Where a value is not as its type says, as paths with a reason; ``bound``: type variables to what they stand
    for."""
    return list(_faults(value, shape, at, bound or {}))


def _faults(value: object, shape: Any, at: str, bound: Mapping[Any, Any]) -> Iterator[str]:
    if isinstance(shape, TypeVar):
        shape = bound[shape]
    origin, arguments = get_origin(shape), get_args(shape)
    if origin in (Union, types.UnionType):
        found = [faults(value, each, at, bound) for each in arguments]
        if all(found):
            yield from min(found, key=len)
    elif is_typeddict(origin):
        yield from _of_record(
            value, origin, at, dict(zip(origin.__parameters__, _resolved(arguments, bound), strict=True))
        )
    elif is_typeddict(shape):
        yield from _of_record(value, shape, at, bound)
    elif origin is Literal:
        if value not in arguments:
            yield f"{at}: {value!r} is none of {arguments}"
    elif origin in (list, Sequence):
        if not isinstance(value, list):
            yield f"{at}: {value!r} is no array"
        else:
            for number, each in enumerate(value):
                yield from _faults(each, arguments[0], f"{at}[{number}]", bound)
    elif origin in (dict, Mapping):
        if not isinstance(value, dict):
            yield f"{at}: {value!r} is no object"
        else:
            for name, each in value.items():
                yield from _faults(each, arguments[1], f"{at}.{name}", bound)
    elif not _is_plain(value, shape):
        yield f"{at}: {value!r} is no {shape}"


def _of_record(value: object, shape: Any, at: str, bound: Mapping[Any, Any]) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at}: {value!r} is no object"
        return
    hints = {name: _unwrapped(hint) for name, hint in get_type_hints(shape).items()}
    yield from (f"{at}.{name}: not in {shape.__name__}" for name in value.keys() - hints.keys())
    yield from (f"{at}.{name}: missing" for name in shape.__required_keys__ - value.keys())
    for name, hint in hints.items():
        if name in value:
            yield from _faults(value[name], hint, f"{at}.{name}", bound)


def _unwrapped(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is NotRequired else hint


def _resolved(arguments: tuple[Any, ...], bound: Mapping[Any, Any]) -> list[Any]:
    return [bound.get(each, each) if isinstance(each, TypeVar) else each for each in arguments]


def _is_plain(value: object, shape: Any) -> bool:
    if shape in (None, type(None)):
        return value is None
    if shape is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if shape is object:
        return True
    return isinstance(shape, type) and isinstance(value, shape)
