"""What mqadmin's views share: rows, names that are cut or missing, retry topics, and JSON.

mqadmin prints tables with Java's ``String.format`` and minimum widths: a value is padded with blanks to its column's
width, two blanks follow. A longer value is either cut to the width first (topic and broker in consumerProgress) or
pushes the rest of its row to the right. Header names hold blanks (``#Broker Name``), and some headers and rows differ
by a blank, so positions count only for the names at a row's beginning; what follows them are numbers and words
without blanks.

What a file or folder is called stands in where the text does not name its group or topic. Each group has a retry topic,
``%RETRY%`` and the group's name, and so texts tell whose they are. RocketMQ's JSON has unquoted numeric keys.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from compare.json_types import Json
from compare.reading.observed import Block, RowError, Skipped, SourceText, quoted, skipped
from rocketmq_selfbalance.cluster import RETRY_PREFIX

_NOISE = ("RocketMQLog:", "SLF4J:", "OpenJDK ", "Java HotSpot", "Picked up ", "log4j:", "WARNING: ")
"""How the lines begin that Java and its loggers print beside the tool's own output."""

_LOGGER_STATUS = re.compile(r"\d\d:\d\d:\d\d,\d{3} \|-")
"""How the lines begin in which the logger of 5.x tells of its own start."""

_NO_NAME = re.compile(r"[\s:\[\]>#]")
"""Brokers check names of topics and groups; these characters stand in time stamps and prefixes of logs."""

_MOST_DIGITS = 19


@dataclass(slots=True)
class Lines:
    """A block's lines below its header, blank ones and noise left out; lines refused while it is walked are kept."""

    block: Block
    refused: list[tuple[int, str, str]] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """(distance from the header, line)."""
        for offset, line in enumerate(self.block.lines[1:], 1):
            if line and not line.isspace() and not is_noise(line):
                yield offset, line

    def refuse(self, offset: int, line: str, expected: str) -> None:
        """Keep that a line could not be read."""
        self.refused.append((offset, line, expected))

    def skipped(self) -> Iterator[Skipped]:
        """One `Skipped` for each run of lines refused for the same reason."""
        run: list[tuple[int, str, str]] = []
        for each in self.refused:
            if run and (each[0] != run[-1][0] + 1 or each[2] != run[0][2]):
                yield self._skipped_run(run)
                run = []
            run.append(each)
        if run:
            yield self._skipped_run(run)

    def _skipped_run(self, run: list[tuple[int, str, str]]) -> Skipped:
        offset, line, expected = run[0]
        more = f" (and {len(run) - 1} more lines)" if len(run) > 1 else ""
        return skipped(self.block, offset, f"expected {expected}, found {quoted(line)}{more}")


def is_noise(line: str) -> bool:
    """Whether Java or a logger printed the line, not the tool."""
    return line.startswith(_NOISE) or _LOGGER_STATUS.match(line) is not None


def number(text: str, column: str) -> int:
    """A whole number; `RowError` for anything else."""
    digits = text[1:] if text.startswith("-") else text
    if digits.isdigit() and digits.isascii() and len(digits) <= _MOST_DIGITS:
        return int(text)
    raise RowError(f"a number under {column}")


def all_numbers(cells: Sequence[str]) -> bool:
    """Whether all are whole numbers that are not negative: what `number` says of nearly all rows, at once."""
    together = "".join(cells)
    return together.isdigit() and together.isascii() and max(map(len, cells)) <= _MOST_DIGITS


def tool_name(text: str, column: str) -> str:
    """A topic's or group's name; `RowError` for what holds a character that no version allows in one."""
    if _NO_NAME.search(text):
        raise RowError(f"a name under {column}")
    return text


def starting(*heads: str, holding: str = "") -> Callable[[str], bool]:
    """Recognises lines that begin with one of ``heads`` and hold ``holding``."""
    if holding:
        return lambda line: line.startswith(heads) and holding in line
    return lambda line: line.startswith(heads)


def values(line: str, into: dict[str, str], keys: Mapping[str, str]) -> bool:
    """Take ``key: value`` from a line if its key is one of ``keys`` (key to the name it is kept under)."""
    key, separator, value = line.partition(":")
    name = keys.get(key.strip())
    if separator and name is not None:
        into[name] = value.strip()
        return True
    return False


_GAP = "  "


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one header: ``names`` without #; the first ones hold names, which are padded to ``widths``
    characters. A name that is cut is as long as its column is wide."""

    names: tuple[str, ...]
    widths: tuple[int, ...]

    def index(self, name: str) -> int | None:
        """Position among the columns behind the names; None if the header has none of that name."""
        found = self.names[len(self.widths) :]
        return found.index(name) if name in found else None

    def split(self, line: str) -> tuple[list[str], list[str]]:
        """A row's leading names, and the words behind them. `RowError` if it has fewer words than names."""
        cut = self._by_position(line)
        if cut is not None:
            return cut
        # The padding got lost on the way, or a name holds characters that Java counts as two.
        words = line.split()
        if len(words) < len(self.widths):
            raise RowError(f"a row of {len(self.names)} columns")
        return words[: len(self.widths)], words[len(self.widths) :]

    def _by_position(self, line: str) -> tuple[list[str], list[str]] | None:
        found = []
        at = 0
        for width in self.widths:
            end = at + width
            if line[end : end + 2] != _GAP:
                # A value that runs over its column ends at the next two blanks.
                end = line.find(_GAP, end)
                if end < 0:
                    return None
            name = line[at:end].strip(" ")
            if not name or _GAP in name or "\t" in name:
                return None
            found.append(name)
            at = end + 2
        return found, line[at:].split()


@lru_cache(maxsize=256)
def columns_of(header: str, names: int) -> Columns:
    """The columns of a header whose first ``names`` ones hold names, each heading beginning with #."""
    headings = header.split("#")[1:]
    starts = [0]
    for heading in headings:
        starts.append(starts[-1] + len(heading) + 1)
    widths = [max(after - start - len(_GAP), 0) for start, after in pairwise(starts)]
    return Columns(tuple(heading.strip() for heading in headings), tuple(widths[:names] + [0] * (names - len(widths))))


_VIEW = r"(?:mqadmin[._-])?(?:consumerProgress|consumerConnection|consumerStatus|topicRoute|allocateMQ)"
_OPTIONS = r"(?:[._-](?:[a-z]|\d+|all|unsorted|stdout|stderr|out|err))*"
_BARE = re.compile(rf"(?:{_VIEW}|progress|connections?|status|route){_OPTIONS}|", re.IGNORECASE)
_TRAILING = re.compile(rf"(.+?)[._-]{_VIEW}{_OPTIONS}", re.IGNORECASE)
_LEADING = re.compile(rf"{_VIEW}[._-](.+)", re.IGNORECASE)


def is_called_like_view(source: SourceText) -> bool:
    """Whether the file is called like a view of mqadmin, so that its folder has the name that matters."""
    return _BARE.fullmatch(source.stem) is not None


def stand_in(source: SourceText) -> str | None:
    """The name that the file, else its folder, is called by; None if neither has one (standard input)."""
    if is_called_like_view(source):
        return source.folder or None
    if source.command is not None and source.command.topic is not None:
        return source.command.topic
    return _beside_view(source) or source.stem


def topic_name(source: SourceText) -> str | None:
    """The topic that a route is about, which its text does not name: ``TopicX.topicRoute.txt`` or ``NAME=FILE``."""
    if source.command is not None and source.command.topic is not None:
        return source.command.topic
    return _beside_view(source) or source.given_group or stand_in(source)


def _beside_view(source: SourceText) -> str | None:
    if is_called_like_view(source):
        return None
    found = _TRAILING.fullmatch(source.stem) or _LEADING.fullmatch(source.stem)
    return found[1] if found else None


def is_retry(topic: str) -> bool:
    """Whether the topic is a group's retry topic."""
    return topic.startswith(RETRY_PREFIX)


def own_retry_topic(topics: Iterable[str]) -> str | None:
    """The retry topic of the group that has these topics; None if they hold none, or those of several groups."""
    retries = sorted(filter(is_retry, topics), key=len)
    # A group that consumes by POP has one more per topic, %RETRY%group_topic.
    if not retries or not all(retry.startswith((f"{retries[0]}_", f"{retries[0]}+")) for retry in retries[1:]):
        return None
    return retries[0]


def group_of(retry_topic: str | None) -> str | None:
    """The group that a retry topic belongs to, None if there is no topic or no name in it."""
    return retry_topic and (retry_topic.removeprefix(RETRY_PREFIX) or None)


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
