"""Who said what to whom: an arrow per message, from top to bottom in the order of sending, with what came of it."""

from collections.abc import Collection

from compare.scenarios.run_variant import RunResult
from pictures.svg import COLOURS, FAINT, INK, Picture, box, drawing, line, text, width_of
from protocols.facts import Callback, Owns, RebalanceBegan, RebalanceEnded
from protocols.timeline.fact_descriptions import describe_fact, seconds
from protocols.timeline.observed import ObservedFact
from protocols.timeline.trace import Sent

_ROW = 24.0
_COLUMN = 190.0
_TIME = 70.0
_MOST = 60
"""Rows; what comes after is counted."""


def messages(
    result: RunResult, since: float, until: float, kinds: Collection[str], *, facts: tuple[type, ...] | None = None
) -> Picture:
    """The messages of these ``kinds`` (their types' names) between two times in seconds, and the facts told then.

    Needs a run that traces. ``facts``: beginnings and ends of rebalances, beliefs and callbacks where left out.
    """
    told, trace = result.timeline.facts, result.timeline.trace
    if trace is None:
        raise ValueError("a picture of messages needs a run with tracing=True")
    begin, end = since * 1000, until * 1000
    told_of = (RebalanceBegan, RebalanceEnded, Owns, Callback) if facts is None else facts
    rows: list[tuple[float, Sent | ObservedFact]] = [
        (each.at, each) for each in trace.messages if begin <= each.at <= end and type(each.message).__name__ in kinds
    ]
    rows += [(each.now, each) for each in told if begin <= each.now <= end and isinstance(each.fact, told_of)]
    rows.sort(key=lambda each: each[0])
    left_out, rows = len(rows[_MOST:]), rows[:_MOST]
    names: dict[str, None] = {}
    for _, one in rows:
        names |= dict.fromkeys((one.sender, one.to) if isinstance(one, Sent) else (one.node,))
    place = {name: _TIME + 60 + at * _COLUMN for at, name in enumerate(sorted(names))}
    width = max(place.values(), default=0.0) + 160
    bottom = 70 + len(rows) * _ROW
    parts = [text(x, 48, name, anchor="middle", weight="bold") for name, x in place.items()]
    parts += [line(x, 56, x, bottom, FAINT) for x in place.values()]
    words = []
    for at, (now, one) in enumerate(rows):
        y = 74 + at * _ROW
        parts.append(text(6, y, seconds(now)))
        if isinstance(one, Sent):
            parts += _arrow(place[one.sender], place[one.to], y, type(one.message).__name__, lost=one.arrives is None)
            words.append(f"{seconds(now)} {one.sender} -> {one.to}: {type(one.message).__name__}")
        else:
            said = describe_fact(one.fact)
            wide = width_of(said) + 12
            x = min(max(place[one.node] - wide / 2, _TIME), max(_TIME, width - wide - 4))
            parts += [box(x, y - 13, wide, 18, "#fff7e0", stroke=COLOURS[1]), text(x + 6, y, said)]
            words.append(f"{seconds(now)} {one.node}: {said}")
    if left_out:
        words.append(f"and {left_out} more")
        parts.append(text(6, bottom + 8, f"and {left_out} more that are not drawn"))
    title = f"{result.variant.scenario.name}: {result.variant.label}, {seconds(begin)} to {seconds(end)}"
    return drawing(parts, width, bottom + 20, title, "\n".join([title, *words]))


def _arrow(begin: float, end: float, y: float, label: str, *, lost: bool) -> list[str]:
    back = -1 if end > begin else 1
    head = f'<path d="M{end:.0f},{y:.0f} l{7 * back},-4 l0,8 z" fill="{INK}"/>'
    name = f"{label} (lost)" if lost else label
    return [
        line(begin, y, end, y, INK, dashed=lost),
        head,
        text((begin + end) / 2, y - 4, name, anchor="middle"),
    ]
