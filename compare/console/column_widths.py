"""A table in a terminal that is too narrow for it: numbers and names stay whole, headings and texts go on in the next
line between words, and the columns that still find no room stand in further tables below, beside the same names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_NAME_AT_MOST = 2
"""A word takes up to the width divided by this before it is broken: a very long name leaves room for figures."""


@dataclass(frozen=True, slots=True)
class ColumnNeed:
    """Characters that a column takes: at least, with all words below each other, and at most, in one line."""

    least: int
    most: int


def column_need(lengths: Sequence[Sequence[int]], heading: Sequence[int], whole: bool, width: int) -> ColumnNeed:
    """What a column needs in a terminal of this width. ``lengths``: of the words of each cell; ``heading``: of the
    words of its heading; ``whole``: its cells are not broken, as numbers must not be."""
    lines = [_line(words) for words in lengths]
    words = lines if whole else [max(each, default=0) for each in lengths]
    most = max([_line(heading), *lines])
    least = max([*heading, *words], default=0)
    return ColumnNeed(least if whole else min(least, max(width // _NAME_AT_MOST, *heading)), most)


def column_tables(needs: Sequence[ColumnNeed], width: int, names: int, between: int) -> Iterator[list[tuple[int, int]]]:
    """(Column, its width) of each table to print, from left to right. ``names``: so many columns on the left say what
    a row is about and stand in every table; ``between``: characters between two columns. A column that is wider than
    the terminal stands alone beside them."""
    left = range(min(names, len(needs)))
    found = list(left)
    for column in range(len(left), len(needs)):
        if len(found) > len(left) and _taken(needs, [*found, column], between) > width:
            yield _widths(needs, found, width, between)
            found = list(left)
        found.append(column)
    yield _widths(needs, found, width, between)


def _line(words: Sequence[int]) -> int:
    return sum(words) + max(len(words) - 1, 0)


def _taken(needs: Sequence[ColumnNeed], columns: Sequence[int], between: int) -> int:
    return sum(needs[column].least for column in columns) + between * (len(columns) - 1)


def _widths(needs: Sequence[ColumnNeed], columns: Sequence[int], width: int, between: int) -> list[tuple[int, int]]:
    """What is left of the width goes to those that could do with more, in proportion."""
    wanted = [needs[column].most - needs[column].least for column in columns]
    left = min(max(width - _taken(needs, columns, between), 0), sum(wanted))
    every = sum(wanted) or 1
    return [(column, needs[column].least + left * want // every) for column, want in zip(columns, wanted, strict=True)]
