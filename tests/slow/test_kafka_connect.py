"""Kafka Connect before a served broker, standalone and distributed: a file's lines go into a topic and out of it into
another file, through restarts of the worker and the death of one of two."""

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from compare.testing.brokers import KafkaBroker
from tests.slow.java import UnavailableError, find_java, free_ports, released_jars, stop
from tests.slow.java_members import Program
from tests.waiting import until

pytestmark = pytest.mark.slow

VERSIONS = {"4.1.0": "4.1.0", "4.4.0": "4.3.1"}
"""Version of the worker to that of the connectors of files, which were not released for 4.4."""
WITHIN_S, ASKED_S = 90, 20
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"
_COMMON = {"key.converter": _STRINGS, "value.converter": _STRINGS, "offset.flush.interval.ms": 1000}
_TOPICS = {
    f"{kind}.storage.{key}": value
    for kind in ("config", "offset", "status")
    for key, value in (("topic", f"connect-{kind}"), ("replication.factor", 1))
}
_DISTRIBUTED = {**_TOPICS, "group.id": "workers", "offset.storage.partitions": 3, "status.storage.partitions": 2}
_DISTRIBUTED |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000, "scheduled.rebalance.max.delay.ms": 1000}


class Connect:
    """Workers of one version before one broker, with one file that is read and one that is written."""

    def __init__(self, version: str, mode: str, folder: Path, broker: KafkaBroker, stack: ExitStack) -> None:
        artifacts = {f"org.apache.kafka:connect-{name}": version for name in ("runtime", "json")}
        artifacts |= {"org.apache.kafka:connect-file": VERSIONS[version], "org.slf4j:slf4j-simple": "1.7.36"}
        jars = released_jars("kafka-connect", version, artifacts)
        Program.of(Path(__file__).with_name("FileConnectors.java"), jars, folder)
        self._java = [find_java(), "-cp", f"{folder}:{jars}/*", "-Xmx256m", "-XX:TieredStopAtLevel=1"]
        self._standalone, self._folder, self._stack = mode == "standalone", folder, stack
        self._common = {**_COMMON, "bootstrap.servers": broker.bootstrap, "plugin.discovery": "service_load"}
        self._common |= {"offset.storage.file.filename": folder / "offsets"} if self._standalone else _DISTRIBUTED
        self.source, self.sink = folder / "in.txt", folder / "out.txt"
        self._connectors: dict[str, Mapping[str, object]] = {
            "source": {"connector.class": "FileConnectors$Source", "file": str(self.source), "topic": "lines"},
            "sink": {"connector.class": "FileConnectors$Sink", "file": str(self.sink), "topics": "lines"},
        }
        (folder / "META-INF/services").mkdir(parents=True)
        for name, config in self._connectors.items():
            service = folder / "META-INF/services" / f"org.apache.kafka.connect.{name}.{name.title()}Connector"
            service.write_text(f"{config['connector.class']}\n", encoding="ascii")

    def worker(self) -> tuple[str, "subprocess.Popen[bytes]"]:
        """Start a worker: the address where it answers, and its process."""
        (port,) = free_ports(1)
        address = f"http://127.0.0.1:{port}"
        files = [self._written(f"worker-{port}", {**self._common, "listeners": address})]
        if self._standalone:
            files += [self._written(name, {"name": name, **each}) for name, each in self._connectors.items()]
        main_class = "ConnectStandalone" if self._standalone else "ConnectDistributed"
        with (self._folder / f"worker-{port}.log").open("wb") as log:
            command = [*self._java, f"org.apache.kafka.connect.cli.{main_class}", *map(str, files)]
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self._stack.callback(stop, process)
        until(lambda: asked(f"{address}/connectors") is not None, WITHIN_S)
        return address, process

    def configure(self, address: str) -> None:
        """Give a distributed worker its connectors; a standalone one has read them from its files."""
        if not self._standalone:
            for name, config in self._connectors.items():
                assert asked(f"{address}/connectors/{name}/config", config) is not None

    def append(self, lines: Iterable[str]) -> None:
        with self.source.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    def written(self) -> list[str]:
        """What the sink has written, in order of its text: partitions have no common order."""
        return sorted(self.sink.read_text("utf-8").splitlines()) if self.sink.exists() else []

    def _written(self, name: str, settings: Mapping[str, object]) -> Path:
        file = self._folder / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="latin-1")
        return file


def asked(url: str, put: Mapping[str, object] | None = None) -> Any:
    """What a worker answers; None while it does not."""
    body = None if put is None else json.dumps(put).encode()
    request = Request(url, body, {"Content-Type": "application/json"}, method="GET" if put is None else "PUT")
    try:
        with urlopen(request, timeout=ASKED_S) as answer:
            return json.load(answer)
    except (HTTPError, URLError, TimeoutError, ConnectionError):
        return None


def lines(first: int, end: int) -> list[str]:
    return [f"line {number:03}" for number in range(first, end)]


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    broker = KafkaBroker({"lines": 2})
    yield broker
    broker.close()


def connect(version: str, mode: str, folder: Path, broker: KafkaBroker, stack: ExitStack) -> Connect:
    try:
        return Connect(version, mode, folder, broker, stack)
    except UnavailableError as reason:
        pytest.skip(str(reason))


def committed(broker: KafkaBroker) -> int:
    """How many lines the sink has committed."""
    return sum(broker.committed("connect-sink").values())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", ["standalone", "distributed"])
def test_lines_go_through_once_though_the_worker_restarts(
    mode: str, version: str, tmp_path: Path, broker: KafkaBroker
) -> None:
    with ExitStack() as stack:
        it = connect(version, mode, tmp_path, broker, stack)
        it.append(lines(0, 20))
        address, process = it.worker()
        it.configure(address)
        until(lambda: it.written() == lines(0, 20), WITHIN_S)
        until(lambda: committed(broker) == 20, WITHIN_S)
        it.append(lines(20, 40))
        until(lambda: it.written() == lines(0, 40), WITHIN_S)
        stop(process)
        assert committed(broker) == 40
        it.append(lines(40, 60))
        it.worker()
        until(lambda: it.written() == lines(0, 60), WITHIN_S)
        assert {topic for topic, _ in broker.committed("connect-sink")} == {"lines"}


def test_a_worker_takes_over_from_one_that_was_killed(tmp_path: Path, broker: KafkaBroker) -> None:
    with ExitStack() as stack:
        it = connect("4.4.0", "distributed", tmp_path, broker, stack)
        workers = dict(it.worker() for _ in range(2))
        it.append(lines(0, 20))
        it.configure(next(iter(workers)))
        until(lambda: it.written() == lines(0, 20), WITHIN_S)
        until(lambda: committed(broker) == 20, WITHIN_S)
        told = asked(f"{next(iter(workers))}/connectors/sink/status")
        owner = f"http://{told['tasks'][0]['worker_id']}"
        workers.pop(owner).kill()
        it.append(lines(20, 40))
        until(lambda: set(it.written()) == {*lines(0, 40)}, WITHIN_S)
        (left,) = workers
        statuses = [asked(f"{left}/connectors/{name}/status") for name in ("source", "sink")]
        assert {task["worker_id"] for status in statuses for task in status["tasks"]} == {left.removeprefix("http://")}
