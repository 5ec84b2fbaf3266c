"""A recorded case, and what came of playing it.

One line of a golden file, or one recorded trace, is a case. A `Player` knows one kind of case by its content,
plays it through the model and says where the answer differs from the recording. The table of players is
`compare.conformance.players.PLAYERS`; `play_file` streams a file through it.

Nothing that a file says of itself is believed: a small one may decompress to a huge one, a line may have no end, a
value may be nested or a number may be long beyond all use.
"""

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import IO, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

import kafka_coordinator.cluster as kafka
import rocketmq_selfbalance.cluster as rocketmq
from compare.json_types import Json
from protocols import files
from protocols.errors import UserError
from protocols.versions import Version, Versions

Line: TypeAlias = Mapping[str, Json]
"""One case as its file has it: a JSON object."""

_JSON = "a JSON object"

MOST_DIFFERENCES = 10_000
"""Differences of one file that are kept; further ones are only counted."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where an answer is not what was recorded: ``field`` is a path within the case, such as ``expected.c1``."""

    case: str
    field: str
    expected: object
    got: object


@dataclass(frozen=True, slots=True)
class Measure:
    """A recorded value beside the model's: ``real``, the ``model``'s value or range, what is ``allowed``."""

    case: str
    quantity: str
    real: object
    model: object
    allowed: object
    passed: bool


@dataclass(frozen=True, slots=True)
class Played:
    """A case that was played, with everything that was measured; or one that cannot be, for a reason."""

    differences: list[Difference] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Player:
    """Plays one kind of case.

    ``kind`` names it in the plural ("Kafka assignor vectors"). ``recognises(line)`` looks at the content alone and
    accepts damaged lines of the kind as well. ``play(line)`` gives the differences, none if the case passes (or all
    that is to be told of it: `Played`); it raises `MalformedCase` for a line that cannot be a case. No ``play``: the
    kind is not playable yet.
    """

    kind: str
    recognises: Callable[[Line], bool]
    play: Callable[[Line], list[Difference] | Played] | None = None


class MalformedCase(Exception):  # noqa: N818 - it is a fact about the case, which then counts as failed
    """The line is no case of its kind: ``field`` is at fault, ``expected`` says what should be there."""

    def __init__(self, field: str, expected: str, got: object) -> None:
        super().__init__(f"{field}: expected {expected}, got {got!r}")
        self.field, self.expected, self.got = field, expected, got


@dataclass(slots=True)
class FileResult:
    """Counts of cases of one file, the first `MOST_DIFFERENCES` of its differences in the order played, and notes on
    what was skipped."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    notes: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def case_id(line: Line, number: int) -> str:
    """What the case calls itself (``id``, ``case_id``, ``trace_id``, ``scenario``), else its line number."""
    for name in ("id", "case_id", "trace_id", "scenario"):
        if isinstance(line.get(name), str):
            return str(line[name])
    return f"line {number}"


def play_file(
    path: Path,
    players: Sequence[Player],
    name: str | None = None,
    consumed: Callable[[int], None] = lambda _: None,
    read: Callable[[Path], Iterator[tuple[int, bytes, int]]] | None = None,
) -> FileResult:
    """Play every case of a ``.jsonl``, ``.jsonl.gz`` (one case a line) or ``.json`` file (one case).

    Lines that no player recognises have failed, unless it is so with every line: then the file is of an unknown
    kind and skipped. ``consumed`` is told after each case how many bytes of the file (as stored) have been read.
    ``read`` takes the place of `lines`. Raises `UserError` if the file cannot be read or is not the gzip that its name
    promises.
    """
    result = FileResult(name or path.name)
    skipped: dict[str, int] = {}
    strange: list[Difference] = []
    unplayed: list[str] = []
    count_strange = count_different = no_json = 0
    for number, text, position in (read or lines)(path):
        case, found = _outcome(number, text, players)
        match found:
            case Player():
                skipped[found.kind] = skipped.get(found.kind, 0) + 1
            case None:
                count_strange += 1
                if count_strange <= MOST_DIFFERENCES:
                    kinds = ", ".join(player.kind for player in players)
                    strange.append(Difference(case, "line", f"a case of a known kind ({kinds})", "none of them"))
            case Played(skipped=why) if why:
                unplayed.append(f"{case}: {why}")
            case Played(differences, measures):
                result.failed += bool(differences)
                result.passed += not differences
                count_different += len(differences)
                result.differences += differences[: MOST_DIFFERENCES - len(result.differences)]
                result.measures += measures
                no_json += any((difference.field, difference.expected) == ("line", _JSON) for difference in differences)
        consumed(position)
    if count_strange and not (result.passed or result.failed or skipped or unplayed):
        skipped["cases of an unknown kind"] = count_strange
    else:
        result.failed += count_strange
        count_different += count_strange
        result.differences += strange[: MOST_DIFFERENCES - len(result.differences)]
    if no_json and no_json == result.failed and not (result.passed or skipped or unplayed):
        first = f"{result.differences[0].case}: {result.differences[0].got}"
        raise UserError(f"{path}: no line is {_JSON}, expected golden vectors or recorded traces; {first}")
    result.skipped = sum(skipped.values()) + len(unplayed)
    result.notes += [f"{count} {kind}: not playable yet" for kind, count in skipped.items()] + unplayed
    if count_different > len(result.differences):
        result.notes.append(f"{count_different - len(result.differences)} more differences are not kept")
    return result


def _outcome(number: int, text: bytes, players: Sequence[Player]) -> tuple[str, Played | Player | None]:
    """The case's id and what came of it, or the player that cannot play it yet, or None if no player knows it."""
    case = f"line {number}"
    try:
        line = decoded(text)
    except ValueError as error:
        return case, _broken(case, "line", _JSON, str(error))
    if not isinstance(line, dict):
        return case, None
    case = case_id(line, number)
    player = next((each for each in players if each.recognises(line)), None)
    if player is None or player.play is None:
        return case, player
    try:
        played = player.play(line)
        return case, _presentable(played if isinstance(played, Played) else Played(played))
    except MalformedCase as error:
        return case, _broken(case, error.field, error.expected, error.got)
    except Exception as error:  # as in any test runner, a case that breaks the model has failed; the others go on
        return case, _broken(case, "line", "a case that can be played", f"{type(error).__name__}: {error}")


def _broken(case: str, field: str, expected: object, got: object) -> Played:
    return _presentable(Played([Difference(case, field, expected, got)]))


def _presentable(played: Played) -> Played:
    """The same with values that can be written, whatever the line held."""
    differences = [
        replace(difference, expected=shallow(difference.expected), got=shallow(difference.got))
        for difference in played.differences
    ]
    return replace(played, differences=differences)


M = TypeVar("M", bound=BaseModel)


def validated(model: type[M], line: Line) -> M:
    """The record that the line is. Raises `MalformedCase` naming the first field at fault."""
    with _malformed():
        return model.model_validate(line)


def read_as(model: type[M], text: bytes) -> M:
    """The record that a JSON text is, likewise."""
    with _malformed():
        return model.model_validate_json(text)


@contextmanager
def _malformed() -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(map(str, first["loc"])) or "line"
        raise MalformedCase(path, first["msg"], first.get("input")) from None


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
        with files.opened(path) as stored:
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


V = TypeVar("V", bound=Version)


def kafka_version(told: object, path: str = "kafka") -> kafka.Version:
    """``told``: ``4.4.0``, or a text that begins with it; None: 4.1.0. Raises `MalformedCase`."""
    return _named(kafka.VERSIONS, told, "4.1.0", path)


def rocketmq_version(told: object, path: str = "rocketmq") -> rocketmq.Version:
    """The same for RocketMQ, whose first recordings are of 5.3.3."""
    return _named(rocketmq.VERSIONS, told, "5.3.3", path)


def _named(versions: Versions[V], told: object, oldest: str, path: str) -> V:
    text = str(oldest if told is None else told).replace(",", " ").partition(" ")[0]
    try:
        return versions.named(text, path)
    except UserError:
        raise MalformedCase(path, f"one of {', '.join(versions)}", told) from None
