"""The lines of log files that may mean something: files, folders, standard input, gzip, rotated files in order. How
lines are wrapped and where their time stands is recognised by content, line by line.
"""

import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
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


@contextmanager
def unpacked(path: Path) -> Iterator["BinaryIO | gzip.GzipFile"]:
    """The bytes of a file, those of one that gzip has packed as they were before."""
    with path.open("rb") as plain:
        if plain.peek(2)[:2] == b"\x1f\x8b":
            with gzip.open(plain, "rb") as stream:
                yield stream
        else:
            yield plain


def lines_with(file: LogFile, keys: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that hold one of the keys, with their numbers from 1; raises `UserError` where it cannot be read."""
    try:
        if file.path is None:
            yield from _lines(sys.stdin.buffer, keys)
            return
        with unpacked(file.path) as stream:
            yield from _lines(stream, keys)
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


_KUBECTL = re.compile(r"\[(pod/[^/\]\s]+/[^\]\s]+)\] ?")
_STERN = re.compile(r"([a-z0-9][a-z0-9.-]*[a-z0-9]) › ([a-z0-9-]+) ")
_COMPOSE = re.compile(r"(?!(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b)([A-Za-z0-9][\w.-]*) +\| ")
_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)"
_CRI = re.compile(rf"({_STAMP}) (?:stdout|stderr) [FP] ")
_TIMESTAMPED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) ")

_DATED = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,:](\d{1,9}))?"
    r"(?: ?(Z|UTC|GMT)\b| ?([+-])(\d\d):?(\d\d)\b)?"
)
_WORDY = re.compile(r"(\d\d)[ /-]([A-Z][a-z]{2})[ /-](\d{4})[ :](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_SLASHED = re.compile(r"(\d\d?)/(\d\d?)/(\d{4})[ T](\d\d?):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ([AP])M\b)?")
_OF_DAY = re.compile(r"\[?(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?=[\s\]|])")
_EPOCH_MS = re.compile(r"\[?(1\d{12})\b")
_LIBRDKAFKA = re.compile(r"%\d\|(\d{9,11}(?:\.\d+)?)\|")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TEXTS = ("message", "msg", "log", "text", "@message")
_TIMES = ("@timestamp", "timestamp", "time", "ts", "timeMillis", "epochMillis", "instant", "datetime", "date")
_HEAD = 100
"""Characters at a line's beginning in which its time is looked for."""


@dataclass(slots=True)
class Unwrapped:
    """``container``: whose line it is, None without a prefix; ``hint``: the wrapper's own time in UTC; ``text``: the
    line as the process printed it, or a JSON line's message; ``stamp`` and ``clock`` as in `Fact`; ``fields``: those
    of a JSON line."""

    container: str | None
    hint: float | None
    text: str
    stamp: float | None
    clock: str
    fields: Mapping[str, object]


def unwrapped(line: str) -> Unwrapped:
    """A line without the wrappers of docker, CRI, kubectl, stern and compose, and without its JSON."""
    container: str | None = None
    hint: float | None = None
    fields: Mapping[str, object] = {}
    stamp, clock = None, "none"
    for _ in range(5):
        if match := _KUBECTL.match(line) or _STERN.match(line) or _COMPOSE.match(line):
            container = match.group(1)
            line = line[match.end() :]
        elif match := _CRI.match(line) or _TIMESTAMPED.match(line):
            hint = time_of(match.group(1))[0]
            line = line[match.end() :]
        elif line.startswith("{"):
            found = _json(line)
            if found is None:
                break
            if isinstance(found.get("log"), str) and "stream" in found:
                hint = time_of(str(found.get("time", "")))[0]
                line = str(found["log"]).rstrip("\n")
            else:
                fields = found
                line = next((str(found[key]) for key in _TEXTS if isinstance(found.get(key), str)), line)
                stamp, clock = _json_time(found)
                break
        else:
            break
    if stamp is None:
        stamp, clock = time_of(line)
    return Unwrapped(container, hint, line, stamp, clock, fields)


def _json(line: str) -> Mapping[str, object] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _json_time(fields: Mapping[str, object]) -> tuple[float | None, str]:
    for key in _TIMES:
        value = fields.get(key)
        if isinstance(value, dict):
            value = value.get("epochSecond")
        if isinstance(value, bool):
            continue
        if isinstance(value, int | float) and 1e9 < value < 1e14:
            return (value / 1000 if value > 1e11 else float(value)), "utc"
        if isinstance(value, str):
            stamp, clock = time_of(value)
            if stamp is not None:
                return stamp, clock
    return None, "none"


def time_of(line: str) -> tuple[float | None, str]:
    """The time at a line's beginning as seconds, and what kind of clock it is; (None, "none") without one."""
    head = line[:_HEAD]
    if match := _LIBRDKAFKA.match(head):
        return float(match.group(1)), "utc"
    if match := _EPOCH_MS.match(head):
        return int(match.group(1)) / 1000, "utc"
    if match := _DATED.search(head):
        year, month, day, hour, minute, second = map(int, match.groups()[:6])
        seconds = _seconds(year, month, day, hour, minute, second, match.group(7))
        if seconds is None:
            return None, "none"
        if match.group(8):
            return seconds, "utc"
        if match.group(9):
            east = int(match.group(10)) * 3600 + int(match.group(11)) * 60
            return seconds - (east if match.group(9) == "+" else -east), "utc"
        return seconds, "local"
    if (match := _WORDY.search(head)) and match.group(2) in _MONTHS:
        day, year, hour, minute, second = (int(match.group(each)) for each in (1, 3, 4, 5, 6))
        seconds = _seconds(year, _MONTHS.index(match.group(2)) + 1, day, hour, minute, second, match.group(7))
        return (seconds, "local") if seconds is not None else (None, "none")
    if match := _SLASHED.search(head):
        return _slashed(match)
    if match := _OF_DAY.match(head):
        hour, minute, second = map(int, match.groups()[:3])
        return hour * 3600 + minute * 60 + second + _fraction(match.group(4)), "day"
    return None, "none"


def stated_east(line: str) -> float:
    """Seconds that the zone which a time states is east of UTC; 0.0 where none is stated."""
    match = _DATED.search(line[:_HEAD])
    if match is None or not match.group(9):
        return 0.0
    east = int(match.group(10)) * 3600.0 + int(match.group(11)) * 60.0
    return east if match.group(9) == "+" else -east


def _slashed(match: re.Match[str]) -> tuple[float | None, str]:
    """Month/day/year, as with AM and PM; day/month/year where the first is no month."""
    first, second, year, hour, minute, seconds = map(int, match.groups()[:6])
    month, day = (second, first) if first > 12 else (first, second)
    if match.group(8):
        hour = hour % 12 + (12 if match.group(8) == "P" else 0)
    found = _seconds(year, month, day, hour, minute, seconds, match.group(7))
    return (found, "local") if found is not None else (None, "none")


def _fraction(digits: str | None) -> float:
    return int(digits) / 10 ** len(digits) if digits else 0.0


def _seconds(
    year: int, month: int, day: int, hour: int, minute: int, second: int, fraction: str | None
) -> float | None:
    try:
        whole = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return whole + _fraction(fraction)
