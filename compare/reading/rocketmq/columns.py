"""Find names in a row under a header line.

mqadmin prints tables with Java's ``String.format`` and minimum widths: a value is padded with blanks to its column's
width, two blanks follow. A longer value is either cut to the width first (topic and broker in consumerProgress) or
pushes the rest of its row to the right. Header names hold blanks (``#Broker Name``), and some headers and rows differ
by a blank, so positions count only for the names at a row's beginning; what follows them are numbers and words
without blanks.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from compare.reading.rocketmq.lines import RowError

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
