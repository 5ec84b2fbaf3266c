"""JSON as RocketMQ's servers write it: a map's key may be an object or a bare number."""

import json
from typing import Any

_plain = json.JSONDecoder().raw_decode
_BLANKS = " \t\r\n"


def loads(text: str) -> Any:
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


def _value(text: str, at: int) -> tuple[Any, int]:
    if text[at] == "{":
        return _object(text, at)
    if text[at] == "[":
        return _array(text, at)
    return _plain(text, at)


def _object(text: str, at: int) -> tuple[dict[Any, Any], int]:
    found: dict[Any, Any] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _value(text, at)
        at = _expect(text, at, ":")
        value, at = _value(text, at)
        found[tuple(sorted(key.items())) if isinstance(key, dict) else str(key)] = value
        at = _next(text, at, "}")
    return found, at + 1


def _array(text: str, at: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, at = _value(text, at)
        found.append(value)
        at = _next(text, at, "]")
    return found, at + 1


def _expect(text: str, at: int, sign: str) -> int:
    at = _skip(text, at)
    if text[at] != sign:
        raise ValueError(f"expected {sign!r} at character {at}, got {text[at]!r}")
    return _skip(text, at + 1)


def _next(text: str, at: int, end: str) -> int:
    """Where the next element begins, or where the end sign is."""
    at = _skip(text, at)
    return at if text[at] == end else _expect(text, at, ",")
