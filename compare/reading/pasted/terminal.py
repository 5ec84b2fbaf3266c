"""What a terminal shows of a line: colours gone, carriage returns and cursor moves carried out.

Web pages and chats add characters that look like a blank or like nothing at all; they become a blank and nothing.
"""

import re

from compare.reading.pasted.lines import Line, Lines

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
