"""Before a sweep begins: how many rows, how many bytes, how long; a refusal of what cannot reasonably end."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import click

from compare.comparison.limits import MOST_S, about
from compare.comparison.work import RUN
from compare.sweeping.grid import Sweep
from compare.sweeping.parts import NATIVE_S, Part
from protocols.errors import UserError

ROW_BYTES = {"allocations": 12, "simulations": 90}
"""Bytes that a row takes in a file, measured on the examples; a member's load takes one more."""

LEAST_S = {"allocations": NATIVE_S, "simulations": RUN}
"""Seconds of one processor that the cheapest row takes."""


def announce(sweep: Sweep, parts: Sequence[Part], missing: Sequence[Part], folder: Path, processors: int) -> None:
    """Say on standard error what there is to do. ``missing``: parts that are not finished; ``processors``: of Spark."""
    rows = sum(part.last - part.first for part in missing)
    seconds, size = estimated(sweep, missing, processors)
    ready = len(parts) - len(missing)
    before = f"{ready:,} of {len(parts):,} parts are finished; " if ready else ""
    much = f"up to {rows:,} rows in {len(missing):,} parts, about {size / 1e6:,.0f} MB"
    click.echo(f"{before}{much}, estimated at {about(seconds)} on {processors} processors", err=True)


def check_size(sweep: Sweep, processors: int) -> None:
    """Before the grid is looked at cell by cell: `UserError` where even the cheapest rows take more than a day."""
    least = sweep.cells * len(sweep.systems) * LEAST_S[sweep.kind] / processors
    if least > MOST_S:
        raise _too_long(sweep, least, processors)


def check(sweep: Sweep, missing: Sequence[Part], folder: Path, processors: int) -> None:
    """`UserError` for what takes longer than a day, or more room than there is."""
    seconds, size = estimated(sweep, missing, processors)
    if seconds > MOST_S:
        raise _too_long(sweep, seconds, processors)
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    free = shutil.disk_usage(there).free
    if size > free:
        raise UserError(
            f"--out {folder}: about {size / 1e9:,.1f} GB are needed and {free / 1e9:,.1f} GB are free, expected more"
            " room, or --no-limit to run it all the same"
        )


def _too_long(sweep: Sweep, seconds: float, processors: int) -> UserError:
    return UserError(
        f"{sweep.name}: estimated at about {about(seconds)} on {processors} processors, expected at most a day,"
        " a smaller grid, or --no-limit to run it all the same"
    )


def estimated(sweep: Sweep, missing: Sequence[Part], processors: int) -> tuple[float, float]:
    """Seconds on so many processors, and bytes."""
    work = [part.work for part in missing]
    rows = sum(part.last - part.first for part in missing)
    per_row = ROW_BYTES[sweep.kind] + (max(sweep.members) if sweep.loads else 0)
    return max(sum(work) / max(1, processors), max(work, default=0.0)), float(rows * per_row)
