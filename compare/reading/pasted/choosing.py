"""Cut a text into stretches of lines, each from one view's beginning to the next (decoration changes between them),
and choose among the ways to read each: the one that tells most and leaves least unread.

Where two tell the same, the one that changes less is right, and that is the text as it is, except for escape
sequences: no name holds one, while a coloured name would be taken for another.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass, replace

from compare.reading.observed import BlockKind, Skipped, SourceText, split
from compare.reading.pasted.heads import (
    Line,
    Lines,
    head_at,
    without_common_marks,
    without_indentation,
    without_pattern,
    without_prefix,
)
from compare.reading.pasted.tables import bar_before, is_border, laid_out
from compare.reading.pasted.wrapping import has_escapes, unwrapped


@dataclass(frozen=True, slots=True)
class Stretch:
    """``raw`` lines as in the file, and as a terminal has them ``shown``; the view begins at ``column`` of the first.

    ``column`` is None where no view begins (the text before the first one); ``prefix`` is then what stands before the
    first view. ``is_suspicious``: something in it could
    not be read, or looks like decoration.
    """

    raw: Lines
    shown: Lines
    column: int | None
    prefix: str
    is_suspicious: bool


def stretches(
    lines: Lines, verbatim: Mapping[int, Line], unread: Set[int | None], is_head: Callable[[str], bool]
) -> Iterator[Stretch]:
    """The stretches of lines ``shown``; ``verbatim`` has them as in the file by number, ``unread`` were not read."""
    begins: list[tuple[int, int | None]] = [(0, None)] if lines else []
    before = ""
    open_braces = 0
    for at, (_, text) in enumerate(lines):
        if not text.strip():
            continue
        column = head_at(text, before)
        before = text
        opens = column is not None and text.startswith("{", column)
        if open_braces > 0 and (column is None or opens):
            # JSON has braces within it.
            open_braces += text.count("{") - text.count("}")
            continue
        open_braces = text.count("{") - text.count("}") if opens else 0
        if column is None:
            continue
        if begins and begins[-1][0] == at:
            begins.pop()
        begins.append((at, column))
    ends = [at for at, _ in begins[1:]] + [len(lines)]
    for (start, column), end in zip(begins, ends, strict=True):
        shown = lines[start:end]
        raw = [verbatim.get(line.number, line) for line in shown]
        suspicious = (
            bool(column)
            or raw != shown
            or any(line.number in unread for line in shown)
            or (column == 0 and ("\t" in shown[0].text or "|" in shown[0].text or not is_head(shown[0].text)))
            or (column is None and any(line.text.strip() for line in shown))
        )
        following = lines[end].text[: begins[1][1]] if column is None and end < len(lines) else ""
        yield Stretch(raw, shown, column, following, suspicious)


Score = tuple[int, int]

_MOST_LAYERS = 4


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
            facts = list(kind.parse(block))
            complaints = sum(isinstance(fact, Skipped) or getattr(fact, "complete", True) is False for fact in facts)
            unread += complaints
            # A header without rows tells something, too: that there are none. So does a tool's failure.
            told += sum(_size(fact) for fact in facts if not isinstance(fact, Skipped))
            told += (not complaints and not kind.aside) or kind.name.startswith("error")
        return told, -unread


def best_reading(stretch: Stretch, read: Reader) -> Lines:
    """The lines of the best way to read the stretch."""
    best: Lines = stretch.raw
    best_score: Score | None = None
    for lines in _ways(stretch, read):
        score = read.score(lines)
        # Another text that tells nothing either is no better, unless nothing is left of it.
        if best_score is None or (score > best_score and (score[0] or not score[1])):
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
    bare = without_prefix(shown, column) if column else shown
    peeled = _peeled(shown)
    if peeled != bare:
        yield peeled
    if raw != shown and any(has_escapes(line.text) for line in raw):
        yield shown
    yield raw
    yield shown
    yield bare
    if any("\t" in line.text for line in bare):
        yield [Line(number, text.expandtabs()) for number, text in bare]
    for joined in unwrapped(bare, read.is_head):
        yield _peeled(joined)
    if column:
        # The terminal broke the lines with what stands before them.
        for joined in unwrapped(shown, lambda text: read.is_head(text[column:])):
            yield _peeled(joined)


def _peeled(lines: Lines) -> list[Line]:
    """The lines without prefixes and boxes, one after the other as they were put on."""
    found = list(lines)
    for _ in range(_MOST_LAYERS):
        column = head_at(found[0].text)
        if column is None:
            break
        box = bar_before(found[0].text, column)
        table = laid_out(without_prefix(found, box) if box else found) if box is not None or not column else None
        if table is not None:
            found = table
        elif column:
            found = without_prefix(found, column)
        else:
            break
    return found


def _size(fact: object) -> int:
    """How many things a fact tells of."""
    if not is_dataclass(fact):
        return 1
    values = (getattr(fact, field.name) for field in fields(fact))
    return 1 + sum(len(value) for value in values if isinstance(value, tuple | Mapping))
