"""The verb `history`."""

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compare.figures.metrics import COUNTS, LOADS
from compare.formatting import visible
from compare.showing.console import print_json
from compare.snapshots import CALM_S, snapshot_schema
from compare.verbs.options import FORMATS, HELP_OPTIONS, NumberCondition, check_report, save_report
from protocols import UserError
from protocols.scenario.fields import milliseconds

if TYPE_CHECKING:
    from compare.figures.spark.history import HistoryTables, Unfair
    from compare.history import Selection

UNFAIR = "distance > 0"
MOST_LINES = 40
"""Files left out that standard error names; JSON names all."""

_NUMBERS = (*COUNTS, *LOADS, "lag", "score", "distance", "optimum_max", "moves")


@click.command(context_settings=HELP_OPTIONS)
@click.argument("folder", metavar="DIR")
@click.option("--since", metavar="DATE", help="First day (UTC), as 2026-11-22.")
@click.option("--until", metavar="DATE", help="Last day (UTC).")
@click.option("--cluster", "clusters", multiple=True, metavar="NAME", help="Only this cluster; repeatable.")
@click.option("--group", "groups", multiple=True, metavar="NAME", help="Only this group; repeatable.")
@click.option(
    "--unfair",
    default=UNFAIR,
    show_default=True,
    metavar="CONDITION",
    help="When a group counts as unfair, such as 'max_over_mean > 1.5'; any column of numbers of the snapshots.",
)
@click.option(
    "--calm",
    default=f"{CALM_S / 60:g}min",
    show_default=True,
    metavar="TIME",
    help="Changes that are not farther apart are one rebalance.",
)
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Groups in the table.")
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.html",
    help="Write a report as one HTML file that needs no network.",
)
def history(
    folder: str,
    since: str | None,
    until: str | None,
    clusters: tuple[str, ...],
    groups: tuple[str, ...],
    unfair: str,
    calm: str,
    top: int,
    format: str,
    report: Path | None,
) -> int:
    """Say what the snapshots of `equipoise watch` in DIR tell about days and weeks, on Spark.

    Per group: hours unfair, hours with idle members, moves and rebalances per day, members that come and go, trends,
    and the topics that load the same members. Spark runs on this machine, or where its usual settings say.
    """
    first, last = _day("--since", since), _day("--until", until)
    column, sign, limit = _condition(unfair)
    calm_s = _seconds(calm)
    if report is not None:
        check_report(report)
    from compare.figures.spark.history import Unfair
    from compare.figures.spark.sessions import warm_up
    from compare.history import document, selected
    from compare.showing.history import print_history

    warm_up()  # The JVM starts while the files are looked at.
    selection = selected(folder, first, last, clusters)
    tables, selection = _counted(selection, Unfair(column, sign, limit), calm_s, clusters, groups, (first, last))
    if not tables.groups.num_rows:
        raise UserError(f"{folder}: no snapshots of these groups, expected another --group, --cluster or day")
    for each in selection.left_out[:MOST_LINES]:
        click.echo(visible(f"left out: {each.file}: {each.why}"), err=True)
    if len(selection.left_out) > MOST_LINES:
        click.echo(f"... and {len(selection.left_out) - MOST_LINES} more files left out", err=True)
    found = document(tables, unfair, selection.left_out)
    if format == "json":
        print_json(found)
    else:
        print_history(found, format, top)
    if report is not None:
        from compare.showing.history import write_report

        save_report(report, write_report(found, top))
    return 0


def _counted(
    selection: "Selection",
    unfair: "Unfair",
    calm_s: float,
    clusters: tuple[str, ...],
    groups: tuple[str, ...],
    days: tuple[date | None, date | None],
) -> "tuple[HistoryTables, Selection]":
    """The tables. Where Spark stumbles over a file, every file is looked at, and those that are damaged are left
    out."""
    from compare.figures.spark.history import chosen, history, read_snapshots
    from compare.figures.spark.sessions import SparkError, first_line, session
    from compare.history import thoroughly

    spark = session()
    for attempt in (1, 2):
        try:
            rows = read_snapshots(spark, selection.root, selection.files, snapshot_schema())
            return history(chosen(rows, clusters, days), unfair, calm_s, groups), selection
        except SparkError as error:
            before = selection
            if attempt == 1 and "://" not in selection.root:
                selection = thoroughly(selection)
            if selection is before or selection.left_out == before.left_out:
                raise UserError(
                    f"{selection.root}: {first_line(error)}, expected snapshots of `equipoise watch`"
                ) from None
    raise AssertionError("the second attempt returns or raises")


def _condition(text: str) -> NumberCondition:
    return NumberCondition.parse(text, "--unfair", _NUMBERS, "max_over_mean > 1.5")


def _day(option: str, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise UserError(f"{option} {text}: expected a day such as 2026-11-22") from None


def _seconds(text: str) -> float:
    try:
        seconds = milliseconds(text) / 1000
    except ValueError as error:
        raise UserError(f"--calm: {error}") from None
    if seconds < 0:
        raise UserError(f"--calm {text}: expected a time of 0s or more")
    return seconds
