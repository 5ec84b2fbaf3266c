"""Heat maps: a value for each pair of two axes as a colour; several beside each other as small multiples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from compare.showing.pictures.charts import FAINT, Picture, box, drawing, number, text, width_of

NOTHING = "#e5e0d8"
"""Where there is no value."""

_STOPS = ((247, 251, 255), (198, 219, 239), (107, 174, 214), (33, 113, 181), (8, 48, 107))
"""From the lightest to the darkest of one blue, which prints and can be told apart by everybody."""

_GAP, _LEFT, _HEAD, _FOOT = 26.0, 44.0, 24.0, 30.0
_LEAST_SIDE, _MOST_SIDE = 16.0, 32.0
_LEAST_MAP = 96.0
"""Of few fields a map is so large at least, if they are not to be too large."""
_BOLD = 1.1
"""How much wider bold text is."""
_MOST_LABELS = 8


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One map: ``values[column, row]``, None or missing where there is no value."""

    title: str
    values: Mapping[tuple[int, int], float | None]


@dataclass(frozen=True, slots=True)
class Scale:
    """Which value has which colour: ``low`` and less the lightest, ``high`` and more the darkest. ``told``: a value as
    people read it."""

    low: float
    high: float
    told: Callable[[float], str]

    def colour(self, value: float) -> str:
        """The colour of a value."""
        part = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0
        place = min(max(part, 0.0), 1.0) * (len(_STOPS) - 1)
        at = min(int(place), len(_STOPS) - 2)
        mixed = (round(a + (b - a) * (place - at)) for a, b in zip(_STOPS[at], _STOPS[at + 1], strict=True))
        return "#" + "".join(f"{each:02x}" for each in mixed)


def heat_maps(
    maps: Sequence[HeatMap],
    columns: Sequence[int],
    rows: Sequence[int],
    names: tuple[str, str],
    scale: Scale,
    title: str,
    across: int = 4,
) -> Picture:
    """The maps, ``across`` in a line. ``names``: of the axis of columns and of that of rows; rows grow upwards."""
    side = min(_MOST_SIDE, max(_LEAST_SIDE, _LEAST_MAP / max(1, min(len(columns), len(rows)))))
    wide = _LEFT + max(len(columns) * side, *(width_of(heat_map.title) * _BOLD for heat_map in maps)) + _GAP
    high = _HEAD + len(rows) * side + _FOOT
    parts: list[str] = []
    for place, heat_map in enumerate(maps):
        x, y = 10 + place % across * wide, 34 + place // across * high
        parts += _one(heat_map, columns, rows, names, scale, x, y, side)
    bottom = 34 + -(-len(maps) // across) * high
    parts += _key(scale, 10 + _LEFT, bottom + 14)
    width = max(10 + min(across, max(1, len(maps))) * wide, width_of(title) * _BOLD + 20)
    words = [title] + [f"{heat_map.title}: {_words(heat_map, scale)}" for heat_map in maps]
    return drawing(parts, width, bottom + 36, title, "\n".join(words))


def _one(
    each: HeatMap,
    columns: Sequence[int],
    rows: Sequence[int],
    names: tuple[str, str],
    scale: Scale,
    x: float,
    y: float,
    side: float,
) -> list[str]:
    left, top, floor = x + _LEFT, y + _HEAD, y + _HEAD + len(rows) * side
    parts = [text(left, y + 16, each.title, weight="bold")]
    # One path for all fields of a colour keeps the file small; what each says is in the frame's title.
    fields: dict[str, list[str]] = {}
    for at, column in enumerate(columns):
        for up, row in enumerate(rows):
            value = each.values.get((column, row))
            colour = NOTHING if value is None else scale.colour(value)
            fields.setdefault(colour, []).append(
                f"M{number(left + at * side)} {number(floor - (up + 1) * side)}h{number(side)}v{number(side)}"
                f"h-{number(side)}z"
            )
    parts += [f'<path fill="{colour}" d="{"".join(paths)}"/>' for colour, paths in sorted(fields.items())]
    hint = escape(f"{each.title}: {_words(each, scale)}")
    parts.append(
        f'<rect x="{number(left)}" y="{number(top)}" width="{number(len(columns) * side)}"'
        f' height="{number(len(rows) * side)}" fill="transparent" stroke="{FAINT}"><title>{hint}</title></rect>'
    )
    for at in _labelled(len(columns)):
        parts.append(text(left + (at + 0.5) * side, floor + 13, str(columns[at]), anchor="middle"))
    for up in _labelled(len(rows)):
        parts.append(text(left - 4, floor - (up + 0.5) * side + 4, str(rows[up]), anchor="end"))
    parts.append(text(left + len(columns) * side / 2, floor + 26, names[0], anchor="middle"))
    turned = f'transform="rotate(-90 {number(x + 8)} {number((top + floor) / 2)})"'
    parts.append(text(x + 8, (top + floor) / 2, names[1], anchor="middle").replace("<text ", f"<text {turned} "))
    return parts


def _labelled(count: int) -> range:
    return range(0, count, -(-count // _MOST_LABELS))


def _key(scale: Scale, x: float, y: float) -> list[str]:
    steps = 5
    parts = []
    for step in range(steps):
        value = scale.low + (scale.high - scale.low) * step / (steps - 1)
        parts.append(box(x + step * 90, y - 10, 14, 12, scale.colour(value), stroke=FAINT))
        more = " or more" if step == steps - 1 else ""
        parts.append(text(x + step * 90 + 18, y, scale.told(value) + more))
    return parts


def _words(each: HeatMap, scale: Scale) -> str:
    told = [value for value in each.values.values() if value is not None]
    if not told:
        return "no value"
    return f"from {scale.told(min(told))} to {scale.told(max(told))}"
