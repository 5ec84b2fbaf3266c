"""Java's consumer with ``group.protocol=consumer`` at a real Kafka 4.1.0: the model is called back in the same order,
with as many partitions and the same epochs, at the same times."""

import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import pytest

from protocols.facts import Callback
from protocols.scenario.events import AddTopic, Event, Join, Leave
from tests.kafka_coordinator.kafka_stories import Observed, Story
from tests.slow.java_members import MEMBERS, Members, Program
from tests.slow.java_members import Told as Line
from tests.slow.real_kafka import VERSION, RealKafka, UnavailableError, kafka_jars, running

pytestmark = pytest.mark.slow

INTERVAL_MS: Final = 1_000
"""Of the heartbeats of this broker; see `real_kafka`."""
INITIAL_DELAY_MS: Final = 500
"""Of classic groups at this broker."""
RANGE: Final = "org.apache.kafka.clients.consumer.RangeAssignor"
SLACK_MS: Final = 900
"""What a busy machine and the clients' loops may add; a heartbeat is longer."""


class Told(NamedTuple):
    """A callback: milliseconds since the story began, and how many partitions it names."""

    at: float
    kind: str
    partitions: int
    epoch: int


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    try:
        with running(tmp_path_factory.mktemp("kafka")) as node:
            for topic, partitions in (("t", 6), ("u", 2), ("p-a", 2)):
                node.topics("--create", "--topic", topic, "--partitions", str(partitions))
            yield node
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    try:
        return Program.of(MEMBERS, kafka_jars(VERSION), tmp_path_factory.mktemp("classes"))
    except UnavailableError as error:
        pytest.skip(str(error))


class Script:
    """What is done when, in milliseconds since the beginning, to the members that were started."""

    def __init__(self, kafka: RealKafka, program: Program, group: str) -> None:
        self._common = {"bootstrap.servers": kafka.plaintext, "group.id": group, "auto.offset.reset": "earliest"}
        self._members = Members(program)
        self._names: list[str] = []
        self.began = time.time() * 1000
        self.moments: dict[str, float] = {}

    def start(self, name: str, subscription: str, **settings: str) -> None:
        self._names.append(name)
        own = {**self._common, "client.id": name, "group.protocol": "consumer", **settings}
        self._members.start(name, [subscription], own)

    def at(self, seconds: float, what: str, closing: str = "") -> None:
        time.sleep(max(0.0, self.began / 1000 + seconds - time.time()))
        self.moments[what] = time.time() * 1000 - self.began
        if closing:
            self._members.close(closing)

    def end(self) -> dict[str, list[Told]]:
        """Kill whoever is left; what each was told."""
        self._members.kill()
        return {name: [self._told(each) for each in self._members.of(name, *_KINDS)] for name in self._names}

    def _told(self, line: Line) -> Told:
        return Told(line.at * 1000 - self.began, line.kind, len(line.partitions), line.generation)


_KINDS: Final = ("assigned", "revoked", "lost", "error")


def compare(real: dict[str, list[Told]], modelled: dict[str, list[Told]]) -> None:
    for name, told in real.items():
        assert [each[1:] for each in told] == [each[1:] for each in modelled[name]], (name, told, modelled[name])
        off = [abs(one.at - other.at) for one, other in zip(told, modelled[name], strict=True)]
        assert max(off) <= INTERVAL_MS + SLACK_MS, (name, told, modelled[name])


def test_a_pattern_that_the_broker_resolves_finds_a_new_topic(kafka: RealKafka, program: Program) -> None:
    """a begins, b joins it, a topic that matches is created, b closes."""
    from confluent_kafka import admin

    client = admin.AdminClient({"bootstrap.servers": kafka.plaintext})
    script = Script(kafka, program, "patterns")
    try:
        script.start("a", "~p-[a-z]+")
        script.at(8, "b starts")
        script.start("b", "~p-[a-z]+")
        script.at(16, "p-b is created")
        client.create_topics([admin.NewTopic("p-b", 2, 1)])["p-b"].result(30)
        script.at(34, "b closes", "b")
        script.at(42, "end")
    finally:
        real = script.end()
    pattern = {"pattern": "p-[a-z]+", "resolved_by": "broker"}
    created = {"at": script.moments["p-b is created"], "add_topic": {"p-b": {"queues": {"b1": 2}}}}
    events: list[Event] = [
        *(Join.model_validate({"at": joined(told), "join": name, **pattern}) for name, told in real.items()),
        AddTopic.model_validate(created),
        Leave(at=script.moments["b closes"], leave="b"),
    ]
    compare(real, played(events, 42).by_member())


def test_a_classic_member_hears_soon_of_a_topic_that_was_not_there(kafka: RealKafka, program: Program) -> None:
    """a subscribes to t and to late, which is created when it has been in the group for a while."""
    from confluent_kafka import admin

    client = admin.AdminClient({"bootstrap.servers": kafka.plaintext})
    script = Script(kafka, program, "late")
    try:
        script.start("a", "t,late", **{"group.protocol": "classic", "partition.assignment.strategy": RANGE})
        script.at(14, "late is created")
        client.create_topics([admin.NewTopic("late", 2, 1)])["late"].result(30)
        script.at(22, "end")
    finally:
        real = script.end()
    created = {"at": script.moments["late is created"], "add_topic": {"late": {"queues": {"b1": 2}}}}
    # The initial delay is over before the first callback.
    joins = Join(at=joined(real["a"]) - INITIAL_DELAY_MS, join="a", subscribe=("t", "late"))
    events: list[Event] = [joins, AddTopic.model_validate(created)]
    delay = {"group.initial.rebalance.delay.ms": INITIAL_DELAY_MS}
    modelled = played(events, 22, system="kafka:range", **delay).by_member()
    compare(real, modelled)
    assert [each.kind for each in real["a"]] == ["assigned", "revoked", "assigned"]


def joined(told: Sequence[Told]) -> float:
    """When a client joined: a little before its first callback."""
    return told[0].at - 10


def played(events: Sequence[Event], seconds: float, *, system: str = "kafka:uniform", **settings: int) -> "_Epochs":
    """The same in the model."""
    seen = _Epochs()
    story = Story(
        system,
        members={},
        topics={"t": 6, "u": 2, "p-a": 2},
        events=sorted(events, key=lambda event: event.at),
        settings={
            "group.consumer.heartbeat.interval.ms": INTERVAL_MS,
            "group.consumer.min.heartbeat.interval.ms": 500,
            **settings,
        },
        observer=lambda: seen,
        version=VERSION,
    )
    seen.story = story
    story.until(seconds)
    return seen


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

    def by_member(self) -> dict[str, list[Told]]:
        return {name: [told for member, told in self.told if member == name] for name, _ in self.told}
