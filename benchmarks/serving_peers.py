"""Servers for tests of real consumers, side by side: ours, librdkafka's mock cluster, kfake, a real broker.

Each is started; then three confluent-kafka consumers join one group of a topic with six partitions that hold records, a
group whose third member comes when the first two read. Times are on the wall. What cannot be had here is left out with
a word.

python -m benchmarks.serving_peers [--rounds N]
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

import click
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tabulate import tabulate

from tests.slow.java import UnavailableError

TOPIC, PARTITIONS, RECORDS = "orders", 6, 5
MOST_JOINED_S: Final = 1.0
_LONGEST_S: Final = 60.0

_KFAKE_VERSION: Final = "v0.0.0-20260918054303-01f206a7e32c"
"""That of 29 July 2025 (29dc44e616cd) answers Fetch with null records for a partition of which all was read. librdkafka
refuses such an answer as a whole, so that it reads nothing from then on."""
_FRANZ_GO: Final = "v1.22.2"
"""The version that kfake's go.mod names lacks functions that it calls."""
_KFAKE: Final = """package main

import (
	"fmt"
	"os"
	"os/signal"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
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
    """One that runs. ``pid``: its process; None where it lives in ours. ``has_topic``: whether the topic is there, as
    where clients cannot create one."""

    address: str
    start_s: float
    pid: int | None
    has_topic: bool = False


class Lived(NamedTuple):
    """Seconds until two members that were started together read, and until the third one does."""

    two_s: float
    third_s: float


def lived(address: str, group: str) -> Lived:
    """A group of three, the third of which comes later."""
    config = {
        "bootstrap.servers": address,
        "group.id": group,
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 300,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "partition.assignment.strategy": "range",
        "log_level": 0,
    }
    consumers = [Consumer(config) for _ in range(3)]
    try:
        begin = time.perf_counter()
        for each in consumers[:2]:
            each.subscribe([TOPIC])
        _until_reading(consumers[:2], PARTITIONS // 2)
        two_s = time.perf_counter() - begin
        begin = time.perf_counter()
        consumers[2].subscribe([TOPIC])
        _until_reading(consumers, PARTITIONS // 3)
        return Lived(two_s, time.perf_counter() - begin)
    finally:
        for each in consumers:
            each.close()


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
        yield Server(kafka.plaintext, time.perf_counter() - begin, _child_named("java"))


def _child_named(name: str) -> int | None:
    """A child of this process."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")
        except OSError:
            continue
        if fields[0].endswith(f"({name}") and int(fields[2].split()[1]) == os.getpid():
            return int(stat.parent.name)
    return None


def _memory_mb(pid: int | None) -> str:
    if pid is None:
        return "in the test's process"
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


@click.command()
@click.option("--rounds", default=5, show_default=True)
def main(rounds: int) -> None:
    """Start, and a group of three confluent-kafka consumers."""
    rows = []
    for name, started in _SERVERS.items():
        try:
            with started() as server:
                fill(server.address, has_topic=server.has_topic)
                at_once = [together(server.address, f"at-once-{number}") for number in range(rounds)]
                later = [lived(server.address, f"later-{number}") for number in range(rounds)]
                rows.append(
                    [
                        name,
                        f"{server.start_s:.3f}",
                        f"{median(at_once):.2f}",
                        f"{median(each.third_s for each in later):.2f}",
                        _memory_mb(server.pid),
                    ]
                )
        except (UnavailableError, TimeoutError) as why:
            rows.append([name, "-", "-", "-", str(why)])
    headers = ["server", "start (s)", "three at once read (s)", "a third member reads (s)", "memory (MB)"]
    print(tabulate(rows, headers=headers, disable_numparse=True))
    print(f"Ours must have three consumers reading within {MOST_JOINED_S:g} s.")


if __name__ == "__main__":
    main()
