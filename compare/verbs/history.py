"""The verb `history`."""

from datetime import date, datetime
from pathlib import Path

import click

from compare.figures.metrics import COUNTS, LOADS
from compare.formatting import visible
from compare.showing.console import print_json
from compare.verbs.options import (
    FORMATS,
    HELP_OPTIONS,
    SIGNS,
    NumberCondition,
    check_report,
    report_option,
    save_report,
)
from protocols import UserError

UNFAIR = "distance > 0"
MOST_LINES = 40
"""Files left out that standard error names; JSON names all."""

_NUMBERS = (*COUNTS, *LOADS, "lag", "score", "distance", "optimum_max", "moves", "rebalances")


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
    "--engine",
    type=click.Choice(("auto", "local", "spark")),
    default="auto",
    show_default=True,
    help="Who counts, with equal results: auto takes Spark for millions of rows.",
)
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Groups in the table.")
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@report_option()
def history(
    folder: str,
    since: str | None,
    until: str | None,
    clusters: tuple[str, ...],
    groups: tuple[str, ...],
    unfair: str,
    engine: str,
    top: int,
    format: str,
    report: Path | None,
) -> int:
    """Say what the snapshots of `equipoise watch` in DIR tell about hours, days and weeks.

    Per group: hours unfair, hours with idle members, moves and rebalances, storms of them, members that come and go,
    trends, and the topics that load the same members. Many snapshots are counted by Spark, on this machine or where its
    usual settings say.
    """
    first, last = _day("--since", since), _day("--until", until)
    condition = NumberCondition.parse(unfair, "--unfair", _NUMBERS, "max_over_mean > 1.5")
    if report is not None:
        check_report(report)
    from compare.figures.history_parts import Unfair
    from compare.history import counted, document, selected
    from compare.showing.history import print_history

    chosen = selected(folder, first, last, clusters)
    told_by = Unfair(condition.column, SIGNS[condition.sign], condition.limit)
    records, selection = counted(chosen, told_by, groups, engine, clusters, (first, last))
    if not records:
        raise UserError(f"{folder}: no snapshots of these groups, expected another --group, --cluster or day")
    for each in selection.left_out[:MOST_LINES]:
        click.echo(visible(f"left out: {each.file}: {each.why}"), err=True)
    if len(selection.left_out) > MOST_LINES:
        click.echo(f"... and {len(selection.left_out) - MOST_LINES} more files left out", err=True)
    found = document(records, unfair, selection.left_out)
    if format == "json":
        print_json(found)
    else:
        print_history(found, format, top)
    if report is not None:
        from compare.showing.history import write_report

        save_report(report, write_report(found, top))
    return 0


def _day(option: str, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise UserError(f"{option} {text}: expected a day such as 2026-11-22") from None
