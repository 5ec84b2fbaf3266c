"""JSON as RocketMQ's servers write it: a map's key may be an object or a bare number."""

import json
import re
from functools import lru_cache, partial
from typing import Any, TypeAlias

LooseKey: TypeAlias = "str | tuple[tuple[LooseKey, LooseJson], ...]"
LooseJson: TypeAlias = "bool | int | float | str | list[LooseJson] | LooseObject | None"
LooseObject: TypeAlias = "dict[LooseKey, LooseJson]"

_plain = json.JSONDecoder().raw_decode
_BLANKS = " \t\r\n"

_STRING = r'"(?:[^"\\]|\\.)*+"'
_TOKEN = re.compile(
    rf"""{_STRING}
    | (?P<object> \{{ [^{{}}\[\]"]*+ (?: {_STRING} [^{{}}\[\]"]*+ )*+ \}} ) [ \t\r\n]*+ :
    | (?<=[{{,]) [ \t\r\n]*+ (?P<number> 0 | [1-9][0-9]*+ ) [ \t\r\n]*+ :""",
    re.DOTALL | re.VERBOSE,
)
"""Strings, and keys that are flat objects or whole numbers."""
_KEYS_REMEMBERED = 1 << 16


def loads(text: str) -> LooseJson:
    """The value that the text stands for. Keys that are objects become tuples of (name, value), sorted by name.

    Raises `ValueError` for anything that is not such JSON.
    """
    if "\\u0000" not in text:
        try:
            return _quickly(text)
        except (ValueError, RecursionError):
            pass  # rarer forms, and what is wrong
    return _thoroughly(text)


def _quickly(text: str) -> LooseJson:
    """By Python's own parser, which is written in C: keys are put in quotes before. `ValueError` for other forms."""
    parts: list[str] = []
    keys: dict[str, LooseKey] = {}
    done = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup is None:
            continue
        name = token[token.lastgroup]
        if token.lastgroup == "object":
            # No other key begins with this character.
            keys[f"\0{name}"], quoted = _object_key(name)
        else:
            quoted = f'"{name}"'
        parts += text[done : token.start()], quoted, ":"
        done = token.end()
    if not parts:
        plain: LooseJson = json.loads(text)
        return plain
    found: LooseJson = json.loads("".join((*parts, text[done:])), object_hook=partial(_renamed, keys) if keys else None)
    return found


def _renamed(keys: "dict[str, LooseKey]", found: dict[str, Any]) -> LooseObject:
    if keys.keys().isdisjoint(found):
        return found  # type: ignore[return-value]
    return {keys.get(key, key): value for key, value in found.items()}


@lru_cache(_KEYS_REMEMBERED)
def _object_key(text: str) -> "tuple[LooseKey, str]":
    """What an object becomes as a key, and the text in quotes that stands for it meanwhile."""
    return tuple(sorted(json.loads(text).items(), key=_name)), json.dumps(f"\0{text}")


def _thoroughly(text: str) -> LooseJson:
    """As `loads`, character by character."""
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
