"""Tables for people and programs: rich on a terminal, Markdown, JSON. Names are data and do no harm in any of them."""

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

from compare.console.column_widths import column_need, column_tables

FORMATS = ("table", "markdown", "json")

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}
"""Context settings of every verb: click remembers them from a command's first use, wherever that was."""

_EDGES = 2
_BETWEEN = 3
"""Characters that rich's box leaves empty at both ends of a table, and between two columns."""

_HIDDEN_CATEGORIES = {"Cc", "Cs", "Zl", "Zp"}
# Directional marks: invisible, and able to reorder what stands beside them.
_DIRECTIONAL = set(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&])")


def visible(text: str) -> str:
    """The text with control characters, lone surrogates and directional marks written as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if unicodedata.category(character) in _HIDDEN_CATEGORIES or character in _DIRECTIONAL:
        return character.encode("unicode_escape").decode("ascii")
    return character


def markdown_text(text: str) -> str:
    """The text such that Markdown shows it as it is."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def number(value: float | int | None, digits: int = 2) -> str:
    """A figure for people: `-` where it is not known, at most ``digits`` decimals."""
    if value is None:
        return "-"
    if isinstance(value, int) or float(value).is_integer():
        return str(int(value))
    return f"{value:.{digits}f}"


def ratio(value: float | int | None) -> str:
    """A ratio for people: always two decimals, `-` where it is not known."""
    return "-" if value is None else f"{value:.2f}"


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
