"""Take off what stands before every line of a paste: a pod's or service's name, times, quote marks, indentation.

The paste's own head shows where the prefix ends. What it looks like is kept, what counts in it may change from line
to line: numbers, times, names of days and months, what stands in brackets.
"""

import re
from textwrap import dedent

from compare.reading.pasted.heads import DECORATION
from compare.reading.pasted.lines import Line, Lines

_PART = re.compile(
    r"(?P<brackets>\[[^\]]*\])|(?P<number>[0-9]+(?:[.,][0-9]+)?)|(?P<stream>stdout|stderr)"
    r"|(?P<day>\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b)"
    r"|(?P<level>\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b)|(?P<blanks>[ \t]+)"
)
_PATTERNS = {
    "brackets": r"\[[^\]]*\]",
    "number": r"[0-9]+(?:[.,][0-9]+)?",
    "stream": r"std(?:out|err)",
    "day": r"[A-Z][a-z]{2}",
    "level": r"[A-Z]{4,7}",
    "blanks": r"[ \t]+",
}
_BULLET = re.compile(r"(?:(?<=\s)|^)(?:[-*+\u2022]|[0-9]{1,4}[.)])(?=[ \t])")


def without_prefix(lines: Lines, column: int) -> list[Line]:
    """The lines without what stands before ``column`` in the first of them, as far as they have the like of it."""
    first, *others = lines
    return [Line(first.number, first.text[column:]), *_without(others, _pattern(first.text[:column]))]


def without_pattern(lines: Lines, prefix: str) -> list[Line]:
    """The lines without the like of ``prefix``, where they have it."""
    return _without(lines, _pattern(prefix))


def without_common_marks(lines: Lines) -> list[Line]:
    """The lines without indentation, quote marks and what logs print before a line, whatever it is."""
    return _without(lines, DECORATION)


def without_indentation(lines: Lines) -> list[Line]:
    """The lines without the blanks that all of them begin with."""
    return [
        Line(line.number, text)
        for line, text in zip(lines, dedent("\n".join(each.text for each in lines)).split("\n"), strict=True)
    ]


def _without(lines: Lines, pattern: re.Pattern[str]) -> list[Line]:
    return [Line(number, text[m.end() :] if (m := pattern.match(text)) else text) for number, text in lines]


def _pattern(prefix: str) -> re.Pattern[str]:
    if not prefix.strip():
        return re.compile(re.escape(prefix))
    body = prefix.rstrip(" \t")
    found = ["[ \t]*" if body[0] in " \t" else ""]
    at = len(body) - len(body.lstrip(" \t"))
    bullets = {each.start(): each for each in _BULLET.finditer(prefix)}
    while at < len(body):
        bullet, part = bullets.get(at), _PART.match(body, at)
        if bullet is not None:
            # Below the line with the bullet stand blanks.
            found.append(rf"(?:[-*+\u2022]|[0-9]{{1,4}}[.)]|{' ' * len(bullet[0])})")
            at = bullet.end()
        elif part is not None:
            found.append(_PATTERNS[str(part.lastgroup)])
            at = part.end()
        else:
            found.append(re.escape(body[at]))
            at += 1
    # Blanks behind the prefix belong to it, but editors strip them from lines that hold nothing else.
    gap = re.escape(prefix[len(body) :])
    return re.compile("".join(found) + (f"(?:{gap}|[ \t]*$)" if gap else ""))
