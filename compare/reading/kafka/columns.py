"""Find the cells of a row under a header line.

Kafka's tools print tables with Java's ``String.format``: every cell but the last is padded with blanks to its
column's width and followed by one blank. Two things follow from that:

- Names may hold blanks, so cells are cut where the header's words begin, never at white space.
- A cell is never cut. Most widths are computed from the block's longest value, but columns of numbers and a few
  others have fixed widths: a longer value there pushes the rest of its row to the right.

Java counts UTF-16 code units, so a character beyond U+FFFF (an emoji) takes two places of the padding.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from operator import itemgetter

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
