"""What `compare --advise` tried, as one picture: time without progress against records handled twice, the area of a
point its cost. What nothing else beats is filled and has a number; pauses and duplicates grow by powers of ten.
"""

from collections.abc import Sequence
from html import escape
from math import log10, sqrt

from compare.advising.choosing import COST, DUPLICATES, PAUSES, Concern, name_of
from compare.documents.comparison import AdviceRecord, TriedRecord
from compare.formatting import amount, number, visible
from compare.showing.pictures.charts import COLOURS, FAINT, INK, Picture, drawing, line, text

_WIDE, _HIGH, _LEFT, _TOP = 420.0, 300.0, 80.0, 74.0
_EDGE = 18.0
"""Room for points at the ends of the axes."""
_LEAST, _MOST = 5.0, 16.0
"""Radius of the cheapest and of the dearest point."""
_ROW = 18.0


def tradeoffs(advice: AdviceRecord, scenario: str) -> Picture:
    """The picture of one scenario's advice."""
    points = [(at, each) for at, each in enumerate(advice["tried"]) if _value(each, PAUSES) is not None]
    unbeaten = {at: place + 1 for place, at in enumerate(advice["unbeaten"])}
    title = visible(f"{scenario}: pauses, duplicates and cost")
    pauses, twice, costs = (
        [_value(each, concern) or 0.0 for _, each in points] for concern in (PAUSES, DUPLICATES, COST)
    )
    parts = [*_axis(max(pauses, default=0.0), across=True), *_axis(max(twice, default=0.0), across=False)]
    dearest = max(costs, default=0.0) or 1.0
    # Those that are beaten lie behind, and large points behind small ones.
    order = sorted(range(len(points)), key=lambda place: (points[place][0] in unbeaten, -costs[place]))
    seen: dict[tuple[int, int], int] = {}
    for place in order:
        at, each = points[place]
        x = _LEFT + _share(pauses[place], max(pauses)) * _WIDE
        y = _TOP + _HIGH - _share(twice[place], max(twice)) * _HIGH
        radius = max(_LEAST, _MOST * sqrt(costs[place] / dearest))
        parts.append(_point(x, y, radius, each, filled=at in unbeaten))
        if at in unbeaten:
            # Numbers of points at one place stand below each other.
            row = seen[round(x / 8), round(y / 8)] = seen.get((round(x / 8), round(y / 8)), -1) + 1
            parts.append(text(x + radius + 4, y + 4 + row * 14, str(unbeaten[at]), weight="bold"))
    left = _LEFT + _WIDE + 50
    told = [f"{place}  {visible(name_of(advice['tried'][at]))}" for at, place in unbeaten.items()]
    parts.append(text(left, _TOP + 4, "nothing tried beats" if told else "nothing was tried", weight="bold"))
    parts += [text(left, _TOP + 4 + _ROW * (row + 1), each) for row, each in enumerate(told)]
    parts.append(text(left, _TOP + 10 + _ROW * (len(told) + 1), "area: requests; hollow: another one is better"))
    wide = left + max([280.0, *(7 * len(each) + 20 for each in told)])
    high = max(_TOP + _HIGH + 66, _TOP + _ROW * (len(told) + 3))
    return drawing(parts, wide, high, title, "\n".join([title, *(_words(each) for _, each in points)]))


def _value(tried: TriedRecord, concern: Concern) -> float | None:
    found = [tried["figures"][path]["median"] for path in concern.paths if path in tried["figures"]]
    return found[0] if found else None


def _share(value: float, most: float) -> float:
    """Where on an axis of powers of ten, 0 to 1."""
    return log10(1 + value) / log10(1 + max(most, 9.0))


def _axis(most: float, *, across: bool) -> list[str]:
    top = max(most, 9.0)
    ticks: Sequence[float] = [0.0, *(10.0**power for power in range(int(log10(top)) + 1))]
    floor, right = _TOP + _HIGH, _LEFT + _WIDE
    parts = []
    for tick in ticks:
        at = _share(tick, most)
        if across:
            x = _LEFT + at * _WIDE
            parts += [
                line(x, _TOP, x, floor + _EDGE, FAINT),
                text(x, floor + _EDGE + 14, number(tick), anchor="middle"),
            ]
        else:
            y = floor - at * _HIGH
            parts += [
                line(_LEFT - _EDGE, y, right, y, FAINT),
                text(_LEFT - _EDGE - 4, y + 4, number(tick), anchor="end"),
            ]
    if across:
        parts.append(text((_LEFT + right) / 2, floor + 52, PAUSES.says, anchor="middle"))
    else:
        parts.append(text(_LEFT - _EDGE - 4, _TOP - _EDGE - 8, DUPLICATES.says))
    return parts


def _point(x: float, y: float, radius: float, tried: TriedRecord, *, filled: bool) -> str:
    fill = COLOURS[0] if filled else "#ffffff"
    return (
        f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" fill="{fill}" fill-opacity="0.7"'
        f' stroke="{COLOURS[0] if filled else INK}"><title>{escape(_words(tried))}</title></circle>'
    )


def _words(tried: TriedRecord) -> str:
    figures = [(concern, _value(tried, concern)) for concern in (PAUSES, DUPLICATES, COST)]
    told = ", ".join(f"{amount(value)} {concern.says}" for concern, value in figures if value is not None)
    return visible(f"{name_of(tried)}: {told}")
