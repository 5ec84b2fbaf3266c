"""`equipoise serve` as a process: its first line, real clients, the end by a signal, what it writes."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest
from click import Abort
from click.testing import CliRunner
from confluent_kafka import Consumer, Producer

from compare.conformance.cases import FileResult
from compare.conformance.players import play_files
from compare.verbs.serve import serve
from protocols.errors import UserError
from tests.kafka_coordinator.wire.plain import request
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.rocketmq_selfbalance.wire.serving import Client

SCENARIO = """
name: three partitions, and then four
topics: {orders: 3}
group: {name: g, members: {c1: {subscribe: [orders]}}}
run: {for: 1min}
events:
  - {at: 1ms, queues: {orders: 4}}
  - {at: 30s, crash: c1}
"""


@contextmanager
def serving(*arguments: str) -> Generator[tuple[subprocess.Popen[str], str], None, None]:
    """The process and its first line; ended by SIGTERM at the end of the block."""
    command = [sys.executable, "-m", "compare", "serve", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().rstrip("\n")
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    finally:
        process.kill()
        process.communicate()


def consume(bootstrap: str, records: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "client.id": "worker", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    found: list[bytes] = []
    while len(found) < records:
        message = consumer.poll(10)
        assert message is not None
        if message.error() is None:
            found.append(message.value())
    consumer.close()
    return sorted(found)


def test_clients_elsewhere_are_told_the_advertised_name() -> None:
    options = ["--port", "0", "--host", "0.0.0.0", "--advertise", "localhost", "--initial-delay", "0s"]
    with serving("kafka", *options) as (_, line):
        bootstrap = line.rpartition(" ")[2]
        assert bootstrap.startswith("localhost:")
        producer = Producer({"bootstrap.servers": f"127.0.0.1:{bootstrap.rpartition(':')[2]}", "log_level": 0})
        producer.produce("orders", b"x")
        assert producer.flush(10) == 0
        told = producer.list_topics(timeout=10).brokers.values()
        assert [f"{each.host}:{each.port}" for each in told] == [bootstrap]
        assert consume(bootstrap, 1) == [b"x"]


@pytest.mark.parametrize("system", ["kafka", "rocketmq"])
@pytest.mark.parametrize("options", [("--host", "0.0.0.0"), ("--host", "::"), ("--advertise", "0.0.0.0")])
def test_an_address_to_which_nobody_can_connect_is_refused(system: str, options: tuple[str, str]) -> None:
    result = CliRunner().invoke(serve, [system, "--port", "0", *options], standalone_mode=False)
    assert isinstance(result.exception, UserError)
    assert f"{' '.join(options)}: clients cannot connect to this address, expected --adv" in str(result.exception)


def test_real_clients_use_it_and_it_writes_what_they_did(tmp_path: Path) -> None:
    scenario, record, report = tmp_path / "s.yaml", tmp_path / "out.json", tmp_path / "out.html"
    scenario.write_text(SCENARIO)
    options = ["--port", "0", "--initial-delay", "0s", "--record", str(record), "--report", str(report)]
    with serving("kafka", str(scenario), *options) as (process, line):
        assert line.startswith("kafka: bootstrap 127.0.0.1:")
        bootstrap = line.rpartition(" ")[2]
        producer = Producer({"bootstrap.servers": bootstrap})
        for number in range(5):
            producer.produce("orders", str(number))
        assert producer.flush(10) == 0
        assert consume(bootstrap, 5) == [b"0", b"1", b"2", b"3", b"4"]
    assert process.returncode == 0
    [variant] = json.loads(record.read_text())["variants"]
    assert (variant["label"], variant["system"]) == ("real", "kafka:range")
    assert {each["member"] for each in variant["timeline"]} == {"worker"}
    assert [text for each in variant["after"] for text in each["events"]] == [
        "orders has 4 queues",
        "worker joins",
        "worker leaves",
    ]
    assert variant["messages"]["JoinGroup"] >= 2
    played = subprocess.run(
        [sys.executable, "-m", "compare", "conformance", f"{record}.jsonl"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (played.returncode, played.stdout) == (0, f"{record}.jsonl: 1 passed, 0 failed, 0 skipped\n")
    assert "worker" in report.read_text()


@pytest.mark.parametrize(
    ("of_scenario", "options", "epoch", "note"),
    [
        ("4.1", (), 1, ""),
        ("4.1", ("--kafka-version", "4.4"), 2, ""),
        ("4.3", (), 2, "serve: note: Kafka 4.3 is composed of rules whose first version is known; not compared"),
    ],
)
def test_the_version_that_is_named_is_served(
    of_scenario: str, options: tuple[str, ...], epoch: int, note: str, tmp_path: Path
) -> None:
    scenario, record = tmp_path / "s.yaml", tmp_path / "out.json"
    scenario.write_text(f"{SCENARIO}versions: {{kafka: {of_scenario}}}\n")
    with serving("kafka", str(scenario), "--port", "0", "--record", str(record), *options) as (process, line):
        with RawClient(line.rpartition(" ")[2]) as client:
            joins = {"group_id": "g", "member_id": "m", "member_epoch": 0, "subscribed_topic_names": ["orders"]}
            asked = request(68, 1, rebalance_timeout=60_000, topic_partitions=[], **joins)
            assert client.ask(asked).member_epoch == epoch
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert process.stderr.read().startswith(note)
    (result,) = play_files([record.with_name("out.json.jsonl")], lambda _: lambda _: None, 1)
    assert isinstance(result, FileResult)
    assert (result.passed, result.failed) == (1, 0), "the recording names the version"


def test_what_was_recorded_survives_a_kill(tmp_path: Path) -> None:
    record, scenario = tmp_path / "out.json", tmp_path / "s.yaml"
    scenario.write_text("events:\n  - {at: 1ms, add_topic: {more: 2}}\n")
    options = ["--port", "0", "--initial-delay", "0s", "--record", str(record), "--topic", "orders:4"]
    with serving("kafka", str(scenario), *options, "--topic", "audit:2") as (process, line):
        bootstrap = line.rpartition(" ")[2]
        producer = Producer({"bootstrap.servers": bootstrap})
        found = {topic: len(each.partitions) for topic, each in producer.list_topics(timeout=10).topics.items()}
        assert found == {"orders": 4, "audit": 2, "more": 2}
        producer.produce("orders", b"x")
        assert producer.flush(10) == 0
        assert consume(bootstrap, 1) == [b"x"]
        assert kept_members(record, "worker") == ("kafka:range", {"worker"})
        process.kill()
        process.wait(30)
    (result,) = play_files([tmp_path / "out.json.jsonl"], lambda _: lambda _: None, 1)
    assert isinstance(result, FileResult)
    assert (result.passed, result.failed, result.skipped) == (1, 0, 0)


def kept_members(record: Path, member: str) -> tuple[str, set[str]]:
    """System and members of the record, as soon as it tells of this one."""
    for _ in range(300):
        if record.exists() and member in (text := record.read_text()):
            [variant] = json.loads(text)["variants"]
            return variant["system"], {each["member"] for each in variant["timeline"]} or set(variant["owners"])
        time.sleep(0.1)
    raise AssertionError(f"{record} does not tell of {member}")


def test_what_rocketmq_was_seen_to_do_survives_a_kill(tmp_path: Path) -> None:
    record = tmp_path / "out.json"

    async def reads(name_server: str) -> None:
        route = await (await Client.connect(name_server)).ask(105, {"topic": "orders"})
        broker = json.loads(route.body)["brokerDatas"][0]["brokerAddrs"]["0"]
        client = await Client.connect(broker)
        subscribed = {"topic": "orders", "subString": "*", "subVersion": 1}
        data = {"groupName": "g", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING"}
        data |= {"consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "subscriptionDataSet": [subscribed]}
        await client.ask(34, {}, json.dumps({"clientID": "worker", "consumerDataSet": [data]}).encode())
        client.tell(11, {**PULL, "queueId": "0"})
        await asyncio.to_thread(kept_members, record, "worker")

    with serving("rocketmq", "--port", "0", "--record", str(record), "--topic", "orders:4") as (process, line):
        asyncio.run(reads(line.rpartition(" ")[2]))
        process.kill()
        process.wait(30)
    assert kept_members(record, "worker") == ("rocketmq:AVG", {"worker"})
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


PULL = {
    "consumerGroup": "g",
    "topic": "orders",
    "queueOffset": "0",
    "maxMsgNums": "32",
    "sysFlag": "2",
    "commitOffset": "0",
    "suspendTimeoutMillis": "15000",
    "subVersion": "1",
    "subscription": "*",
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_heard_while_it_is_written(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def served(*arguments: object) -> tuple[None, float, bool]:
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, int)
        return None, 0.0, True

    def write(*arguments: object) -> None:
        signal.raise_signal(number)
        pytest.fail("it goes on")

    module = import_module("compare.verbs.serve")
    monkeypatch.setattr(module, "_serve", served)
    monkeypatch.setattr(module, "_write", write)
    before = signal.getsignal(signal.SIGTERM)
    try:
        result = CliRunner().invoke(serve, ["kafka", "--record", str(tmp_path / "x")], standalone_mode=False)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert isinstance(result.exception, KeyboardInterrupt | Abort)
    assert f"{tmp_path / 'x'}.jsonl holds what was recorded" in result.output


def test_rocketmq_says_where_its_name_server_is() -> None:
    with serving("rocketmq", "--port", "0", "--topic", "orders:4") as (process, line):
        assert line.startswith("rocketmq: name server 127.0.0.1:")
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["rocketmq", "--initial-delay", "3s"], "--initial-delay 3s: rocketmq has no initial delay"),
        (["rocketmq", "--kafka-version", "4.4"], "--kafka-version 4.4: rocketmq is served, expected serve kafka"),
        (["kafka", "--kafka-version", "5"], "--kafka-version: '5', expected a version of Kafka: 4.1, 4.2, 4.3, 4.4"),
        (["kafka", "--initial-delay", "soon"], "--initial-delay soon:"),
        (["kafka", "--topic", "orders"], "--topic orders: expected a name and 1 to 10000 partitions"),
        (["kafka", "--topic", "orders:4", "--topic", "orders:5"], "--topic orders:5: there is a topic orders already"),
        (["kafka", "missing.yaml"], "missing.yaml: cannot be read"),
        (["kafka", "--record", "/nowhere/x.json"], "/nowhere/x.json"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], told: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "compare", "serve", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 2
    assert told in ran.stderr
    assert ran.stderr.count("\n") == 1
