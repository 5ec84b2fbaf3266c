"""Java's consumer with ``group.protocol=consumer`` at a real Kafka 4.1.0: the model is called back in the same order,
with as many partitions and the same epochs, at the same times."""

import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from protocols.facts import Callback
from protocols.scenario.events import Event, Join, Leave, StopPolling, Subscribe
from tests.kafka_coordinator.kafka_stories import Observed, Story
from tests.slow.java import find_java, released_jars
from tests.slow.real_kafka import _ARTIFACTS, VERSION, RealKafka, UnavailableError, running

pytestmark = pytest.mark.slow

INTERVAL_MS: Final = 1_000
"""Of the heartbeats of this broker; see `real_kafka`."""
SLACK_MS: Final = 900
"""What a busy machine and the clients' loops may add; a heartbeat is longer."""
SOURCE = Path(__file__).with_name("KafkaMember.java")


class Told(NamedTuple):
    """A callback: milliseconds since the story began, and how many partitions it names."""

    at: float
    kind: str
    partitions: int
    epoch: int


@dataclass
class Member:
    """A running Java client."""

    process: "subprocess.Popen[str]"
    began: float
    told: list[Told] = field(default_factory=list)

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            at, kind, about, epoch = line.rstrip("\n").split("\t")
            self.told.append(Told(int(at) - self.began, kind, len(about.split(",")) if about else 0, int(epoch)))

    def say(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    try:
        with running(tmp_path_factory.mktemp("kafka")) as node:
            for topic, partitions in (("t", 6), ("u", 2)):
                node.topics("--create", "--topic", topic, "--partitions", str(partitions))
            yield node
    except UnavailableError as error:
        pytest.skip(str(error))


def start(kafka: RealKafka, classes: Path, name: str, began: float, **settings: str) -> Member:
    jars = released_jars("kafka", VERSION, _ARTIFACTS)
    given = {
        "bootstrap.servers": kafka.plaintext,
        "group.id": "g",
        "client.id": name,
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        **settings,
    }
    arguments = ["t", *(f"{key}={value}" for key, value in given.items())]
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    command = [find_java(), "-cp", f"{classes}:{jars}/*", "-Xmx128m", "-XX:TieredStopAtLevel=1", quiet, "KafkaMember"]
    process = subprocess.Popen(
        [*command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    member = Member(process, began)
    threading.Thread(target=member.listen, daemon=True).start()
    return member


def test_the_model_is_called_back_as_javas_consumer_is(kafka: RealKafka, tmp_path: Path) -> None:
    """a begins, b joins, a's user stands still for longer than it may, b reads another topic as well, a closes."""
    jars = released_jars("kafka", VERSION, _ARTIFACTS)
    javac = str(Path(find_java()).resolve().with_name("javac"))
    subprocess.run([javac, "-cp", f"{jars}/*", "-d", str(tmp_path), str(SOURCE)], check=True, timeout=120)
    began = time.time() * 1000
    patience = {"max.poll.interval.ms": "6000"}
    members: dict[str, Member] = {}
    did: list[tuple[float, str]] = []

    def at(seconds: float, what: str) -> None:
        time.sleep(max(0.0, began / 1000 + seconds - time.time()))
        did.append((time.time() * 1000 - began, what))

    try:
        members["a"] = start(kafka, tmp_path, "a", began, **patience)
        at(8, "b starts")
        members["b"] = start(kafka, tmp_path, "b", began, **patience)
        at(18, "a stands still")
        members["a"].say("sleep 10000")
        at(34, "b subscribes")
        members["b"].say("subscribe t,u")
        at(40, "a closes")
        members["a"].say("close")
        at(46, "end")
    finally:
        for member in members.values():
            member.process.kill()
            member.process.wait(30)
    real = {name: [each for each in member.told if each.kind != "closed"] for name, member in members.items()}
    moments = {what: moment for moment, what in did}
    modelled = played(real, moments)
    for name, told in real.items():
        assert [each[1:] for each in told] == [each[1:] for each in modelled[name]], (name, told, modelled[name])
        off = [abs(one.at - other.at) for one, other in zip(told, modelled[name], strict=True)]
        assert max(off) <= INTERVAL_MS + SLACK_MS, (name, told, modelled[name])


def played(real: dict[str, list[Told]], moments: dict[str, float]) -> dict[str, list[Told]]:
    """The same in the model; a client that starts has its first callback a little after it joined."""
    begins = {name: told[0].at - 10 for name, told in real.items()}
    events: Sequence[Event] = [
        *(Join(at=begins[name], join=name, subscribe=("t",)) for name in ("a", "b")),
        StopPolling.model_validate({"at": moments["a stands still"], "stop_polling": "a", "for": 10_000.0}),
        Subscribe(at=moments["b subscribes"], subscribe={"b": ("t", "u")}),
        Leave(at=moments["a closes"], leave="a"),
    ]
    settings = {
        "max.poll.interval.ms": 6_000,
        "group.consumer.heartbeat.interval.ms": INTERVAL_MS,
        "group.consumer.min.heartbeat.interval.ms": 500,
    }
    seen = _Epochs()
    story = Story(
        "kafka:uniform",
        members={},
        topics={"t": 6, "u": 2},
        events=events,
        settings=settings,
        observer=lambda: seen,
    )
    seen.story = story
    story.until(46)
    return {name: [told for member, told in seen.told if member == name] for name in real}


class _Epochs(Observed):
    """What the listeners are told, with the epochs of their members."""

    def __init__(self) -> None:
        super().__init__()
        self.story: Story | None = None
        self.told: list[tuple[str, Told]] = []

    def fact(self, now: float, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        super().fact(now, node, fact, root, cause)
        if isinstance(fact, Callback) and self.story is not None:
            consumer = self.story.cluster.consumer(node)
            epoch = -1 if consumer is None else consumer.state.told_generation()
            self.told.append((fact.member, Told(now, fact.kind, len(fact.queues), epoch)))
