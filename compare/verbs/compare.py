"""The verb `compare`: from scenarios and options to runs, to tables, reports and an exit code.

The verb decides nothing about groups. It reads scenarios, has their variants run with every seed
(`compare.running`), asks what came of them (`compare.explaining`) and hands both to what shows them
(`compare.showing`). What is slow is only done for the outputs that were asked for. Other verbs are built the same
way.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from compare.advising.trying import TRIES, seeds_of
from compare.advising.trying import advise as advice_of
from compare.explaining.brief_story import brief_story
from compare.explaining.document import Measured, document
from compare.formatting import visible
from compare.running.baseline import Change, changes, check_jitter, check_same, documents_of
from compare.running.limits import Machine, check_work
from compare.running.parquet import write_runs
from compare.running.reached import Reached
from compare.running.record import run_record
from compare.running.run_variant import RunResult, run_variant
from compare.running.runs import MeasuredRun, Plan, RunOrder, SeedChoice, failures, run_all
from compare.running.systems import read, variant_names, version_notes, with_versions
from compare.running.variants import Variant
from compare.showing.comparison.tables import print_comparison
from compare.showing.console import print_json, print_text, run_progress
from compare.verbs.options import (
    FORMATS,
    HELP_OPTIONS,
    WIDE,
    check_folder,
    check_report,
    read_baseline,
    report_option,
    save_report,
    takes_versions,
    width_of,
)
from protocols.errors import UserError
from protocols.scenario.model import STATIC, Scenario
from protocols.timeline.sequence import sequence, sequence_diagram
from protocols.timeline.story import story

MOST_TRIES = 500

MOST_SEEDS = 100_000
"""Runs of a variant: their figures are held until the last one is done."""


class _NamesStrategies(click.Command):
    """Help that ends with all strategies; they are looked up only for those who read it."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.epilog = (
            f"Systems and strategies: {', '.join(variant_names())}. After a strategy of kafka, {STATIC} makes every"
            " member static. docs/strategies.md describes the strategies."
        )
        super().format_epilog(ctx, formatter)


@click.command(cls=_NamesStrategies, context_settings=HELP_OPTIONS)
@click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO.yaml...")
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="System or variant to run instead of the scenario's systems: kafka:sticky, kafka:range+static,"
    " kafka-zookeeper:range, rocketmq:AVG, a label of the scenario, or several in one word: kafka,"
    " kafka-zookeeper, rocketmq, all. May be given several times.",
)
@takes_versions
@click.option(
    "--seed", "seeds", type=int, multiple=True, help="Replace the scenario's seed. May be given several times."
)
@click.option(
    "--seeds",
    "many",
    type=click.IntRange(1, MOST_SEEDS),
    metavar="N",
    help="Run every variant with N seeds from the scenario's on and report median, 5th and 95th percentile. Left out:"
    " the run as written, and the figures of 5 other seeds beside it. 1: one run.",
)
@click.option(
    "--jitter",
    type=click.Choice(("on", "off")),
    help="Whether start times and event times depend on the seed, too. Left out: with several seeds they do.",
)
@click.option(
    "--advise",
    is_flag=True,
    help="Try settings and variants near the given ones with the same seeds, and say what to choose when.",
)
@click.option(
    "--tries",
    type=click.IntRange(1, MOST_TRIES),
    default=TRIES,
    show_default=True,
    help="With --advise: at most so many beside the given variants.",
)
@click.option("--full", is_flag=True, help="Simulate RocketMQ's quiet periods message by message, too.")
@click.option("--no-limit", is_flag=True, help="Run also what has too many events or needs too much memory.")
@click.option("--more", is_flag=True, help="The whole verdict, rebalances by cause and messages by type, too.")
@WIDE
@click.option("--story", "stories", multiple=True, metavar="LABEL", help="Tell what happened in this variant, as text.")
@click.option(
    "--length",
    type=click.Choice(("brief", "full")),
    default="full",
    show_default=True,
    help="Of stories: every step, or at most 20 lines that say what each event led to and what the states mean.",
)
@click.option(
    "--sequence",
    "sequences",
    multiple=True,
    metavar="LABEL",
    help="Print this variant's messages as a sequence diagram.",
)
@click.option(
    "--diagram",
    type=click.Choice(("mermaid", "svg")),
    default="mermaid",
    show_default=True,
    help="What sequence diagrams are written as.",
)
@report_option("Write a report as one HTML file: timelines, figures and a player of the messages.")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="OLD.json",
    help="Report changes since an earlier comparison, written with --format json.",
)
@click.option(
    "--parquet",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write ownership, rebalances, messages, deliveries, commits and lag as Parquet tables for Spark.",
)
def compare(
    scenarios: tuple[str, ...],
    format: str,
    systems: tuple[str, ...],
    versions: Mapping[str, str],
    seeds: tuple[int, ...],
    many: int | None,
    jitter: str | None,
    advise: bool,
    tries: int,
    full: bool,
    no_limit: bool,
    more: bool,
    wide: bool,
    stories: tuple[str, ...],
    length: str,
    sequences: tuple[str, ...],
    diagram: str,
    report: Path | None,
    baseline: Path | None,
    parquet: Path | None,
) -> int:
    """Run a scenario on several systems and compare the results.

    With --story or --sequence, the output is the text of these variants instead of the comparison. Exit code 1 if an
    expectation of a scenario fails.
    """
    before = None if baseline is None else read_baseline(baseline, "compare", documents_of)
    chosen = _chosen(seeds, many, jitter)
    read_in = _read(scenarios, versions)
    if before is not None:
        check_same(before, [scenario.name for scenario in read_in], str(baseline))
        check_jitter(before, chosen.jitter, str(baseline))
    plans = [Plan.of(path, each, systems, chosen, full) for path, each in zip(scenarios, read_in, strict=True)]
    if stories or sequences:
        _only_stories({"--report": report, "--baseline": baseline, "--parquet": parquet}, advise)
        plans = _of_labels(plans, (*stories, *sequences))
        if not no_limit:
            check_work(plans, Machine.this())
        return _exit_code(_tell(plans, stories, length, sequences, diagram))
    # Of very many runs only JSON holds every record; tables tell of the first seed and of the figures of all.
    every = format == "json" or many is None
    orders = [order for at, plan in enumerate(plans) for order in plan.orders(at, every, report is not None)]
    _check_outputs(report, parquet)
    plans = [_with_tries(plan, tries) if advise else plan for plan in plans]
    if not no_limit:
        check_work(plans, Machine.this())
    show = partial(_print, format=format, width=width_of(wide), more=more)
    found = measured(plans, orders, lambda finished: show(finished, None))
    if advise:
        found = _advised(plans, found, lambda: show(found, None))
    changed = None if before is None else [changes(before, each) for _, _, each in found]
    show(found, changed)  # first: a file that cannot be written takes nothing of it away
    if parquet is not None:
        _write_parquet(plans, parquet)
    if report is not None:
        _save(found, report)
    runs = ((scenario, run) for scenario, runs_, _ in found for run in runs_)
    return _exit_code(line for scenario, run in runs for line in _failed_checks(scenario, run.variant, run.failed))


def _chosen(seeds: tuple[int, ...], many: int | None, jitter: str | None) -> SeedChoice:
    if many is not None and len(seeds) > 1:
        raise UserError("--seeds counts up from one seed: expected --seed at most once")
    return SeedChoice(seeds, many, None if jitter is None else jitter == "on")


def _read(paths: Iterable[Path | str], versions: Mapping[str, str]) -> list[Scenario]:
    found = [with_versions(read(path), versions) for path in paths]
    for note in dict.fromkeys(note for scenario in found for note in version_notes(scenario.versions)):
        click.echo(note, err=True)
    return found


def _with_tries(plan: Plan, tries: int) -> Plan:
    """The plan with so many tries; says how many runs that may become, before any of them begins."""
    seeds = len(seeds_of(plan))
    runs = f"{tries} tries with {seeds} seeds each, {tries * seeds} runs"
    click.echo(f"{visible(plan.scenario.name)}: advice after at most {runs} beside those asked for (--tries)", err=True)
    return replace(plan, tries=tries)


def _advised(plans: Sequence[Plan], found: Sequence[Measured], print_finished: Callable[[], None]) -> list[Measured]:
    """The documents with their advice. After Ctrl-C what is there without is printed, before `KeyboardInterrupt` goes
    on."""
    advised: list[Measured] = []
    try:
        for plan, (scenario, runs, told) in zip(plans, found, strict=True):
            with plan.naming():
                advised.append((scenario, runs, {**told, "advice": advice_of(plan, runs, run_progress)}))
    except KeyboardInterrupt:
        click.echo("interrupted: the comparison has no advice", err=True)
        print_finished()
        raise
    return advised


def _save(found: Sequence[Measured], report: Path) -> None:
    """The report, and the picture of each advice beside it."""
    from compare.showing.comparison.page import write_comparison
    from compare.showing.pictures.tradeoffs import tradeoffs

    save_report(report, write_comparison(found))
    for at, (scenario, _, each) in enumerate(found):
        if "advice" in each:
            number = f"-{at + 1}" if len(found) > 1 else ""
            picture = tradeoffs(each["advice"], scenario.name)
            save_report(report.with_name(f"{report.stem}-advice{number}.svg"), picture.svg)


def _exit_code(failed: Iterable[str]) -> int:
    """Say which expectations failed; 1 where any did."""
    lines = list(failed)
    for line in lines:
        click.echo(f"failed: {visible(line)}", err=True)
    return 1 if lines else 0


def _check_outputs(report: Path | None, parquet: Path | None) -> None:
    if report is not None:
        check_report(report)
    if parquet is not None:
        check_folder(parquet)


def _only_stories(outputs: Mapping[str, Path | None], advise: bool) -> None:
    if advise:
        raise UserError("--advise: expected no --story or --sequence, which print no comparison")
    for option, given in outputs.items():
        if given is not None:
            raise UserError(f"{option} {given}: expected no --story or --sequence, which print no comparison")


def _of_labels(plans: Sequence[Plan], labels: Sequence[str]) -> list[Plan]:
    """The plans with these variants alone. Raises `UserError` for one that is in none."""
    there = list(dict.fromkeys(variant.label for plan in plans for variant in plan.variants))
    for label in labels:
        if label not in there:
            raise UserError(f"no variant {label!r}, expected one of {', '.join(there)}")
    return [plan.of_labels(labels) for plan in plans]


def _tell(
    plans: Sequence[Plan], stories: Sequence[str], length: str, sequences: Sequence[str], diagram: str
) -> list[str]:
    """Run the variants and print the stories of some, the messages of others; returns what scenarios expect and does
    not hold, a line each."""
    failed = []
    for plan in plans:
        for variant in plan.variants:
            with plan.naming():
                result = run_variant(plan.lived(variant), tracing=variant.label in sequences, full=plan.full)
            failed += _failed_checks(plan.scenario, variant, failures(run_record(result)))
            if variant.label in stories:
                print_text(brief_story(result) if length == "brief" else story(result.timeline))
            if variant.label in sequences:
                print_text(sequence(result.timeline) if diagram == "mermaid" else _sequence_svg(result))
    return failed


def _sequence_svg(result: RunResult) -> str:
    from compare.showing.pictures.messages import sequence_picture

    title = f"{result.variant.scenario.name}: {result.variant.label}"
    return sequence_picture(sequence_diagram(result.timeline), title).svg


def _failed_checks(scenario: Scenario, variant: Variant, failed: Sequence[tuple[str, str]]) -> list[str]:
    """Lines about the checks that a variant failed; ``failed``: name and reason."""
    return [f"{scenario.name}: {variant.label}: {name}: {why}" for name, why in failed]


def _print(
    found: Sequence[Measured], changed: Sequence[Sequence[Change]] | None, format: str, width: int | None, more: bool
) -> None:
    documents: list[Mapping[str, object]] = [each for _, _, each in found]
    if format == "json":
        if changed is not None:
            documents = [{**document, "changes": change} for document, change in zip(documents, changed, strict=True)]
        print_json(documents[0] if len(documents) == 1 else {"scenarios": documents})
        return
    for at, (scenario, _, each) in enumerate(found):
        print_comparison(scenario, each, format, None if changed is None else changed[at], width, more)


def _write_parquet(plans: Sequence[Plan], folder: Path) -> None:
    """The tables need every message: these runs are made anew, one at a time, with nothing left out."""
    results = [
        run_variant(plan.lived(variant), tracing=True, full=plan.full) for plan in plans for variant in plan.variants
    ]
    try:
        paths = write_runs(results, folder, len(plans) > 1)
    except OSError as error:
        raise UserError(f"--parquet {folder}: {error.strerror}, expected a writable folder") from None
    click.echo(f"{len(paths)} tables were written to {folder}.", err=True)


def measured(
    plans: Sequence[Plan], orders: Sequence[RunOrder], print_finished: Callable[[Sequence[Measured]], None]
) -> list[Measured]:
    """Each scenario with its runs and its document.

    After Ctrl-C ``print_finished`` gets the scenarios of which runs are finished, if there are any, before
    `KeyboardInterrupt` goes on. A variant without its first run, whose record tables show, is not among them.
    """
    done: list[list[MeasuredRun]] = [[] for _ in plans]
    try:
        reached = Reached(len(orders))
        with (
            run_progress(len(orders), lambda: reached.runs) as tell,
            closing(run_all(orders, tell, reached=reached)) as runs,
        ):
            for order in orders:
                with plans[order.scenario].naming():
                    run = next(runs)
                done[run.scenario].append(run)
            # The next one does not exist; asking for it lets the processes end.
            next(runs, None)
        return [_measured(plan, of_scenario) for plan, of_scenario in zip(plans, done, strict=True)]
    except KeyboardInterrupt:
        finished = [(plan, told) for plan, runs_ in zip(plans, done, strict=True) if (told := _with_record(runs_))]
        count = sum(len(told) for _, told in finished)
        click.echo(f"interrupted: {count} of {len(orders)} runs are finished", err=True)
        if finished:
            print_finished([_measured(plan, told) for plan, told in finished])
        raise


def _measured(plan: Plan, runs: Sequence[MeasuredRun]) -> Measured:
    return plan.scenario, runs, document(plan.scenario, runs, plan.asked(), beside=plan.beside > 0)


def _with_record(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """The runs of those variants of which a whole record is there."""
    there = {run.variant.label for run in runs if run.record is not None}
    return [run for run in runs if run.variant.label in there]
