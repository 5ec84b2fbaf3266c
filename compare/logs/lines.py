"""The lines of log files that may mean something: files, folders, standard input, gzip, rotated files in order."""

import gzip
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from protocols.errors import UserError

BLOCK = 4 << 20
"""Bytes read at a time."""

LONGEST_LINE = 8 << 20
"""A line that is longer is cut there."""

_ROTATED = re.compile(r"(?:[.-](\d{4}-?\d\d-?\d\d(?:[-_.T]?\d\d)*))?(?:\.(\d{1,6}))?$")


@dataclass(frozen=True, slots=True)
class LogFile:
    """``name``: as shown; ``base``: the name without what rotation appends; ``path``: None is standard input."""

    name: str
    base: str
    path: Path | None


def log_files(sources: Sequence[str]) -> list[LogFile]:
    """The files behind the arguments, rotated ones from the oldest on.

    Raises `UserError` for a source that is not there.
    """
    paths: list[Path | None] = []
    for source in sources:
        if source == "-":
            paths.append(None)
            continue
        path = Path(source)
        try:
            folder, there = path.is_dir(), path.exists()
        except (OSError, ValueError):
            folder, there = False, False
        if folder:
            paths += sorted(each for each in path.rglob("*") if each.is_file() and not each.name.startswith("."))
        elif there:
            paths.append(path)
        else:
            raise UserError(f"{source}: no such file or folder, expected log files, folders of them, or -")
    unique = list(dict.fromkeys(paths))
    names = [each.name for each in unique if each]
    found = []
    for each in unique:
        if each is None:
            found.append(LogFile("-", "-", None))
            continue
        name = each.name if names.count(each.name) == 1 else str(each)
        base, _ = _rotation(each.name)
        found.append(LogFile(name, name[: len(name) - len(each.name)] + base, each))
    return sorted(found, key=_age)


def _age(file: LogFile) -> tuple[str, tuple[int, str, int], str]:
    return file.base, _rotation(Path(file.name).name)[1], file.name


def _rotation(name: str) -> tuple[str, tuple[int, str, int]]:
    """The name without date and number of a rotation, and what sorts the oldest first."""
    plain = name.removesuffix(".gz")
    suffix = ".log" if plain.endswith(".log") and _ROTATED.search(plain[:-4]) else ""
    stem = plain.removesuffix(suffix) if suffix else plain
    match = _ROTATED.search(stem)
    date, number = (match.group(1), match.group(2)) if match else (None, None)
    if match is None or (date is None and (number is None or suffix)):
        return plain, (1, "", 0)
    return stem[: match.start()] + suffix, (0, date or "", -int(number or 0))


def lines_with(file: LogFile, keys: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that hold one of the keys, with their numbers from 1; raises `UserError` where it cannot be read."""
    try:
        if file.path is None:
            yield from _lines(sys.stdin.buffer, keys)
            return
        with file.path.open("rb") as plain:
            packed = plain.peek(2)[:2] == b"\x1f\x8b"
            if packed:
                with gzip.open(plain, "rb") as unpacked:
                    yield from _lines(unpacked, keys)
            else:
                yield from _lines(plain, keys)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return  # a file that is cut off or damaged: what came before it counts
    except OSError as error:
        raise UserError(f"{file.name}: {error.strerror or error}, expected a readable log file") from None


def _lines(stream: "BinaryIO | gzip.GzipFile", keys: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    before, rest = 0, b""
    while block := stream.read(BLOCK):
        block = rest + block
        end = block.rfind(b"\n") + 1
        if not end and len(block) < LONGEST_LINE:
            rest = block
            continue
        end = end or len(block)
        rest = block[end:]
        yield from _hits(block, end, before, keys)
        before += block.count(b"\n", 0, end)
    if rest:
        yield from _hits(rest, len(rest), before, keys)


def _hits(block: bytes, end: int, before: int, keys: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    starts: set[int] = set()
    for key in keys:
        at = block.find(key, 0, end)
        while at >= 0:
            starts.add(block.rfind(b"\n", 0, at) + 1)
            at = block.find(b"\n", at, end)
            if at >= 0:
                at = block.find(key, at, end)
    counted, number = 0, before + 1
    for start in sorted(starts):
        number += block.count(b"\n", counted, start)
        counted = start
        stop = block.find(b"\n", start, end)
        yield number, block[start : stop if stop >= 0 else end]


def decoded(line: bytes) -> str:
    """The line as text; what is not UTF-8 becomes the replacement character."""
    return line.decode("utf-8", "replace").rstrip("\r\n")


def joined(parts: Iterable[str]) -> str:
    """Names for people: `a, b and c`."""
    names = list(parts)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
