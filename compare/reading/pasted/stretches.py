"""Cut a text into stretches of lines, each from one view's beginning to the next: decoration changes between them."""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass

from compare.reading.pasted.heads import head_at
from compare.reading.pasted.lines import Line, Lines


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
