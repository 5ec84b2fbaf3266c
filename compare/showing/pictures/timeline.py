"""Who believed to own which queue when: a row per queue, coloured by member; gaps and double ownership stand out."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from compare.running.run_variant import RunResult
from compare.showing.pictures.charts import (
    ALARM,
    FAINT,
    INK,
    Picture,
    box,
    colour,
    drawing,
    legend,
    letters_on,
    line,
    text,
    width_of,
)
from protocols import Queue, sort_queues
from protocols.timeline.ownership import Double, Gap
from protocols.timeline.timeline import Timeline
from protocols.timeline.trace import queue_name, seconds

Span = TypeVar("Span", Gap, Double)

_WIDTH = 780.0
_ROW = 22.0
_RIGHT = 22.0
_KEY = "grey: no owner yet; white with a red edge: no owner any more; striped: two owners"
_LEAST = 2.0
"""Pixels that a gap or a double ownership has at the least, however short it is: nobody would see it otherwise."""


def timeline(result: RunResult, since: float = 0.0, until: float | None = None) -> Picture:
    """The members' beliefs from ``since`` to ``until`` (seconds; all of the run where left out)."""
    lines = result.timeline
    begin, end = since * 1000, lines.end if until is None else until * 1000
    expected = {queue: None for _, queue in result.ending.expected()} | {belief.queue: None for belief in lines.beliefs}
    queues = sort_queues(queue for queue in expected if not queue.topic.startswith(lines.uncounted or ("\0",)))
    members = sorted({key.member for key in result.ending.names})
    left = 16 + max((width_of(queue_name(queue)) for queue in queues), default=0.0)
    scale = (_WIDTH - left - _RIGHT) / (end - begin)

    def x(time: float) -> float:
        return left + (min(max(time, begin), end) - begin) * scale

    parts, top = legend(members, 10, 42, _WIDTH - 20)
    rows = {queue: top + 14 + at * _ROW for at, queue in enumerate(queues)}
    bottom = top + 14 + len(queues) * _ROW
    parts += [box(left, y, _WIDTH - left - _RIGHT, _ROW - 4, "#f5f5f5") for y in rows.values()]
    parts += [text(left - 8, y + 13, queue_name(queue), anchor="end") for queue, y in rows.items()]
    for belief in lines.beliefs:
        stop = end if belief.until is None else belief.until
        if belief.queue in rows and belief.since < end and stop > begin:
            fill = colour(members.index(belief.member))
            hint = f"{belief.member}: {queue_name(belief.queue)}, {seconds(belief.since)} to {seconds(stop)}"
            wide = x(stop) - x(belief.since)
            parts.append(box(x(belief.since), rows[belief.queue], wide, _ROW - 4, fill, hint=hint))
            if wide > width_of(belief.member) + 6:
                parts.append(text(x(belief.since) + 4, rows[belief.queue] + 13, belief.member, fill=letters_on(fill)))
    for gap in _within(lines.gaps, rows, begin, end):
        wide = max(_LEAST, x(_stop(gap, end)) - x(gap.since))
        hint = f"nobody: {queue_name(gap.queue)}, {seconds(gap.since)} to {seconds(_stop(gap, end))}"
        parts.append(box(x(gap.since), rows[gap.queue], wide, _ROW - 4, "#ffffff", stroke=ALARM, hint=hint))
    for double in _within(lines.doubles, rows, begin, end):
        wide = max(_LEAST, x(_stop(double, end)) - x(double.since))
        high = (_ROW - 4) / len(double.members)
        for place, member in enumerate(double.members):
            y = rows[double.queue] + place * high
            parts.append(box(x(double.since), y, wide, high, colour(members.index(member))))
        who = " and ".join(double.members)
        hint = f"{who}: {queue_name(double.queue)}, {seconds(double.since)} to {seconds(_stop(double, end))}"
        parts.append(box(x(double.since), rows[double.queue], wide, _ROW - 4, "none", stroke=INK, hint=hint))
    parts += _axis(begin, end, x, bottom)
    below = bottom + 40
    happenings: dict[float, list[str]] = {}
    for happening in lines.causes.happenings:
        if begin <= happening.at <= end and happening.text:
            happenings.setdefault(happening.at, []).append(happening.text)
    for place, (at, told) in enumerate(happenings.items(), 1):
        parts.append(line(x(at), top + 4, x(at), bottom, INK, dashed=True))
        parts.append(text(x(at), top + 2, str(place), anchor="middle", weight="bold"))
        parts.append(text(10, below, f"{place}  {seconds(at)}: {', '.join(told)}"))
        below += 16
    parts.append(text(10, below, _KEY))
    title = f"{result.variant.scenario.name}: {result.variant.label}"
    return drawing(parts, _WIDTH, below + 12, title, _words(lines, title, queues, begin, end))


def _within(spans: Iterable[Span], rows: dict[Queue, float], begin: float, end: float) -> list[Span]:
    return [span for span in spans if span.queue in rows and span.since < end and _stop(span, end) > begin]


def _stop(span: Gap | Double, end: float) -> float:
    return end if span.until is None else min(span.until, end)


def _axis(begin: float, end: float, x: Callable[[float], float], y: float) -> list[str]:
    steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600]
    step = next((each for each in steps if (end - begin) / 1000 / each <= 10), steps[-1]) * 1000
    parts = [line(x(begin), y, x(end), y)]
    at = -(-begin // step) * step
    while at <= end:
        parts += [line(x(at), y, x(at), y + 4), text(x(at), y + 16, seconds(at), anchor="middle")]
        parts.append(line(x(at), y - 3, x(at), y, FAINT))
        at += step
    return parts


def _words(lines: Timeline, title: str, queues: Sequence[Queue], begin: float, end: float) -> str:
    told = [f"{title}, {seconds(begin)} to {seconds(end)}"]
    for queue in queues:
        owners: list[str] = []
        for belief in lines.beliefs:
            stop = end if belief.until is None else belief.until
            if belief.queue == queue and belief.since < end and stop > begin and owners[-1:] != [belief.member]:
                owners.append(belief.member)
        told.append(f"{queue_name(queue)}: {' then '.join(owners) or 'nobody'}")
    return "\n".join(told)
