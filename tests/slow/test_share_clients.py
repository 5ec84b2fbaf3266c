"""Released share consumers, unmodified, before a served broker: Java's, its console consumer, franz-go's. They join,
acknowledge in each way, are killed, close. (librdkafka's: `tests/kafka_coordinator/wire/test_share_consumers.py`.)
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compare.testing.brokers import KafkaBroker
from protocols.facts import Available, Ended, Renewed
from tests.slow.java import UnavailableError, find_java, released_jars
from tests.slow.java_members import Process, Program
from tests.slow.real_kafka import kafka_jars
from tests.slow.test_kafka_clients import SLOW, go_program
from tests.waiting import until

pytestmark = pytest.mark.slow

VERSION, FRANZ_GO, WITHIN_S = "4.4.0", "1.22.3", 30
SOON = {"group.share.min.heartbeat.interval.ms": 200, "group.share.heartbeat.interval.ms": 200}
EARLIEST = {"share.auto.offset.reset": "earliest"}


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Program:
    try:
        artifacts = {"org.apache.kafka:kafka-clients": VERSION, "org.slf4j:slf4j-simple": "1.7.36"}
        jars = released_jars("kafka-clients", VERSION, artifacts)
        return Program.of(SLOW / "ShareMembers.java", jars, tmp_path_factory.mktemp("share"))
    except UnavailableError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    made = KafkaBroker({"orders": 1}, settings=SOON)
    made.configure_group("g", EARLIEST)
    yield made
    made.close()


def begin(lines: Process, broker: KafkaBroker, name: str, mode: str, handle: int = 0) -> None:
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "g",
        "client.id": name,
        "share.acknowledgement.mode": mode,
    }
    lines.say("start", name, "orders", str(handle), *(f"{key}={value}" for key, value in settings.items()))


def told(lines: Process, *kinds: str) -> list[tuple[str, str, int, int]]:
    """Kind, member, offset and delivery count of what Java's members print."""
    return [(row[1], row[2], int(row[4]), int(row[5])) for row in lines.rows if row[1] in kinds]


def has_joined(broker: KafkaBroker, name: str) -> bool:
    try:
        return name in broker.group("g").members
    except LookupError:  # nobody has so far
        return False


def ends(broker: KafkaBroker) -> dict[int, str]:
    try:
        facts = [each.fact for each in broker.group("g").timeline.facts if isinstance(each.fact, Ended)]
    except LookupError:
        return {}
    return {offset: fact.how for fact in facts for offset in range(fact.first, fact.end)}


def test_java_acknowledges_in_each_way(java: Program, broker: KafkaBroker) -> None:
    for value in ("fine", "poison", "reject", "renew", "fine"):
        broker.produce("orders", value)
    with Process(java.command) as one:
        begin(one, broker, "one", "explicit")
        kinds = ("handled", "failed", "rejected", "renewed")
        until(lambda: len(ends(broker)) == 5, WITHIN_S)
        handled = told(one, *kinds)
        assert [each for each in handled if each[2] == 1] == [("failed", "one", 1, count) for count in range(1, 6)]
        assert [(kind, count) for kind, _, offset, count in handled if offset == 3] == [("renewed", 1), ("handled", 1)]
        assert ends(broker) == {0: "acknowledged", 1: "archived", 2: "archived", 3: "acknowledged", 4: "acknowledged"}
        renewed = [each.fact for each in broker.group("g").timeline.facts if isinstance(each.fact, Renewed)]
        assert {(each.member, each.first) for each in renewed} == {("one", 3)}
        one.say("close", "one")
        until(lambda: told(one, "closed") != [], WITHIN_S)
        until(lambda: not has_joined(broker, "one"), WITHIN_S)


def test_java_killed_and_closed_gives_back_what_it_has(java: Program, broker: KafkaBroker) -> None:
    with Process(java.command) as one, Process(java.command) as two:
        begin(one, broker, "one", "implicit", 60_000)
        until(lambda: has_joined(broker, "one"), WITHIN_S)
        broker.produce("orders", "v", count=3)
        until(lambda: len(told(one, "given")) == 3, WITHIN_S)
        assert sum(each.last - each.first + 1 for each in broker.hidden("g")) == 3
        one.kill()
        begin(two, broker, "two", "implicit")
        until(lambda: len(told(two, "handled")) == 3, WITHIN_S)
        assert [count for *_, count in told(two, "handled")] == [2, 2, 2]
        why = {each.fact.why for each in broker.group("g").timeline.facts if isinstance(each.fact, Available)}
        assert why == {"session closed"}
        until(lambda: ends(broker) == dict.fromkeys(range(3), "acknowledged"), WITHIN_S)


def test_java_loses_a_lock(java: Program, broker: KafkaBroker) -> None:
    with Process(java.command) as one, Process(java.command) as two:
        begin(one, broker, "one", "explicit", 8_000)
        until(lambda: has_joined(broker, "one"), WITHIN_S)
        broker.produce("orders", "v")
        until(lambda: len(told(one, "given")) == 1, WITHIN_S)
        begin(two, broker, "two", "explicit", 60_000)
        until(lambda: has_joined(broker, "two"), WITHIN_S)
        for _ in range(3):  # the first client may fetch ahead, and get the record again itself
            broker.expire_locks("g")
            time.sleep(1.0)
            if told(two, "given"):
                break
        until(lambda: told(one, "refused InvalidRecordStateException") != [], WITHIN_S)
        assert [each.member for each in broker.hidden("g")] == ["two"]


def test_the_console_consumer_reads(broker: KafkaBroker) -> None:
    try:
        command = [find_java(), "-cp", f"{kafka_jars(VERSION)}/*", "-Xmx192m", "-XX:+UseSerialGC"]
    except UnavailableError as reason:
        pytest.skip(str(reason))
    broker.produce("orders", "hello", count=2)
    tool = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
    asked = ["--bootstrap-server", broker.bootstrap, "--topic", "orders", "--group", "g", "--max-messages", "2"]
    ran = subprocess.run([*command, tool, *asked], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.split() == ["hello", "hello"], ran.stderr
    until(lambda: ends(broker) == dict.fromkeys(range(2), "acknowledged"), WITHIN_S)


def test_franz_go_acknowledges_and_is_killed(broker: KafkaBroker, tmp_path: Path) -> None:
    try:
        source = (SLOW / "franz_client" / "share.go.txt").read_text(encoding="utf-8")
        program = go_program(source, tmp_path, FRANZ_GO)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    for value in ("fine", "poison", "reject", "fine"):
        broker.produce("orders", value)
    command: Callable[[str], list[str]] = lambda name: [program, broker.bootstrap, "g", "orders", name]  # noqa: E731
    with Process(command("one")) as one:
        until(lambda: len(ends(broker)) == 4, WITHIN_S)
        assert [row[4] for row in one.rows if row[0] == "failed"] == ["1", "2", "3", "4", "5"]
        assert ends(broker) == {0: "acknowledged", 1: "archived", 2: "archived", 3: "acknowledged"}
        one.kill()
    with Process(command("two")) as two:
        broker.produce("orders", "fine")
        until(lambda: any(row[3] == "4" for row in two.rows if row[0] == "handled"), WITHIN_S)
        time.sleep(0.5)
        assert not [row for row in (*one.rows, *two.rows) if row[0] == "error"]
