"""JSON as RocketMQ's servers write it: a map's key may be an object or a bare number."""

import json
import re
from functools import lru_cache
from typing import TypeAlias

LooseJson: TypeAlias = "bool | int | float | str | list[LooseJson] | LooseObject | None"
LooseObject: TypeAlias = "dict[str, LooseJson]"

OBJECT_KEY = "\0"
"""What a key that is an object begins with; its own text follows."""

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
_OBJECT_KEY = re.compile(r"(\{[^{}\[\]]*\})[ \t\r\n]*:")
_NUMBER_KEY = re.compile(r"([{,])[ \t\r\n]*(0|[1-9][0-9]*)[ \t\r\n]*:")
_SIGNS = re.compile(r"[{}\[\],]")
_KEYS_REMEMBERED = 1 << 16


def loads(text: str) -> LooseJson:
    """The value that the text stands for. A key that is an object becomes its own text behind `OBJECT_KEY`.

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
    plain = "\\" not in text and _SIGNS.search("".join(text.split('"')[1::2])) is None
    value: LooseJson = json.loads(_quoted(text) if plain else _quoted_between_strings(text))
    return value


def _quoted(text: str) -> str:
    """The text with all keys in quotes; none of its strings holds a backslash or one of `_SIGNS`."""
    parts = _OBJECT_KEY.split(text)
    if len(parts) == 1:
        return _NUMBER_KEY.sub(r'\1"\2":', text)
    keys = [f"{_object_key(key)}:" for key in parts[1::2]]
    if _NUMBER_KEY.search(text):
        parts = [_NUMBER_KEY.sub(r'\1"\2":', part) for part in parts]
    parts[1::2] = keys
    return "".join(parts)


def _quoted_between_strings(text: str) -> str:
    """The text with all keys in quotes, whatever its strings hold."""
    parts: list[str] = []
    done = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup is not None:
            name = token[token.lastgroup]
            parts += text[done : token.start()], _object_key(name) if token.lastgroup == "object" else f'"{name}"', ":"
            done = token.end()
    return "".join((*parts, text[done:]))


@lru_cache(_KEYS_REMEMBERED)
def _object_key(text: str) -> str:
    """The text in quotes that stands for an object as a key; `ValueError` if it is no object."""
    json.loads(text)
    return json.dumps(OBJECT_KEY + text)


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
        start = at
        key, at = _value(text, at)
        name = OBJECT_KEY + text[start:at] if isinstance(key, dict) else str(key)
        at = _expect(text, at, ":")
        found[name], at = _value(text, at)
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


def _expect(text: str, at: int, sign: str) -> int:
    at = _skip(text, at)
    if text[at] != sign:
        raise ValueError(f"expected {sign!r} at character {at}, got {text[at]!r}")
    return _skip(text, at + 1)


def _next(text: str, at: int, end: str) -> int:
    """Where the next element begins, or where the end sign is."""
    at = _skip(text, at)
    return at if text[at] == end else _expect(text, at, ",")
