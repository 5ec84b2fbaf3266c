"""Choose among the ways to read a stretch of lines: the one that tells most and leaves least unread.

Where two tell the same, the one that changes less is right, and that is the text as it is, except for escape
sequences: no name holds one, while a coloured name would be taken for another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace

from compare.reading.blocks import BlockKind, SourceText, split
from compare.reading.observed import Skipped
from compare.reading.pasted.lines import Line, Lines
from compare.reading.pasted.prefixes import without_common_marks, without_indentation, without_pattern, without_prefix
from compare.reading.pasted.stretches import Stretch
from compare.reading.pasted.tables import bar_before, is_border, laid_out
from compare.reading.pasted.terminal import has_escapes
from compare.reading.pasted.wrapping import unwrapped

Score = tuple[int, int]


class Reader:
    """What the readers get out of lines of one source."""

    def __init__(self, source: SourceText, kinds: Sequence[BlockKind]) -> None:
        self._source = source
        self._kinds = kinds

    def is_head(self, text: str) -> bool:
        """Whether a view begins with the line."""
        return any(kind.starts(text) for kind in self._kinds)

    def score(self, lines: Lines) -> Score:
        """How much the lines tell, and (negative) how often something in them could not be read."""
        text = replace(
            self._source, lines=tuple(line.text for line in lines), numbers=tuple(line.number for line in lines)
        )
        told = unread = 0
        for kind, block in split(text, self._kinds):
            if kind is None:
                unread += 1
                continue
            told += 1
            for fact in kind.parse(block):
                if isinstance(fact, Skipped):
                    unread += 1
                else:
                    told += _size(fact)
                    unread += getattr(fact, "complete", True) is False
        return told, -unread


def best_reading(stretch: Stretch, read: Reader) -> Lines:
    """The lines of the best way to read the stretch."""
    best: Lines = stretch.raw
    best_score: Score | None = None
    for lines in _ways(stretch, read):
        score = read.score(lines)
        if best_score is None or score > best_score:
            best, best_score = lines, score
        if score[0] and not score[1]:
            break
    return best


def _ways(stretch: Stretch, read: Reader) -> Iterator[Lines]:
    """The likely ones first: whatever reads without a rest is taken."""
    raw, shown, column = stretch.raw, stretch.shown, stretch.column
    if column is None:
        yield raw
        yield shown
        yield without_indentation(shown)
        unmarked = [line for line in without_common_marks(shown) if not is_border(line.text)]
        yield unmarked
        if stretch.prefix:
            yield without_pattern(shown, stretch.prefix)
        return
    box = bar_before(shown[0].text, column)
    if box is not None:
        table = laid_out(without_prefix(shown, box))
        if table is not None:
            yield table
    bare = without_prefix(shown, column) if column else shown
    table = laid_out(bare) if box is None else None
    if table is not None:
        yield table
    if raw != shown and any(has_escapes(line.text) for line in raw):
        yield shown
    yield raw
    yield shown
    yield bare
    if any("\t" in line.text for line in bare):
        yield [Line(number, text.expandtabs()) for number, text in bare]
    for joined in unwrapped(bare, read.is_head):
        yield laid_out(joined) or joined
    if column:
        # The terminal broke the lines with what stands before them.
        for joined in unwrapped(shown, lambda text: read.is_head(text[column:])):
            whole = without_prefix(joined, column)
            yield laid_out(whole) or whole


def _size(fact: object) -> int:
    """How many things a fact tells of."""
    if not is_dataclass(fact):
        return 1
    values = (getattr(fact, field.name) for field in fields(fact))
    return 1 + sum(len(value) for value in values if isinstance(value, tuple | Mapping))
