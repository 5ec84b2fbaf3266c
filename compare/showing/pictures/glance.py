"""Ownership at a glance: per variant a strip of time, with how many queues have no owner, and how many have two."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

BUCKETS = 300
"""Pieces of time in a strip: each shows the most queues without an owner, and with several, at any of its moments."""

HIGH = 24
"""Of a strip; as high as all queues."""

LEAST = 3.0
"""What a single queue takes of it, however many there are: nobody would see it otherwise."""


def strip(chart: Mapping[str, Any], end: float) -> dict[str, str]:
    """Paths of ``nobody`` (from the top) and ``twoowners`` (from below), `BUCKETS` wide and `HIGH` high. ``chart``:
    of `compare.running.chart_data`; ``end`` of the run, milliseconds."""
    held: Sequence[Sequence[int]] = chart["held"]
    missing, doubled = [0] * BUCKETS, [0] * BUCKETS
    for at, flat in enumerate(held):
        if at in chart["alone"]:
            continue
        spans = sorted(_spans(flat, end))
        lives = chart["lives"].get(at, [0, end])
        for since, until in _gaps(spans, lives[::2], lives[1::2]):
            _count(missing, since, until, end)
        for since, until in _overlaps(spans):
            _count(doubled, since, until, end)
    return {"nobody": _path(missing, len(held), True), "twoowners": _path(doubled, len(held), False)}


def _spans(flat: Sequence[int], end: float) -> Iterator[tuple[float, float]]:
    now = 0.0
    for _, wait, length in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
        since = now + wait
        now = end if length < 0 else since + length
        yield since, now


def _gaps(
    spans: Sequence[tuple[float, float]], births: Sequence[float], deaths: Sequence[float]
) -> Iterator[tuple[float, float]]:
    """Times without an owner after the first, while the queue exists."""
    for birth, death in zip(births, deaths, strict=True):
        of_life = [span for span in spans if birth <= span[0] < death]
        reached = of_life[0][1] if of_life else death
        for since, until in of_life[1:]:
            if since > reached:
                yield reached, since
            reached = max(reached, until)
        if reached < death:
            yield reached, death


def _overlaps(spans: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    reached = 0.0
    for since, until in spans:
        if since < reached:
            yield since, min(reached, until)
        reached = max(reached, until)


def _count(buckets: list[int], since: float, until: float, end: float) -> None:
    first = min(int(since * BUCKETS / end), BUCKETS - 1)
    last = min(max(first, int(until * BUCKETS / end)), BUCKETS - 1)
    for at in range(first, last + 1):
        buckets[at] += 1


def _path(buckets: Sequence[int], queues: int, from_top: bool) -> str:
    parts, at = [], 0
    for count, alike in groupby(buckets):
        width = len(list(alike))
        if count:
            high = max(LEAST, HIGH * min(count, queues) / queues)
            parts.append(f"M{at} {0 if from_top else HIGH - high:g}h{width}v{high:g}h-{width}z")
        at += width
    return "".join(parts)
