"""`equipoise plan --check` at a live Kafka 4.4.0 whose members are Python's clients: what a step promised is said to be
there only when Kafka's own tools show it, too."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.cli import cli
from tests.kafka_coordinator.wire.member_processes import members
from tests.slow.real_kafka import RealKafka, UnavailableError, running
from tests.waiting import until

pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")
pytestmark = pytest.mark.slow

WITHIN_S = 120
INSTANCE = {
    "kafka-python": "group_instance_id",
    "aiokafka": "group_instance_id",
    "confluent-kafka": "group.instance.id",
}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    try:
        with running(tmp_path_factory.mktemp("kafka"), version="4.4.0") as node:
            node.topics("--create", "--topic", "orders", "--partitions", "6")
            yield node
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("library", sorted(INSTANCE))
def test_a_check_holds_only_when_the_tools_show_what_was_promised(library: str, kafka: RealKafka) -> None:
    name = f"plan-{library}"
    key = "group.id" if library == "confluent-kafka" else "group_id"

    def holds(to: str, step: int, count: int, **more: str) -> bool:
        how = ["--to", to, "--from", more.get("today", "range"), "--check", str(step), "--members", str(count)]
        source = [f"kafka://{kafka.plaintext}", "--group", name]
        judged: Any = CliRunner().invoke(cli, ["plan", *source, *how], standalone_mode=False)
        assert judged.exception is None, judged.exception
        return judged.return_value == 0

    def rows(view: str) -> list[list[str]]:
        shown = kafka.consumer_groups("--describe", "--group", name, view, "--verbose").splitlines()
        return [line.split() for line in shown if line.split()[:1] == [name]]

    def seen(what: Callable[[], bool], promised: bool = True) -> None:
        until(what, WITHIN_S)
        assert ("Stable" in str(rows("--state"))) == promised

    assignors = "partition.assignment.strategy" if library == "confluent-kafka" else "assignors"
    with members(library, kafka.plaintext, **{key: name, assignors: "range"}) as group:
        group.start("m1")
        group.start("m2")
        until(lambda: len(rows("--members")) == 2 and "Stable" in str(rows("--state")), WITHIN_S)
        assert not holds("members=3", 1, 2)
        assert not holds("static", 1, 2)
        assert not holds("queues:orders=9", 2, 2)
        group.start("m3")
        seen(lambda: holds("members=3", 1, 2))
        assert len(rows("--members")) == 3
        for number, each in enumerate(group.all[:3]):
            each.close()
            group.start(f"m{number + 1}", **{INSTANCE[library]: f"i{number + 1}"})
            if number < 2:
                assert not holds("static", 1, 3)
        seen(lambda: holds("static", 1, 3))
        assert {row[2] for row in rows("--members")} == {"i1", "i2", "i3"}


@pytest.mark.parametrize("library", sorted(INSTANCE))
def test_a_step_that_no_source_tells_from_its_beginning_is_done_when_all_have_restarted(
    library: str, kafka: RealKafka, tmp_path: Path
) -> None:
    """From range to roundrobin in two rolling restarts; the group shares by roundrobin from the end of the first on."""
    name, before = f"rolls-{library}", tmp_path / "before.txt"
    librdkafka = library == "confluent-kafka"
    key, assignors = ("group.id", "partition.assignment.strategy") if librdkafka else ("group_id", "assignors")

    def holds(step: int, *more: str) -> bool:
        how = ["--to", "roundrobin", "--from", "range", "--check", str(step), "--members", "3", *more]
        judged: Any = CliRunner().invoke(
            cli, ["plan", f"kafka://{kafka.plaintext}", "--group", name, *how], standalone_mode=False
        )
        assert judged.exception is None, judged.exception
        return judged.return_value == 0

    with members(library, kafka.plaintext, **{key: name}) as group:
        for number in range(3):
            group.start(f"m {number}/ü", **{assignors: "range"})
        until(
            lambda: holds(1) is False and "Stable" in kafka.consumer_groups("--describe", "--group", name, "--state"),
            60,
        )
        for number, each in enumerate(group.all[:3]):
            assert not holds(1)
            each.close()
            group.start(f"m {number}/ü", **{assignors: "roundrobin,range"})
        until(lambda: holds(1), WITHIN_S)
        before.write_text(kafka.consumer_groups("--describe", "--group", name, "--members", "--verbose"))
        assert not holds(2)
        for number, each in enumerate(group.all[3:6]):
            assert not holds(2, "--before", str(before))
            each.close()
            group.start(f"m {number}/ü", **{assignors: "roundrobin"})
        until(lambda: holds(2, "--before", str(before)), WITHIN_S)
