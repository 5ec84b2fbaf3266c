"""Axes: round numbers to mark, written as people write large ones (20 k, 1.5 M), and where a value lies."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

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
