"""The listener that offers figures to Prometheus, by Prometheus' own client library (extra ``watch``).

Labels are cluster, system and group, and topic where a figure is of one; of single partitions only where they are asked
for. A figure that is not told has no sample. While a cluster does not answer its figures are left out, because nobody
knows them; its counters stay.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compare.figures.metrics import COLUMNS
from compare.formatting import visible
from compare.reading.observed import ObservedGroup
from compare.reading.rocketmq.lines import is_retry
from compare.reading.sources import SERVER
from compare.watching.changes import Key, SeenGroup
from compare.watching.polling import Failure, Poll
from protocols import UserError

if TYPE_CHECKING:
    from prometheus_client import Metric

MISSING = "--prometheus needs the package prometheus_client, expected after: pip install 'equipoise[watch]'"
DEFAULT_PORT = 9308
MOST_GROUPS = 1000
"""Groups of one cluster that get samples of their own; the rest is counted in one figure."""

_LABELS = ("cluster", "system", "group")
_INFO = ("state", "kind", "strategy", "coordinator")


@dataclass(frozen=True, slots=True)
class _Cluster:
    """The last that is known of a cluster. ``groups``: those with samples; ``beyond``: how many have none."""

    is_up: bool = False
    groups: Sequence[SeenGroup] = ()
    count: int = 0
    beyond: int = 0
    at: float | None = None
    took_s: float | None = None
    polls: int = 0
    failures: int = 0


class Exporter:
    """A collector of `prometheus_client`, and the listener that feeds it. ``clusters``: names of all of them;
    ``partitions``: whether each partition's lag has a sample."""

    def __init__(self, clusters: Iterable[str], most_groups: int = MOST_GROUPS, partitions: bool = False) -> None:
        self._most, self._partitions = most_groups, partitions
        self._clusters: dict[str, _Cluster] = {name: _Cluster() for name in clusters}
        self._chosen: dict[str, set[Key]] = {name: set() for name in self._clusters}

    def polled(self, poll: Poll) -> None:
        """A group that has samples keeps them while it exists; free places go to the worst of the others."""
        there = {group.state.key for group in poll.groups}
        chosen = self._chosen[poll.cluster] & there
        for group in poll.groups:
            if len(chosen) >= self._most:
                break
            chosen.add(group.state.key)
        self._chosen[poll.cluster] = chosen
        before = self._clusters[poll.cluster]
        shown = sorted((group for group in poll.groups if group.state.key in chosen), key=lambda group: group.state.key)
        # One assignment: a scrape, which comes in another thread, sees one poll or the other.
        self._clusters[poll.cluster] = _Cluster(
            True,
            shown,
            len(poll.groups),
            len(poll.groups) - len(shown),
            poll.at,
            poll.took_s,
            before.polls + 1,
            before.failures,
        )

    def failed(self, failure: Failure) -> None:
        """Nothing is known of the cluster now."""
        before = self._clusters[failure.cluster]
        self._clusters[failure.cluster] = _Cluster(
            False, before.groups, 0, 0, before.at, None, before.polls, before.failures + 1
        )

    def collect(self) -> Iterator["Metric"]:
        """What a scrape gets."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        clusters = sorted(self._clusters.items())
        for metric in COLUMNS["gauges"]:
            gauge = GaugeMetricFamily(f"equipoise_group_{metric.column}", metric.heading, labels=_LABELS)
            for cluster, known in clusters:
                for seen in known.groups if known.is_up else ():
                    figure = seen.figures.get(metric.path)
                    if figure is not None:
                        gauge.add_metric(_labels(cluster, seen), float(figure))
            yield gauge
        for metric in COLUMNS["counters"]:
            counter = CounterMetricFamily(f"equipoise_group_{metric.column}", metric.heading, labels=_LABELS)
            for cluster, known in clusters:
                for seen in known.groups:
                    total = seen.figures[metric.path]
                    if total is not None:
                        counter.add_metric(_labels(cluster, seen), float(total))
            yield counter
        yield from self._details([(name, seen) for name, known in clusters if known.is_up for seen in known.groups])
        yield from self._of_clusters(clusters)

    def _details(self, groups: Sequence[tuple[str, SeenGroup]]) -> Iterator["Metric"]:
        """What has more labels than the group's."""
        from prometheus_client.core import GaugeMetricFamily

        info = GaugeMetricFamily(
            "equipoise_group_info", "What the group is, as labels; always 1.", labels=_LABELS + _INFO
        )
        lags, ages, partitions = (
            GaugeMetricFamily(f"equipoise_group_{name}", about, labels=_LABELS + labels)
            for name, about, labels in (
                ("topic_lag_records", "Records of the topic that wait to be read.", ("topic",)),
                (
                    "topic_lag_estimated_seconds",
                    "Age of the topic's oldest record that waits: an estimate from the offsets of earlier polls.",
                    ("topic",),
                ),
                (
                    "partition_lag_records",
                    "Records of the partition (queue) that wait to be read.",
                    ("topic", "broker", "partition"),
                ),
            )
        )
        for cluster, seen in groups:
            labels, observed = _labels(cluster, seen), seen.state.group.observed
            told = observed.state, seen.state.kind, observed.strategy, observed.coordinator
            info.add_metric((*labels, *(visible(text or "") for text in told)), 1.0)
            for topic, lag in _topic_lags(observed).items():
                lags.add_metric((*labels, visible(topic)), float(lag))
            for topic, age in seen.waiting.ages_s.items():
                ages.add_metric((*labels, visible(topic)), age)
            for queue, of_queue in observed.lag.items() if self._partitions else ():
                if of_queue is not None:
                    place = visible(queue.topic), visible(queue.broker), str(queue.number)
                    partitions.add_metric((*labels, *place), float(of_queue))
        yield from (info, lags, ages, *([partitions] if self._partitions else []))

    def _of_clusters(self, clusters: Sequence[tuple[str, "_Cluster"]]) -> Iterator["Metric"]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        of_clusters: Mapping[str, tuple[str, Callable[[_Cluster], float | None]]] = {
            "up": ("1 where the last attempt to read the cluster succeeded, else 0.", lambda known: known.is_up),
            "groups": ("Groups of the cluster.", lambda known: known.count if known.is_up else None),
            "groups_beyond_limit": (
                "Groups that have no samples, because there are too many.",
                lambda known: known.beyond if known.is_up else None,
            ),
            "last_poll_timestamp_seconds": ("When the cluster was last read.", lambda known: known.at),
            "poll_duration_seconds": ("How long the last reading took.", lambda known: known.took_s),
        }
        for name, (about, of) in of_clusters.items():
            gauge = GaugeMetricFamily(f"equipoise_{name}", about, labels=("cluster",))
            for cluster, known in clusters:
                amount = of(known)
                if amount is not None:
                    gauge.add_metric((cluster,), float(amount))
            yield gauge
        polls = CounterMetricFamily("equipoise_polls", "Polls of the cluster.", labels=("cluster", "result"))
        for cluster, known in clusters:
            polls.add_metric((cluster, "read"), known.polls)
            polls.add_metric((cluster, "failed"), known.failures)
        yield polls


def _topic_lags(group: ObservedGroup) -> dict[str, int]:
    """Records that wait per topic, as the group's lag counts them; topics of which a queue's end is unknown are left
    out."""
    found: dict[str, int] = {}
    unknown = {queue.topic for queue in group.endless}
    for queue, lag in group.lag.items():
        if lag is not None and queue.topic not in unknown and not is_retry(queue.topic):
            found[queue.topic] = found.get(queue.topic, 0) + lag
    return found


def _labels(cluster: str, seen: SeenGroup) -> tuple[str, str, str]:
    system, group = seen.state.key
    return cluster, system, visible(group)


def address_of(text: str) -> tuple[str, int]:
    """Host and port of ``--prometheus``; `UserError` if it is none."""
    found = SERVER.fullmatch(text)
    port = DEFAULT_PORT if found is None or found["port"] is None else int(found["port"])
    if found is None or port > 65535:
        raise UserError(f"--prometheus {text}: expected HOST:PORT, such as 127.0.0.1:{DEFAULT_PORT}")
    return found["host"].strip("[]"), port


def serve(exporter: Exporter, host: str, port: int) -> tuple[int, Callable[[], None]]:
    """Offer the figures at ``http://host:port/metrics`` (port 0: a free one) from a thread of its own. Returns the port
    and what ends it; `UserError` where nothing can listen there or the library is missing."""
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ModuleNotFoundError:
        raise UserError(MISSING) from None
    registry = CollectorRegistry(auto_describe=False)
    registry.register(exporter)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        why = error.strerror or str(error)
        raise UserError(f"--prometheus {host}:{port}: {why}, expected a free port of this machine") from None

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return server.server_port, end
