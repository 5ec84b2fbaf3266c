"""A group of real consumers, and tests of them: our fixtures and our served broker beside other servers.

Peers: librdkafka's mock cluster, kfake, a released broker; what cannot be had here is left out with a word.
Budgets: three confluent-kafka consumers read within 1 s of their start; join, crash and settle with a fixture 5 CPU
ms.

python -m benchmarks.peers [fixture] [servers]
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tabulate import tabulate

from benchmarks import run_parts
from compare.testing import Clock, Group
from tests.slow.java import UnavailableError

TOPIC, PARTITIONS = "orders", 6
MOCK_SESSION_MS, BROKER_SESSION_MS = 2000, 6000
"""Session timeouts: one that members keep on a busy machine (the mock cluster takes any), and the least that a broker
takes."""

_LONGEST_ROUND_S: Final = 120.0
_CHILD = """
import sys
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2], "session.timeout.ms": sys.argv[3],
    "heartbeat.interval.ms": "300", "auto.offset.reset": "earliest", "partition.assignment.strategy": "range"})
print("ready", flush=True)
sys.stdin.readline()
consumer.subscribe([sys.argv[4]])
while True:
    consumer.poll(0.05)
"""


def lived_really(address: str, group: str, session_ms: int) -> float:
    """Seconds for two members to settle, a third to join, and one to crash until the others own everything."""
    from confluent_kafka import Consumer

    config = {
        "bootstrap.servers": address,
        "group.id": group,
        "session.timeout.ms": session_ms,
        "heartbeat.interval.ms": 300,
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": "range",
        "log_level": 0,
    }
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, address, group, str(session_ms), TOPIC],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    first, third = Consumer(config), Consumer(config)
    try:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        begin = time.perf_counter()
        first.subscribe([TOPIC])
        child.stdin.write(b"\n")
        child.stdin.flush()
        _poll([first], lambda: len(first.assignment()) == PARTITIONS // 2)
        third.subscribe([TOPIC])
        _poll([first, third], lambda: len(first.assignment()) == len(third.assignment()) == PARTITIONS // 3)
        child.kill()
        _poll([first, third], lambda: len(first.assignment()) + len(third.assignment()) == PARTITIONS)
        return time.perf_counter() - begin
    finally:
        child.kill()
        child.wait()
        first.close()
        third.close()


def _poll(consumers: list[Any], stop: Callable[[], bool]) -> None:
    end = time.perf_counter() + _LONGEST_ROUND_S
    while not stop():
        if time.perf_counter() > end:
            raise TimeoutError(f"the group has not settled within {_LONGEST_ROUND_S:.0f} s")
        for each in consumers:
            each.poll(0.01)


def on_mock(rounds: int) -> list[float]:
    """Seconds of each round on librdkafka's mock cluster, which is made once."""
    from tests.compare.testing.differential.mock_cluster import MockCluster

    cluster = MockCluster()
    try:
        cluster.create_topic(TOPIC, PARTITIONS)
        return [lived_really(cluster.address, f"round-{number}", MOCK_SESSION_MS) for number in range(rounds)]
    finally:
        cluster.close()


def on_broker(rounds: int) -> tuple[float, list[float]]:
    """Seconds until a broker of Kafka 4.1.0 is up with a topic, and of each round. Raises
    `tests.slow.java.UnavailableError` where Java 17, Maven or the jars are missing."""
    from tests.slow.real_kafka import running

    begin = time.perf_counter()
    with TemporaryDirectory() as folder, running(Path(folder)) as kafka:
        kafka.topics("--create", "--topic", TOPIC, "--partitions", str(PARTITIONS))
        up = time.perf_counter() - begin
        return up, [lived_really(kafka.plaintext, f"round-{number}", BROKER_SESSION_MS) for number in range(rounds)]


ROUNDS, REAL_ROUNDS = 200, 3
MOST_MS = 5.0
"""Milliseconds for join, crash and settle that must not be exceeded."""


def lived(group: Group) -> None:
    """Two members settle; one joins, and when all has settled one crashes."""
    group.settle()
    group.join("c3").settle()
    group.crash("c2").settle()
    assert len(group.owners()) == 2


def timed(make: Callable[[], Group], rounds: int) -> tuple[list[float], list[float]]:
    """CPU milliseconds to make a group, and for it to live."""
    making, living = [], []
    for _ in range(rounds):
        begin = time.process_time()
        group = make()
        made = time.process_time()
        lived(group)
        making.append((made - begin) * 1000)
        living.append((time.process_time() - made) * 1000)
    return making, living


def beside_real_consumers(fixture_s: float, rounds: int) -> None:
    """The same test with real consumers, in seconds on the wall, and how many times the fixture's."""
    rows: list[list[str]] = [["the fixture, kafka:range", f"{fixture_s:.4f}", "1", ""]]

    def row(name: str, seconds: list[float], note: str) -> list[str]:
        return [name, f"{median(seconds):.2f}", f"{median(seconds) / fixture_s:,.0f}", note]

    session = f"session {MOCK_SESSION_MS / 1000:.0f} s, no initial delay"
    rows.append(row("confluent-kafka on its mock cluster", on_mock(rounds), session))
    try:
        up, seconds = on_broker(rounds)
    except UnavailableError as error:
        print(f"no broker: {error}")
    else:
        note = f"session {BROKER_SESSION_MS / 1000:.0f} s, initial delay 0.5 s; {up:.0f} s until it is up"
        rows.append(row("confluent-kafka on a broker of Kafka 4.1.0", seconds, note))
    print(tabulate(rows, headers=["join, crash, settle", "wall s", "times the fixture", ""], disable_numparse=True))


def fixture() -> None:
    """Join, crash and settle of a group of three."""
    fixture_s = 0.0
    rows = []
    for system, strategy in (("kafka", "range"), ("kafka", "cooperative-sticky"), ("rocketmq", "AVG")):
        kind = system

        def make(kind: str = kind, strategy: str = strategy) -> Group:
            return Group(kind, Clock())(members=["c1", "c2"], strategy=strategy, produce=0)

        timed(make, 3)
        making, living = timed(make, ROUNDS)
        row = [f"{value:.2f}" for value in (median(making), median(living), min(living))]
        fixture_s = fixture_s or (median(making) + median(living)) / 1000
        rows.append([f"{system}:{strategy}", *row, f"{MOST_MS:.0f}"])
    headers = ["group", "made (CPU ms)", "join, crash, settle (CPU ms)", "the best", "must be below"]
    print(tabulate(rows, headers=headers))
    print()
    beside_real_consumers(fixture_s, REAL_ROUNDS)


TOPIC, PARTITIONS, RECORDS = "orders", 6, 5
MOST_JOINED_S: Final = 1.0
_LONGEST_S: Final = 60.0

_KFAKE_VERSION: Final = "v0.0.0-20260918054303-01f206a7e32c"
"""That of 29 July 2025 (29dc44e616cd) answers Fetch with null records for a partition of which all was read. librdkafka
refuses such an answer as a whole, so that it reads nothing from then on."""
_FRANZ_GO: Final = "v1.22.2"
"""The version that kfake's go.mod names lacks functions that it calls."""
_KFAKE: Final = """package servers

import (
	"fmt"
	"os"
	"os/signal"

	"github.com/twmb/franz-go/pkg/kfake"
)

func servers() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		panic(err)
	}
	fmt.Println(cluster.ListenAddrs()[0])
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt)
	<-ends
	cluster.Close()
}
"""


class Server(NamedTuple):
    """One that runs. ``pid``: its process; None where it lives in ours, or is a tree of processes. ``has_topic``:
    whether the topic is there, as where clients cannot create one."""

    address: str
    start_s: float
    pid: int | None
    has_topic: bool = False


def together(address: str, group: str) -> float:
    """Seconds until three consumers that are started at once have joined, are assigned, and read."""
    config = {
        "bootstrap.servers": address,
        "group.id": group,
        "heartbeat.interval.ms": 300,
        "session.timeout.ms": 6000,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    consumers = [Consumer(config) for _ in range(3)]
    try:
        begin = time.perf_counter()
        for each in consumers:
            each.subscribe([TOPIC])
        _until_reading(consumers, PARTITIONS // 3)
        return time.perf_counter() - begin
    finally:
        for each in consumers:
            each.close()


def _until_reading(consumers: list[Any], partitions: int) -> None:
    """Until each has so many partitions and, since then, a record."""
    read: dict[int, bool] = {}
    end = time.perf_counter() + _LONGEST_S
    while True:
        for number, each in enumerate(consumers):
            message = each.poll(0.005)
            has_all = len(each.assignment()) == partitions
            read[number] = has_all and (read.get(number, False) or (message is not None and message.error() is None))
        if all(read.values()):
            return
        if time.perf_counter() > end:
            raise TimeoutError(f"three consumers do not read within {_LONGEST_S:.0f} s")


def fill(address: str, *, has_topic: bool) -> None:
    """A topic with records in each partition."""
    if not has_topic:
        admin = AdminClient({"bootstrap.servers": address})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    producer = Producer({"bootstrap.servers": address, "log_level": 0})
    for partition in range(PARTITIONS):
        for _ in range(RECORDS):
            producer.produce(TOPIC, b"an order", partition=partition)
    producer.flush(30)


@contextmanager
def _ours_beside() -> Iterator[Server]:
    from compare.testing.brokers import KafkaBroker

    begin = time.perf_counter()
    broker = KafkaBroker()
    try:
        yield Server(broker.bootstrap, time.perf_counter() - begin, None)
    finally:
        broker.close()


@contextmanager
def _started(command: list[str], begin: float) -> Iterator[Server]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        yield Server(address, time.perf_counter() - begin, process.pid)
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def _ours_apart() -> Iterator[Server]:
    command = [sys.executable, "-m", "compare", "serve", "kafka", "--port", "0", "--initial-delay", "0s"]
    with _started(command, time.perf_counter()) as server:
        yield server


@contextmanager
def _mock() -> Iterator[Server]:
    from tests.compare.testing.differential.worlds import MockCluster

    begin = time.perf_counter()
    cluster = MockCluster()
    try:
        start_s = time.perf_counter() - begin
        cluster.create_topic(TOPIC, PARTITIONS)
        yield Server(cluster.address, start_s, None, has_topic=True)
    finally:
        cluster.close()


@contextmanager
def _kfake() -> Iterator[Server]:
    go = shutil.which("go")
    if go is None:
        raise UnavailableError("no go on PATH")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise"
    folder = cache / f"kfake-{_KFAKE_VERSION}"
    program = folder / "kfake"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "main.go").write_text(_KFAKE)
        modules = [f"github.com/twmb/franz-go/pkg/kfake@{_KFAKE_VERSION}", f"github.com/twmb/franz-go@{_FRANZ_GO}"]
        for arguments in (["mod", "init", "kfake"], ["get", *modules], ["build", "-o", str(program), "."]):
            done = subprocess.run(
                [go, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False
            )
            if done.returncode and arguments[1] != "init":
                raise UnavailableError(f"go {arguments[0]}: {done.stderr.strip().splitlines()[-1]}")
    with _started([str(program)], time.perf_counter()) as server:
        yield server


@contextmanager
def _real() -> Iterator[Server]:
    from tests.slow.real_kafka import running

    begin = time.perf_counter()
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with TemporaryDirectory() as folder, running(Path(folder), settings) as kafka:
        yield Server(kafka.plaintext, time.perf_counter() - begin, None)


def _memory_mb(pid: int | None) -> str:
    if pid is None:
        return "-"
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return f"{kilobytes / 1024:.0f}"


_SERVERS: Final[dict[str, Callable[[], Any]]] = {
    "ours, fixture kafka_broker": _ours_beside,
    "ours, equipoise serve kafka": _ours_apart,
    "librdkafka's mock cluster": _mock,
    "kfake (franz-go)": _kfake,
    "Kafka 4.1.0, no initial delay": _real,
}


def servers() -> None:
    """Start, and a group of three confluent-kafka consumers."""
    rows = []
    for name, started in _SERVERS.items():
        try:
            with started() as server:
                fill(server.address, has_topic=server.has_topic)
                at_once = [together(server.address, f"at-once-{number}") for number in range(REAL_ROUNDS)]
                rows.append([name, f"{server.start_s:.3f}", f"{median(at_once):.2f}", _memory_mb(server.pid)])
        except (UnavailableError, TimeoutError) as why:
            rows.append([name, "-", "-", "-", str(why)])
    headers = ["server", "start (s)", "three at once read (s)", "memory (MB)"]
    print(tabulate(rows, headers=headers, disable_numparse=True))
    print(f"Ours must have three consumers reading within {MOST_JOINED_S:g} s.")


if __name__ == "__main__":
    run_parts({"fixture": fixture, "servers": servers})
