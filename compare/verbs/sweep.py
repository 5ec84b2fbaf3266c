"""The verb `sweep`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compare.formatting import number, visible
from compare.showing.console import print_json
from compare.verbs.options import (
    FORMATS,
    HELP_OPTIONS,
    WIDE,
    NumberCondition,
    check_report,
    report_option,
    save_report,
    takes_versions,
    width_of,
)
from protocols.errors import UserError

if TYPE_CHECKING:
    from compare.sweeping.document import SweepDocument
    from compare.sweeping.folder import Finished
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
@WIDE
@takes_versions
@click.option(
    "--fail-if",
    "fail_if",
    multiple=True,
    metavar="CONDITION",
    help="Exit with 1 where a record of the summary meets it, such as 'max_over_best_max > 2'. Repeatable.",
)
@report_option()
@click.option(
    "--engine",
    type=click.Choice(["auto", "spark", "local"]),
    default="auto",
    show_default=True,
    help="What computes the rows: processes of this machine, or Spark; all engines give the same bytes.",
)
@click.option(
    "--tasks",
    type=click.IntRange(1),
    metavar="N",
    help="At most N processes, or tasks of Spark; left out, one for each processor, or each part.",
)
def sweep(
    sweep_file: str,
    versions: Mapping[str, str],
    out: Path,
    format: str,
    wide: bool,
    fail_if: tuple[str, ...],
    report: Path | None,
    engine: str,
    tasks: int | None,
) -> int:
    """Compute a grid of groups: allocations of every strategy, or full simulations over many seeds.

    Processes of this machine compute it, or Spark, by default where its usual settings name a cluster and the grid is
    large; DIR must be a folder that all its workers see. docs/sweep.md describes the file and the columns.
    """
    if report is not None:
        check_report(report)
    from compare.sweeping.document import by_size, document
    from compare.sweeping.reading import read

    given = _with_versions(read(sweep_file), versions)
    conditions = [(text, _condition(text, given.sweep.kind)) for text in fail_if]
    finished = _swept(given, out, engine, tasks)
    found = document(given.sweep, out, finished)
    if format == "json":
        print_json(found)
    else:
        from compare.showing.sweep import print_sweep

        print_sweep(found, format, width_of(wide))
    if report is not None:
        from compare.showing.sweep import write_report

        save_report(report, write_report(found, given.sweep, by_size(given.sweep, finished)))
    failed = [line for text, condition in conditions for line in _met(found, text, condition)]
    for line in failed:
        click.echo(f"failed: {visible(line)}", err=True)
    return 1 if failed else 0


def _with_versions(given: "ReadSweep", versions: Mapping[str, str]) -> "ReadSweep":
    from compare.running.systems import version_notes

    for system, version in versions.items():
        if system not in given.sweep.versions:
            raise UserError(f"--{system}-version {version}: {given.sweep.name} is no sweep of simulations")
    sweep = replace(given.sweep, versions={**given.sweep.versions, **versions})
    for note in version_notes(sweep.versions):
        click.echo(note, err=True)
    return given._replace(sweep=sweep)


def _swept(given: "ReadSweep", out: Path, engine: str, tasks: int | None) -> "Finished":
    """Everything computed."""
    from compare.showing.sweep import sweep_progress
    from compare.sweeping.folder import opened, parts_of
    from compare.sweeping.running import engine_for, run_parts, try_variants

    if engine == "spark":
        from compare.figures.spark.sessions import warm_up

        warm_up()  # The JVM starts while the grid is cut into parts and tried.
    try_variants(given)
    finished = opened(out, given.sweep, parts_of(given.sweep))
    _announce(given.sweep, finished)
    if engine == "auto":
        engine = engine_for(len(finished.missing))
    try:
        with sweep_progress(finished) as tell:
            run_parts(given.sweep, finished, tell, engine, tasks)
    except KeyboardInterrupt as error:
        done = f"{len(finished.records)} of {len(finished.parts)} parts are finished"
        raise type(error)(f"{done}; the same command goes on there") from None
    return finished


def _announce(sweep: "Sweep", finished: "Finished") -> None:
    """Say on standard error what there is to do."""
    if finished.damaged:
        name, why = next(iter(finished.damaged.items()))
        more = f", and {len(finished.damaged) - 1} more" if len(finished.damaged) > 1 else ""
        click.echo(visible(f"computed again, for it is not what was written: {name} ({why}){more}"), err=True)
    if finished.missing:
        rows = sum(part.most_rows(sweep) for part in finished.missing)
        done, parts = len(finished.records), len(finished.parts)
        before = f"{done:,} of {parts:,} parts are finished; " if done else ""
        click.echo(f"{before}up to {rows:,} rows in {len(finished.missing):,} parts", err=True)


def _condition(text: str, kind: str) -> NumberCondition:
    from compare.sweeping.document import columns_of

    return NumberCondition.parse(text, "--fail-if", columns_of(kind), "max_over_best_max > 2")


def _met(found: "SweepDocument", text: str, condition: NumberCondition) -> list[str]:
    """One line for every record that meets the condition."""
    from compare.showing.sweep import names_of

    lines = []
    for record in found["summary"]:
        value = record[condition.column]
        if condition.holds(value):
            where = ", ".join(str(record[name]) for name in names_of(found))
            lines.append(f"{where}: {condition.column} is {number(value)} ({text})")
    return lines
