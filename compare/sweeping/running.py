"""A sweep from plan to rows: the parts that are missing are computed, by processes of this machine or by Spark.

What is done with a part (`compute`) is one function; an engine only calls it for each of them, so that the rows are
the same whichever engine ran. A part is a file, written whole or not at all: a sweep that was interrupted goes on
with the missing parts. The rows of a part become an Arrow table here, too.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from compare.figures.metrics import COLUMNS
from compare.process_pool import process_pool, worked
from compare.sweeping import scale, simulations
from compare.sweeping.allocations import Answers, columns_of
from compare.sweeping.folder import Finished, Part, write_part
from compare.sweeping.grid import Cell, Sweep
from compare.sweeping.reading import ReadSweep
from compare.sweeping.simulations import run_row, try_run
from protocols.errors import UserError

POLL_S = 0.5
"""Seconds between two looks at what is finished."""

Job: TypeAlias = Callable[[Part], None]

_OF_SPARK = ("SPARK_MASTER", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_CONF_DIR", "SPARK_HOME")
"""Where users of Spark say what it runs on."""


def engine_for(parts: int) -> str:
    """What computes so many parts soonest: ``spark`` where its settings name a cluster and this machine's processors
    have more than one part each, else ``local``."""
    if parts <= (os.cpu_count() or 1) or not os.environ.keys() & set(_OF_SPARK) or find_spec("pyspark") is None:
        return "local"
    from compare.figures.spark.sessions import names_cluster

    return "spark" if names_cluster() else "local"


def run_parts(
    sweep: Sweep, finished: Finished, tell: Callable[[Finished], None], engine: str = "local", tasks: int | None = None
) -> None:
    """Compute the parts that are missing; ``tell`` hears now and then what is finished. ``engine``: ``local`` or
    ``spark``. ``tasks``: at most so many at a time, or of Spark; None: as many as processors, or as parts. Raises
    `UserError` for what a variant cannot run, for a folder that cannot be written, and where Spark fails."""

    def look() -> None:
        finished.look()
        tell(finished)

    tell(finished)
    # The longest first: at the end all processors have something to do.
    missing = sorted(finished.missing, key=lambda part: -part.size)
    if missing:
        try:
            (_on_spark if engine == "spark" else _here)(
                partial(compute, sweep, finished.folder.absolute()), missing, tasks, look
            )
        except OSError as error:
            raise UserError(f"--out {finished.folder}: {error.strerror}, expected a writable folder") from None
        finally:
            look()


def compute(sweep: Sweep, folder: Path, part: Part) -> None:
    """A part from its cells to its file. Raises `UserError` for what its variant cannot run, and `OSError`."""
    write_part(folder, sweep, part, table_of(sweep, part))


def _here(job: Job, parts: Sequence[Part], tasks: int | None, look: Callable[[], None]) -> None:
    """In processes of this machine, or in this one."""
    workers = min(tasks or os.cpu_count() or 1, len(parts))
    if workers == 1:
        for part in parts:
            job(part)
            look()
        return
    waiting = deque(parts)
    at_work: set[Future[object]] = set()
    with process_pool(workers, job) as executor:
        while waiting or at_work:
            while waiting and len(at_work) <= workers:
                at_work.add(executor.submit(worked, waiting.popleft()))
            done, at_work = wait(at_work, POLL_S, FIRST_COMPLETED)
            for each in done:
                each.result()
            look()


def _on_spark(job: Job, parts: Sequence[Part], tasks: int | None, look: Callable[[], None]) -> None:
    from compare.figures.spark.sessions import SparkError, cancel_jobs, first_line, for_each, session, user_errors

    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(POLL_S):
            look()

    watcher = threading.Thread(target=watch, name="sweep-progress", daemon=True)
    watcher.start()
    try:
        with user_errors():
            for_each(session(), job, parts, tasks or len(parts))
    except SparkError as error:
        raise UserError(f"Spark gives up: {first_line(error)}; the same command goes on where it stopped") from None
    except KeyboardInterrupt:
        cancel_jobs()
        raise
    finally:
        stop.set()
        watcher.join()


def try_variants(given: ReadSweep) -> None:
    """Answer, or begin to run, the smallest cell of each event with each variant, so that what a grid asks for and a
    variant refuses is told at once. Raises `UserError` that names the line of the variant."""
    sweep = given.sweep
    for part, place in zip(sweep.systems, given.places, strict=True):
        for cell in _smallest(sweep):
            try:
                if sweep.kind == "allocations":
                    Answers(part).of(cell)
                elif sweep.kind == "scale":
                    scale.try_scale(sweep, cell, part)
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
    if sweep.kind == "scale":
        figures = [pa.field(name, pa.float64()) for name in scale.FIGURES]
        return pa.schema([*_AXES, *_OF_A_RUN, *figures])
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
    columns: dict[str, Sequence[object]] = dict(zip((field.name for field in (*_AXES, *_OF_A_RUN)), axes, strict=True))
    if sweep.kind != "allocations":
        run, figures = (scale.scale_row, scale.FIGURES) if sweep.kind == "scale" else (run_row, simulations.FIGURES)
        rows = [run(sweep, cell, variant) for cell in cells]
        columns |= {name: [row[name] for row in rows] for name in figures}
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
