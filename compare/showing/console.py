"""What verbs print: tables, as Markdown or as JSON; on standard error, how far work is.

Names are data and do no harm in any of them. Where there is too little room numbers stay whole, headings, texts and
long names go on in the next line, and columns that find no room stand in further tables below, beside the same names.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Event, Thread

import click

from compare.formatting import markdown_text, visible
from compare.running.variants import Variant

READABLE = 120
"""Columns that a table of a comparison takes at most, unless more is asked for."""

_BETWEEN = 3
"""Characters between two columns."""

_NAME = 20
"""Characters that no name is broken for."""

_BREAKS = re.compile(r"[^:_+\-/.]*[:_+\-/.]|[^:_+\-/.]+")
"""Where a name may go on in the next line: behind these."""


def print_json(value: object) -> None:
    """One JSON document on standard output; numbers are not rounded, only ASCII is written."""
    json.dump(value, sys.stdout, indent=1, allow_nan=False)
    sys.stdout.write("\n")


def print_table(
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[str]],
    format: str,
    title: str = "",
    names: int = 1,
    width: int | None = None,
) -> None:
    """A table on standard output.

    ``columns``: heading and alignment (``left`` or ``right``); ``rows``: cells as plain text.
    ``format``: ``table`` or ``markdown``. ``names``: so many columns on the left say what a row is about; where columns
    find no room they stand in further tables below, beside the same names. ``width``: characters of a line at most,
    besides what a terminal has; away from one nothing else limits a line.
    """
    if format == "markdown":
        _print_markdown(columns, rows, title)
        return
    shown = [[visible(cell) for cell in row] for row in rows]
    if title:
        print_line(title)
    if sys.stdout.isatty():
        terminal = get_terminal_size().columns
        width = terminal if width is None else min(width, terminal)
    for line in _table_lines(columns, shown, names, width):
        print(line)


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


def _table_lines(
    columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], names: int, width: int | None
) -> Iterator[str]:
    headings = [heading for heading, _ in columns]
    needs = [_need([row[at] for row in rows], headings[at], columns[at][1], width) for at in range(len(columns))]
    bold = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("", "")
    for part in _parts(needs, min(names, len(columns)), width):
        alignments = [columns[at][1] for at, _ in part]
        widths = [wide for _, wide in part]
        yield ""
        for line in _row_lines([headings[at] for at, _ in part], widths, alignments):
            yield line.join(bold)
        yield " " + "─" * (sum(widths) + _BETWEEN * (len(widths) - 1))
        for row in rows:
            yield from _row_lines([row[at] for at, _ in part], widths, alignments)
        yield ""


def _need(cells: Sequence[str], heading: str, alignment: str, width: int | None) -> tuple[int, int]:
    """Characters that a column takes at least, with headings and texts in several lines, and at most. A number stays
    whole; what would take more than a third of the width is broken, a name where names may be."""
    from rich.cells import cell_len

    most = max(map(cell_len, (heading, *cells)))
    if width is None:
        return most, most
    words = [word for cell in cells for word in ([cell] if alignment == "right" else cell.split(" "))]
    least = max(map(cell_len, (*heading.split(" "), *words)))
    return (least if alignment == "right" else min(least, max(width // 3, _NAME))), most


def _parts(needs: Sequence[tuple[int, int]], names: int, width: int | None) -> Iterator[list[tuple[int, int]]]:
    """(Column, its width) of each table to print, from left to right. A column that is wider than all the room stands
    alone beside the names."""
    left, found = list(range(names)), list(range(names))
    for column in range(names, len(needs)):
        if width is not None and len(found) > names and _taken(needs, [*found, column]) > width:
            yield _widths(needs, found, width)
            found = [*left]
        found.append(column)
    yield _widths(needs, found, width)


def _taken(needs: Sequence[tuple[int, int]], columns: Sequence[int]) -> int:
    return 1 + sum(needs[column][0] for column in columns) + _BETWEEN * (len(columns) - 1)


def _widths(needs: Sequence[tuple[int, int]], columns: Sequence[int], width: int | None) -> list[tuple[int, int]]:
    """What is left of the width goes to those that could do with more, in proportion."""
    wanted = [needs[column][1] - needs[column][0] for column in columns]
    left = sum(wanted) if width is None else min(max(width - _taken(needs, columns), 0), sum(wanted))
    every = sum(wanted) or 1
    return [(column, needs[column][0] + left * want // every) for column, want in zip(columns, wanted, strict=True)]


def _row_lines(cells: Sequence[str], widths: Sequence[int], alignments: Sequence[str]) -> Iterator[str]:
    """The lines of a row, with a blank in front; what is too long for its column goes on in the next line."""
    from rich.cells import cell_len

    broken = [_broken(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for at in range(max(map(len, broken))):
        line = []
        for lines, width, alignment in zip(broken, widths, alignments, strict=True):
            text = lines[at] if at < len(lines) else ""
            blanks = " " * (width - cell_len(text))
            line.append(blanks + text if alignment == "right" else text + blanks)
        yield (" " + (" " * _BETWEEN).join(line)).rstrip()


def _broken(text: str, width: int) -> list[str]:
    """The text in lines of this width: broken between words, in names where names may be, else anywhere."""
    from rich.cells import cell_len, chop_cells

    if cell_len(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        parts = [word] if cell_len(word) <= width else _BREAKS.findall(word)
        for number, part in enumerate(parts):
            blank = " " if lines[-1] and not number else ""
            if cell_len(lines[-1] + blank + part) <= width:
                lines[-1] += blank + part
            else:
                lines += chop_cells(part, width)
    return lines if lines[0] else lines[1:]


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
    due: where the caller says so, or some time after the last one that was another."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status(beginning) as status:
            yield lambda line, due: status.update(Text(line))
        return
    last, printed = time.monotonic(), ""

    def print_now_and_then(line: str, due: bool) -> None:
        nonlocal last, printed
        if line != printed and (due or time.monotonic() - last >= QUIET_S):
            last, printed = time.monotonic(), line
            click.echo(line, err=True)

    yield print_now_and_then


@contextmanager
def run_progress(count: int, under_way: Callable[[], float] | None = None) -> Iterator[Callable[[Variant], None]]:
    """Hands out a function that is told of every finished run. ``under_way``: how many runs are done whose results are
    not there yet, with the share of those that are not over; asked every second from another thread."""
    done, began, ended = 0, time.monotonic(), Event()
    with progress_line("running") as show:

        def line(more: float = 0.0) -> str:
            simulated = f", {100 * (done + more) / count:.0f} % of the time simulated" if more else ""
            return f"{done} of {count} runs{simulated}{left(done + more, count, time.monotonic() - began)}"

        def tell(run: Variant) -> None:
            nonlocal done
            done += 1
            where = f"; {visible(run.scenario.name)}: {visible(run.label)}" if sys.stderr.isatty() else ""
            show(line() + where, count >= MANY and done * 10 // count > (done - 1) * 10 // count)

        def look() -> None:
            while under_way is not None and not ended.wait(1.0):
                if more := under_way():
                    show(line(more), False)

        thread = Thread(target=look, name="show-progress", daemon=True)
        thread.start()
        try:
            yield tell
        finally:
            ended.set()
            thread.join()
