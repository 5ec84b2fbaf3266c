"""The verb `compare`."""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import click

from compare.option_files import check_folder, check_report, read_baseline, save_report
from compare.output import FORMATS, HELP_OPTIONS, print_json, visible
from compare.scenarios.baseline import Change, changes, check_same, documents_of
from compare.scenarios.document import Found, document
from compare.scenarios.figures import result
from compare.scenarios.living import live
from compare.scenarios.parquet import write_runs
from compare.scenarios.reading import read
from compare.scenarios.render import print_comparison
from compare.scenarios.runs import Order, Run, failures, run_all
from compare.scenarios.systems import variant_names
from compare.scenarios.variants import Chosen, chosen
from protocols.errors import UserError
from protocols.scenario.model import Scenario
from protocols.scenario.systems import STATIC
from protocols.timeline.mermaid import sequence
from protocols.timeline.story import story

MOST_SEEDS = 100_000
"""Runs of a variant: their figures are held until the last one is done."""

MANY = 20
"""Runs from which on their number is told where standard error is no terminal."""


class _NamesStrategies(click.Command):
    """Help that ends with all strategies; they are looked up only for those who read it."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.epilog = (
            f"Systems and strategies: {', '.join(variant_names())}. Behind one of kafka's, {STATIC} makes every member "
            "static. docs/strategies.md says what each does."
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
    help="Run this instead of the scenario's systems: kafka:sticky, kafka:range+static, kafka-zookeeper:range, "
    "rocketmq:AVG, a label of the scenario, or several in one word: kafka, kafka-zookeeper, rocketmq, all. "
    "May be given several times.",
)
@click.option("--seed", "seeds", type=int, multiple=True, help="Instead of the scenario's. May be given several times.")
@click.option(
    "--seeds",
    "many",
    type=click.IntRange(1, MOST_SEEDS),
    metavar="N",
    help="Run every variant with N seeds, from the scenario's on, and tell the median, 5th and 95th percentile.",
)
@click.option("--full", is_flag=True, help="Simulate quiet times too, message by message, instead of computing them.")
@click.option(
    "--story", "stories", multiple=True, metavar="LABEL", help="Print what happened in this variant, in words."
)
@click.option(
    "--sequence",
    "sequences",
    multiple=True,
    metavar="LABEL",
    help="Print this variant's messages as a Mermaid diagram.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.html",
    help="Write a report to look at: timelines, figures and a player of the messages, in one file.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="OLD.json",
    help="Say what changed since this comparison, written earlier with --format json.",
)
@click.option(
    "--parquet",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write intervals, rebalances, messages, deliveries, commits, lag and who owns what at the end, for Spark.",
)
def compare(
    scenarios: tuple[str, ...],
    format: str,
    systems: tuple[str, ...],
    seeds: tuple[int, ...],
    many: int | None,
    full: bool,
    stories: tuple[str, ...],
    sequences: tuple[str, ...],
    report: Path | None,
    baseline: Path | None,
    parquet: Path | None,
) -> int:
    """Run a scenario on several systems and compare the results.

    With --story or --sequence the text of these variants is printed instead of the comparison. Exit code 1 if
    something that a scenario expects does not hold.
    """
    before = None if baseline is None else read_baseline(baseline, "compare", documents_of)
    if many is not None and len(seeds) > 1:
        raise UserError("--seeds counts seeds from one on: give --seed once to say which, or not at all")
    read_in = [read(path) for path in scenarios]
    if before is not None:
        check_same(before, [scenario.name for scenario in read_in], str(baseline))
    planned = [(scenario, chosen(scenario, systems, _seeds(scenario, seeds, many))) for scenario in read_in]
    told = _told(planned, [*stories, *sequences])
    if told:
        for option, given in (("--report", report), ("--baseline", baseline), ("--parquet", parquet)):
            if given is not None:
                raise UserError(f"{option} {given}: --story and --sequence print no comparison, leave one of them out")
        return _tell(scenarios, planned, told, stories, sequences, full)
    # Of very many runs only JSON holds every record; tables tell of the first seed and of the figures of all.
    every = format == "json" or many is None
    orders = [
        [
            Order(variant, whole=every or first, drawn=report is not None and first, full=full)
            for variant, first in _with_first(variants)
        ]
        for _, variants in planned
    ]
    if report is not None:
        check_report(report)
    if parquet is not None:
        check_folder(parquet)
    found: list[Found] = []
    done: list[Run] = []
    try:
        with (
            _progress(sum(map(len, orders))) as tell,
            closing(run_all([order for each in orders for order in each], tell)) as runs,
        ):
            for path, (scenario, _), of_scenario in zip(scenarios, planned, orders, strict=True):
                done = []
                with _naming(path):
                    done.extend(islice(runs, len(of_scenario)))
                found.append((scenario, done, document(scenario, done)))
            # The next one does not exist; asking for it lets the processes end.
            next(runs, None)
    except KeyboardInterrupt:
        # The scenario at which it stopped is told of those variants that are finished.
        if len(found) < len(planned) and (finished := _finished(done, planned[len(found)][1])):
            scenario = planned[len(found)][0]
            found.append((scenario, finished, document(scenario, finished)))
        if found:
            _print(found, None, format)
        raise
    changed = None if before is None else [changes(before, each) for _, _, each in found]
    # First what was computed is told: a file that cannot be written takes nothing of it away.
    _print(found, changed, format)
    if parquet is not None:
        _write_parquet(planned, parquet, full)
    if report is not None:
        from compare.scenarios.report.page import write_comparison

        save_report(report, write_comparison(found))
    failed = [
        line for scenario, done, _ in found for run in done for line in _failures(scenario, run.chosen, run.failed)
    ]
    for line in failed:
        click.echo(f"failed: {visible(line)}", err=True)
    return 1 if failed else 0


def _finished(done: Sequence[Run], variants: Sequence[Chosen]) -> list[Run]:
    """The runs of those variants of which no run is missing."""
    wanted, there = (Counter(each.label for each in some) for some in (variants, [run.chosen for run in done]))
    return [run for run in done if there[run.chosen.label] == wanted[run.chosen.label]]


def _seeds(scenario: Scenario, seeds: Sequence[int], many: int | None) -> Sequence[int]:
    if many is None:
        return seeds
    first = seeds[0] if seeds else scenario.run.seed
    return range(first, first + many)


def _with_first(variants: Sequence[Chosen]) -> Iterator[tuple[Chosen, bool]]:
    """Each variant, and whether it is the first with its label."""
    seen: set[str] = set()
    for variant in variants:
        yield variant, variant.label not in seen
        seen.add(variant.label)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """What a variant finds wrong with the scenario is told with its file."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _tell(
    paths: Sequence[str],
    planned: Sequence[tuple[Scenario, Sequence[Chosen]]],
    told: Collection[str],
    stories: Sequence[str],
    sequences: Sequence[str],
    full: bool,
) -> int:
    """Print stories and diagrams; 1 where something that a scenario expects does not hold in these variants."""
    failed = []
    for path, (scenario, variants) in zip(paths, planned, strict=True):
        for variant in variants:
            if variant.label not in told:
                continue
            with _naming(path):
                lived = live(variant, tracing=variant.label in sequences, full=full)
            failed += _failures(scenario, variant, failures(result(lived)))
            if variant.label in stories:
                click.echo(_printable(story(lived.timeline)), nl=False)
            if variant.label in sequences:
                click.echo(_printable(sequence(lived.timeline)), nl=False)
    for line in failed:
        click.echo(f"failed: {visible(line)}", err=True)
    return 1 if failed else 0


def _print(found: Sequence[Found], changed: Sequence[Sequence[Change]] | None, format: str) -> None:
    documents: list[Mapping[str, object]] = [each for _, _, each in found]
    if format == "json":
        if changed is not None:
            documents = [{**each, "changes": change} for each, change in zip(documents, changed, strict=True)]
        print_json(documents[0] if len(documents) == 1 else {"scenarios": documents})
        return
    for at, (scenario, _, each) in enumerate(found):
        print_comparison(scenario, each, format, None if changed is None else changed[at])


def _told(planned: Sequence[tuple[Scenario, Sequence[Chosen]]], labels: Sequence[str]) -> set[str]:
    there = list(dict.fromkeys(variant.label for _, variants in planned for variant in variants))
    for label in labels:
        if label not in there:
            raise UserError(f"no variant {label!r}, expected one of {', '.join(there)}")
    return set(labels)


def _failures(scenario: Scenario, variant: Chosen, failed: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{scenario.name}: {variant.label}: {name}: {why}" for name, why in failed]


def _printable(text: str) -> str:
    return "".join(f"{visible(line)}\n" for line in text.splitlines())


def _write_parquet(planned: Sequence[tuple[Scenario, Sequence[Chosen]]], folder: Path, full: bool) -> None:
    """The tables need every message: these runs are made anew, one at a time, with nothing left out."""
    lived = (live(variant, tracing=True, full=full) for _, variants in planned for variant in variants)
    try:
        paths = write_runs(list(lived), folder, len(planned) > 1)
    except OSError as error:
        raise UserError(f"--parquet {folder}: {error.strerror}, expected a folder that can be written") from None
    click.echo(f"{len(paths)} tables are in {folder}.", err=True)


@contextmanager
def _progress(count: int) -> Iterator[Callable[[Chosen], None]]:
    """On standard error: where it is a terminal, a line that changes; else, of many runs, one line now and then."""
    done = 0
    if sys.stderr.isatty() and count:
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status("running") as status:

            def tell(run: Chosen) -> None:
                nonlocal done
                done += 1
                status.update(Text(f"{done} of {count} runs; {visible(run.scenario.name)}: {visible(run.label)}"))

            yield tell
        return

    def tell_now_and_then(run: Chosen) -> None:
        nonlocal done
        done += 1
        if count >= MANY and done * 10 // count > (done - 1) * 10 // count:
            click.echo(f"{done} of {count} runs", err=True)

    yield tell_now_and_then
