"""The verb `sweep`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compare.formatting import number, visible
from compare.showing.console import print_json
from compare.verbs.options import FORMATS, HELP_OPTIONS, NumberCondition, check_report, save_report

if TYPE_CHECKING:
    from compare.sweeping.document import SweepDocument
    from compare.sweeping.folder import Part
    from compare.sweeping.grid import Sweep
    from compare.sweeping.reading import ReadSweep


@click.command(context_settings=HELP_OPTIONS)
@click.argument("sweep_file", metavar="SWEEP.yaml")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the rows go: Parquet under DIR/rows, partitioned by variant. A sweep that was stopped goes on there.",
)
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option(
    "--fail-if",
    "fail_if",
    multiple=True,
    metavar="CONDITION",
    help="Exit with 1 where a record of the summary meets it, such as 'max_over_best_max > 2'. Repeatable.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.html",
    help="Write a report as one HTML file that needs no network.",
)
@click.option(
    "--tasks",
    type=click.IntRange(1),
    metavar="N",
    help="At most N tasks of Spark; left out, one for each part. The rows are the same.",
)
def sweep(
    sweep_file: str,
    out: Path,
    format: str,
    fail_if: tuple[str, ...],
    report: Path | None,
    tasks: int | None,
) -> int:
    """Compute a grid of groups on Spark: allocations of every strategy, or full simulations over many seeds.

    Spark runs on this machine, or where its usual settings say; DIR must be a folder that all its workers see.
    docs/sweep.md describes the file and the columns.
    """
    if report is not None:
        check_report(report)
    from compare.sweeping.reading import read

    given = read(sweep_file)
    conditions = [(text, _condition(text, given.sweep.kind)) for text in fail_if]
    found = _swept(given, out, tasks)
    if format == "json":
        print_json(found)
    else:
        from compare.showing.sweep import print_sweep

        print_sweep(found, format)
    if report is not None:
        from compare.showing.sweep import write_report
        from compare.sweeping.document import by_size

        save_report(report, write_report(found, given.sweep, by_size(given.sweep, out)))
    failed = [line for text, condition in conditions for line in _met(found, text, condition)]
    for line in failed:
        click.echo(f"failed: {visible(line)}", err=True)
    return 1 if failed else 0


def _swept(given: "ReadSweep", out: Path, tasks: int | None) -> "SweepDocument":
    """Everything computed, and its summary."""
    from compare.figures.spark.sessions import warm_up
    from compare.showing.sweep import sweep_progress
    from compare.sweeping.document import document
    from compare.sweeping.folder import Finished, opened, parts_of
    from compare.sweeping.running import run_parts, try_variants

    warm_up()  # The JVM starts while the grid is cut into parts and tried.
    try_variants(given)
    parts = parts_of(given.sweep)
    finished = Finished(out, given.sweep, parts)
    finished.look()
    opened(out, given.sweep, parts)
    _announce(given.sweep, parts, [part for part in parts if part not in finished.records])
    try:
        with sweep_progress(parts) as tell:
            finished = run_parts(given.sweep, parts, out, tell, tasks)
    except KeyboardInterrupt:
        _interrupted(out, given, parts)
        raise
    return document(given.sweep, out, finished)


def _announce(sweep: "Sweep", parts: "Sequence[Part]", missing: "Sequence[Part]") -> None:
    """Say on standard error what there is to do."""
    rows = sum(part.most_rows(sweep) for part in missing)
    ready = len(parts) - len(missing)
    before = f"{ready:,} of {len(parts):,} parts are finished; " if ready else ""
    if missing:
        click.echo(f"{before}up to {rows:,} rows in {len(missing):,} parts", err=True)


def _interrupted(out: Path, given: "ReadSweep", parts: "tuple[Part, ...]") -> None:
    from compare.sweeping.folder import Finished

    finished = Finished(out, given.sweep, parts)
    finished.look()
    done = f"{len(finished.records)} of {len(parts)} parts are finished"
    click.echo(f"interrupted: {done}; the same command goes on there", err=True)


def _condition(text: str, kind: str) -> NumberCondition:
    from compare.figures.spark.sweeps import columns_of

    return NumberCondition.parse(text, "--fail-if", columns_of(kind), "max_over_best_max > 2")


def _met(found: "SweepDocument", text: str, condition: NumberCondition) -> list[str]:
    """One line for every record that meets the condition."""
    lines = []
    for record in found["summary"]:
        value = record[condition.column]
        if condition.holds(value):
            where = f"{record['variant']}, {record['subscription']}, {record['event']}"
            lines.append(f"{where}: {condition.column} is {number(value)} ({text})")
    return lines
