"""Find names in a row under a header line.

mqadmin prints tables with Java's ``String.format`` and minimum widths: a value is padded with blanks to its column's
width, two blanks follow. A longer value is either cut to the width first (topic and broker in consumerProgress) or
pushes the rest of its row to the right. Header names hold blanks (``#Broker Name``), and some headers and rows differ
by a blank, so positions count only for the names at a row's beginning; what follows them are numbers and words
without blanks.
"""

from dataclasses import dataclass
from functools import lru_cache

from compare.reading.rocketmq.lines import RowError

_GAP = "  "


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one header: ``names`` without #; the first ones hold names and begin at ``starts``.

    ``rest`` is where the first column behind them begins.
    """

    names: tuple[str, ...]
    starts: tuple[int, ...]
    rest: int

    def width(self, position: int) -> int:
        """The width of a column of names in characters: names cut to it are as long."""
        ends = (*self.starts[1:], self.rest)
        return ends[position] - len(_GAP) - self.starts[position]

    def index(self, name: str) -> int | None:
        """Position among the columns behind the names; None if the header has none of that name."""
        found = self.names[len(self.starts) :]
        return found.index(name) if name in found else None

    def split(self, line: str) -> tuple[list[str], list[str]]:
        """A row's leading names, and the words behind them. `RowError` if it has fewer words than names."""
        cut = self._by_position(line)
        if cut is not None:
            return cut
        # The padding got lost on the way, or a name holds characters that Java counts as two.
        words = line.split()
        if len(words) < len(self.starts):
            raise RowError(f"{len(self.names)} columns")
        return words[: len(self.starts)], words[len(self.starts) :]

    def _by_position(self, line: str) -> tuple[list[str], list[str]] | None:
        found = []
        at = 0
        for position in range(len(self.starts)):
            end = at + self.width(position)
            if end < at or end > len(line):
                return None
            if line[end : end + 2] != _GAP:
                # A value that runs over its column ends at the next two blanks.
                end = line.find(_GAP, end)
                if end < 0:
                    return None
            name = line[at:end].strip(" ")
            if not name or _GAP in name:
                return None
            found.append(name)
            at = end + 2
        return found, line[at:].split()


@lru_cache(maxsize=256)
def columns_of(header: str, names: int) -> Columns:
    """The columns of a header whose first ``names`` ones hold names, each heading beginning with #."""
    headings = header.split("#")[1:]
    starts = []
    at = 0
    for heading in headings:
        starts.append(at)
        at += len(heading) + 1
    rest = starts[names] if names < len(starts) else len(header)
    return Columns(tuple(heading.strip() for heading in headings), tuple(starts[:names]), rest)
