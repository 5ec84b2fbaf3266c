"""One row of each variant before Spark computes all: what a grid asks for and a variant refuses is told at once."""

from compare.sweeping.allocations import answer
from compare.sweeping.grid import Cell, Sweep
from compare.sweeping.reading import ReadSweep
from compare.sweeping.simulations import try_run
from protocols.errors import UserError


def try_variants(given: ReadSweep) -> None:
    """Answer, or begin to run, the smallest cell of each event with each variant. Raises `UserError` that names the
    line of the variant."""
    sweep = given.sweep
    for part, place in zip(sweep.systems, given.places, strict=True):
        for cell in _smallest(sweep):
            try:
                if sweep.kind == "allocations":
                    answer(cell, part)
                else:
                    try_run(sweep, cell, part)
            except UserError as error:
                raise UserError(f"{place}: {cell.event.name}: {error}") from None


def _smallest(sweep: Sweep) -> list[Cell]:
    """The first cell of each event that counts."""
    found: dict[str, Cell] = {}
    for first in range(0, sweep.cells, sweep.stretch):
        if sweep.cell(first).event.name in found:
            continue
        for number in range(first, first + sweep.stretch):
            cell = sweep.cell(number)
            if cell.counts:
                found[cell.event.name] = cell
                break
    return list(found.values())
