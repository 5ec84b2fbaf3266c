"""What a terminal shows of a line: colours gone, carriage returns and cursor moves carried out.

Web pages and chats add characters that look like a blank or like nothing at all; they become a blank and nothing.

Put together what a narrow terminal broke into several lines.

A terminal breaks a line where it is full, so that every part but the last is as long as the terminal is wide (or
shorter by the blanks that an editor stripped from its end). Each way to put the lines together is offered; whoever
reads them finds out which one makes sense.
"""

import re
from collections.abc import Callable, Iterator, Set
from itertools import pairwise
from unicodedata import east_asian_width

from compare.reading.pasted.heads import Line, Lines, has_headings, head_at

_ODD_BLANKS = dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
_INVISIBLE = dict.fromkeys((0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, 0xAD))
_SIMPLIFIED = {**_ODD_BLANKS, **_INVISIBLE}

_ESCAPE_OR_TEXT = re.compile(
    r"(?P<string>(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[PX^_][^\x1b]*\x1b\\)"
    r"|(?:\x1b\[|\x9b)(?P<numbers>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|(?P<short>\x1b[ -/]*[0-~])"
    # What is left of a colour where the escape character was lost or written out (cat -v).
    r"|(?P<shown>(?:\^\[|[\u241b\ufffd])\[[0-9;]*[mK]|\[[0-9;]*[0-9]m)"
    r"|(?P<control>[\x00-\x08\x0a-\x1f\x7f])"
    r"|(?P<text>(?:[^\x00-\x08\x0a-\x1f\x7f\x9b\x9d\[^\u241b\ufffd]+|.))",
    re.DOTALL,
)
_SHOWN = re.compile(r"(?:\^\[|\u241b|\ufffd)\[[0-9;]*[mK]|\[[0-9;]*[0-9]m")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x9b\x9d]")
_MOST_COLUMNS = 1 << 16


def has_escapes(text: str) -> bool:
    """Whether the text holds what a terminal does not show."""
    return _CONTROL.search(text) is not None or _SHOWN.search(text) is not None


def shown(lines: Lines) -> list[Line]:
    """The lines as a terminal shows them."""
    return [Line(number, shown_text(text)) for number, text in lines]


def shown_text(text: str) -> str:
    """One line as a terminal shows it."""
    if has_escapes(text):
        text = _carried_out(text.rstrip("\r"))
    return text if text.isascii() else text.translate(_SIMPLIFIED)


def _carried_out(text: str) -> str:
    """Characters go where the cursor is; what is not about this line (colours, titles, other lines) does nothing."""
    cells: list[str] = []
    at = 0
    for found in _ESCAPE_OR_TEXT.finditer(text):
        if (plain := found["text"]) is not None:
            if at > len(cells):
                cells += " " * (at - len(cells))
            cells[at : at + len(plain)] = plain
            at += len(plain)
        elif found["final"] is not None:
            at = _moved(found["final"], found["numbers"], cells, at)
        elif found["control"] == "\r":
            at = 0
        elif found["control"] == "\b":
            at = max(at - 1, 0)
    return "".join(cells)


def _moved(final: str, numbers: str, cells: list[str], at: int) -> int:
    """The cursor's column after a control sequence, whose effect on the line is carried out."""
    first = numbers.partition(";")[0]
    count = min(int(first), _MOST_COLUMNS) if first.isdigit() and len(first) < 10 else 0
    if final == "K":
        if count == 0:
            del cells[at:]
        elif count == 1:
            cells[: at + 1] = " " * min(at + 1, len(cells))
        else:
            cells.clear()
    elif final == "C":
        return at + max(count, 1)
    elif final == "D":
        return max(at - max(count, 1), 0)
    elif final in "G`":
        return max(count, 1) - 1
    return at


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
    widths += [width for line in lines if (width := cells(line.text)) > longest][:1]
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
    at_full_lines: list[Line] = []
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
            and not (not at_full_lines and has_headings(text) and is_head(text) and not _goes_on(lines[at].text))
        ):
            text += lines[at].text
            at += 1
            parts += 1
        if not at_full_lines and is_head(text):
            last_column = _last_column(text)
            first_cell = first_cell or _first_cell(text, lines[at].text if at < len(lines) else "")
        at_full_lines.append(Line(number, text))
    return at_full_lines


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
