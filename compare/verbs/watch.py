"""The verb `watch`."""

import gc
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import click

from compare.formatting import visible
from compare.reading import kafka_live
from compare.reading.gather import Gathered, check_timeout, gather, live_cluster_options
from compare.reading.sources import Known
from compare.showing.watching import JsonLines, Lines, LiveTable
from compare.verbs.options import FORMATS, HELP_OPTIONS
from compare.watching.exporter import MOST_GROUPS, Exporter, address_of, serve
from compare.watching.polling import Failure, Listener, Poll, Source, Watch, sources_of
from compare.watching.recording import Recorder
from compare.watching.world import RealWorld, run
from protocols import UserError
from protocols.scenario.fields import milliseconds

_SHORTEST_S, _LONGEST_S = 0.1, 7 * 86_400.0
_GIGABYTE = 10**9


@click.command(context_settings=HELP_OPTIONS)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--every", default="30s", show_default=True, metavar="TIME", help="From one poll to the next.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Folder for the snapshots, one Parquet file per poll and cluster; `equipoise history` reads them.",
)
@click.option(
    "--prometheus",
    metavar="HOST:PORT",
    help="Offer the figures to Prometheus at http://HOST:PORT/metrics (port 0: a free one).",
)
@click.option(
    "--prometheus-groups",
    type=click.IntRange(1, 100_000),
    default=MOST_GROUPS,
    show_default=True,
    metavar="N",
    help="Groups per cluster with samples of their own; the rest is counted in one figure.",
)
@click.option(
    "--prometheus-partitions", is_flag=True, help="Offer the lag of each partition, too: a sample for each of them."
)
@click.option("--polls", type=click.IntRange(1), metavar="N", help="End after N polls of every cluster.")
@click.option(
    "--keep-days",
    type=click.IntRange(1),
    default=35,
    show_default=True,
    metavar="N",
    help="Remove snapshots of days before the last N.",
)
@click.option(
    "--keep-gb",
    type=click.FloatRange(0.001, min_open=False),
    default=20.0,
    show_default=True,
    metavar="N",
    help="Remove the oldest snapshots while all together take more than N gigabytes.",
)
@click.option("--format", type=click.Choice(FORMATS), default="table", show_default=True)
@live_cluster_options("reading one cluster")
def watch(
    sources: tuple[str, ...],
    every: str,
    out: Path,
    prometheus: str | None,
    prometheus_groups: int,
    prometheus_partitions: bool,
    polls: int | None,
    keep_days: int,
    keep_gb: float,
    format: str,
    command_config: Path | None,
    timeout: float,
) -> int:
    """Poll clusters, keep a snapshot of each poll, and tell what changed, until Ctrl-C or SIGTERM.

    SOURCE is kafka://host:port[,host:port...], rocketmq://host:port[;host:port...], or a folder with output of the
    admin tools, each of which is a cluster; single files together are one. NAME=SOURCE gives a cluster its name. On a
    terminal a table shows the groups that cost most; elsewhere each poll is a line, with --format json an object per
    line.
    """
    every_s = _seconds(every)
    clusters = sources_of(sources)
    if find_spec("pyarrow") is None:
        raise UserError("watch needs the package pyarrow, expected after: pip install 'equipoise[watch]'")
    check_timeout(timeout)
    of_kafka = [cluster.name for cluster in clusters if cluster.arguments[0].startswith(kafka_live.SCHEME)]
    if command_config is not None and not of_kafka:
        raise UserError(f"--command-config {command_config}: applies only to a source kafka://host:port")
    names = [source.name for source in clusters]
    exporter = None if prometheus is None else Exporter(names, prometheus_groups, prometheus_partitions)
    known: dict[str, Known] = {}

    def read(source: Source) -> Gathered:
        config = command_config if source.name in of_kafka else None
        return gather(source.arguments, command_config=config, timeout_s=timeout, known=known)

    world = RealWorld(read)
    recorder = Recorder(out, keep_days, int(keep_gb * _GIGABYTE), _say, _in_thread)
    recorder.prepare(names)
    try:
        with ExitStack() as stack:
            stack.enter_context(world.hearing_signals())
            # What is kept comes first: whoever reads a line finds its snapshot.
            listeners: list[Listener] = [recorder]
            if exporter is not None and prometheus is not None:
                listeners.append(_served(exporter, prometheus, stack))
            listeners += [_teller(format, stack), _CycleCollector()]
            watching = Watch(clusters, every_s, world.now(), polls)
            run(watching, world, listeners)
    finally:
        is_complete = recorder.close()
    if not is_complete:
        return 1
    return 0 if world.is_stopped or watching.found_anything else 2


def _served(exporter: Exporter, address: str, stack: ExitStack) -> Exporter:
    host, asked = address_of(address)
    port, end = serve(exporter, host, asked)
    stack.callback(end)
    _say(f"figures for Prometheus: http://{f'[{host}]' if ':' in host else host}:{port}/metrics")
    return exporter


def _teller(format: str, stack: ExitStack) -> Listener:
    if format == "json":
        return JsonLines()
    if format == "table" and sys.stdout.isatty():
        return stack.enter_context(LiveTable())
    return Lines(format)


class _CycleCollector:
    """Looks for cycles of objects between polls. Python would look again and again while a poll's hundred thousand
    small records are made, which takes a quarter of the time and finds none."""

    _FULL = 50

    def __init__(self) -> None:
        self._events = 0
        gc.disable()

    def polled(self, poll: Poll) -> None:
        """Look among what is new, now and then among everything."""
        self._events += 1
        gc.collect(2 if self._events % self._FULL == 0 else 1)

    def failed(self, failure: Failure) -> None:
        """Failures have tracebacks, which are cycles."""
        gc.collect(1)


def _seconds(every: str) -> float:
    try:
        seconds = milliseconds(every) / 1000
    except ValueError as error:
        raise UserError(f"--every: {error}") from None
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise UserError(f"--every {every}: expected a time from 100ms to 7d")
    return seconds


def _in_thread(work: Callable[[], None]) -> None:
    """A thread that the end of the program does not wait for."""
    threading.Thread(target=work, name="compact", daemon=True).start()


def _say(line: str) -> None:
    click.echo(visible(line), err=True)
