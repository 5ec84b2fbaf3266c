"""Programs that move records exactly once, on released clients and frameworks, before a served broker: they run, are
killed in the middle of a transaction, and are frozen until another one has taken their place."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer

from compare.testing.brokers import KafkaBroker
from tests.slow.java import UnavailableError, released_jars
from tests.slow.java_members import Program

pytestmark = pytest.mark.slow

HERE: Final = Path(__file__).parent / "exactly_once"
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise"
QUIXSTREAMS: Final = "3.28.1"
SPRING: Final = "3.3.4"
COUNT, WITHIN_S = 300, 180
FENCED: Final = 3
"""Exit code of a program whose producer was fenced, where it is ours to say."""
_SETTINGS: Final = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "group.consumer.session.timeout.ms": 6000,
    "group.consumer.min.session.timeout.ms": 6000,
    "group.consumer.heartbeat.interval.ms": 1000,
    "group.consumer.min.heartbeat.interval.ms": 1000,
}
_SESSION: Final = "session.timeout.ms=6000"
_LOGS: Final = {"org.slf4j:slf4j-simple": "1.7.36"}

Command = Callable[[str, Path], Sequence[str]]
"""Bootstrap and a folder of the program's own, to its command line."""


def clients(version: str, folder: Path, *settings: str) -> Command:
    jars = released_jars("kafka-clients", version, {"org.apache.kafka:kafka-clients": version, **_LOGS})
    program = Program.of(HERE / "MoveByClients.java", jars, folder)
    return lambda bootstrap, own: [*program.command, bootstrap, "mover", *settings]


def streams(folder: Path) -> Command:
    jars = released_jars("kafka-streams", "4.4.0", {"org.apache.kafka:kafka-streams": "4.4.0", **_LOGS})
    program = Program.of(HERE / "MoveByStreams.java", jars, folder)
    return lambda bootstrap, own: [*program.command, bootstrap, str(own)]


def spring(folder: Path) -> Command:
    """A listener whose container's transaction manager commits records and offsets, one record a transaction."""
    wanted = {"org.springframework.kafka:spring-kafka": SPRING, "org.slf4j:slf4j-simple": "2.0.17"}
    program = Program.of(HERE / "MoveBySpring.java", released_jars("spring-kafka", SPRING, wanted), folder)
    return lambda bootstrap, own: [*program.command, bootstrap, str(own)]


def quixstreams(folder: Path) -> Command:
    """The package is kept in the user's cache folder."""
    kept = CACHE / f"quixstreams-{QUIXSTREAMS}"
    if not (kept / "quixstreams").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(kept), f"quixstreams=={QUIXSTREAMS}"]
        if subprocess.run(pip, check=False, timeout=600).returncode:
            raise UnavailableError(f"pip cannot install quixstreams {QUIXSTREAMS}")
    command = ["env", f"PYTHONPATH={kept}", sys.executable, str(HERE / "move_by_quixstreams.py")]
    return lambda bootstrap, own: [*command, bootstrap, str(own)]


PROGRAMS: Mapping[str, Callable[[Path], Command]] = {
    "clients 4.4.0": lambda folder: clients("4.4.0", folder, _SESSION),
    "clients 4.4.0, consumer protocol": lambda folder: clients("4.4.0", folder, "group.protocol=consumer"),
    "clients 3.9.1": lambda folder: clients("3.9.1", folder, _SESSION),
    "streams 4.4.0": streams,
    "spring": spring,
    "quixstreams": quixstreams,
}


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    broker = KafkaBroker({"orders": 2, "invoices": 2, "counts": 2}, settings=_SETTINGS, kafka_version="4.4")
    yield broker
    broker.close()


class Running:
    """A program that runs; as a context manager it is killed at the end."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *about: object) -> None:
        self.process.kill()
        self.process.wait()


class Invoices:
    """What a reader of what is committed has read so far."""

    def __init__(self, bootstrap: str) -> None:
        settings = {"group.id": uuid4().hex, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "enable.auto.commit": False, **settings})
        self._consumer.subscribe(["invoices"])
        self.values: list[str] = []

    def until(self, count: int, programs: Sequence[Running]) -> None:
        end = time.monotonic() + WITHIN_S
        while len(self.values) < count:
            is_late = time.monotonic() > end or all(each.process.poll() is not None for each in programs)
            assert not is_late, [len(self.values), *[each.log.read_text()[-3000:] for each in programs]]
            for message in self._consumer.consume(100, 0.2):
                assert message.error() is None
                self.values.append(str((message.value() or b"").decode()))

    def rest(self) -> None:
        """Read what should not be there."""
        self.values += [str((each.value() or b"").decode()) for each in self._consumer.consume(100, 3)]
        self._consumer.close()


@pytest.mark.parametrize("how", ["killed", "frozen"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_order_is_moved_once(name: str, how: str, broker: KafkaBroker, tmp_path: Path) -> None:
    folder = tmp_path / "classes"
    folder.mkdir()
    try:
        command = PROGRAMS[name](folder)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(COUNT):
        producer.produce("orders", str(number), key=str(number % 7))
    assert producer.flush(10) == 0
    invoices = Invoices(broker.bootstrap)
    with Running(command(broker.bootstrap, tmp_path / "one"), tmp_path / "one.log") as first:
        invoices.until(COUNT // 4, [first])
        first.process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        with Running(command(broker.bootstrap, tmp_path / "two"), tmp_path / "two.log") as second:
            invoices.until(COUNT // 2, [first, second])
            if how == "frozen":
                first.process.send_signal(signal.SIGCONT)
            invoices.until(COUNT, [first, second])
            if how == "frozen" and name.startswith("clients"):
                assert first.process.wait(WITHIN_S) == FENCED
                assert "fenced" in first.log.read_text()
    invoices.rest()
    assert sorted(map(int, invoices.values)) == list(range(COUNT))
    ended = broker.committed("movers")
    assert {partition: ended[partition] for partition in ended if partition[0] == "orders"} == {
        ("orders", number): broker.end_offset("orders", number) for number in (0, 1)
    }
