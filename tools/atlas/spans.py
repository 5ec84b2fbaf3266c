"""A figure over many runs: for each name the median as a point and nine of ten runs as a bar; panels side by side."""

from collections.abc import Mapping, Sequence

from compare.showing.pictures.charts import FAINT, Picture, box, colour, drawing, line, number, text, width_of

Span = tuple[float, float, float]
"""Low end, middle, high end; ascending."""

_ROW, _WIDE, _HEAD, _GAP = 20.0, 200.0, 56.0, 30.0
CAPITAL = 7.6
"""Width of an average letter of a name with many capitals."""


def spans(panels: Mapping[str, Mapping[str, Span]], title: str, unit: str = "s") -> Picture:
    """``panels``: a heading to names and their spans; all panels have the names of the first one in its order, and the
    axis of each begins at 0. A name that a panel lacks has no bar there."""
    names = list(next(iter(panels.values())))
    left = 16 + max(len(name) for name in names) * CAPITAL
    floor = _HEAD + len(names) * _ROW
    parts = [text(left - 8, _HEAD + at * _ROW + 14, name, anchor="end") for at, name in enumerate(names)]
    for at, (heading, told) in enumerate(panels.items()):
        parts += _panel(heading, [told.get(name) for name in names], left + at * (_WIDE + _GAP), floor, unit)
    width = max(left + len(panels) * (_WIDE + _GAP), width_of(title) * 1.1 + 20)
    words = [title] + [
        f"{heading}, {name}: {number(span[1])} {unit} ({number(span[0])} to {number(span[2])})"
        for heading, told in panels.items()
        for name, span in told.items()
    ]
    return drawing(parts, width, floor + 40, title, "\n".join(words))


def _panel(heading: str, told: Sequence[Span | None], left: float, floor: float, unit: str) -> list[str]:
    most = max((each[2] for each in told if each is not None), default=0.0) or 1.0
    parts = [text(left, _HEAD - 10, heading, weight="bold")]
    # The outer numbers stay within the panel: they would run into those of the next one.
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x = left + share * _WIDE
        parts += [line(x, _HEAD, x, floor, FAINT), text(x, floor + 16, f"{number(most * share)} {unit}", anchor=anchor)]
    for at, span in enumerate(told):
        if span is None:
            continue
        low, middle, high = (left + value / most * _WIDE for value in span)
        y = _HEAD + (at + 0.5) * _ROW
        hint = f"{number(span[1])} {unit}, nine of ten runs {number(span[0])} to {number(span[2])} {unit}"
        parts.append(box(low, y - 4, max(high - low, 1.5), 8, colour(4), hint=hint))
        parts.append(line(middle, y - 8, middle, y + 8))
    return parts
