"""A sweep in parts: each is one file of rows of one variant. The grid alone decides where one ends, so that the files
are the same whoever computes them, in however many tasks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from compare.measure.spark.forms import has_closed_form
from compare.sweeping.cost import cost_of
from compare.sweeping.grid import Sweep

PART_S = 3.0
"""Estimated seconds of one processor that a part takes: enough for what Spark does around it not to count."""

NATIVE_CELLS = 250_000
"""Cells of a part that Spark computes natively."""

NATIVE_S = 2e-5
"""Seconds of one processor that such a cell takes, roughly."""

NATIVE_FROM = 20_000
"""With fewer cells it takes Spark longer to compile the closed form than Python to do without."""

MOST_CELLS = 100_000
"""Cells of a part in Python: their rows are held until it ends."""


@dataclass(frozen=True, slots=True)
class Part:
    """Cells ``first`` to ``last`` - 1 of the variant with this number; ``work``: estimated seconds of one processor."""

    variant: int
    number: int
    first: int
    last: int
    native: bool
    work: float

    def name(self, sweep: Sweep) -> str:
        """Its file below ``rows``, without the ending, in the layout that Spark reads as a column ``variant``."""
        return f"variant={quote(sweep.labels[self.variant], safe=' ')}/part-{self.number:05d}"


def parts_of(sweep: Sweep) -> tuple[Part, ...]:
    """All parts, variant by variant."""
    return tuple(part for variant in range(len(sweep.systems)) for part in _of_variant(sweep, variant))


def _of_variant(sweep: Sweep, variant: int) -> Iterator[Part]:
    number = 0
    for first, last, native in _runs(sweep, variant):
        cuts = _native_cuts(first, last) if native else _python_cuts(sweep, variant, first, last)
        for start, end, work in cuts:
            yield Part(variant, number, start, end, native, work)
            number += 1


def _runs(sweep: Sweep, variant: int) -> Sequence[tuple[int, int, bool]]:
    """First and last + 1 of neighbouring cells that are computed in the same way. In native columns every stretch has
    expressions of its own."""
    found: list[tuple[int, int, bool]] = []
    for first in range(0, sweep.cells, sweep.stretch):
        native = is_native(sweep, variant, first)
        if found and not native and not found[-1][2]:
            found[-1] = (found[-1][0], first + sweep.stretch, False)
        else:
            found.append((first, first + sweep.stretch, native))
    return found


def is_native(sweep: Sweep, variant: int, cell: int) -> bool:
    """Whether native columns compute the stretch of this cell."""
    if sweep.kind != "allocations" or sweep.stretch < NATIVE_FROM or sweep.systems[variant].settings:
        return False
    at = sweep.cell(cell)
    return has_closed_form(sweep.systems[variant].system, at.subscription, at.event.name, sweep.loads)


def _native_cuts(first: int, last: int) -> Iterator[tuple[int, int, float]]:
    for start in range(first, last, NATIVE_CELLS):
        end = min(last, start + NATIVE_CELLS)
        yield start, end, (end - start) * NATIVE_S


def _python_cuts(sweep: Sweep, variant: int, first: int, last: int) -> Iterator[tuple[int, int, float]]:
    cost = cost_of(sweep, variant)
    start, work = first, 0.0
    for number in range(first, last):
        much = cost(sweep.cell(number))
        if number > start and (work + much > PART_S or number - start >= MOST_CELLS):
            yield start, number, work
            start, work = number, 0.0
        work += much
    yield start, last, work
