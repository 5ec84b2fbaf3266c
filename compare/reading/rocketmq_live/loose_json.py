"""JSON as RocketMQ's servers write it: a map's key may be an object or a bare number."""

import json
from typing import TypeAlias

LooseKey: TypeAlias = "str | tuple[tuple[LooseKey, LooseJson], ...]"
LooseJson: TypeAlias = "bool | int | float | str | list[LooseJson] | LooseObject | None"
LooseObject: TypeAlias = "dict[LooseKey, LooseJson]"

_plain = json.JSONDecoder().raw_decode
_BLANKS = " \t\r\n"


def loads(text: str) -> LooseJson:
    """The value that the text stands for. Keys that are objects become tuples of (name, value), sorted by name.

    Raises `ValueError` for anything that is not such JSON.
    """
    try:
        value, at = _value(text, _skip(text, 0))
    except (IndexError, RecursionError, TypeError):
        raise ValueError("JSON that ends too early or cannot be") from None
    if _skip(text, at) != len(text):
        raise ValueError(f"more than one JSON value, the second at character {at}")
    return value


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _value(text: str, at: int) -> tuple[LooseJson, int]:
    if text[at] == "{":
        return _object(text, at)
    if text[at] == "[":
        return _array(text, at)
    return _plain(text, at)


def _object(text: str, at: int) -> tuple[LooseObject, int]:
    found: LooseObject = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _value(text, at)
        at = _expect(text, at, ":")
        value, at = _value(text, at)
        found[tuple(sorted(key.items(), key=_name)) if isinstance(key, dict) else str(key)] = value
        at = _next(text, at, "}")
    return found, at + 1


def _array(text: str, at: int) -> tuple[list[LooseJson], int]:
    found: list[LooseJson] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, at = _value(text, at)
        found.append(value)
        at = _next(text, at, "]")
    return found, at + 1


def _name(item: tuple[LooseKey, LooseJson]) -> str:
    return str(item[0])


def _expect(text: str, at: int, sign: str) -> int:
    at = _skip(text, at)
    if text[at] != sign:
        raise ValueError(f"expected {sign!r} at character {at}, got {text[at]!r}")
    return _skip(text, at + 1)


def _next(text: str, at: int, end: str) -> int:
    """Where the next element begins, or where the end sign is."""
    at = _skip(text, at)
    return at if text[at] == end else _expect(text, at, ",")
