"""The lines of log files that may mean something: files, folders, standard input, gzip, rotated files in order."""

import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
            paths += sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
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


@dataclass(slots=True)
class Reading:
    """What reading a file found out: how many lines it has, and whether the file is cut off."""

    lines: int = 0
    cut: str = ""


def blocks(file: LogFile, found: Reading) -> Iterator[bytes]:
    """The bytes of a file, those of one that gzip has packed as they were before, as far as they are there.

    Raises `UserError` where it cannot be read.
    """
    try:
        if file.path is None:
            yield from iter(lambda: sys.stdin.buffer.read(BLOCK), b"")
            return
        with file.path.open("rb") as stream:
            packed = stream.peek(2)[:2] == b"\x1f\x8b"
            plain = iter(lambda: stream.read(BLOCK), b"")
            yield from _unpacked(plain, found) if packed else plain
    except OSError as error:
        raise UserError(f"{file.name}: {error.strerror or error}, expected a readable log file") from None


def _unpacked(packed: Iterator[bytes], found: Reading) -> Iterator[bytes]:
    """Everything before the place where the packed bytes end or are damaged: `gzip` gives nothing of the last block."""
    part = zlib.decompressobj(wbits=31)
    begun = False
    for block in packed:
        rest = block
        while rest:
            begun = True
            try:
                yield part.decompress(rest, BLOCK)
                while part.unconsumed_tail:
                    yield part.decompress(part.unconsumed_tail, BLOCK)
            except zlib.error:
                found.cut = "damaged"
                return
            rest = part.unused_data
            if part.eof:
                part, begun = zlib.decompressobj(wbits=31), False
                if rest and not rest.startswith(b"\x1f\x8b"):
                    return  # padding
    if begun:
        yield part.flush()
        found.cut = "cut off"


def lines_with(file: LogFile, keys: Sequence[bytes], found: Reading) -> Iterator[tuple[int, bytes]]:
    """The lines that hold one of the keys, with their numbers from 1; raises `UserError` where it cannot be read."""
    rest = b""
    for block in blocks(file, found):
        block = rest + block
        end = block.rfind(b"\n") + 1
        if not end and len(block) < LONGEST_LINE:
            rest = block
            continue
        end = end or len(block)
        rest = block[end:]
        yield from _hits(block, end, found.lines, keys)
        found.lines += block.count(b"\n", 0, end)
    if rest:
        yield from _hits(rest, len(rest), found.lines, keys)
        found.lines += 1


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
