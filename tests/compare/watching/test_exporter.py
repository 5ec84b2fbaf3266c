"""What Prometheus scrapes, read by the parser of Prometheus' own client library."""

import socket
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

pytest.importorskip("prometheus_client", reason="the extra watch is not installed")

from prometheus_client.parser import text_string_to_metric_families

from compare.reading.observed import ObservedGroup
from compare.watching.exporter import Exporter, address_of, serve
from compare.watching.polling import Failure, Poll, Source, Watch
from compare.watching.world import run
from protocols import UserError
from tests.compare.observed_groups import partitions
from tests.compare.watching.virtual import START, Answer, VirtualWorld, group

SIX = partitions("orders", *range(6))
EVEN = group("g", {"a": SIX[:3], "b": SIX[3:], "c": ()}, SIX, lag={SIX[0]: 5, SIX[1]: None})
MOVED = group("g", {"a": SIX[:5], "b": (), "c": ()}, SIX)

Samples = Mapping[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(exporter: Exporter) -> Samples:
    """Name and labels to value of every sample that a server on loopback gives; no two may be alike."""
    port, end = serve(exporter, "127.0.0.1", 0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    finally:
        end()
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def of_group(samples: Samples, name: str) -> dict[str, float]:
    found = {}
    for (sample, labels), value in samples.items():
        if dict(labels).get("group") == name:
            others = {name: label for name, label in labels if name not in ("cluster", "system", "group")}
            found[sample.removeprefix("equipoise_group_") + "".join(f" {others[name]}" for name in sorted(others))] = (
                value
            )
    return found


def fed(exporter: Exporter, answers: Mapping[int, Answer], ends: int) -> None:
    def answer(name: str, at: float) -> Answer:
        return answers[max(time for time in answers if time <= at - START)]

    world = VirtualWorld(answer, START + ends)
    run(Watch([Source("a", ("a",))], 30.0, START), world, [exporter])


def test_every_figure_of_a_group_is_there() -> None:
    exporter = Exporter(["a"])
    fed(exporter, {0: [EVEN], 30: [MOVED]}, 50)
    samples = scraped(exporter)
    assert of_group(samples, "g") == {
        "members": 3,
        "idle_members": 2,
        "queues": 6,
        "unowned_queues": 1,
        "double_owned_queues": 0,
        "max_over_mean": 3,
        "distance_queues": 3,
        "score": pytest.approx(52.127, abs=0.001),
        "moves_total": 2,
        "rebalances_seen_total": 1,
        "info  plain ONLINE AVG": 1,
    }
    assert samples["equipoise_up", (("cluster", "a"),)] == 1
    assert samples["equipoise_polls_total", (("cluster", "a"), ("result", "read"))] == 2
    assert samples["equipoise_last_poll_timestamp_seconds", (("cluster", "a"),)] == START + 30


def test_lag_counts_what_is_told() -> None:
    exporter = Exporter(["a"])
    fed(exporter, {0: [EVEN]}, 10)
    found = of_group(scraped(exporter), "g")
    assert (found["lag_records"], found["topic_lag_records orders"]) == (5, 5)
    assert not any(name.startswith("partition_lag_records") for name in found)
    every = Exporter(["a"], partitions=True)
    fed(every, {0: [EVEN]}, 10)
    of_partitions = [name for name in of_group(scraped(every), "g") if name.startswith("partition_lag_records")]
    assert of_partitions == ["partition_lag_records  0 orders"], "the other one's is not told"


def test_a_topic_with_a_queue_whose_end_is_unknown_has_no_lag() -> None:
    exporter = Exporter(["a"])
    fed(exporter, {0: [replace(EVEN, endless=(SIX[1],))]}, 10)
    assert not any("lag_records" in name for name in of_group(scraped(exporter), "g"))


def test_a_group_of_kafka_has_the_count_of_its_epoch_and_the_age_and_trend_of_its_lag() -> None:
    def of_kafka(second: int) -> ObservedGroup:
        epoch = 20 + second // 10
        group = replace(EVEN, system="kafka", state="Stable", coordinator="b:9092 (1)", epoch=epoch)
        return replace(group, lag={SIX[0]: second}, ends={SIX[0]: 100 + second})

    exporter = Exporter(["a"])
    fed(exporter, {second: [of_kafka(second)] for second in range(0, 91, 30)}, 95)
    found = of_group(scraped(exporter), "g")
    names = ("rebalances_total", "rebalances_seen_total", "lag_estimated_seconds", "lag_trend_records_per_second")
    assert [found[name] for name in names] == [9, 9, 89, 1]
    assert found["topic_lag_estimated_seconds orders"] == 89
    assert sum(name.startswith("info b:9092 (1) ") for name in found) == 1


def test_counters_begin_with_0() -> None:
    exporter = Exporter(["a"])
    fed(exporter, {0: [replace(EVEN, epoch=57)]}, 10)
    found = of_group(scraped(exporter), "g")
    assert {name: found[name] for name in found if name.endswith("_total")} == {
        "moves_total": 0,
        "rebalances_total": 0,
        "rebalances_seen_total": 0,
    }


def test_the_figures_of_a_silent_cluster_are_left_out_its_counters_stay() -> None:
    exporter = Exporter(["a"])
    fed(exporter, {0: [EVEN], 30: [MOVED], 60: "no broker answers"}, 70)
    samples = scraped(exporter)
    assert of_group(samples, "g") == {"moves_total": 2, "rebalances_seen_total": 1}
    assert samples["equipoise_up", (("cluster", "a"),)] == 0
    assert samples["equipoise_polls_total", (("cluster", "a"), ("result", "failed"))] == 1


def test_groups_beyond_the_limit_are_counted_and_those_with_samples_keep_them() -> None:
    def named(group: ObservedGroup, *names: str) -> list[ObservedGroup]:
        return [replace(group, name=name) for name in names]

    exporter = Exporter(["a"], most_groups=2)
    early: Sequence[ObservedGroup] = [*named(EVEN, "fair-1", "fair-2"), *named(MOVED, "bad-1")]
    late = [*named(EVEN, "fair-1", "fair-2"), *named(MOVED, "bad-1", "bad-2", "bad-3")]
    fed(exporter, {0: early}, 10)
    first = {dict(labels)["group"] for name, labels in scraped(exporter) if name == "equipoise_group_score"}
    assert "bad-1" in first
    assert len(first) == 2
    fed(exporter, {0: late}, 10)
    samples = scraped(exporter)
    again = {dict(labels)["group"] for name, labels in samples if name == "equipoise_group_score"}
    assert again == first, "labels do not change while their groups exist"
    assert samples["equipoise_groups", (("cluster", "a"),)] == 5
    assert samples["equipoise_groups_beyond_limit", (("cluster", "a"),)] == 3


def test_names_may_be_anything() -> None:
    exporter = Exporter(["a"])
    names = ['say "hi"\nbye\\', "订单-ü", "\ud800", "{a=1}"]
    fed(exporter, {0: [replace(EVEN, name=name) for name in names]}, 10)
    found = {dict(labels)["group"] for name, labels in scraped(exporter) if name == "equipoise_group_score"}
    assert len(found) == 4
    assert "订单-ü" in found


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"--prometheus 127.0.0.1:{port}: Address already in use"):
            serve(Exporter([]), "127.0.0.1", port)


@pytest.mark.parametrize(
    ("text", "address"), [("127.0.0.1", ("127.0.0.1", 9308)), ("[::1]:1", ("::1", 1)), ("host:0", ("host", 0))]
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert address_of(text) == address


def test_what_is_no_address_is_one_line(subtests: pytest.Subtests) -> None:
    for text in ["", "host:", "host:99999", "http://host:1", "a b"]:
        with subtests.test(text=text), pytest.raises(UserError, match="expected HOST:PORT"):
            address_of(text)


def test_a_failure_before_the_first_poll_is_no_group() -> None:
    exporter = Exporter(["a", "b"])
    exporter.failed(Failure("b", START, "why", 1, START + 30))
    exporter.polled(Poll("a", 1, START, 0.5, 30.0, (), (), ()))
    samples = scraped(exporter)
    assert samples["equipoise_groups", (("cluster", "a"),)] == 0
    assert ("equipoise_groups", (("cluster", "b"),)) not in samples


def test_nothing_moves_where_everybody_reads_every_queue() -> None:
    """A broker of a BROADCASTING group comes back, and its members hear of it one after the other."""
    answers = [replace(each, mode="broadcasting") for each in (EVEN, MOVED, group("g", {"a": SIX, "b": SIX}, SIX))]
    exporter = Exporter(["a"])
    fed(exporter, {30 * at: [each] for at, each in enumerate(answers)}, 70)
    found = of_group(scraped(exporter), "g")
    assert (found["moves_total"], found["rebalances_seen_total"]) == (0, 0)
