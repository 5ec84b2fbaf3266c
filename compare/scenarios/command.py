"""The verb `compare`."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from compare.output import FORMATS, print_json, visible
from compare.scenarios.figures import result
from compare.scenarios.living import Lived, live
from compare.scenarios.parquet import write_runs
from compare.scenarios.render import print_comparison
from compare.scenarios.systems import known_strategies
from compare.scenarios.variants import Chosen, chosen
from protocols.errors import UserError
from protocols.scenario.model import Scenario
from protocols.scenario.reading import read
from protocols.timeline.mermaid import sequence
from protocols.timeline.story import story


@click.command()
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
    full: bool,
    stories: tuple[str, ...],
    sequences: tuple[str, ...],
    parquet: Path | None,
) -> int:
    """Let several systems live through the same scenario and say how each fared.

    With --story or --sequence the text of these variants is printed instead of the comparison. Exit code 1 if
    something that a scenario expects does not hold.
    """
    known = known_strategies()
    read_in = [read(path, known) for path in scenarios]
    planned = [(scenario, chosen(scenario, systems, seeds)) for scenario in read_in]
    told = _told(planned, [*stories, *sequences])
    documents: list[dict[str, Any]] = []
    written: list[Lived] = []
    failed: list[str] = []
    with _progress(sum(len(variants) for _, variants in planned)) as tell:
        for scenario, variants in planned:
            results = []
            for variant in variants:
                if told and variant.label not in told:
                    continue
                tell(f"{scenario.name}: {variant.label}")
                lived = live(variant, tracing=variant.label in sequences or parquet is not None, full=full)
                found = result(lived)
                results.append(found)
                failed += _failures(scenario, variant, found)
                if parquet is not None:
                    written.append(lived)
                if variant.label in stories:
                    click.echo(_printable(story(lived.timeline)), nl=False)
                if variant.label in sequences:
                    click.echo(_printable(sequence(lived.timeline)), nl=False)
            documents.append({"scenario": scenario.name, "variants": results})
    if parquet is not None:
        _write(written, parquet, len(planned) > 1)
    if not told:
        _print(read_in, documents, format)
    for line in failed:
        click.echo(f"failed: {visible(line)}", err=True)
    return 1 if failed else 0


def _print(scenarios: Sequence[Scenario], documents: Sequence[dict[str, Any]], format: str) -> None:
    if format == "json":
        print_json(documents[0] if len(documents) == 1 else {"scenarios": documents})
        return
    for scenario, document in zip(scenarios, documents, strict=True):
        print_comparison(scenario, document["variants"], format)


def _told(planned: Sequence[tuple[Scenario, Sequence[Chosen]]], labels: Sequence[str]) -> set[str]:
    there = list(dict.fromkeys(variant.label for _, variants in planned for variant in variants))
    for label in labels:
        if label not in there:
            raise UserError(f"no variant {label!r}, expected one of {', '.join(there)}")
    return set(labels)


def _failures(scenario: Scenario, variant: Chosen, found: dict[str, Any]) -> list[str]:
    return [
        f"{scenario.name}: {variant.label}: {check['name']}: {check['why']}"
        for check in found["checks"]
        if check["demanded"] and not check["held"]
    ]


def _printable(text: str) -> str:
    return "".join(f"{visible(line)}\n" for line in text.splitlines())


def _write(lived: Sequence[Lived], folder: Path, several: bool) -> None:
    try:
        paths = write_runs(lived, folder, several)
    except OSError as error:
        raise UserError(f"--parquet {folder}: {error.strerror}, expected a folder that can be written") from None
    click.echo(f"{len(paths)} tables are in {folder}.", err=True)


@contextmanager
def _progress(count: int) -> Iterator[Callable[[str], None]]:
    """A spinner that names the variant being run, where standard error is a terminal."""
    if not sys.stderr.isatty() or count == 0:
        yield lambda name: None
        return
    from rich.console import Console
    from rich.text import Text

    done = 0
    with Console(stderr=True).status("running") as status:

        def tell(name: str) -> None:
            nonlocal done
            done += 1
            status.update(Text(f"running {visible(name)} ({done} of {count})"))

        yield tell
