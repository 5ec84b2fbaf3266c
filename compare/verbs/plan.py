"""The verb `plan`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click

from compare.documents.comparison import Record
from compare.explaining.harm import Telling, harm
from compare.formatting import many
from compare.planning.by_library import own_settings
from compare.planning.document import document
from compare.planning.load_routes import reads_on, refuse_by_strategy, settings_with_rates
from compare.planning.promises import has_members, have_restarted, judge
from compare.planning.proof import proof_of
from compare.planning.real_groups import chosen, load_of_observed, of_checked, of_observed, with_library
from compare.planning.routes import route, way
from compare.planning.simulating import Timing, costs_of, runs_of_steps, story_of
from compare.planning.subject import Subject, load_of_scenario, of_scenario
from compare.planning.target import MOST_MEMBERS, Target, parse
from compare.reading.client_libraries import LIBRARIES
from compare.reading.gather import check_timeout, live_cluster_options
from compare.reading.observed import ObservedGroup
from compare.running.systems import read, version_notes, versions_of
from compare.showing.console import print_json, print_line, run_progress
from compare.showing.plan import MOST_PICTURED, print_plan, write_plan
from compare.verbs.options import FORMATS, HELP_OPTIONS, check_report, report_option, save_report, takes_versions
from protocols.errors import UserError
from protocols.scenario.fields import milliseconds

MOST_SEEDS = 10_000

RATE_OVER_S = 10.0
"""Between two readings of a running cluster for its rates."""


@click.command(context_settings=HELP_OPTIONS)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...|SCENARIO.yaml")
@click.option("--group", metavar="NAME", help="The group; may be left out where there is only one.")
@click.option(
    "--to",
    "to",
    required=True,
    metavar="TARGET",
    help="A strategy (cooperative-sticky, uniform, server-range, AVG_BY_CIRCLE, ...), static (static members),"
    " members=N, queues:TOPIC=N, load-aware (a strategy of your own that knows rates) or load-aware:assign (lists for"
    " assign()).",
)
@click.option("--from", "today", metavar="STRATEGY", help="The strategy used today, where the source does not say it.")
@click.option(
    "--library",
    type=click.Choice(tuple(LIBRARIES)),
    help="The client library of all members of a Kafka group, which no source shows.",
)
@takes_versions
@click.option(
    "--check",
    type=click.IntRange(1, 9),
    metavar="STEP",
    help="Judge whether SOURCE shows what this step promised: exit code 0, or 1 with one line that says what it does"
    " not show, or shows otherwise. --from names the strategy before the first step.",
)
@click.option(
    "--before",
    metavar="SOURCE",
    help="With --check: what the source showed before the step, which tells who has restarted since.",
)
@click.option(
    "--members",
    "count",
    type=click.IntRange(1, MOST_MEMBERS),
    metavar="N",
    help="With --check: how many members the group had.",
)
@click.option(
    "--rate-over",
    type=click.FloatRange(1, 3600),
    metavar="SECONDS",
    help="Read running clusters twice, this far apart, for the rates of their queues; 10 s for load-aware.",
)
@click.option(
    "--capacity",
    type=click.FloatRange(0, min_open=True),
    metavar="RECORDS",
    help="With load-aware: records per second that a member can handle, which no source shows.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    default=20,
    show_default=True,
    metavar="N",
    help="Simulate each step with N seeds; starts, clocks and event times depend on the seed.",
)
@click.option("--gap", default="20s", show_default=True, metavar="TIME", help="From one restart to the next.")
@click.option("--downtime", default="5s", show_default=True, metavar="TIME", help="How long a restart takes.")
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@report_option("Write the plan as one HTML file with the ownership during every step as a picture.")
@live_cluster_options("reading the cluster")
def plan(
    sources: tuple[str, ...],
    group: str | None,
    to: str,
    today: str | None,
    library: str | None,
    versions: Mapping[str, str],
    check: int | None,
    before: str | None,
    count: int | None,
    rate_over: float | None,
    capacity: float | None,
    seeds: int,
    gap: str,
    downtime: str,
    format: str,
    report: Path | None,
    command_config: Path | None,
    timeout: float,
) -> int:
    """Plan how a group gets from its present way of sharing queues to another one, and what each step costs.

    SOURCE is what `equipoise audit` reads (output of the admin tools, or kafka://... or rocketmq://...); a scenario
    (one file that ends with .yaml or .yml) is planned for as its group is when its events are over. Costs are
    simulated: of a real group with the settings and the load that the plan names as assumptions.
    """
    target = replace(parse(to), capacity=capacity)
    timing = Timing(_duration("--gap", gap), _duration("--downtime", downtime))
    if timing.gap <= timing.downtime:
        raise UserError(f"--gap {gap}: not longer than --downtime {downtime}, expected a longer time")
    check_timeout(timeout)
    if report is not None:
        check_report(report)
    if check is None:
        _refuse_alone(before, count)
    over = _rate_over(target, rate_over)
    scenario = _scenario(sources)
    if check is not None:
        if scenario is not None:
            raise UserError(f"--check {check}: {scenario} is a scenario, expected what equipoise audit reads")
        after = _observed(sources, group, command_config, timeout, over, ask_brokers=True)
        earlier = None if before is None else _observed((before,), after.name, command_config, timeout)
        return _check(after, earlier, target.of(after.system), today, library, check, count)
    observed = None if scenario is not None else _observed(sources, group, command_config, timeout, over)
    subject = _subject(observed, scenario, group, target, today)
    target = target.of(subject.system)
    subject = _with_versions(subject if library is None else with_library(subject, library), versions)
    found_route = route(subject, target)
    for step in found_route.steps:
        own_settings(subject, step)
    steps = sum(step.happens for step in found_route.steps)
    with run_progress(steps * seeds) as tell:
        costs = costs_of(subject, found_route, timing, range(seeds), tell)
    stories = [story_of(subject, wrong, timing, _hurting) for wrong in found_route.wrong]
    proof = proof_of(subject, found_route)
    found = document(subject, target, found_route, costs, stories, timing, seeds, proof)
    print_json(found) if format == "json" else print_plan(found, format)
    if report is not None:
        save_report(report, write_plan(found, runs_of_steps(subject, found_route, timing, MOST_PICTURED)))
    return 0


def _subject(
    observed: ObservedGroup | None,
    scenario: str | None,
    group: str | None,
    target: Target,
    today: str | None,
) -> Subject:
    """The observed group, else the scenario's; with its load where the target is one by load."""
    if observed is not None:
        subject = of_observed(observed, today)
        if target.by_load == "strategy":
            refuse_by_strategy(subject, target.text)
        load = load_of_observed(subject, observed, target.capacity) if target.by_load else None
    else:
        written = read(str(scenario))
        subject = of_scenario(written, group, target.system, today)
        load = load_of_scenario(written, subject, today, target.capacity) if target.by_load else None
    return subject if load is None else settings_with_rates(subject, load)


def _rate_over(target: Target, given: float | None) -> float | None:
    """Seconds between two readings for rates; None: nobody asks for them."""
    if target.capacity is not None and not target.by_load:
        raise UserError(f"--capacity {target.capacity:g}: what members can handle, expected --to load-aware beside it")
    return given or (RATE_OVER_S if target.by_load else None)


def _refuse_alone(before: str | None, count: int | None) -> None:
    """Options that mean nothing without --check."""
    if count is not None:
        raise UserError(f"--members {count}: says how many members a group had, expected --check beside it")
    if before is not None:
        raise UserError(f"--before {before}: says how a group was before a step, expected --check beside it")


def _with_versions(subject: Subject, given: Mapping[str, str]) -> Subject:
    for system, version in given.items():
        if system != subject.system:
            raise UserError(
                f"--{system}-version {version}: the group is {subject.system}'s, expected one of"
                f" {versions_of(system).system}'s"
            )
    versions = {**subject.versions, **given}
    for note in version_notes(versions):
        click.echo(note, err=True)
    told = [
        f"{versions_of(system).system}'s brokers are of version {version}, as --{system}-version says."
        for system, version in given.items()
    ]
    return replace(subject, versions=versions, assumptions=(*subject.assumptions, *told))


def _hurting(record: Record) -> list[str]:
    return [sentence.text for sentence in harm(Telling(record, None))]


def _duration(option: str, given: str) -> float:
    try:
        return milliseconds(given)
    except ValueError as error:
        raise UserError(f"{option}: {error}") from None


def _scenario(sources: tuple[str, ...]) -> str | None:
    scenarios = [source for source in sources if source.endswith((".yaml", ".yml"))]
    if scenarios and len(sources) > 1:
        raise UserError(f"{len(sources)} sources with a scenario among them, expected one scenario, or none")
    return sources[0] if scenarios else None


def _observed(
    sources: tuple[str, ...],
    group: str | None,
    command_config: Path | None,
    timeout: float,
    rate_over: float | None = None,
    ask_brokers: bool = False,
) -> ObservedGroup:
    from compare.reading.rates import gather_rated

    gathered = gather_rated(sources, lambda name: None, command_config, timeout, rate_over, ask_brokers)
    if not gathered.groups:
        why = gathered.skipped[0].why if gathered.skipped else "nothing was read"
        raise UserError(f"{', '.join(sources)}: no group found ({why}), expected what equipoise audit reads")
    return chosen(gathered.groups, group)


def _check(
    observed: ObservedGroup,
    before: ObservedGroup | None,
    target: Target,
    today: str | None,
    library: str | None,
    number: int,
    count: int | None,
) -> int:
    subject = of_checked(observed, target, today)
    steps = way(subject if library is None else with_library(subject, library), target).steps
    if number > len(steps):
        raise UserError(f"--check {number}: the plan has {many(len(steps), 'step')}, expected one of them")
    step = steps[number - 1]
    promises = [*step.promises, *([have_restarted(step.unseen, before)] if step.unseen else [])]
    promises += [reads_on(before)] if step.reads_on else []
    promises += [] if count is None or target.members or step.reads_on else [has_members(count)]
    verdict = judge(promises, observed, number)
    print_line(verdict.line)
    return 0 if verdict.holds else 1
