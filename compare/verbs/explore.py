"""The verb `explore`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

import click

from compare.explaining.document import Measured
from compare.explaining.document import document as explained
from compare.exploring.answers import (
    MOST_FIRINGS,
    Answers,
    ExploreDocument,
    LikelihoodDocument,
    Token,
    answered,
    document,
    fingerprint,
    read_token,
    retold,
    steps_in,
)
from compare.exploring.fencing import in_words, late_commits
from compare.exploring.likelihood import SECONDS, likelihoods
from compare.exploring.properties import NAMES, Subject, default_property, subject_of
from compare.exploring.search import Limits
from compare.exploring.story import Step, as_run
from compare.exploring.walks import STEPS, Chance, answered_by_chance
from compare.running.chart_data import chart_data_of
from compare.running.phases import phases_of
from compare.running.record import run_record
from compare.running.runs import MeasuredRun
from compare.running.systems import read, system_of, version_notes, with_versions
from compare.running.variants import Variant, variants_of
from compare.showing.console import left, print_json, print_line, print_table
from compare.verbs.options import FORMATS, HELP_OPTIONS, check_report, report_option, save_report, takes_versions
from protocols.engine.exploration import Bounds
from protocols.errors import UserError
from protocols.scenario.fields import duration_text
from protocols.scenario.model import Scenario
from protocols.timeline.sequence import sequence

TELLS_EVERY = 2.0
"""Seconds between two lines of progress."""

FIRINGS = click.IntRange(0, MOST_FIRINGS)


@click.command(context_settings=HELP_OPTIONS)
@click.argument("scenario", metavar="SCENARIO.yaml")
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--system", metavar="NAME", help="System, or variant of the scenario, to explore (default: its first).")
@click.option(
    "--property",
    "properties",
    multiple=True,
    type=click.Choice(NAMES),
    metavar="NAME",
    help=f"Property to check: {', '.join(NAMES)}. May be given several times. Left out:"
    " single-owner-per-generation; single-owner for systems without generations.",
)
@click.option("--depth", type=click.IntRange(0), metavar="N", help="Stop after so many steps.")
@click.option("--states", type=click.IntRange(1), metavar="N", help="Stop at so many states.")
@click.option("--seconds", type=click.FloatRange(0), metavar="N", help="Stop after so many seconds.")
@click.option("--client-firings", type=FIRINGS, default=2, show_default=True, help="Timer firings per client.")
@click.option("--broker-firings", type=FIRINGS, default=1, show_default=True, help="Timer firings per server.")
@click.option(
    "--every-timer",
    is_flag=True,
    help="Let timers fire, too, that find nothing new while topics and brokers stay as they are.",
)
@click.option("--random", "by_chance", is_flag=True, help="Draw random stories instead of searching all.")
@click.option(
    "--examples",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Random stories drawn for each property, at most.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random stories.")
@click.option(
    "--random-runs",
    "runs",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    metavar="N",
    help="Simulated runs that say how likely a violation is; as many as 30 s allow, 0: none.",
)
@click.option("--sequence", "with_sequence", is_flag=True, help="Print each story as a Mermaid diagram, too.")
@report_option("Write the stories as one HTML file with a player of the messages.")
@click.option("--replay", metavar="TOKEN", help="Tell the story of a token again.")
@takes_versions
def explore(
    scenario: str,
    format: str,
    system: str | None,
    properties: tuple[str, ...],
    depth: int | None,
    states: int | None,
    seconds: float | None,
    client_firings: int,
    broker_firings: int,
    every_timer: bool,
    by_chance: bool,
    examples: int,
    seed: int,
    runs: int,
    with_sequence: bool,
    report: Path | None,
    replay: str | None,
    versions: Mapping[str, str],
) -> int:
    """Search everything that can happen in SCENARIO.yaml for a violation of a property.

    The group settles first. From there messages may be late for as long as they like, timers fire in any order, and the
    scenario's events, which keep their order, come at any moment. A property that does not hold is answered with a
    shortest story and a token that tells it again. Where that is too much, --random draws stories of at most --depth
    steps (default 60) with hypothesis, and shrinks one that violates a property. Beside each answer stands in how many
    simulated runs, each with other times, the property is violated. The exit code is 1 if a property does not hold.
    """
    if report is not None:
        check_report(report)
    read_ = _read(scenario, versions)
    if replay is not None:
        token = _token(replay, scenario, read_)
        subject = subject_of(_variant(read_, system or token.system), (token.property,), token.bounds)
        found, runs = retold(subject, token), 0
    else:
        variant = _variant(read_, system)
        asked = tuple(dict.fromkeys(properties)) or (default_property(variant.part.system),)
        subject = subject_of(variant, asked, Bounds(client_firings, broker_firings, every_timer))
        if by_chance:
            found = answered_by_chance(subject, asked, Chance(examples, seed, depth or STEPS, seconds))
        else:
            found = answered(subject, asked, Limits(depth, states, seconds), _Progress())
    longest = SECONDS if seconds is None else min(seconds, SECONDS)
    likely = likelihoods(subject, found.asked, runs, longest, _RunProgress())
    fencing = {name: late_commits(subject, actions) for name, (actions, _) in found.stories.items()}
    told = document(subject, found, likely, fencing)
    if format == "json":
        print_json(told)
    else:
        _print(subject, told, format)
    if with_sequence and format != "json":
        _print_sequences(subject, found)
    if report is not None:
        from compare.showing.comparison.page import write_comparison

        shown = [_measured(subject, name, steps_in(subject, found, name)) for name in found.stories]
        save_report(report, write_comparison(shown))
    return 1 if found.stories else 0


def _variant(scenario: Scenario, system: str | None) -> Variant:
    variants = variants_of(scenario, () if system is None else (system,), like_for_like=False)
    if len(variants) > 1:
        others = ", ".join(variant.label for variant in variants[1:])
        click.echo(f"{variants[0].label} is explored; --system chooses another one: {others}", err=True)
    return variants[0]


def _read(path: str, versions: Mapping[str, str]) -> Scenario:
    found = with_versions(read(path), versions)
    for note in version_notes(found.versions):
        click.echo(note, err=True)
    if found.scale:
        raise UserError(f"{path}: scale: autoscalers go by time, which is not explored, expected none")
    return found


def _token(text: str, path: str, scenario: Scenario) -> Token:
    token = read_token(text)
    if token.fingerprint != fingerprint(scenario):
        raise UserError(
            f"--replay: the token is of another scenario than {path}, or of other versions, expected its own"
        )
    return token


class _Progress:
    """Says on standard error how far a search has come."""

    def __init__(self) -> None:
        self._began = self._told = monotonic()

    def __call__(self, depth: int, states: int) -> None:
        now = monotonic()
        if now - self._told > TELLS_EVERY:
            self._told = now
            rate = states / (now - self._began)
            click.echo(f"{depth} steps: {states:,} states, {rate:,.0f} a second", err=True)


class _RunProgress:
    """Says on standard error how many random runs are done."""

    def __init__(self) -> None:
        self._began = self._told = monotonic()

    def __call__(self, done: int, runs: int) -> None:
        now = monotonic()
        if now - self._told > TELLS_EVERY:
            self._told = now
            click.echo(f"{done:,} of {runs:,} random runs{left(done, runs, now - self._began)}", err=True)


def _print(subject: Subject, told: ExploreDocument, format: str) -> None:
    rows = [
        [
            each["name"],
            "holds" if each["held"] else "does not hold",
            "" if each["steps"] is None else str(each["steps"]),
            _share(each["likelihood"]),
        ]
        for each in told["properties"]
    ]
    columns = [("property", "left"), ("answer", "left"), ("steps", "right"), ("violated in random runs", "right")]
    print_table(columns, rows, format, f"{subject.variant.scenario.name}: {subject.variant.label}")
    how = "no limit was hit" if told["complete"] else "not all there are"
    print_line(
        f"{told['states']:,} states ({how}), {told['transitions']:,} transitions, {told['seconds']:.1f} s", format
    )
    if any(each["likelihood"] for each in told["properties"]):
        low, high = subject.variant.scenario.run.latency
        print_line(
            "Random runs are simulations, each with other start and event times; a message takes"
            f" {duration_text(low)} to {duration_text(high)}. The search lets it take as long as it likes."
            " In brackets: 95 % confidence.",
            format,
        )
    for each in told["properties"]:
        if not each["held"]:
            print_line(each["name"], format, heading=True)
            _print_story(each["story"], each["steps"] or 0, format)
            for commit in each["fencing"]:
                print_line(in_words(commit), format)
            print_line(f"--replay {each['token']}", format)


def _share(likelihood: LikelihoodDocument | None) -> str:
    if likelihood is None:
        return "-"
    low, high = (f"{100 * end:.2g} %" for end in likelihood["interval_95"])
    return f"{likelihood['violated']:,} of {likelihood['random_runs']:,} ({low} to {high})"


def _measured(subject: Subject, name: str, steps: Sequence[Step]) -> Measured:
    """A story that violates a property, as a scenario of its own."""
    result = as_run(subject, steps)
    variant = result.variant
    phases = phases_of(variant.scenario, system_of(variant.part.system).numbering)
    run = MeasuredRun(variant, run_record(result, phases), {}, (), chart_data_of(result, phases))
    about = f"A story of {len(steps)} steps that violates {name}; each step takes a tenth of a second here."
    scenario = variant.scenario.model_copy(update={"name": f"{variant.scenario.name}: {name}", "about": about})
    return scenario, [run], explained(scenario, [run])


def _print_story(story: Sequence[str], steps: int, format: str) -> None:
    for at, sentence in enumerate(story, 1):
        print_line(f"{at}. {sentence}" if at <= steps else sentence, format)


def _print_sequences(subject: Subject, found: Answers) -> None:
    for name in found.stories:
        click.echo(f"\n{name}\n\n```mermaid", nl=True)
        click.echo(sequence(as_run(subject, steps_in(subject, found, name)).timeline), nl=False)
        click.echo("```")
