"""Where in a scenario a value is.

One part of a scenario through its model, and what is wrong with it in words that a reader understands.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

Path: TypeAlias = tuple[str | int, ...]
"""Keys of mappings and positions in lists, from the outermost on."""


def path_text(path: Path) -> str:
    """A path as errors show it: ``groups.seed.members.c1``, ``events[3].crash``."""
    text = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return text.removeprefix(".")


M = TypeVar("M", bound=BaseModel)


class PartError(Exception):
    """A part of a scenario cannot be: where, and in words what is wrong and what was expected."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path, self.problem = path, problem


def validated(model: type[M], given: object, path: Path) -> M:
    """``given`` (a mapping, or what is such a part already) as a part of this kind. Raises `PartError`."""
    if isinstance(given, model):
        return given
    fields = mapping(given, path)
    known(fields, field_names(model), path)
    try:
        return model.model_validate(dict(fields))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        inner = tuple(each for each in first["loc"] if each not in _NO_FIELD)
        raise PartError((*path, *inner), _problem(first)) from None


_NO_FIELD = ("[key]", "constrained-int")
"""What pydantic puts into a place beside fields: a key instead of its value, and which kind of value it tried."""


def field_names(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items())


def mapping(given: object, path: Path) -> Mapping[str, object]:
    """``given`` if it is a mapping with texts as keys, else `PartError`."""
    if not isinstance(given, Mapping):
        raise PartError(path, f"{short(given)} is no mapping, expected fields and their values")
    for key in given:
        if not isinstance(key, str):
            raise PartError(path, f"the key {short(key)} is no text, expected a name")
    return given


def known(fields: Iterable[str], expected: Iterable[str], path: Path, what: str = "field") -> None:
    """Raises `PartError` for the first of the fields that is not expected."""
    names = tuple(expected)
    for name in fields:
        if name not in names:
            raise PartError((*path, name), f"unknown {what} {short(name)}, {suggestion(name, names)}")


def suggestion(name: str, names: Iterable[str]) -> str:
    """What was expected instead of a name: the nearest one, or the choice."""
    choice = list(dict.fromkeys(names))
    near = get_close_matches(name[:100], choice[:1000], 1, 0.7)
    if near:
        return f"did you mean {near[0]}?"
    if not choice:
        return "expected none: there is none"
    return f"expected one of {', '.join(choice[:20])}{', ...' if len(choice) > 20 else ''}"


def short(given: object) -> str:
    """The value as errors show it: on one line, not endless."""
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _problem(error: ErrorDetails) -> str:
    kind, given = error["type"], error["input"]
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return str(error["ctx"]["error"])
    for start, expected in _EXPECTED.items():
        if kind.startswith(start):
            return f"{short(given)} is no {expected}"
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"{short(given)} is out of bounds, expected {words} {error['ctx'][bound]:g}"
    if kind == "literal_error":
        return f"{short(given)} is unknown, expected {error['ctx']['expected']}"
    return f"{short(given)}: {error['msg']}"


_EXPECTED: Mapping[str, str] = {
    "string": "text, expected a name or a text (in quotes if it looks like another type)",
    "int": "whole number, expected one such as 4",
    "float": "number, expected one such as 1.5",
    "finite_number": "number, expected one such as 1.5",
    "dict": "mapping, expected names and their values",
    "model": "mapping, expected fields and their values",
    "tuple": "list, expected one such as [a, b]",
}
"""Beginning of a kind of pydantic's errors to what it says."""

_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}
"""A kind of pydantic's errors to its words, and to the name of the bound."""
