"""The verb `logs`."""

import re
from collections.abc import Sequence
from datetime import timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from compare.logs.analysis import analysed
from compare.logs.document import document
from compare.logs.lines import log_files
from compare.logs.model import GroupLog
from compare.logs.reading import read
from compare.logs.replay import replay
from compare.logs.unnamed import UNNAMED
from compare.running.systems import scenario
from compare.showing.console import print_json
from compare.showing.logs.text import print_logs
from compare.verbs.options import FORMATS, HELP_OPTIONS, check_report, report_option, save_report
from protocols import files
from protocols.errors import UserError
from protocols.scenario.writing import as_yaml

_EAST = re.compile(r"([+-])(\d\d):?(\d\d)$")


@click.command(context_settings=HELP_OPTIONS)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--group", metavar="NAME", help="Only this group.")
@click.option(
    "--zone",
    "zones",
    multiple=True,
    metavar="NAME=ZONE",
    help="Time zone of a file or a container (Europe/Berlin, UTC, +05:30), where the logs do not tell it; repeatable.",
)
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--story", is_flag=True, help="Tell what happened in sentences, in order of time, instead of tables.")
@report_option(
    "Write a report as one HTML file: rebalances and members over time, causes, the lines behind each rebalance."
)
@click.option(
    "--scenario",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.yaml",
    help="Write what happened to one group as a scenario for `equipoise compare`, with remedies as variants.",
)
def logs(
    sources: tuple[str, ...],
    group: str | None,
    zones: tuple[str, ...],
    format: str,
    story: bool,
    report: Path | None,
    scenario: Path | None,
) -> int:
    """Say why the groups in logs of brokers and clients rebalanced, who caused it, and what would help.

    SOURCE is a log file, a folder of them, or - for standard input: of Kafka brokers and clients (Java, librdkafka,
    kafka-python, aiokafka, kafkajs, franz-go) and of RocketMQ brokers, name servers and clients, plain, gzipped,
    rotated, or as printed by docker, kubectl and compose; all may be given together. Layout and zone are recognised by
    content. Where the logs leave a cause open, the candidates are listed with the log that would decide.
    """
    known_zones = _zones(zones)
    if report is not None:
        check_report(report)
    if scenario is not None:
        check_report(scenario, "--scenario")
    files = log_files(sources)
    kept: dict[tuple[str, int], str] | None = None if report is None else {}
    known = read(files, known_zones, kept)
    found = analysed(known.streams, group)
    if group is not None and not found:
        raise UserError(f"--group {group}: not in these logs, expected one of the groups in them")
    if scenario is not None:
        _write_scenario(scenario, [log for log in found if log.kind != UNNAMED])
    result = document(found, known)
    if report is not None:
        from compare.showing.logs.page import write_night

        save_report(report, write_night(found, result, files, kept or {}))
    if format == "json":
        print_json(result)
    else:
        print_logs(result, format, story)
    return 0


def _write_scenario(path: Path, found: Sequence[GroupLog]) -> None:
    if len(found) != 1:
        names = ", ".join(log.group for log in found) or "none"
        raise UserError(f"--scenario {path}: groups in these logs: {names}; expected one of them with --group")
    text = as_yaml(scenario(replay(found[0])))
    try:
        files.write_text(path, text)
    except OSError as error:
        raise UserError(f"--scenario {path}: {error.strerror}, expected a writable file") from None


def _zones(zones: Sequence[str]) -> dict[str, tzinfo]:
    """Time zones by name of file or container."""
    found: dict[str, tzinfo] = {}
    for given in zones:
        name, equals, zone = given.rpartition("=")
        if not equals or not name:
            raise UserError(f"--zone {given}: expected NAME=ZONE, as in broker.log=Europe/Berlin")
        found[name] = _zone(given, zone)
    return found


def _zone(given: str, zone: str) -> tzinfo:
    if match := _EAST.match(zone):
        east = timedelta(hours=int(match.group(2)), minutes=int(match.group(3)))
        if east < timedelta(hours=24):
            return timezone(east if match.group(1) == "+" else -east)
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UserError(f"--zone {given}: no such zone, expected a name as Europe/Berlin or +05:30") from None
