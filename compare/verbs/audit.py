"""The verb `audit`: from tools' output or a running cluster to figures, causes and remedies of each group.

Reading comes first and never ends early: what cannot be read becomes a line on standard error, the rest is judged.
Then figures (`compare.auditing`, on Spark where there are many groups), explanations, and the output. What the user
asks of columns is read here, too: conditions (`--fail-if 'max_over_mean > 1.5'`) and orders (`--sort lag`).
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from compare.auditing.baseline import changes, groups_of
from compare.auditing.group_figures import AuditedGroup, engine_for, judge
from compare.documents.audit import GroupRecord
from compare.explaining.audited import Answer, Question, answers, document
from compare.explaining.diagnosis import Explained, explain_all
from compare.formatting import number, visible
from compare.reading.gather import check_timeout, live_cluster_options
from compare.reading.observed import ObservedGroup, Skipped
from compare.reading.rates import gather_rated
from compare.showing.audit.tables import COLUMNS, NAMES, Column, print_answers, print_audit, skipped_line
from compare.showing.console import print_json
from compare.verbs.options import (
    FORMATS,
    HELP_OPTIONS,
    SIGNS,
    check_report,
    limit_of,
    parts_of,
    read_baseline,
    report_option,
    save_report,
)
from protocols import UserError
from protocols.engine.simulation import no_cycle_search

_SAME = ("==", "!=")


@dataclass(frozen=True, slots=True)
class Condition:
    """A column, a comparison, and a limit (a number; a text for columns of text). What is not told never meets it."""

    column: Column
    sign: str
    limit: float | str

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """The condition that the text says; `UserError` names what was expected."""
        name, sign, limit = parts = parts_of(text, "--fail-if")
        column = _column(name, f"--fail-if {text!r}")
        if column.is_text:
            if sign not in _SAME:
                raise UserError(f"--fail-if {text!r}: {column.name} holds text, expected == or != instead of {sign}")
            return cls(column, sign, limit.strip("'\""))
        return cls(column, sign, limit_of(parts, text, "--fail-if"))

    def met_by(self, groups: Sequence[Explained]) -> list[str]:
        """One line for every group that meets the condition."""
        lines = []
        for group in groups:
            value = self.column.value(group)
            if value is not None and self._holds(value):
                observed = group.group.observed
                shown, limit = (each if isinstance(each, str) else number(each) for each in (value, self.limit))
                lines.append(
                    f"{observed.system} group {observed.name}: {self.column.name} is {shown}, {self.sign} {limit}"
                )
        return lines

    def _holds(self, value: float | str) -> bool:
        if isinstance(value, str) or isinstance(self.limit, str):
            return (str(value) == self.limit) == (self.sign == "==")
        return SIGNS[self.sign](value, self.limit)


def sorted_by_column(groups: Sequence[Explained], by: str | None) -> list[Explained]:
    """The groups by a column: largest number or first text first, with ``-`` before the name the other way round.

    What is not told comes last, equals stay in order. Without ``by`` the order is as it was.
    """
    if by is None:
        return list(groups)
    column = _column(by.removeprefix("-"), f"--sort {by}")
    values: list[tuple[Any, Explained]] = [(column.value(group), group) for group in groups]
    told = [value for value in values if value[0] is not None]
    told.sort(key=lambda each: each[0], reverse=column.is_text == by.startswith("-"))
    return [group for _, group in told] + [group for value, group in values if value is None]


def _column(name: str, where: str) -> Column:
    column = COLUMNS.get(name)
    if column is None:
        raise UserError(f"{where}: unknown column {name!r}, expected one of {', '.join(NAMES)}")
    return column


MOST_LINES = 40
"""Lines about skipped text shown on standard error; JSON lists all of them."""


@click.command(context_settings=HELP_OPTIONS)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option(
    "--weight", type=click.Choice(["lag", "rate"]), help="Weigh each queue by its lag or rate instead of by 1."
)
@click.option(
    "--rate-over",
    type=click.FloatRange(1, 3600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="With --weight rate: read running clusters twice, this far apart.",
)
@click.option("--with-retry", is_flag=True, help="Include %RETRY% queues in the figures.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "spark", "local"]),
    default="auto",
    show_default=True,
    help="Engine that computes the figures; all engines give the same results.",
)
@report_option()
@click.option("--what-if", "ask", is_flag=True, help="Show each group under every other strategy.")
@click.option(
    "--members",
    metavar="1..N",
    help="What-if: show the figures for each member count, and the next one that lowers the largest load.",
)
@click.option("--without", multiple=True, metavar="MEMBER", help="What-if: remove this member.")
@click.option("--queues", multiple=True, metavar="TOPIC=N", help="What-if: give the topic this many queues.")
@click.option(
    "--fail-if",
    multiple=True,
    metavar="CONDITION",
    help="Exit with code 1 if any group meets the condition, such as 'max_over_mean > 1.5' or 'state =="
    " Reconciling'; every column may be used.",
)
@click.option("--sort", metavar="COLUMN", help="Sort by a column, largest first (-COLUMN: smallest first).")
@click.option("--group", multiple=True, metavar="NAME", help="Show only this group. May be given several times.")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="OLD.json",
    help="Report changes since an earlier audit, written with --format json.",
)
@live_cluster_options("reading one cluster; each answer may take a third of it")
def audit(
    sources: tuple[str, ...],
    format: str,
    weight: str | None,
    rate_over: float,
    with_retry: bool,
    engine: str,
    report: Path | None,
    ask: bool,
    members: str | None,
    without: tuple[str, ...],
    queues: tuple[str, ...],
    fail_if: tuple[str, ...],
    sort: str | None,
    group: tuple[str, ...],
    baseline: Path | None,
    command_config: Path | None,
    timeout: float,
) -> int:
    """Report how fairly the groups found in SOURCE... share their queues, worst first.

    SOURCE is a file or folder with the output of kafka-consumer-groups, kafka-topics or mqadmin, or - for
    standard input, or a running cluster: kafka://host:port[,host:port...] (needs pip install confluent-kafka
    javaproperties) or rocketmq://host:port[;host:port...] (its name servers). NAME=FILE gives the name of the group
    to a text that does not contain it. Different views may be mixed, because their content identifies them.
    """
    conditions = [Condition.parse(text) for text in fail_if]
    sorted_by_column((), sort)
    question = Question.parse(members, without, queues)
    before = None if baseline is None else read_baseline(baseline, "audit", groups_of)
    check_timeout(timeout)
    if report is not None:
        check_report(report)
    if engine == "spark":
        from compare import spark

        spark.warm_up()  # The JVM starts while the sources are read.
    with no_cycle_search(), _progress() as tell:
        over = rate_over if weight == "rate" else None
        gathered = gather_rated(sources, tell, command_config, timeout, over)
    if engine == "auto":
        engine = engine_for(gathered.groups)
    chosen = _named(gathered.groups, group)
    groups = judge(chosen, weight=weight, with_retry=with_retry, engine=engine)
    if format != "json" or not gathered.was_read:
        _say_what_was_skipped(gathered.skipped)
    if not gathered.was_read:
        return 2
    if engine == "spark":
        click.echo(f"Counted on {spark_version()}.", err=True)
    if weight is not None:
        _say_what_weighs(weight, groups)
    with no_cycle_search():
        explained = sorted_by_column(explain_all(groups, weight), sort)
        asked = answers(question, explained) if ask or question != Question() else None
    _print(explained, gathered.skipped, before, asked, question, format)
    if report is not None:
        _write_report(report, explained, gathered.skipped, weight)
    return _exit_code(conditions, explained)


def _print(
    explained: Sequence[Explained],
    skipped: Sequence[Skipped],
    before: Sequence[GroupRecord] | None,
    asked: Sequence[Answer] | None,
    question: Question,
    format: str,
) -> None:
    """The groups, what changed since an earlier audit, and the answers that were asked for."""
    if format == "json" or before is not None:
        audited = document(explained, skipped)
    changed = None if before is None else changes(before, audited["groups"])
    if format == "json":
        more = {} if changed is None else {"changes": changed}
        answered = {} if asked is None else {"asked": [asdict(answer) for answer in asked]}
        print_json(audited | more | answered)
        return
    print_audit(explained, format, changed)
    if asked is not None:
        print_answers(asked, explained, question, format)


def _exit_code(conditions: Sequence[Condition], explained: Sequence[Explained]) -> int:
    """1 where a group meets a condition, which standard error names then; else 0."""
    met = [line for condition in conditions for line in condition.met_by(explained)]
    for line in met:
        click.echo(f"failed: {visible(line)}", err=True)
    return 1 if met else 0


def _named(groups: Sequence[ObservedGroup], names: Sequence[str]) -> Sequence[ObservedGroup]:
    """The groups of these names, all without names; `UserError` for a name that no group has."""
    for name in names:
        if groups and not any(group.name == name for group in groups):
            raise UserError(f"--group {name}: no source shows this group, expected one that the audit lists")
    return [group for group in groups if group.name in names] if names else groups


def _say_what_was_skipped(skipped: Sequence[Skipped]) -> None:
    """On standard error, the first `MOST_LINES` line by line."""
    for each in skipped[:MOST_LINES]:
        click.echo(visible(skipped_line(each)), err=True)
    if len(skipped) > MOST_LINES:
        more = len(skipped) - MOST_LINES
        click.echo(f"... and {more} more unread lines or files (--format json lists all)", err=True)


def _write_report(path: Path, explained: Sequence[Explained], skipped: Sequence[Skipped], weight: str | None) -> None:
    from compare.showing.audit.page import write_report

    with no_cycle_search():
        page = write_report({**document(explained, skipped, pictures=True), "weight": weight})
    save_report(path, page)


def _say_what_weighs(weight: str, groups: Sequence[AuditedGroup]) -> None:
    """On standard error, where a weight is missing: of how many groups, and which figures lack therefore."""
    judged = [group for group in groups if group.mode == "shared" and any(group.owners.values())]
    without = [each for each in judged if each.figure("max") is None]
    if not without:
        return
    who = f"all {len(judged)} groups" if len(without) == len(judged) else f"{len(without)} of {len(judged)} groups"
    say = (
        f"--weight {weight}: load figures are - for {who}, because the {weight} of at least one owned queue is unknown"
    )
    click.echo(visible(say), err=True)


def spark_version() -> str:
    """What counted, for people."""
    from compare import spark

    session = spark.session()
    return f"Spark {session.version} ({session.sparkContext.master})"


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A spinner that names the source being read, where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    with console.status("reading") as status:
        yield lambda name: status.update(Text(f"reading {visible(name)}"))
