"""Rows of the tables that Kafka's tools print: their cells, and the names and assignments in them.

Kafka's tools print tables with Java's ``String.format``: every cell but the last is padded with blanks to its
column's width and followed by one blank. Two things follow from that:

- Names may hold blanks, so cells are cut where the header's words begin, never at white space.
- A cell is never cut. Most widths are computed from the block's longest value, but columns of numbers and a few
  others have fixed widths: a longer value there pushes the rest of its row to the right.

Java counts UTF-16 code units, so a character beyond U+FFFF (an emoji) takes two places of the padding.

What is no row becomes `Skipped`, the other rows still count. A member's assignment is ``orders:0,1;returns:2``, before
version 4 ``orders(0,1), returns(2)``; some of those versions, such as 3.9, leave the topics out: ``(0,1), (2)``.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, pairwise
from operator import itemgetter
from typing import Generic, TypeVar

from compare.reading.observed import Block, RowError, Skipped, SourceText, quoted, skipped
from protocols import Queue

Row = TypeVar("Row")

MISSING = "-"
"""What the tools print where there is no value."""

_MOST_DIGITS = 19
_NUMBER = re.compile(rf"-?[0-9]{{1,{_MOST_DIGITS}}}")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")


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


_WORD = re.compile(r"COORDINATOR \(ID\)|\S+")
_MOST_COLUMNS = 32
_MOST_MISSING = 1024
"""Places that a row may lack at its end, where blanks were stripped."""
_HEADING = re.compile(r"#?[A-Z][A-Z-]*(?: \(ID\))?")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one block: ``names`` as in the header, ``starts`` in UTF-16 code units from 0."""

    names: tuple[str, ...]
    starts: tuple[int, ...]
    _cut: Callable[[str], Sequence[str]]
    _gaps: Callable[[str], object]
    _blanks: object
    is_squeezed: bool
    """Whether the padding got lost on the way: every column is as wide as its heading."""

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def index(self, name: str) -> int | None:
        """Position of a column, None if the block has none of that name."""
        return self.names.index(name) if name in self.names else None

    def width(self, name: str) -> int:
        """Places between a column's start and the blank before the next one; ValueError for the last column."""
        at = self.names.index(name)
        return self.starts[at + 1] - 1 - self.starts[at]

    def cells(self, line: str) -> Sequence[str] | None:
        """The row's cells, one per column, with the padding behind them; None if the row does not fit the header.

        Cells of a row that ends early are empty.
        """
        if self.is_squeezed:
            found = line.split(None, len(self.names) - 1)
            return found if len(found) == len(self.names) else None
        if not line.isascii() and max(line) > "\uffff":
            cells = self._by_position(_code_units(line))
            return None if cells is None else [_characters(cell) for cell in cells]
        return self._by_position(line)

    def _by_position(self, line: str) -> Sequence[str] | None:
        missing = self.starts[-1] - len(line)
        if missing > 0:
            if missing > _MOST_MISSING:
                return None
            line = line.ljust(self.starts[-1])
        if self._gaps(line) == self._blanks:
            return self._cut(line)
        return self._pushed(line)

    def _pushed(self, line: str) -> Sequence[str] | None:
        cells = []
        at = 0
        for start, following in pairwise(self.starts):
            end = at + following - 1 - start
            if line[end : end + 1] not in ("", " "):
                end = line.find(" ", end)
                # A value that runs over its column has no blanks in it; if this one has, the columns are elsewhere.
                if end < 0 or " " in line[at:end]:
                    return None
            cells.append(line[at:end])
            at = end + 1
        return [*cells, line[at:]]


@lru_cache(maxsize=256)
def columns_of(header: str) -> Columns | None:
    """The columns of a header line, None if the line is none (headings are capital letters)."""
    found = list(islice(_WORD.finditer(header), _MOST_COLUMNS + 1))
    if (
        not 2 <= len(found) <= _MOST_COLUMNS
        or found[0].start() != 0
        or not all(_HEADING.fullmatch(each[0]) for each in found)
    ):
        return None
    starts = tuple(each.start() for each in found)
    ends = (*starts[1:], None)
    gaps = itemgetter(*(start - 1 for start in starts[1:]))
    return Columns(
        names=tuple(each[0] for each in found),
        starts=starts,
        _cut=itemgetter(*(slice(start, end) for start, end in zip(starts, ends, strict=True))),
        _gaps=gaps,
        _blanks=gaps(" " * starts[-1]),
        is_squeezed=all(each.end() + 1 == after.start() for each, after in pairwise(found)),
    )


def _code_units(line: str) -> str:
    """The line with each character beyond U+FFFF as two, as Java counts it."""
    raw = line.encode("utf-16-le", "surrogatepass")
    return "".join(map(chr, memoryview(raw).cast("H")))


def _characters(cell: str) -> str:
    return cell.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CUT_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{0,11})?")
_UUID_LENGTH = 37
_BASE64_UUID = re.compile(r"[A-Za-z0-9_+/-]{22}")


def group_of(cells: Sequence[str], at: int | None, source: SourceText) -> str:
    """The row's group; tools before 2.2 print none, so the name given with the file or the file's stands in.

    Blanks at the end of a group id cannot be told from the column's padding and are left out.
    """
    if at is not None:
        return name(cells[at], "GROUP")
    if source.told_group or source.stem:
        return source.told_group or source.stem
    raise RowError("the text does not name the group, expected NAME=FILE")


def client_id(cell: str, consumer: str) -> str | None:
    """The client id, None where it is empty; so, too, a static member's instance id.

    In the classic protocol a consumer id is the instance id or, where there is none, the client id, then ``-`` and a
    UUID: it tells where the id ends, which the padded cell does not.
    """
    shown = cell.rstrip(" ")
    prefix = consumer[:-_UUID_LENGTH]
    if prefix.rstrip(" ") == shown and _ends_with_uuid(consumer):
        return prefix or None
    return shown or None


def is_host(host: str) -> bool:
    """Whether it is an address as Java prints it, with a slash before the numbers, or ``-``."""
    return (host == MISSING or "/" in host) and " " not in host


@lru_cache(maxsize=4096)
def is_consumer_id(consumer: str, first: str) -> bool:
    """Whether a row's consumer id is whole; ``first`` is the client's or instance's id, as far as the row shows which
    one the consumer id begins with. Blanks come from that id alone (the offsets view has no column for instances),
    and behind it stands a whole UUID."""
    if " " in consumer and not _ends_with_uuid(consumer):
        return False
    return not (first and consumer.startswith(first)) or _CUT_UUID.fullmatch(consumer, len(first)) is None


def _ends_with_uuid(consumer: str) -> bool:
    return _UUID.fullmatch(consumer[-_UUID_LENGTH:]) is not None


def speaks_consumer_protocol(consumer: str) -> bool | None:
    """Whether a consumer id was made in the consumer protocol (KIP-848); None where its form is of neither protocol.

    There it is a UUID in base64 (Java's clients write it with ``-`` and ``_``, librdkafka with ``+`` and ``/``), in the
    classic protocol it ends with a UUID in hexadecimal.
    """
    if _BASE64_UUID.fullmatch(consumer):
        return True
    return False if _ends_with_uuid(consumer) else None


_NUMBERS = r"([0-9]{1,10}(?:,[0-9]{1,10})*)"
_COLON = re.compile(r"([a-zA-Z0-9._-]+):" + _NUMBERS)
_PARENTHESES = re.compile(r"([a-zA-Z0-9._-]+)\(" + _NUMBERS + r"\)")
_WITHOUT_TOPICS = re.compile(rf"\({_NUMBERS}\)(?:, \({_NUMBERS}\))*")


def read_assignment(cell: str, column: str) -> tuple[Queue, ...]:
    """The queues in the order written, none for ``-``; `RowError` if the text is no assignment."""
    text = cell.strip(" ")
    if text == MISSING:
        return ()
    parts, form = (text.split(", "), _PARENTHESES) if text.endswith(")") else (text.split(";"), _COLON)
    queues: list[Queue] = []
    for part in parts:
        found = form.fullmatch(part)
        if found is None:
            raise RowError(f"expected topics and partitions, or -, under {column}")
        topic = found[1]
        queues += [Queue(topic, "", int(number)) for number in found[2].split(",")]
    return tuple(dict.fromkeys(queues))


def count_without_topics(cell: str) -> int | None:
    """How many partitions are listed, where the names of their topics are left out; else None."""
    text = cell.strip(" ")
    if not text.startswith("(") or _WITHOUT_TOPICS.fullmatch(text) is None:
        return None
    return sum(len(part.split(",")) for part in text.split(", "))


def has_colon_form(cell: str) -> bool:
    """Whether the text is an assignment in the newer form."""
    return _COLON.fullmatch(cell.strip(" ").partition(";")[0]) is not None
