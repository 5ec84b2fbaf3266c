"""The verb `plan`."""

from pathlib import Path

import click

from compare.documents.comparison import Record
from compare.explaining.harm import Telling, harm
from compare.planning.document import document
from compare.planning.routes import route
from compare.planning.simulating import Timing, costs_of, runs_of_steps, story_of
from compare.planning.subject import Subject, Target, of_observed, of_scenario, parse
from compare.reading.gather import check_timeout, live_cluster_options
from compare.running.systems import read
from compare.showing.console import print_json, run_progress
from compare.showing.plan import MOST_PICTURED, print_plan, write_plan
from compare.verbs.options import FORMATS, HELP_OPTIONS, check_report, save_report
from protocols.errors import UserError
from protocols.scenario.fields import milliseconds

MOST_SEEDS = 10_000


@click.command(context_settings=HELP_OPTIONS)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...|SCENARIO.yaml")
@click.option("--group", metavar="NAME", help="The group; may be left out where there is only one.")
@click.option(
    "--to",
    "to",
    required=True,
    metavar="TARGET",
    help="A strategy (cooperative-sticky, uniform, server-range, AVG_BY_CIRCLE, ...), static (static members),"
    " members=N, or queues:TOPIC=N.",
)
@click.option("--from", "today", metavar="STRATEGY", help="The strategy used today, where the source does not say it.")
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
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.html",
    help="Write the plan as one HTML file with the ownership during every step as a picture.",
)
@live_cluster_options("reading the cluster")
def plan(
    sources: tuple[str, ...],
    group: str | None,
    to: str,
    today: str | None,
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
    target = parse(to)
    timing = Timing(_duration("--gap", gap), _duration("--downtime", downtime))
    if timing.gap <= timing.downtime:
        raise UserError(f"--gap {gap}: not longer than --downtime {downtime}, expected a longer time")
    check_timeout(timeout)
    if report is not None:
        check_report(report)
    subject = _subject(sources, group, target, today, command_config, timeout)
    way = route(subject, target)
    steps = sum(step.happens for step in way.steps)
    with run_progress(steps * seeds) as tell:
        costs = costs_of(subject, way, timing, range(seeds), tell)
    stories = [story_of(subject, wrong, timing, _hurting) for wrong in way.wrong]
    found = document(subject, target, way, costs, stories, timing, seeds)
    if format == "json":
        print_json(found)
    else:
        print_plan(found, format)
    if report is not None:
        save_report(report, write_plan(found, runs_of_steps(subject, way, timing, MOST_PICTURED)))
    return 0


def _hurting(record: Record) -> list[str]:
    return [sentence.text for sentence in harm(Telling(record, None))]


def _duration(option: str, given: str) -> float:
    try:
        return milliseconds(given)
    except ValueError as error:
        raise UserError(f"{option}: {error}") from None


def _subject(
    sources: tuple[str, ...],
    group: str | None,
    target: Target,
    today: str | None,
    command_config: Path | None,
    timeout: float,
) -> Subject:
    scenarios = [source for source in sources if source.endswith((".yaml", ".yml"))]
    if scenarios:
        if len(sources) > 1:
            raise UserError(f"{len(sources)} sources with a scenario among them, expected one scenario, or none")
        return of_scenario(read(sources[0]), group, target.system, today)
    from compare.reading.gather import gather

    gathered = gather(sources, command_config=command_config, timeout_s=timeout)
    if not gathered.groups:
        why = gathered.skipped[0].why if gathered.skipped else "nothing was read"
        raise UserError(f"{', '.join(sources)}: no group found ({why}), expected what equipoise audit reads")
    return of_observed(gathered.groups, group, today)
