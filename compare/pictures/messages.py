"""Who said what to whom: an arrow per message, and what the nodes told, in the order in which they did either."""

from collections.abc import Collection, Sequence

from compare.pictures.svg import COLOURS, FAINT, INK, Picture, arrow_head, box, drawing, line, text, width_of
from compare.running.run_variant import RunResult
from protocols.engine.nodes import Message, Time
from protocols.facts import Callback, Owns, RebalanceBegan, RebalanceEnded
from protocols.timeline.fact_descriptions import describe_fact, seconds
from protocols.timeline.observed import ObservedFact
from protocols.timeline.trace import Sent

_ROW = 24.0
_COLUMN = 190.0
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
    place = {name: _TIME + 60 + at * _COLUMN for at, name in enumerate(sorted(names))}
    width = max(place.values(), default=0.0) + 160
    bottom = 70 + len(rows) * _ROW
    parts = [text(x, 48, name, anchor="middle", weight="bold") for name, x in place.items()]
    parts += [line(x, 56, x, bottom, FAINT) for x in place.values()]
    words = []
    for at, one in enumerate(rows):
        y = 74 + at * _ROW
        when = _when(one)
        parts.append(text(6, y, when))
        if isinstance(one, Sent):
            name = _name(one.message, fields) + (" (lost)" if one.arrives is None else "")
            parts += _arrow(place[one.sender], place[one.to], y, name, lost=one.arrives is None)
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


def _arrow(begin: float, end: float, y: float, label: str, *, lost: bool) -> list[str]:
    return [
        line(begin, y, end, y, INK, dashed=lost),
        arrow_head(end, y, rightwards=end > begin),
        text((begin + end) / 2, y - 4, label, anchor="middle"),
    ]
