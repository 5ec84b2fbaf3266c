"""A sequence diagram as SVG: participants from left to right, messages and notes from top to bottom."""

from collections.abc import Iterator
from textwrap import wrap

from compare.pictures.svg import (
    COLOURS,
    FAINT,
    INK,
    LETTER,
    Picture,
    arrow_head,
    box,
    drawing,
    line,
    text,
    width_of,
)
from protocols.timeline.sequence import Arrow, Note, SequenceDiagram

_COLUMN = 200.0
"""Least distance between two participants, in pixels; so are all lengths here."""
_ROW = 26.0
_LINE = 15.0
_MARGIN = 90.0
_NOTE = "#fff7e0"


def sequence_picture(diagram: SequenceDiagram, title: str) -> Picture:
    """The diagram with ``title`` above it; its words are the steps, a line each."""
    place = _places(diagram)
    width = max(place.values(), default=0.0) + _MARGIN
    parts: list[str] = []
    top = 76.0
    for step in diagram.steps:
        drawn, top = _arrow(step, place, top) if isinstance(step, Arrow) else _note(step, place, width, top)
        parts += drawn
    lifelines = [line(x, 58, x, top, FAINT) for x in place.values()]
    names = [text(x, 50, name, anchor="middle", weight="bold") for name, x in place.items()]
    return drawing([*lifelines, *names, *parts], width, top + 12, title, "\n".join([title, *_words(diagram)]))


def _places(diagram: SequenceDiagram) -> dict[str, float]:
    """Participant to where its line stands: far enough from the others for the longest message between neighbours."""
    widest = max((width_of(step.text) for step in diagram.steps if isinstance(step, Arrow)), default=0.0)
    column = max(_COLUMN, widest + 24)
    return {name: _MARGIN + at * column for at, name in enumerate(diagram.participants)}


def _arrow(step: Arrow, place: dict[str, float], top: float) -> tuple[list[str], float]:
    begin, end, y = place[step.sender], place[step.to], top + 12
    label = f"{step.text} (lost)" if step.lost else step.text
    if step.sender == step.to:
        return [text(begin + 6, y - 4, label)], top + _ROW
    parts = [
        line(begin, y, end, y, INK, dashed=step.lost),
        arrow_head(end, y, rightwards=end > begin),
        text((begin + end) / 2, y - 4, label, anchor="middle"),
    ]
    return parts, top + _ROW


def _note(step: Note, place: dict[str, float], width: float, top: float) -> tuple[list[str], float]:
    """A box on the participant's line, or from edge to edge; long texts take several lines."""
    most = width - 16
    room = most if step.over is None else min(most, 420.0)
    lines = wrap(step.text, max(20, int((room - 12) / LETTER)), break_on_hyphens=False) or [""]
    wide = most if step.over is None else min(most, max(map(width_of, lines)) + 12)
    x = 8.0
    if step.over is not None:
        x = min(max(8.0, place[step.over] - wide / 2), width - wide - 8)
    height = len(lines) * _LINE + 6
    parts = [box(x, top, wide, height, _NOTE, stroke=COLOURS[1])]
    parts += [text(x + 6, top + 14 + at * _LINE, each) for at, each in enumerate(lines)]
    return parts, top + height + 8


def _words(diagram: SequenceDiagram) -> Iterator[str]:
    for step in diagram.steps:
        if isinstance(step, Arrow):
            yield f"{step.sender} -> {step.to}: {step.text}{' (lost)' if step.lost else ''}"
        else:
            yield step.text if step.over is None else f"{step.over}: {step.text}"
