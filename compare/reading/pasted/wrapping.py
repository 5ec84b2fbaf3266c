"""Put together what a narrow terminal broke into several lines.

A terminal breaks a line where it is full, so that every part but the last is as long as the terminal is wide (or
shorter by the blanks that an editor stripped from its end). Each way to put the lines together is offered; whoever
reads them finds out which one makes sense.
"""

import re
from collections.abc import Callable, Iterator, Set
from itertools import pairwise
from unicodedata import east_asian_width

from compare.reading.pasted.heads import has_headings, head_at
from compare.reading.pasted.lines import Line, Lines

_NARROWEST = 20
_MOST_PARTS = 40
_SECTIONS = ("#Consumer ", "#User Consume Info#", "Below is subscription:")
_SECOND_HEADING = re.compile(r"#?[A-Z][A-Za-z-]*(?: Name| \(ID\))?\s+(?=[#A-Z])")
_CELLS = re.compile(r"\S {2,}\S")
_WORD = re.compile(r"\S+")
_END_OF_HEADING = re.compile(r"[A-Za-z]{1,15}(?: [A-Za-z]{1,15})?\)?\s*")


def unwrapped(lines: Lines, is_head: Callable[[str], bool]) -> Iterator[list[Line]]:
    """The ways to put the lines together, the most likely first. ``is_head`` knows a whole header."""
    longest = max((len(line.text) for line in lines), default=0)
    if longest < _NARROWEST or len(lines) < 2:
        return
    widths = [longest]
    if not is_head(lines[0].text) and len(lines[0].text) >= _NARROWEST:
        widths.insert(0, len(lines[0].text))
    widths += [width for each in lines if (width := cells(each.text)) > longest][:1]
    for width in dict.fromkeys(widths):
        yield _at_full_lines(lines, width, is_head)
    # Blanks at the ends of the parts are gone.
    for width in (longest, longest + 1):
        yield from _by_rows(lines, width, is_head)


def cells(text: str) -> int:
    """How many places a terminal needs for the text."""
    return len(text) if text.isascii() else len(text) + sum(east_asian_width(each) in "WF" for each in text)


def _is_full(text: str, width: int) -> bool:
    if len(text) == width:
        return True
    # A character of two places goes to the next line where only one is left; some tools count bytes.
    return not text.isascii() and (width - 1 <= cells(text) <= width or len(text.encode()) == width)


def _at_full_lines(lines: Lines, width: int, is_head: Callable[[str], bool]) -> list[Line]:
    found: list[Line] = []
    first_cell = "\tTopic:" if lines[0].text.startswith("Topic:") else None
    last_column: int | None = None
    is_json = lines[0].text.lstrip().startswith("{")
    at = 0
    while at < len(lines):
        number, text = lines[at]
        at += 1
        parts = 1
        while (
            at < len(lines)
            and parts < _MOST_PARTS
            and (lines[at].text.strip() or len(lines[at].text) == width)
            and _is_full(lines[at - 1].text, width)
            and not (first_cell and lines[at].text.startswith(first_cell))
            and not lines[at].text.startswith(_SECTIONS)
            # In the last column, what goes on is one value.
            and not (last_column is not None and len(text) > last_column and _CELLS.search(lines[at].text))
            and (is_json or head_at(lines[at].text, lines[at - 1].text) is None)
            and not (not found and has_headings(text) and is_head(text) and not _goes_on(lines[at].text))
        ):
            text += lines[at].text
            at += 1
            parts += 1
        if not found and is_head(text):
            last_column = _last_column(text)
            first_cell = first_cell or _first_cell(text, lines[at].text if at < len(lines) else "")
        found.append(Line(number, text))
    return found


def _goes_on(text: str) -> bool:
    """Whether the line can be the rest of a header."""
    return has_headings(text) or _END_OF_HEADING.fullmatch(text) is not None


def _last_column(header: str) -> int | None:
    """Where the last column begins; None in views that are no table."""
    if not has_headings(header) or header.startswith("#Consumer "):
        return None
    mqadmins = header.startswith("#")
    return header.rfind("#") if mqadmins else header.rstrip().rfind(" ") + 1


def _first_cell(header: str, row: str) -> str | None:
    """How all rows of one of Kafka's tables begin: with the group and its padding. None in other tables."""
    second = _SECOND_HEADING.match(header)
    if second is None or not header.startswith("GROUP"):
        return None
    cell = row[: second.end()]
    return cell if len(cell) == second.end() and cell.strip() and cell.endswith(" ") else None


def _by_rows(lines: Lines, width: int, is_head: Callable[[str], bool]) -> Iterator[list[Line]]:
    """Join the header's parts, and as many lines, or all up to the next first cell, to one row."""
    count = _parts_of_header(lines, width, is_head)
    if count is None or count < 2:
        return
    header = Line(lines[0].number, _joined(lines[:count], width))
    starts = frozenset(each.start() for each in _WORD.finditer(header.text))
    rows = lines[count:]
    first_cell = _first_cell(header.text, rows[0].text.ljust(width) if rows else "")
    if first_cell is not None:
        found = [header]
        part: list[Line] = []
        parts: list[Lines] = []
        for line in rows:
            if part and (not line.text.strip() or line.text.startswith(first_cell.rstrip() + " ")):
                found.append(Line(part[0].number, _joined(part, width)))
                parts.append(part)
                part = []
            if line.text.strip():
                part.append(line)
        if part:
            found.append(Line(part[0].number, _joined(part, width)))
            parts.append(part)
        if all(_is_whole(each, width, starts) for each in parts):
            yield found
    parts = []
    found = [header]
    at = 0
    while at < len(rows):
        part = list(rows[at : at + count])
        if len(part) < count or not all(line.text.strip() for line in part):
            part = part[:1]
        found.append(Line(part[0].number, _joined(part, width)))
        parts.append(part)
        at += len(part)
    if all(_is_whole(each, width, starts) for each in parts):
        yield found


def _is_whole(parts: Lines, width: int, starts: Set[int]) -> bool:
    """Whether no blanks are put into the middle of a value: where a part is filled up, a column has to begin."""
    return all(
        len(part.text) >= width or after.text[:1] in ("", " ") or width * count in starts
        for count, (part, after) in enumerate(pairwise(parts), 1)
    )


def _parts_of_header(lines: Lines, width: int, is_head: Callable[[str], bool]) -> int | None:
    known = None
    for count in range(1, min(_MOST_PARTS, len(lines)) + 1):
        text = lines[count - 1].text
        if not text.strip() or (known is not None and not _goes_on(text)):
            break
        if is_head(_joined(lines[:count], width)):
            known = count
    return known


def _joined(parts: Lines, width: int) -> str:
    return "".join(part.text.ljust(width) for part in parts[:-1]) + parts[-1].text
