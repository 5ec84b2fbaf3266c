"""A server that is broken, silent or slow costs one line and no more time than was given; everything else is told."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from compare.reading.kafka_live import observe
from compare.reading.kafka_live.connection import Connection
from compare.reading.kafka_live.fetch import fetch
from compare.reading.observed import Skipped
from compare.reading.rocketmq_live import observe as observe_rocketmq
from protocols import UserError
from tests.compare.reading import fake_kafka_server as kafka_server
from tests.compare.reading import fake_rocketmq
from tests.compare.reading.fake_kafka_server import API_VERSIONS, framed, versions
from tests.compare.showing import EXAMPLES, ROOT, equipoise

SLACK_S = 60.0
"""Starting processes on a busy machine; what is bounded would else go on for ever."""

EMPTY_PIECE_S = 0.05


def oldest_form(key: int, version: int, correlation: int) -> Iterator[bytes]:
    """ApiVersions without error in version 0, whatever version was asked for."""
    yield framed(correlation, versions((API_VERSIONS, 0, 3), (3, 0, 9)))


def trickle(key: int, version: int, correlation: int) -> Iterator[bytes]:
    """An answer of a million bytes, one now and then."""
    yield framed(correlation, bytes(1_000_000))[:8]
    while True:
        time.sleep(EMPTY_PIECE_S)
        yield b"\0"


def silence(key: int, version: int, correlation: int) -> Iterator[bytes]:
    yield from ()


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A folder with a library under confluent-kafka's name that ends its process."""
    package = tmp_path / "broken" / "confluent_kafka"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("KafkaException = Exception\n")
    (package / "admin.py").write_text("import os\ndef AdminClient(*_, **__): os.abort()\n")
    return str(package.parent)


def one_line(address: str, timeout_s: float = 3.0) -> str:
    """What is told of a cluster that cannot be read, within its time."""
    began = time.monotonic()
    with pytest.raises(UserError) as refused:
        observe(address, timeout_s=timeout_s)
    assert time.monotonic() - began < timeout_s + SLACK_S
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_an_answer_that_ends_librdkafka_is_one_line() -> None:
    pytest.importorskip("confluent_kafka")
    with kafka_server.serving(oldest_form) as address:
        line = one_line(f"kafka://{address}")
        # Where a newer library takes the answer as it is, it hears no more of the server.
        assert f"an answer of {address} ended librdkafka (SIG" in line or "no Kafka broker answers" in line


def test_a_library_that_ends_its_process_is_one_line(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(broken)
    line = one_line("kafka://broker:9092")
    assert line == (
        "an answer of broker:9092 made librdkafka stop (SIGABRT), because no Kafka broker answers in this form;"
        " expected host:port of a broker's listener"
    )


def test_a_broken_server_is_one_line_and_exit_code_2_and_other_sources_are_told(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([broken, os.environ.get("PYTHONPATH", "")]))
    # An interpreter reads PYTHONPATH when it starts: each command needs one of its own.
    alone = equipoise("audit", "kafka://broker:9092", hash_seed="0")
    assert alone.returncode == 2
    (line,) = alone.stderr.splitlines()
    assert line.startswith("kafka://broker:9092: an answer of broker:9092 made librdkafka stop (SIGABRT)")
    others = equipoise(
        "audit", "--engine", "local", "--format", "json", "kafka://broker:9092", str(EXAMPLES / "kafka"), hash_seed="0"
    )
    without = equipoise("audit", "--engine", "local", "--format", "json", str(EXAMPLES / "kafka"))
    assert others.returncode == without.returncode == 0
    told, expected = json.loads(others.stdout), json.loads(without.stdout)
    assert told["groups"] == expected["groups"] != []
    assert ["made librdkafka stop" in each["why"] for each in told["skipped"]] == [True]


@pytest.mark.parametrize("answer", [silence, trickle])
def test_a_kafka_server_that_is_silent_or_trickles_is_one_line_within_the_time(answer: kafka_server.Answerer) -> None:
    pytest.importorskip("confluent_kafka")
    with kafka_server.serving(answer) as address:
        assert "no Kafka broker answers" in one_line(f"kafka://{address}", timeout_s=1.5)


_TELLING = """
import json, sys
from concurrent.futures import Future
from types import SimpleNamespace

class AdminClient:
    def __init__(self, values, logger):
        with open({seen!r}, "w") as file:
            json.dump([sys.orig_argv, values["sasl.password"]], file)
    def poll(self, timeout):
        return 0
    def list_consumer_groups(self, request_timeout):
        return done(SimpleNamespace(valid=[SimpleNamespace(group_id=name) for name in "ab"], errors=[]))
    def describe_consumer_groups(self, groups, request_timeout):
        return {{group: failed() for group in groups}}
    def list_consumer_group_offsets(self, wanted, request_timeout):
        return {{each: failed() for each in wanted}}
    def list_groups(self, timeout):
        return []
    def list_topics(self, timeout):
        return SimpleNamespace(topics={{}}, brokers={{}}, cluster_id=None)

def done(value):
    future = Future()
    future.set_result(value)
    return future

def failed():
    future = Future()
    future.set_exception(ValueError("nobody knows"))
    return future
"""


def test_what_the_process_finds_and_how_far_it_is_comes_back_and_no_password_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("javaproperties")
    package = tmp_path / "confluent_kafka"
    package.mkdir()
    (package / "__init__.py").write_text(
        "class KafkaException(Exception): pass\nConsumerGroupTopicPartitions = TopicPartition = str\n"
    )
    (package / "admin.py").write_text(_TELLING.format(seen=str(tmp_path / "seen")) + "OffsetSpec = None\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = tmp_path / "client.properties"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    settings.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={module} required username="alice" password="s3cret";\n'
    )
    told: list[str] = []
    found = observe("kafka://broker", command_config=settings, progress=told.append)
    assert told == ["kafka://broker", "kafka://broker: group 1 of 2", "kafka://broker: group 2 of 2"]
    assert [each.why for each in found if isinstance(each, Skipped)] == [
        "group 'a' and 1 more cannot be read: nobody knows"
    ]
    arguments, password = json.loads((tmp_path / "seen").read_text())
    assert password == "s3cret"
    assert not any("s3cret" in each for each in arguments)


def test_a_process_that_says_nothing_in_time_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "confluent_kafka"
    package.mkdir()
    (package / "__init__.py").write_text("class KafkaException(Exception): pass\n")
    (package / "admin.py").write_text(
        "import os, time\n"
        "class AdminClient:\n"
        "    def __init__(self, *_, **__): pass\n"
        "    def list_consumer_groups(self, **_):\n"
        f"        open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "        time.sleep(600)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "is not read completely after 1 s, expected a longer --timeout" in one_line(
        "kafka://broker:9092", timeout_s=1.0
    )
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_process_ends_with_the_command(how: signal.Signals) -> None:
    pytest.importorskip("confluent_kafka")
    with kafka_server.serving(silence) as address:
        command = [sys.executable, "-m", "compare", "audit", f"kafka://{address}", "--timeout", "600"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            listed = Path(f"/proc/{running.pid}/task/{running.pid}/children")
            until = time.monotonic() + SLACK_S
            while not (children := listed.read_text().split()) and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(1.0)
            running.send_signal(how)
            _, error = running.communicate(timeout=SLACK_S)
    expected = {signal.SIGINT: 2, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
    assert running.returncode == expected[how]
    assert b"Traceback" not in error
    assert len(children) == 1
    until = time.monotonic() + SLACK_S
    while Path(f"/proc/{children[0]}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{children[0]}").exists()


def test_kafka_groups_that_are_not_told_in_time_are_counted_and_the_others_told() -> None:
    pytest.importorskip("confluent_kafka")
    from tests.compare.reading.fake_kafka_admin import FakeAdmin, commits, description, listing

    raw = {"is_simple": False, "state": "EMPTY", "type": "CLASSIC", "members": [], "partition_assignor": ""}
    raw["coordinator"] = {"id": 1, "host": "broker", "port": 9092}
    names = [f"g{number:03}" for number in range(100)]

    class Slow(FakeAdmin):
        def describe_consumer_groups(self, group_ids: list[str], *, request_timeout: float) -> "dict[str, object]":  # type: ignore[override]
            assert request_timeout <= 0.3
            time.sleep(0.02)
            return super().describe_consumer_groups(group_ids, request_timeout=request_timeout)  # type: ignore[return-value]

    def slow() -> FakeAdmin:
        return Slow(
            [listing({"group_id": each, **raw}) for each in names],
            {each: description(each, raw) for each in names},
            {each: commits(each, [["t", 0, 1]]) for each in names},
            {"t": [1]},
            {("t", 0): 3},
        )

    def found(whole_s: float) -> list[object]:
        connection = Connection("broker:9092", timeout_s=0.3, ends=time.monotonic() + whole_s)
        connection.admin = slow()  # type: ignore[assignment]
        return list(fetch(connection, "kafka://broker:9092", lambda text: None))

    told = found(0.9)
    (why,) = (each.why for each in told if isinstance(each, Skipped))
    late = int(why.split(" ")[0])
    assert why == f"{late} of 100 groups are not read in time, expected a longer --timeout"
    assert 0 < late < 100
    assert len({each.group for each in told if hasattr(each, "group")}) == 100 - late
    with pytest.raises(UserError, match="does not describe its 100 groups in time, expected a longer --timeout"):
        found(0.3)


def rocketmq_trickle(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection, suppress(OSError):
        connection.sendall((1_000_000).to_bytes(4, "big"))
        while True:
            connection.sendall(b"\0")
            time.sleep(EMPTY_PIECE_S)


def test_a_name_server_that_trickles_is_one_line_within_the_time() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        threading.Thread(target=rocketmq_trickle, args=(listening,), daemon=True).start()
        began = time.monotonic()
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        done = equipoise("audit", f"rocketmq://{address}", "--timeout", "1.5")
        assert time.monotonic() - began < 1.5 + SLACK_S
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"no name server answers: {address} does not answer for 0.5 s" in line


def test_rocketmq_groups_that_are_not_told_in_time_are_counted_and_the_others_told() -> None:
    names = [f"g{number:03}" for number in range(200)]
    addresses: list[str] = []

    def answer(code: int, fields: Mapping[str, str]) -> fake_rocketmq.Answer:
        if code == 206:
            return fake_rocketmq.ok({"topicList": [f"%RETRY%{name}" for name in names]})
        time.sleep(0.01)
        if code == 105:
            return fake_rocketmq.route({"broker-a": addresses[0]}, 1)
        return (206, "not online", "") if code == 203 else fake_rocketmq.ok({"offsetTable": {}})

    with fake_rocketmq.serving(answer) as address:
        addresses.append(address)
        began = time.monotonic()
        found = observe_rocketmq(f"rocketmq://{address}", timeout_s=1.5)
        assert time.monotonic() - began < 1.5 + SLACK_S
    groups = [each for each in found if not isinstance(each, Skipped)]
    (why,) = (each.why for each in found if isinstance(each, Skipped) and "in time" in each.why)
    late = int(why.split(" ")[0])
    assert why == f"{late} of 200 groups are not read in time, expected a longer --timeout"
    assert 0 < late < 200
    assert 0 < len(groups) <= 200 - late
