"""Who said what to whom: an arrow per message, and what the nodes told, in the order in which they did either.

A sequence diagram as SVG: participants from left to right, messages and notes from top to bottom.
"""

from collections.abc import Collection, Iterator, Sequence
from textwrap import wrap

from compare.running.run_variant import RunResult
from compare.showing.pictures.charts import (
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
from protocols.engine.nodes import Message, Time
from protocols.facts import Callback, Owns, RebalanceBegan, RebalanceEnded
from protocols.timeline.sequence import Arrow, Note, SequenceDiagram
from protocols.timeline.trace import ObservedFact, Sent, describe_fact, seconds

_MESSAGE_ROW = 24.0
_MESSAGE_COLUMN = 190.0
_TIME = 130.0
_MOST = 60
"""Rows; what comes after is counted."""


def messages(
    result: RunResult,
    since: float,
    until: float,
    kinds: Collection[str],
    *,
    facts: tuple[type, ...] | None = None,
    fields: Sequence[str] = (),
) -> Picture:
    """The messages of these ``kinds`` (their types' names) between two times in seconds, and the facts told then.

    A message stands where it was sent, with the times of sending and arrival. ``facts``: beginnings and ends of
    rebalances, beliefs and callbacks where left out. ``fields``: names of the messages' fields that stand behind their
    type, where a message has them. Raises `ValueError` for a run that did not trace.
    """
    begin, end = since * 1000, until * 1000
    told_of = (RebalanceBegan, RebalanceEnded, Owns, Callback) if facts is None else facts
    rows = [
        each
        for each in result.timeline.sent_and_told
        if begin <= _time(each) <= end
        and (type(each.message).__name__ in kinds if isinstance(each, Sent) else isinstance(each.fact, told_of))
    ]
    left_out, rows = len(rows[_MOST:]), rows[:_MOST]
    names: dict[str, None] = {}
    for one in rows:
        names |= dict.fromkeys((one.sender, one.to) if isinstance(one, Sent) else (one.node,))
    place = {name: _TIME + 60 + at * _MESSAGE_COLUMN for at, name in enumerate(sorted(names))}
    width = max(place.values(), default=0.0) + 160
    bottom = 70 + len(rows) * _MESSAGE_ROW
    parts = [text(x, 48, name, anchor="middle", weight="bold") for name, x in place.items()]
    parts += [line(x, 56, x, bottom, FAINT) for x in place.values()]
    words = []
    for at, one in enumerate(rows):
        y = 74 + at * _MESSAGE_ROW
        when = _when(one)
        parts.append(text(6, y, when))
        if isinstance(one, Sent):
            name = _name(one.message, fields) + (" (lost)" if one.arrives is None else "")
            parts += _message_arrow(place[one.sender], place[one.to], y, name, lost=one.arrives is None)
            words.append(f"{when} {one.sender} -> {one.to}: {name}")
        else:
            said = describe_fact(one.fact)
            wide = width_of(said) + 12
            x = min(max(place[one.node] - wide / 2, _TIME), max(_TIME, width - wide - 4))
            parts += [box(x, y - 13, wide, 18, "#fff7e0", stroke=COLOURS[1]), text(x + 6, y, said)]
            words.append(f"{when} {one.node}: {said}")
    if left_out:
        words.append(f"and {left_out} more")
        parts.append(text(6, bottom + 8, f"and {left_out} more that are not drawn"))
    title = f"{result.variant.scenario.name}: {result.variant.label}, {seconds(begin)} to {seconds(end)}"
    return drawing(parts, width, bottom + 20, title, "\n".join([title, *words]))


def _name(message: Message, fields: Sequence[str]) -> str:
    """The type's name and these fields: ``Heartbeat, generation 3``."""
    told = [f"{field} {getattr(message, field)}" for field in fields if hasattr(message, field)]
    return ", ".join([type(message).__name__, *told])


def _time(one: Sent | ObservedFact) -> Time:
    return one.at if isinstance(one, Sent) else one.now


def _when(one: Sent | ObservedFact) -> str:
    """When it happened, or from when to when a message was on its way."""
    arrives = one.arrives if isinstance(one, Sent) else None
    return seconds(_time(one)) + ("" if arrives is None else f" to {seconds(arrives)}")


def _message_arrow(begin: float, end: float, y: float, label: str, *, lost: bool) -> list[str]:
    return [
        line(begin, y, end, y, INK, dashed=lost),
        arrow_head(end, y, rightwards=end > begin),
        text((begin + end) / 2, y - 4, label, anchor="middle"),
    ]


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
    return _message_arrow(begin, end, y, label, lost=step.lost), top + _ROW


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
    parts += [text(x + 6, top + 14 + at * _LINE, line) for at, line in enumerate(lines)]
    return parts, top + height + 8


def _words(diagram: SequenceDiagram) -> Iterator[str]:
    for step in diagram.steps:
        if isinstance(step, Arrow):
            yield f"{step.sender} -> {step.to}: {step.text}{' (lost)' if step.lost else ''}"
        else:
            yield step.text if step.over is None else f"{step.over}: {step.text}"
