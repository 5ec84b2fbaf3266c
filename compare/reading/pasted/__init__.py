"""Text as people have it: copied from a terminal, a log, a chat or a spreadsheet, several outputs in one file.

`undecorated` stands before `compare.reading.observed.split`. What the tools print verbatim is never touched: names may
hold nearly everything that looks like decoration. So nothing is taken off unless the readers get more out of a stretch
of lines without it (see `compare.reading.pasted.choosing`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from compare.reading.observed import BlockKind, Skipped, SourceText
from compare.reading.pasted.choosing import Reader, best_reading, stretches
from compare.reading.pasted.heads import Line, at_commands
from compare.reading.pasted.wrapping import shown

_MARKS = ("\x1b", "\r", "\b", "^[[", " --", "mqadmin", "\t#")
"""What verbatim output hardly ever holds, and what the readers may pass over without a word."""

_ODD_MARKS = ("\x9b", "\ufeff", "\xa0", "\u200b")
"""The same outside ASCII."""

_HEADS = ("#Topic ", "#Index ", "#Consumer Properties#")
"""How mqadmin's views begin, always at a line's start; Kafka's begin with GROUP."""


def may_be_decorated(source: SourceText, told: Iterable[object]) -> bool:
    """Whether it is worth a closer look; ``told`` is what the readers get out of the text as it is."""
    told = list(told)
    if not told or any(isinstance(each, Skipped) and each.line is not None for each in told):
        return True
    text = "\n".join(source.lines)
    if any(mark in text for mark in _MARKS) or not _at_line_starts(text, "GROUP "):
        return True
    if "#" in text and not all(_at_line_starts(text, head) for head in _HEADS):
        return True
    return not text.isascii() and any(mark in text for mark in _ODD_MARKS)


def _at_line_starts(text: str, head: str) -> bool:
    return text.count(head) == text.count(f"\n{head}") + text.startswith(head)


def undecorated(source: SourceText, told: Iterable[object], kinds: Sequence[BlockKind]) -> tuple[SourceText, ...]:
    """The source's outputs, one text for each command line in it; the source itself where it is verbatim."""
    unread = {each.line for each in told if isinstance(each, Skipped) and each.line is not None}
    raw = _split_at_returns([Line(number, text) for number, text in enumerate(source.lines, 1)])
    verbatim = {line.number: line for line in raw}
    texts = []
    for command, lines in at_commands(shown(raw)):
        about = replace(source, command=command)
        read = Reader(about, kinds)
        found: list[Line] = []
        for stretch in stretches(lines, verbatim if len(verbatim) == len(raw) else {}, unread, read.is_head):
            found += best_reading(stretch, read) if stretch.is_suspicious else stretch.raw
        texts.append(
            replace(about, lines=tuple(line.text for line in found), numbers=tuple(line.number for line in found))
        )
    if not texts:
        return (source,)
    kept = [line for text in texts for line in text.lines]
    if len(texts) <= 1 and all(text.command is None for text in texts) and kept == list(source.lines):
        return (source,)
    return tuple(texts)


def _split_at_returns(lines: list[Line]) -> list[Line]:
    """A file of one line whose lines end with carriage returns, as old editors write them."""
    if sum(bool(line.text.strip()) for line in lines) == 1 and any(line.text.strip().count("\r") > 1 for line in lines):
        return [Line(number, text) for number, text in enumerate("\n".join(line.text for line in lines).split("\r"), 1)]
    return lines
