"""Read the first JSON value of some lines, with the unquoted numeric keys that RocketMQ's tools print."""

import json
import re
from collections.abc import Sequence

from compare.json_types import Json

_STRING_OR_KEY = re.compile(r'"(?:[^"\\]|\\.)*+"|([{,]\s*+)(-?\d++)(\s*+:)', re.DOTALL)
"""Strings are matched whole, so that nothing within them is taken for a key."""


def read_json(lines: Sequence[str]) -> tuple[Json, int]:
    """The value that the lines begin with, and how many of the lines it takes. ValueError if there is none."""
    text = _STRING_OR_KEY.sub(_with_quotes, "\n".join(lines))
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at its line {error.lineno}") from None
    except (ValueError, RecursionError):
        # Numbers of thousands of digits, brackets nested by the thousand.
        raise ValueError("it is none") from None
    return value, text.count("\n", 0, end) + 1


def _with_quotes(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else f'{found[1]}"{found[2]}"{found[3]}'
