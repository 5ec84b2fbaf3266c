"""`equipoise plan --check` at a live Kafka 4.4.0 whose members are Python's clients, or Java's: what a step promised is
said to be there only when Kafka's own tools show it, too, and code meets the exceptions that it was to expect."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.cli import cli
from tests.kafka_coordinator.wire.member_processes import members
from tests.slow.group_members import Java
from tests.slow.java_members import MEMBERS, Program
from tests.slow.real_kafka import RealKafka, UnavailableError, kafka_jars, running
from tests.waiting import until

library = pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")
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


ASSIGNORS = "org.apache.kafka.clients.consumer.{}Assignor"
CLASSIC = {"partition.assignment.strategy": ASSIGNORS.format("Range"), "session.timeout.ms": "20000"}
CONSUMER = {"group.protocol": "consumer", "group.remote.assignor": "uniform"}


@pytest.mark.parametrize(
    ("target", "settings", "comes"),
    [
        ("cooperative-sticky", CLASSIC, {2: "loop RebalanceInProgressException"}),
        ("uniform", CLASSIC, {}),
        ("server-range", CONSUMER, {}),
        ("static", CONSUMER, {}),
    ],
)
def test_code_meets_what_a_plan_names_and_nothing_else(
    target: str, settings: dict[str, str], comes: dict[int, str], kafka: RealKafka, tmp_path: Path
) -> None:
    """Three members of Java 4.4.0 that commit in the loop and when they lose a partition, with odd client ids; each
    step and each check as the plan prints them."""
    name, source = f"to {target}", f"kafka://{kafka.plaintext}"
    program = Program.of(MEMBERS, kafka_jars("4.4.0"), tmp_path)
    common = {"bootstrap.servers": kafka.plaintext, "group.id": name, "auto.offset.reset": "earliest"}
    commits = {"enable.auto.commit": "false", "commit": "callbacks", **settings}
    own = {client: {**common, **commits, "client.id": client} for client in ("c..1/ü", "it's", 'a "b"')}
    running = {client: Java(program, ["orders"], given) for client, given in own.items()}
    lives = [*running.values()]

    def called(*arguments: str) -> tuple[int, str]:
        found: Any = CliRunner().invoke(cli, [*arguments], standalone_mode=False)
        assert found.exception is None, found.exception
        return found.return_value, found.stdout

    def is_stable() -> bool:
        shown = kafka.consumer_groups("--describe", "--group", name, "--state")
        return " Stable " in shown and shown.rstrip().endswith("3")

    def written() -> bool:
        load(kafka.plaintext)
        return is_stable()

    try:
        until(is_stable, WITHIN_S)
        ids = {member.told.id: client for client, member in running.items()}
        for step in json.loads(
            called("plan", source, "--group", name, "--to", target, "--seeds", "1", "--format", "json")[1]
        )["steps"]:
            before = tmp_path / f"before-{step['number']}.txt"
            before.write_text(kafka.consumer_groups("--describe", "--group", name, "--members", "--verbose"))
            places = {"SOURCE": source, "BEFORE": str(before)}
            check = [places.get(word, word) for word in shlex.split(step["check_command"])][1:]
            for member in lives:
                member.told.caught.clear()
            for (name_of,) in step["restart"]:
                assert called(*check)[0] == 1
                client = ids.get(name_of, name_of)
                running[client].stop()
                changed = {**own[client], **step["settings"][name_of]}
                own[client] = {key: str(value) for key, value in changed.items() if value is not None}
                running[client] = Java(program, ["orders"], own[client])
                lives.append(running[client])
                until(written, WITHIN_S)
            until(lambda check=check: called(*check)[0] == 0, WITHIN_S)
            met = [each for member in lives for each in member.told.caught]
            named = set(re.findall(r"[A-Z]\w+Exception", " ".join(step["code_must_expect"])))
            assert {each.split()[1] for each in met} <= named, (step["number"], met)
            assert comes.get(step["number"]) in (None, *met)
    finally:
        for member in running.values():
            member.stop()
    assert not [error for member in lives for error in member.told.errors]


def load(bootstrap: str) -> None:
    """Some records for every partition, so that members have something to commit."""
    producer = library.Producer({"bootstrap.servers": bootstrap})
    for number in range(60):
        producer.produce("orders", str(number), partition=number % 6)
    assert producer.flush(30) == 0
