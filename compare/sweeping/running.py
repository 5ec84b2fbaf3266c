"""A sweep from plan to rows: Spark computes the parts that are missing, while somebody hears how far it is."""

import threading
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path

import pyarrow as pa

from compare.measure.spark.failures import SparkError, first_line, user_errors
from compare.measure.spark.part_tasks import Axis, NativePart, run_in_python, run_natively
from compare.measure.spark.sessions import session
from compare.sweeping.folder import Finished, write_part
from compare.sweeping.grid import Sweep
from compare.sweeping.parts import Part
from compare.sweeping.rows import schema_of, table_of
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
    spark, schema, place = session(), schema_of(sweep), folder.absolute()
    native = [(at, part) for at, part in enumerate(missing) if part.native]
    if native:

        def write(number: int, table: pa.Table) -> None:
            write_part(place, sweep, missing[number], table)

        asked = [_native_part(sweep, at, part) for at, part in native]
        run_natively(spark, write, asked, _axes(sweep), schema, tasks or len(native), sweep.loads)
        written = Finished(place, sweep, [part for _, part in native])
        written.look()
        for _, part in native:
            if part not in written.records:
                # No row of it counts.
                write_part(place, sweep, part, schema.empty_table())
    # The longest first: at the end all processors have something to do.
    rest = sorted((part for part in missing if not part.native), key=lambda part: -part.work)
    if rest:

        def compute(number: int) -> None:
            write_part(place, sweep, rest[number], table_of(sweep, rest[number]))

        run_in_python(spark, compute, range(len(rest)), tasks or len(rest))


def _native_part(sweep: Sweep, number: int, part: Part) -> NativePart:
    cell = sweep.cell(part.first)
    system = sweep.systems[part.variant].system
    return NativePart(number, part.first, part.last, system, cell.subscription, cell.event.name)


def _axes(sweep: Sweep) -> list[Axis]:
    """The columns of numbers, as `Sweep.cell` has them."""
    values = (("members", sweep.members), ("topics", sweep.topics), ("queues_per_topic", sweep.queues))
    found = [*values, ("brokers", sweep.brokers)]
    return [Axis(name, each, prod(sweep.sizes[4 + at :])) for at, (name, each) in enumerate(found)]
