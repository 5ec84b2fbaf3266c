"""The lines of log files that may mean something: files, folders, standard input, gzip, rotated files in order."""

import os.path
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from protocols import files
from protocols.errors import UserError

BLOCK = 4 << 20
"""Bytes read at a time."""

LONGEST_LINE = 8 << 20
"""A line that is longer is cut there."""

_PACKINGS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zX": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_FEW = 400
"""Bytes that tell a text's encoding."""

_PART = re.compile(
    rb"(?P<cri>\S{20,40} (?:stdout|stderr) )[PF] (?P<said>.*)"
    rb"|(?P<docker>\{\"log\":\")(?P<text>(?:[^\"\\]|\\.)*)(?P<rest>\",\"stream\":\"std(?:out|err)\".*)",
    re.DOTALL,
)
"""A line in a container's log, which breaks what is longer than 16 KiB: by CRI's flag P, or without a line end."""

_MOST_PARTS = LONGEST_LINE >> 14

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
        if os.path.isdir(path):
            paths += sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
        elif os.path.exists(path):
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
    """What reading a file found out: how many lines it has, whether the file is cut off, and why it is not read;
    ``mixed``: that its lines stand in no order of time."""

    lines: int = 0
    cut: str = ""
    unread: str = ""
    mixed: str = ""


def blocks(file: LogFile, found: Reading) -> Iterator[bytes]:
    """The bytes of a file, those of one that gzip has packed as they were before, as far as they are there.

    Raises `UserError` where it cannot be read.
    """
    try:
        with nullcontext(sys.stdin.buffer) if file.path is None else files.opened(file.path) as stream:
            block = stream.read(BLOCK)
            packing = next((name for magic, name in _PACKINGS.items() if block.startswith(magic)), "")
            plain = chain((block,) if block else (), iter(lambda: stream.read(BLOCK), b""))
            if packing:
                found.unread = f"packed with {packing}, expected plain text or gzip: unpack it first"
            elif block.startswith(b"\x1f\x8b"):
                yield from _text(_unpacked(plain, found), found)
            else:
                yield from _text(plain, found)
    except OSError as error:
        raise UserError(f"{file.name}: {error.strerror or error}, expected a readable log file") from None


def _text(plain: Iterator[bytes], found: Reading) -> Iterator[bytes]:
    """The bytes without the mark of UTF-8 before them; nothing of UTF-16, of which every other byte of a log is 0."""
    first = next(plain, b"")
    if first.startswith(_UTF_16) or first.count(0, 0, _FEW) > len(first[:_FEW]) // 3:
        found.unread = "a text in UTF-16, expected UTF-8: convert it first"
        return
    yield first.removeprefix(_BOM)
    yield from plain


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
    counted, number, told = 0, before + 1, 0
    for start in sorted(starts):
        if start < told:
            continue  # a later part of a line
        start = _first_part(block, start)
        number += block.count(b"\n", counted, start)
        counted = start
        line, told = _whole(block, start, end)
        yield number, line


def _first_part(block: bytes, start: int) -> int:
    """Where the line begins of which a container's log has a part at ``start``."""
    while start:
        before = block.rfind(b"\n", 0, start - 1) + 1
        if not _goes_on(_PART.match(block[before : start - 1])):
            break
        start = before
    return start


def _whole(block: bytes, start: int, end: int) -> tuple[bytes, int]:
    """The line that begins at ``start``, with the parts of it that follow, and where the next one begins."""
    stop = block.find(b"\n", start, end)
    stop = stop if stop >= 0 else end
    line = block[start:stop]
    part = first = _PART.match(line)
    parts: list[bytes] = []
    while first is not None and _goes_on(part) and stop + 1 < end and len(parts) < _MOST_PARTS:
        begin, stop = stop + 1, block.find(b"\n", stop + 1, end)
        stop = stop if stop >= 0 else end
        part = _PART.match(block[begin:stop])
        if part is None or part.lastgroup != first.lastgroup:
            break
        parts.append(part["said"] if first["cri"] else part["text"])
    if first is not None and parts:
        said = b"".join([first["said"] if first["cri"] else first["text"], *parts])
        line = first["cri"] + b"F " + said if first["cri"] else first["docker"] + said + first["rest"]
    return line, stop + 1


def _goes_on(part: re.Match[bytes] | None) -> bool:
    if part is None:
        return False
    return part.string[part.end("cri")] == ord("P") if part["cri"] else not part["text"].endswith(b"\\n")


def decoded(line: bytes) -> str:
    """The line as text; what is not UTF-8 becomes the replacement character."""
    return line.decode("utf-8", "replace").rstrip("\r\n")


def joined(parts: Iterable[str]) -> str:
    """Names for people: `a, b and c`."""
    names = list(parts)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
