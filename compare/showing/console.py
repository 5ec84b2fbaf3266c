"""What verbs print: tables by rich on a terminal, as Markdown or as JSON; on standard error, how far work is.

Names are data and do no harm in any of them. In a terminal that is too narrow numbers and names stay whole, headings
and texts are wrapped between words, and columns that find no room stand in further tables below, beside the same names.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import click

from compare.formatting import markdown_text, visible
from compare.running.variants import Variant

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
    words = lines if whole else [max(length, default=0) for length in lengths]
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


_EDGES = 2
_BETWEEN = 3
"""Characters that rich's box leaves empty at both ends of a table, and between two columns."""


def print_json(value: object) -> None:
    """One JSON document on standard output; numbers are not rounded, only ASCII is written."""
    json.dump(value, sys.stdout, indent=1, allow_nan=False)
    sys.stdout.write("\n")


def print_table(
    columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], format: str, title: str = "", names: int = 1
) -> None:
    """A table on standard output.

    ``columns``: heading and alignment (``left`` or ``right``); ``rows``: cells as plain text.
    ``format``: ``table`` or ``markdown``. ``names``: so many columns on the left say what a row is about; in a narrow
    terminal they are repeated.
    """
    if format == "markdown":
        _print_markdown(columns, rows, title)
    else:
        shown = [[visible(cell) for cell in row] for row in rows]
        if title:
            print_line(title)
        if sys.stdout.isatty():
            _print_rich(columns, shown, names)
        else:
            _print_lines(columns, shown)


def print_line(text: str, format: str = "table", heading: bool = False) -> None:
    """A line of text on standard output, escaped as the format asks."""
    if format == "markdown":
        print(("## " if heading else "") + markdown_text(text) + "\n")
    else:
        print(visible(text))


def print_text(text: str) -> None:
    """Lines as they are on standard output, but for hidden characters."""
    click.echo("".join(f"{visible(line)}\n" for line in text.splitlines()), nl=False)


def _print_markdown(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], title: str) -> None:
    from tabulate import tabulate

    if title:
        print_line(title, "markdown", heading=True)
    # Numbers come as text already: tabulate must not read or round them.
    table = tabulate(
        [[markdown_text(cell) for cell in row] for row in rows],
        headers=[heading for heading, _ in columns],
        tablefmt="pipe",
        colalign=[alignment for _, alignment in columns],
        disable_numparse=True,
    )
    print(table + "\n")


def _print_lines(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> None:
    """Away from a terminal nothing limits the width: a name is never broken in a file or a pipe. Looks like rich's
    table in a terminal that is wide enough, at a tenth of its time."""
    from rich.cells import cell_len

    table = [[heading for heading, _ in columns], *rows]
    lengths = [[cell_len(cell) for cell in row] for row in table]
    widths = [max(column) for column in zip(*lengths, strict=True)]
    lines = []
    for row, taken in zip(table, lengths, strict=True):
        cells = []
        for (_, alignment), cell, length, width in zip(columns, row, taken, widths, strict=True):
            blanks = " " * (width - length)
            cells.append(blanks + cell if alignment == "right" else cell + blanks)
        lines.append((" " + (" " * _BETWEEN).join(cells)).rstrip())
    lines.insert(1, " " + "─" * (sum(widths) + _BETWEEN * (len(columns) - 1)))
    print("\n" + "\n".join(lines) + "\n")


def _print_rich(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], names: int) -> None:
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    sys.stdout.flush()  # a reader that is gone is noticed here: rich would end the program with 1
    console = Console()
    width = console.width - _EDGES
    needs = [
        column_need(
            [[cell_len(word) for word in row[at].split(" ")] for row in rows],
            [cell_len(word) for word in heading.split(" ")],
            alignment == "right",
            width,
        )
        for at, (heading, alignment) in enumerate(columns)
    ]
    for part in column_tables(needs, width, names, _BETWEEN):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for at, wide in part:
            heading, alignment = columns[at]
            # `fold` shows long names whole.
            side: Literal["left", "right"] = "right" if alignment == "right" else "left"
            table.add_column(Text(heading), justify=side, overflow="fold", width=wide)
        for row in rows:
            table.add_row(*(Text(row[at]) for at, _ in part))
        console.print(table)


MANY = 20
"""Runs from which on every tenth part of them is told where standard error is no terminal."""

QUIET_S = 10.0
"""Where standard error is no terminal, seconds after which a line is due."""

UNITS = (("years", 365 * 86_400.0), ("days", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
"""Names of units and their seconds; an amount is told in the first one of which there are two."""


def about(seconds: float) -> str:
    """Roughly how long: ``12 min``, ``3 days``."""
    name, unit = next(((name, unit) for name, unit in UNITS if seconds >= 2 * unit), UNITS[-1])
    return f"{seconds / unit:,.0f} {name}"


def left(done: float, all: float, seconds: float) -> str:
    """How long the rest takes if it goes on as it did for so many seconds: ``, 12 min left``; empty where nothing is
    done, or all."""
    return f", {about((all - done) * seconds / done)} left" if 0 < done < all else ""


@contextmanager
def progress_line(beginning: str) -> Iterator[Callable[[str, bool], None]]:
    """Hands out a function that shows a line. On a terminal it changes in place; elsewhere it is printed where it is
    due: where the caller says so, or some time after the last one."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status(beginning) as status:
            yield lambda line, due: status.update(Text(line))
        return
    last = time.monotonic()

    def print_now_and_then(line: str, due: bool) -> None:
        nonlocal last
        if due or time.monotonic() - last >= QUIET_S:
            last = time.monotonic()
            click.echo(line, err=True)

    yield print_now_and_then


@contextmanager
def run_progress(count: int) -> Iterator[Callable[[Variant], None]]:
    """Hands out a function that is told of every finished run."""
    done, began = 0, time.monotonic()
    with progress_line("running") as show:

        def tell(run: Variant) -> None:
            nonlocal done
            done += 1
            line = f"{done} of {count} runs{left(done, count, time.monotonic() - began)}"
            if sys.stderr.isatty():
                line = f"{line}; {visible(run.scenario.name)}: {visible(run.label)}"
            show(line, count >= MANY and done * 10 // count > (done - 1) * 10 // count)

        yield tell
