"""The lines of a file of cases, and the JSON in them: within bounds, whatever the file holds.

Nothing that a file says of itself is believed: a small one may decompress to a huge one, a line may have no end, a
value may be nested or a number may be long beyond all use.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import IO

from compare.json_types import Json
from protocols.errors import UserError

MIB = 1 << 20

LONGEST_LINE = 16 * MIB
"""Bytes of a line, or of a ``.json`` file: 50 times what the largest recorded case takes."""

LARGEST_FILE = 1024 * MIB
"""Bytes of a file, decompressed."""

MOST_LINES = 1_000_000
"""Lines of a file, blank ones among them."""

DEEPEST = 100
"""Levels of a value that are shown; recorded cases have a dozen."""

_GZIP_MAGIC = b"\x1f\x8b"
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_WHOLE_LIMIT = 1 << 63
_LONGEST_WHOLE = 20


def lines(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """(line number, text, bytes of the file consumed) of each line that is not blank; a .json file is one line.

    Raises `UserError` if the file cannot be read, is not the gzip that its name promises, or is beyond the bounds.
    """
    number = 0
    try:
        with path.open("rb") as stored:
            stream = _opened(path, stored)
            if path.suffix == ".json":
                text = stream.read(LONGEST_LINE + 1)
                if len(text) > LONGEST_LINE:
                    raise _beyond(path, f"larger than {LONGEST_LINE // MIB} MiB", "one case in it")
                yield 1, text, stored.tell()
                return
            size = 0
            while text := stream.readline(LONGEST_LINE + 1):
                number += 1
                size += len(text)
                if len(text) > LONGEST_LINE:
                    raise _beyond(path, f"line {number} is longer than {LONGEST_LINE // MIB} MiB", "one case a line")
                if size > LARGEST_FILE:
                    raise _beyond(path, f"larger than {LARGEST_FILE // MIB} MiB at line {number}", "several files")
                if number > MOST_LINES:
                    raise _beyond(path, f"more than {MOST_LINES} lines", "several files")
                if text.strip():
                    yield number, text, stored.tell()
    except (OSError, EOFError, zlib.error) as error:
        where = f" after line {number}" if number else ""
        raise UserError(f"{path}: cannot be read{where}: {error}") from None


def decoded(text: bytes) -> Json:
    """The JSON value of a line. Raises `ValueError` for what is none, is nested too deeply to be read, or has a number
    that takes more than 64 bits."""
    decoder = _CAREFUL if _LONG_NUMBER.search(text) else _PLAIN
    try:
        value: Json = decoder.decode(text.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def shallow(value: object) -> object:
    """The value, with dots in the place of what lies deeper than `DEEPEST` levels."""
    return _cut_off(value, DEEPEST) if _is_deeper(value, DEEPEST) else value


def _is_deeper(value: object, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return levels < 0 or any(_is_deeper(each, levels - 1) for each in inside)


def _cut_off(value: object, levels: int) -> object:
    if isinstance(value, dict):
        return {key: _cut_off(each, levels - 1) for key, each in value.items()} if levels else "..."
    if isinstance(value, list | tuple):
        return [_cut_off(each, levels - 1) for each in value] if levels else "..."
    return value


def _beyond(path: Path, what: str, expected: str) -> UserError:
    return UserError(f"{path}: {what}, expected {expected}")


def _opened(path: Path, stored: IO[bytes]) -> IO[bytes]:
    magic = stored.read(len(_GZIP_MAGIC))
    stored.seek(0)
    if magic == _GZIP_MAGIC:
        return gzip.GzipFile(fileobj=stored)  # type: ignore[return-value]
    if path.suffix == ".gz" and magic:
        raise UserError(f"{path}: not gzip, expected gzip-compressed JSON lines")
    return stored


def _no_json(constant: str) -> float:
    raise ValueError(f"{_shortened(constant)} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _no_json(text)


def _whole(text: str) -> int:
    if len(text) > _LONGEST_WHOLE or not -_WHOLE_LIMIT <= int(text) < _WHOLE_LIMIT:
        raise ValueError(f"{_shortened(text)} is beyond 64 bits, expected a number that a recording can hold")
    return int(text)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_WHOLE else f"{text[:_LONGEST_WHOLE]}..."


_PLAIN = json.JSONDecoder(parse_constant=_no_json, parse_float=_finite)
_CAREFUL = json.JSONDecoder(parse_constant=_no_json, parse_float=_finite, parse_int=_whole)
"""Looks at every whole number; for lines with many digits in a row, so that the others are read as quickly as ever."""
