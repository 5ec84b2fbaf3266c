"""What real clients did, in the form of `equipoise compare`: one variant, ``real``, and its report.

The verb `serve`.
"""

import asyncio
import gc
import json
import re
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from compare.documents.comparison import ScenarioDocument
from compare.explaining.document import Measured, document
from compare.formatting import visible
from compare.running.phases import phases_of
from compare.running.record import run_record
from compare.running.run_variant import RunResult, ending
from compare.running.runs import MeasuredRun
from compare.running.spread import spread_figures
from compare.running.systems import known_strategies, version_notes
from compare.running.variants import Variant
from compare.serving.cluster import Served, start
from compare.serving.history import MOST_MESSAGES, REAL, History
from compare.serving.kept import Keeper, can_be_kept
from compare.serving.rocketmq import RocketMQService
from compare.serving.service import Service
from compare.verbs.options import HELP_OPTIONS, check_report, hear_sigterm, report_option, save_report, takes_versions
from protocols import UserError, files
from protocols.engine.nodes import Time
from protocols.engine.sockets import Sockets
from protocols.scenario import shorthands
from protocols.scenario.fields import milliseconds
from protocols.scenario.model import Scenario, SystemPart

NAME = "real clients"

DEFAULT: Mapping[str, str] = {"kafka": "range", "rocketmq": "AVG"}
"""System to what its clients use if nobody says otherwise. Brokers of RocketMQ are never told a strategy."""

CONCLUDED = (
    "members' ownership is concluded from their requests and the servers' answers; which records a member's"
    " code has handled is not seen, so that redelivered and burst say nothing"
)
"""What the figures rest on."""


def result_of(history: History, service: Service, world: Sockets, end: Time, name: str = NAME) -> RunResult:
    """All that happened until ``end`` (milliseconds), as the result of a run."""
    history.look(end)
    part = SystemPart(system=f"{service.system}:{_strategy(history, service.system)}", label=REAL)
    scenario = history.scenario(name, end, (part,))
    timeline = history.timeline(end, world.messages)
    return RunResult(Variant(scenario, part, 0), timeline, ending(scenario, service.numbering))


def measured(result: RunResult, service: Service, *, with_chart_data: bool) -> Measured:
    """The scenario, its one run, and the document; ``with_chart_data``: the report is to be written."""
    phases = phases_of(result.variant.scenario, service.numbering)
    record = run_record(result, phases)
    chart_data = None
    if with_chart_data:
        from compare.running.chart_data import chart_data_of

        chart_data = chart_data_of(result, phases)
    run = MeasuredRun(result.variant, record, spread_figures(record), (), chart_data)
    scenario = result.variant.scenario
    scenario_document: ScenarioDocument = document(scenario, [run])
    scenario_document["assumptions"] = [{"system": service.system, "text": f"{CONCLUDED}."}]
    return scenario, [run], scenario_document


def _strategy(history: History, system: str) -> str:
    """The strategy that most groups use; where none is known, the one that clients use by default."""
    known = known_strategies()[system].names
    used = Counter(name for name in history.strategies.values() if name in known)
    return max(used, key=lambda name: (used[name], name), default=DEFAULT[system])


_WRITABLE = "expected a writable file"
_NAMES = {"kafka": re.compile(r"[\w.-]{1,249}", re.ASCII), "rocketmq": re.compile(r"[\w%|-]{1,127}", re.ASCII)}
MOST_QUEUES = 10_000
_RARELY = 10_000, 20, 1_000
"""How many objects more, and how many looks through the younger ones, before cycles are looked for: a look through all
topics of a large cluster keeps every client waiting for some 50 ms, and hardly finds any."""


@click.command(context_settings=HELP_OPTIONS)
@click.argument("system", type=click.Choice(("kafka", "rocketmq")))
@click.argument("scenario", required=False, metavar="[SCENARIO.yaml]", type=click.Path(path_type=Path))
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="NAME:COUNT",
    help="A topic with so many partitions, or queues over all brokers; may be given again.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port of the first broker, or of the name server; others follow it. 0: free ones.  [default: 9092 for kafka,"
    " 9876 for rocketmq]",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on and to advertise to clients."
)
@click.option(
    "--advertise",
    metavar="HOST",
    help="Name or address to advertise instead of --host; needed where that is 0.0.0.0 (all of this machine).",
)
@click.option(
    "--initial-delay",
    metavar="TIME",
    help="Kafka: how long the first rebalance of a new group waits for more members"
    " (group.initial.rebalance.delay.ms).  [default: 3s]",
)
@takes_versions
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what the clients did, every few seconds and at the end: JSON in the form of compare, one variant"
    " `real`. For kafka also FILE.jsonl, which conformance plays and which grows while clients are served. Both outlive"
    " a process that is killed.",
)
@report_option("At the end write the same as a report: timelines, figures and a player of the messages.")
def serve(
    system: str,
    scenario: Path | None,
    topics: tuple[str, ...],
    port: int | None,
    host: str,
    advertise: str | None,
    initial_delay: str | None,
    versions: Mapping[str, str],
    record: Path | None,
    report: Path | None,
) -> int:
    """Let real clients use this package's brokers, until Ctrl-C or SIGTERM.

    SYSTEM is kafka or rocketmq. The scenario says which brokers and topics there are, and its events happen at their
    times of the real clock: brokers stop and return, topics come and grow; its members are not started, because
    members are the real clients, so it needs no group and no run. Without one there is one broker. Topics that
    nobody names are created when clients ask for them.

    The first line on standard output says where clients begin. docs/serving.md tells what is served.
    """
    from compare.running.systems import read  # the rest of this verb can do without YAML

    for option, path in (("--record", record), ("--report", report)):
        if path is not None:
            check_report(path, option)
    if system != "kafka" and initial_delay is not None:
        raise UserError(f"--initial-delay {initial_delay}: {system} has no initial delay, expected serve kafka")
    for other, version in versions.items():
        if other != system:
            raise UserError(f"--{other}-version {version}: {system} is served, expected serve {other}")
    settings: Mapping[str, object] = {}
    if initial_delay is not None:
        settings = {"group.initial.rebalance.delay.ms": _milliseconds(initial_delay)}
    given = None if scenario is None else read(scenario, served=True)
    if given is not None and given.scale:
        raise UserError(f"{scenario}: scale: real clients are started by whoever has them, expected no autoscaler")
    chosen = {**({} if given is None else given.versions), **versions}.get(system)
    for note in version_notes({system: chosen} if chosen else {}):
        click.echo(f"serve: {note}", err=True)
    there = _topics(system, topics, given)
    journal = None if record is None or system != "kafka" else record.with_name(f"{record.name}.jsonl")
    name = NAME if given is None else given.name
    kept = None if record is None or not can_be_kept(record) else partial(_keep, name=name, record=record)
    served, end, is_whole = asyncio.run(
        _serve(system, given, there, (host, advertise), port, settings, chosen, journal, report, kept)
    )
    if record is None and report is None:
        return 0
    hear_sigterm()  # the event loop has heard signals until now
    steps = partial(_write, served, end, name, record, report), partial(_make_traces, served, journal)
    return 0 if _all_done(steps, journal) and is_whole else 1


def _all_done(steps: Sequence[Callable[[], None]], journal: Path | None) -> bool:
    """Whether each of the steps has written its file; what has not is told, and ``journal``, which has all."""
    failed = False
    try:
        for write in steps:
            try:
                write()
            except UserError as error:
                failed = True
                click.echo(visible(f"serve: {error}"), err=True)
    except KeyboardInterrupt:
        _tell_kept(journal)
        raise
    if failed:
        _tell_kept(journal)
    return not failed


def _tell_kept(journal: Path | None) -> None:
    kept = "" if journal is None else f"; {journal} holds what was recorded"
    click.echo(visible(f"serve: not all is written{kept}"), err=True)


_DEFAULT_BROKER: Mapping[str, str] = {"kafka": "broker-1", "rocketmq": "broker-a"}


def _topics(system: str, given: Sequence[str], scenario: Scenario | None) -> dict[str, dict[str, int]]:
    """Topic to its queues per broker: those of the scenario, and those that are given as NAME:COUNT."""
    found = {} if scenario is None else {topic: dict(part.queues) for topic, part in scenario.topics.items()}
    for text in given:
        name, colon, count = text.rpartition(":")
        if not (colon and _NAMES[system].fullmatch(name) and count.isdecimal() and 1 <= int(count[:6]) <= MOST_QUEUES):
            raise UserError(f"--topic {text}: expected a name and 1 to {MOST_QUEUES} partitions, such as orders:4")
        if name in found:
            raise UserError(f"--topic {text}: there is a topic {name} already, expected each name once")
        brokers = (_DEFAULT_BROKER[system],) if scenario is None else scenario.brokers
        found[name] = shorthands.queues(int(count), brokers, ("topic",))
    return found


async def _serve(
    system: str,
    scenario: Scenario | None,
    topics: Mapping[str, Mapping[str, int]],
    hosts: tuple[str, str | None],
    port: int | None,
    settings: Mapping[str, object],
    version: str | None,
    record: Path | None,
    report: Path | None,
    keep: Callable[[Served], None] | None,
) -> tuple[Served, Time, bool]:
    """Serve until a signal comes; what was served, when it ended, and whether all that clients of Kafka said was
    written down. ``record``: where; ``keep`` writes what happened until now."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, over.set)
    host, advertised = hosts
    journal = None
    if record is not None:
        from compare.serving.recorded import Journal  # Kafka's alone, with its extra

        journal = Journal(record, settings)
    served = await start(
        system,
        scenario,
        host,
        port,
        settings,
        keeps_messages=report is not None,
        journal=journal,
        topics=topics,
        advertised=advertised,
        version=version,
    )
    gc.collect()
    gc.freeze()  # what is loaded stays: to look through it again would keep every client waiting
    gc.set_threshold(*_RARELY)
    keeper = None if keep is None else Keeper(partial(keep, served), lambda: dict(served.world.messages))
    try:
        click.echo(served.address)
        if isinstance(served.service, RocketMQService):
            click.echo(f"rocketmq: proxy {served.service.proxy}")
        for text in served.passed_over:
            click.echo(f"serve: {text}", err=True)
        await over.wait()
        end = served.world.tell_time()
    finally:
        if keeper is not None:
            keeper.close()
        await served.world.close()
        if journal is not None:
            journal.close()
    return served, end, journal is None or journal.failure is None


def _keep(served: Served, name: str, record: Path) -> None:
    """Write what happened until now; to be called in a process of its own."""
    served.history.listener = None
    result = result_of(served.history, served.service, served.world, served.world.tell_time(), name)
    found = measured(result, served.service, with_chart_data=False)
    files.write_text(record, _json_of(found))


def _json_of(found: Measured) -> str:
    return json.dumps(found[2], indent=1, allow_nan=False) + "\n"


def _write(served: Served, end: Time, name: str, record: Path | None, report: Path | None) -> None:
    result = result_of(served.history, served.service, served.world, end, name)
    found = measured(result, served.service, with_chart_data=report is not None)
    if record is not None:
        _save("--record", record, lambda: _json_of(found))
        if served.service.system != "kafka":
            click.echo("serve: no recording for conformance: its traces are of Kafka's coordinator", err=True)
    if report is not None:
        from compare.showing.comparison.page import write_comparison

        left_out = served.history.messages - MOST_MESSAGES
        if left_out > 0:
            click.echo(f"serve: the report shows the first {MOST_MESSAGES:,} messages, not {left_out:,} more", err=True)
        save_report(report, write_comparison([found]))


def _make_traces(served: Served, journal: Path | None) -> None:
    if journal is None:
        return
    from compare.serving.recorded import make_traces

    try:
        told = make_traces(journal)
    except OSError as error:
        raise UserError(f"--record {journal}: {error.strerror}, {_WRITABLE}") from None
    for text in told:
        click.echo(f"serve: {text}", err=True)


def _save(option: str, path: Path, text: Callable[[], str]) -> None:
    try:
        files.write_text(path, text())
    except OSError as error:
        raise UserError(f"{option} {path}: {error.strerror}, {_WRITABLE}") from None


def _milliseconds(text: str) -> int:
    try:
        return round(milliseconds(text))
    except ValueError as error:
        raise UserError(f"--initial-delay {text}: {error}") from None
