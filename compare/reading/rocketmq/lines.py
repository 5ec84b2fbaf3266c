"""What all views share: rows, numbers, and lines that are none of the view's."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compare.reading.blocks import Block, skipped
from compare.reading.observed import Skipped

_NOISE = (
    "RocketMQLog:",
    "SLF4J:",
    "OpenJDK ",
    "Java HotSpot",
    "Picked up ",
    "log4j:",
    "WARNING: ",
)
"""How the lines begin that Java and its loggers print beside the tool's own output."""

_LOGGER_STATUS = re.compile(r"\d\d:\d\d:\d\d,\d{3} \|-")
"""How the lines begin in which the logger of 5.x tells of its own start."""

_NO_NAME = re.compile(r"[\s:\[\]>#]")
"""Brokers check names of topics and groups; these characters stand in time stamps and prefixes of logs."""

_MOST_DIGITS = 19
_MOST_QUOTED = 60


class RowError(Exception):
    """A line that does not hold what its header promises; the text says what was expected."""


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


def quoted(text: str) -> str:
    """A short quotation of what the text holds."""
    text = text.strip()
    return repr(text if len(text) <= _MOST_QUOTED else text[: _MOST_QUOTED - 3] + "...")


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
