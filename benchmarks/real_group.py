"""The life of `benchmarks.pytest_fixture` with real consumers: confluent-kafka on its mock cluster, or on a broker.

c1 and c3 are polled here in one loop, c2 is a process of its own that is killed: a consumer that is only let go of
leaves its group properly. Everything is on 127.0.0.1.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

TOPIC, PARTITIONS = "orders", 6
MOCK_SESSION_MS, BROKER_SESSION_MS = 2000, 6000
"""Session timeouts: one that members keep on a busy machine (the mock cluster takes any), and the least that a broker
takes."""

_LONGEST_S: Final = 120.0
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


def lived(address: str, group: str, session_ms: int) -> float:
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
    end = time.perf_counter() + _LONGEST_S
    while not stop():
        if time.perf_counter() > end:
            raise TimeoutError(f"the group has not settled within {_LONGEST_S:.0f} s")
        for each in consumers:
            each.poll(0.01)


def on_mock(rounds: int) -> list[float]:
    """Seconds of each round on librdkafka's mock cluster, which is made once."""
    from tests.compare.testing.differential.worlds import MockCluster

    cluster = MockCluster()
    try:
        cluster.create_topic(TOPIC, PARTITIONS)
        return [lived(cluster.address, f"round-{number}", MOCK_SESSION_MS) for number in range(rounds)]
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
        return up, [lived(kafka.plaintext, f"round-{number}", BROKER_SESSION_MS) for number in range(rounds)]
