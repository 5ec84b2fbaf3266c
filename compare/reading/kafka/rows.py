"""Read the rows below a header, one by one; what is no row becomes `Skipped`, the other rows still count."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, TypeVar

from compare.reading.blocks import Block, skipped
from compare.reading.observed import Skipped

Row = TypeVar("Row")

MISSING = "-"
"""What the tools print where there is no value."""

_MOST_DIGITS = 19
_NUMBER = re.compile(rf"-?[0-9]{{1,{_MOST_DIGITS}}}")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_MOST_QUOTED = 60


class RowError(Exception):
    """A row that does not hold what its header promises; the text says what was expected."""


@dataclass(slots=True)
class Rows(Generic[Row]):
    """Rows with their distance from the header; for each run of refused lines a `Skipped`.

    ``torn``: refused lines stand between rows. ``below``: the refused lines below the last row.
    """

    found: list[tuple[int, Row]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    torn: bool = False
    below: list[str] = field(default_factory=list)

    def complete(self, last: str) -> bool:
        """Whether no row is lost; ``last`` is how the last row found begins.

        What follows the table without beginning like its rows, say the next prompt of a terminal, is no lost row.
        """
        return not self.torn and not any(line.startswith(last) or last.startswith(line.rstrip()) for line in self.below)


def read_rows(block: Block, read: Callable[[str], Row]) -> Rows[Row]:
    """The lines below the header as ``read`` gives them; it raises `RowError` for what is no row."""
    rows: Rows[Row] = Rows()
    first: tuple[int, str] | None = None
    refused: list[str] = []

    def end_run() -> None:
        if first is not None:
            more = f" (and {len(refused) - 1} more lines)" if len(refused) > 1 else ""
            rows.skipped.append(skipped(block, first[0], f"{first[1]}, found {quoted(refused[0])}{more}"))

    for offset, line in enumerate(block.lines[1:], 1):
        if not line or line.isspace():
            continue
        try:
            row = read(line)
        except RowError as error:
            first = first or (offset, str(error))
            refused.append(line)
            continue
        if first is not None:
            end_run()
            rows.torn = True
            first, refused = None, []
        rows.found.append((offset, row))
    end_run()
    rows.below = refused
    return rows


def quoted(text: str) -> str:
    """A short quotation of what the text holds."""
    text = text.strip()
    return repr(text if len(text) <= _MOST_QUOTED else text[: _MOST_QUOTED - 3] + "...")


def name(cell: str, column: str) -> str:
    """A name without its padding; `RowError` if there is none."""
    found = cell.rstrip(" ")
    if not found:
        raise RowError(f"expected a value under {column}")
    return found


def number(cell: str, column: str) -> int | None:
    """A number, None for ``-``; `RowError` for anything else."""
    text = cell.strip(" ")
    if text.isdigit() and text.isascii() and len(text) <= _MOST_DIGITS:
        return int(text)
    if text == MISSING:
        return None
    if not _NUMBER.fullmatch(text):
        raise RowError(f"expected a number under {column}")
    return int(text)


@lru_cache(maxsize=4096)
def topic(cell: str) -> str:
    """A topic's name, which holds ASCII letters, digits, dots, underscores and hyphens only."""
    text = cell.rstrip(" ")
    if not _TOPIC.fullmatch(text):
        raise RowError("expected a topic's name under TOPIC")
    return text
