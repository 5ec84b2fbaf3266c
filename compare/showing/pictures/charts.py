"""What all pictures share: colours that colour-blind people can tell apart, text and shapes as SVG.

Figures over time: a line for each.

How much each member has: a bar per member, in pieces by topic; several allocations side by side.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from protocols import Allocation

PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
"""Of the SI, for amounts of any unit."""

SECONDS_OF = (("h", 3600, 10_800), ("min", 60, 300), ("s", 1, 0))
"""Units of time: in seconds, and from which length on an axis has them."""

INTERVALS = 4
"""An axis has about so many."""

POWERS = 6
"""A logarithmic axis names at most so many powers of ten."""


def short(value: float, unit: str = "") -> str:
    """The number to three digits with a prefix, and the unit behind it: ``1.5 k``, ``20 kB``, ``0``."""
    size, prefix = next(((size, prefix) for size, prefix in PREFIXES if abs(value) >= size * 0.9995), (1.0, ""))
    behind = f" {prefix}{unit}" if prefix or unit else ""
    return f"{float(f'{value / size:.3g}'):,.3f}".rstrip("0").rstrip(".") + behind


def round_step(length: float) -> float:
    """The 1, 2 or 5 times a power of ten that cuts the length into about `INTERVALS` parts."""
    power = 10.0 ** floor(log10(length / INTERVALS))
    return power * min((1, 2, 5, 10), key=lambda step: abs(length / (step * power) - INTERVALS))


@dataclass(frozen=True, slots=True)
class Axis:
    """From ``begin`` to ``end``, which lies above it; both above 0 where it is ``logarithmic``. ``marks``: values with
    what is written beside them."""

    begin: float
    end: float
    marks: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Which part of the axis lies before the value."""
        if self.logarithmic:
            return log10(value / self.begin) / log10(self.end / self.begin)
        return (value - self.begin) / (self.end - self.begin)


def axis(values: Iterable[float], unit: str = "", *, from_zero: bool = False, logarithmic: bool = False) -> Axis:
    """The axis of these values. Seconds (``unit`` is ``s``) are written in minutes or hours where there are many.
    ``from_zero``: it begins at 0 and ends at a mark. ``logarithmic``: it begins and ends at powers of ten, and values
    below 1 count as 1."""
    known = list(values)
    least, most = min(known), max(known)
    if logarithmic:
        first, last = floor(log10(max(least, 1))), ceil(log10(max(most, 1)))
        last = max(last, first + 1)
        powers = range(first, last + 1, ceil((last - first) / POWERS))
        marks = tuple((10.0**power, short(10.0**power, unit)) for power in powers)
        return Axis(10.0**first, 10.0**last, marks, logarithmic=True)
    begin = 0.0 if from_zero else least
    length = max(most - begin, 1e-9)
    size = 1.0
    if unit == "s":
        unit, size = next((name, size) for name, size, since in SECONDS_OF if length >= since)
    step = round_step(length / size) * size
    end = begin + ceil(length / step - 1e-9) * step if from_zero else begin + length
    numbers = range(ceil(begin / step - 1e-9), floor(end / step + 1e-9) + 1)
    return Axis(begin, end, tuple((number * step, short(number * step / size, unit)) for number in numbers))


COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
"""The palette of Okabe and Ito; after the last the first comes again."""
LIGHT = frozenset({"#e69f00", "#56b4e9", "#f0e442", "#cc79a7", "#999999"})
"""Those that want dark letters on them."""
INK = "#222222"
FAINT = "#dddddd"
ALARM = "#b00020"
TEXT = 12
"""Height of letters, in pixels; so are all lengths here."""
LETTER = 6.8
"""Width of an average letter."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that Jupyter shows; where it cannot, ``words`` say what there is to see."""

    svg: str
    words: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.words


def colour(at: int) -> str:
    """The colour of the member, topic or line with this number."""
    return COLOURS[at % len(COLOURS)]


def letters_on(background: str) -> str:
    """A colour for letters that can be read on this one."""
    return INK if background in LIGHT else "#ffffff"


def number(value: float) -> str:
    """A length or position, as short as it can be without anybody seeing it."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def width_of(written: str) -> float:
    """Pixels, roughly."""
    return len(written) * LETTER


def text(x: float, y: float, written: str, *, anchor: str = "start", fill: str = INK, weight: str = "normal") -> str:
    """A line of text; ``anchor`` is ``start``, ``middle`` or ``end``."""
    bold = "" if weight == "normal" else f' font-weight="{weight}"'
    return f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}" fill="{fill}"{bold}>{escape(written)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str, *, stroke: str = "none", hint: str = "") -> str:
    """A rectangle; ``hint`` is shown when the mouse is over it."""
    title = f"<title>{escape(hint)}</title>" if hint else ""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" fill="{fill}" '
        f'stroke="{stroke}">{title}</rect>'
    )


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = INK, *, dashed: bool = False) -> str:
    """A straight line."""
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{stroke}" '
        f'stroke-width="1"{dashes}/>'
    )


def arrow_head(x: float, y: float, *, rightwards: bool) -> str:
    """The head of an arrow whose point is here."""
    return f'<path d="M{x:.0f},{y:.0f} l{-7 if rightwards else 7},-4 l0,8 z" fill="{INK}"/>'


def legend(names: Sequence[str], x: float, y: float, most: float) -> tuple[list[str], float]:
    """Names with their colours, in as many rows as the width ``most`` asks for; and where the next thing may begin."""
    parts, at = [], x
    for place, name in enumerate(names):
        wide = 20 + width_of(name) + 14
        if at > x and at + wide > x + most:
            at, y = x, y + 18
        parts += [box(at, y - 10, 12, 12, colour(place)), text(at + 18, y, name)]
        at += wide
    return parts, y + 18


def drawing(parts: Sequence[str], width: float, height: float, title: str, words: str) -> Picture:
    """The picture of these parts on white, with title and description for those who cannot see it."""
    size = f"{number(width)} {number(height)}"
    svg = "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
            f'viewBox="0 0 {size}" role="img" font-family="sans-serif" font-size="{TEXT}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(words)}</desc>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            text(10, 20, title, weight="bold"),
            *parts,
            "</svg>",
        ]
    )
    return Picture(svg, words)


_WIDTH, _CHART_HIGH, _LEFT = 780.0, 180.0, 60.0


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    unit: str = "s",
    *,
    of: str = "",
    logarithmic: bool = False,
) -> Picture:
    """``series``: a name to its points (x ascending); ``unit`` of x, ``of`` of y; ``logarithmic``: both axes are."""
    points = [point for each in series.values() for point in each]
    across = axis((x for x, _ in points), unit, logarithmic=logarithmic)
    up = axis((y for _, y in points), of, from_zero=True, logarithmic=logarithmic)
    parts, top = legend(list(series), 10, 42, _WIDTH - 20)
    floor = top + _CHART_HIGH

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x, y = (max(each, 1) for each in point) if logarithmic else point
        return _LEFT + across.share(x) * (_WIDTH - _LEFT - 20), floor - up.share(y) * (_CHART_HIGH - 10)

    for value, written in up.marks:
        _, y = place((across.begin, value))
        parts += [line(_LEFT, y, _WIDTH - 20, y, FAINT), text(_LEFT - 8, y + 4, written, anchor="end")]
    for value, written in across.marks:
        x, _ = place((value, up.begin))
        parts += [line(x, floor, x, floor + 4, FAINT), text(x, floor + 16, written, anchor="middle")]
    for at, each in enumerate(series.values()):
        path = " ".join(",".join(map(number, place(point))) for point in each)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour(at)}" stroke-width="2"/>')
    words = [title] + [
        f"{name}: from {short(each[0][1])} to {short(each[-1][1])}, at most {short(max(y for _, y in each))}"
        for name, each in series.items()
    ]
    return drawing(parts, _WIDTH, floor + 30, title, "\n".join(words))


_BAR = 34.0
_HIGH = 150.0


def loads(allocations: Mapping[str, Allocation], title: str = "queues per member") -> Picture:
    """``allocations``: a name for each, as it is to stand below its bars."""
    topics = sorted({queue.topic for each in allocations.values() for queues in each.values() for queue in queues})
    most = max((len(queues) for each in allocations.values() for queues in each.values()), default=0)
    step = _HIGH / max(1, most)
    blocks = {name: max(len(each) * _BAR, width_of(name)) + 30 for name, each in allocations.items()}
    wide = max(sum(blocks.values()) + 20, width_of(title) * 1.1 + 20, 420.0)
    parts, top = legend(topics, 10, 42, wide - 20)
    floor = top + _HIGH + 14
    left = 20.0
    for name, allocation in allocations.items():
        parts.append(line(left, floor, left + len(allocation) * _BAR, floor))
        for place, (member, queues) in enumerate(allocation.items()):
            x, y = left + place * _BAR, floor
            for at, topic in enumerate(topics):
                count = sum(queue.topic == topic for queue in queues)
                high = count * step
                y -= high
                if count:
                    hint = f"{member}: {count} {topic}"
                    parts.append(box(x + 3, y, _BAR - 6, high, colour(at), stroke=FAINT, hint=hint))
                if high > 14:
                    ink = letters_on(colour(at))
                    parts.append(text(x + _BAR / 2, y + high / 2 + 4, str(count), anchor="middle", fill=ink))
            parts.append(text(x + _BAR / 2, y - 4, str(len(queues)), anchor="middle", weight="bold"))
            parts.append(text(x + _BAR / 2, floor + 15, member, anchor="middle"))
        parts.append(text(left, floor + 34, name, weight="bold"))
        left += blocks[name]
    words = [title] + [
        f"{name}: " + ", ".join(f"{member} {len(queues)}" for member, queues in each.items())
        for name, each in allocations.items()
    ]
    return drawing(parts, wide, floor + 46, title, "\n".join(words))
