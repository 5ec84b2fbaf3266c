"""A sweep from plan to rows: Spark computes the parts that are missing, while somebody hears how far it is; the rows of
a part as an Arrow table."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from compare.figures.metrics import COLUMNS
from compare.figures.spark.sessions import SparkError, first_line, session, user_errors
from compare.figures.spark.sweeps import for_each_part
from compare.sweeping import simulations
from compare.sweeping.allocations import Answers, columns_of
from compare.sweeping.folder import Finished, Part, write_part
from compare.sweeping.grid import Cell, Sweep
from compare.sweeping.reading import ReadSweep
from compare.sweeping.simulations import run_row, try_run
from protocols.errors import UserError

POLL_S = 0.5
"""Seconds between two looks at what is finished."""


def run_parts(
    sweep: Sweep, parts: Sequence[Part], folder: Path, tell: Callable[[Finished], None], tasks: int | None = None
) -> Finished:
    """Compute the parts that ``folder`` lacks; ``tell`` hears now and then what is finished. ``tasks``: at most so many
    of Spark, one for each part where it is None. Raises `UserError` for what a variant cannot run, and where Spark
    fails."""
    finished = Finished(folder, sweep, parts)
    finished.look()
    tell(finished)
    missing = [part for part in parts if part not in finished.records]
    if missing:
        stop = threading.Event()
        watcher = threading.Thread(target=_watch, args=(finished, tell, stop), name="sweep-progress", daemon=True)
        watcher.start()
        try:
            with user_errors():
                _run(sweep, missing, folder, tasks)
        except SparkError as error:
            raise UserError(f"Spark gives up: {first_line(error)}; the same command goes on where it stopped") from None
        except KeyboardInterrupt:
            session().sparkContext.cancelAllJobs()
            raise
        finally:
            stop.set()
            watcher.join()
            finished.look()
            tell(finished)
    return finished


def _watch(finished: Finished, tell: Callable[[Finished], None], stop: threading.Event) -> None:
    while not stop.wait(POLL_S):
        finished.look()
        tell(finished)


def _run(sweep: Sweep, missing: Sequence[Part], folder: Path, tasks: int | None) -> None:
    place = folder.absolute()
    # The longest first: at the end all processors have something to do.
    parts = sorted(missing, key=lambda part: -part.size)

    def compute(number: int) -> None:
        write_part(place, sweep, parts[number], table_of(sweep, parts[number]))

    for_each_part(session(), compute, range(len(parts)), tasks or len(parts))


def try_variants(given: ReadSweep) -> None:
    """Answer, or begin to run, the smallest cell of each event with each variant, so that what a grid asks for and a
    variant refuses is told at once. Raises `UserError` that names the line of the variant."""
    sweep = given.sweep
    for part, place in zip(sweep.systems, given.places, strict=True):
        for cell in _smallest(sweep):
            try:
                if sweep.kind == "allocations":
                    Answers(part).of(cell)
                else:
                    try_run(sweep, cell, part)
            except UserError as error:
                raise UserError(f"{place}: {cell.event.name}: {error}") from None


def _smallest(sweep: Sweep) -> list[Cell]:
    """The first cell of each event that counts."""
    cells: dict[str, Cell] = {}
    for first in range(0, sweep.cells, sweep.stretch):
        if sweep.cell(first).event.name in cells:
            continue
        for number in range(first, first + sweep.stretch):
            cell = sweep.cell(number)
            if cell.counts:
                cells[cell.event.name] = cell
                break
    return list(cells.values())


_AXES = (
    pa.field("cell", pa.int64()),
    pa.field("members", pa.int32()),
    pa.field("topics", pa.int32()),
    pa.field("queues_per_topic", pa.int32()),
    pa.field("brokers", pa.int32()),
    pa.field("subscription", pa.string()),
    pa.field("event", pa.string()),
)
_OF_A_RUN = (
    pa.field("latency_min_ms", pa.float64()),
    pa.field("latency_max_ms", pa.float64()),
    pa.field("seed", pa.int64()),
)
_LOADS = pa.field("loads", pa.list_(pa.int32()))


def schema_of(sweep: Sweep) -> pa.Schema:
    """The columns of the rows; the variant is in the folder's name."""
    figures = [
        pa.field(metric.column, pa.int64() if metric.is_whole else pa.float64()) for metric in COLUMNS[sweep.kind]
    ]
    if sweep.kind == "simulations":
        return pa.schema([*_AXES, *_OF_A_RUN, *figures])
    return pa.schema([*_AXES, *figures, *((_LOADS,) if sweep.loads else ())])


def table_of(sweep: Sweep, part: Part) -> pa.Table:
    """The rows of a part in the order of their cells. Raises `UserError` for what a variant cannot run."""
    schema, variant = schema_of(sweep), sweep.systems[part.variant]
    cells = list(part.cells(sweep))
    axes = zip(*map(_axes_of, cells), strict=True) if cells else [()] * len((*_AXES, *_OF_A_RUN))
    columns: dict[str, Sequence[Any]] = dict(zip((field.name for field in (*_AXES, *_OF_A_RUN)), axes, strict=True))
    if sweep.kind == "simulations":
        rows = [run_row(sweep, cell, variant) for cell in cells]
        columns |= {name: [row[name] for row in rows] for name in simulations.FIGURES}
    else:
        answers = list(map(Answers(variant).of, cells))
        columns |= columns_of(answers)
        columns["loads"] = [found.loads for found in answers]
    table = pa.table({field.name: pa.array(columns[field.name], field.type) for field in schema}, schema=schema)
    return table.sort_by("cell")


def _axes_of(cell: Cell) -> Sequence[object]:
    """The values of the columns that say which cell it is."""
    group = cell.members, cell.topics, cell.queues, cell.brokers, cell.subscription
    return cell.number, *group, cell.event.name, *cell.latency, cell.seed
