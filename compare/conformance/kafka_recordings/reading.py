"""A recording as its JSON file has it, checked (captures/kafka/INDEX.md, section "traces/"), and its kinds of clients
with their settings in the words of the model.

Times are milliseconds since the scenario's start and may be a little negative. A partition is written
``topic:number``. What is not compared is not read. The model is the Java client. librdkafka and kafka-python keep to
the same protocol; where they differ is written in docs/closeness.md.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, NamedTuple

from pydantic import BeforeValidator, Field, NonNegativeInt

from compare.catalogues import CLASSIC, CLASSIC_CLASSES
from compare.conformance.cases import Line, MalformedCase, validated
from compare.conformance.recordings import MOST_MS, Count, Part
from kafka_coordinator.catalogue import CLASSIC as CLASSIC_PROTOCOL
from kafka_coordinator.cluster import GROUP_PROTOCOL, NAMES, REFUSED_UNDER
from protocols.java import Queue


def queue_named(name: object) -> Queue:
    """The partition that is written so; `ValueError` where none is."""
    topic, colon, number = name.rpartition(":") if isinstance(name, str) else ("", "", "")
    if not colon or not number.isdecimal():
        raise ValueError("expected a partition written topic:number")
    return Queue(topic, "", int(number))


def queue_names(queues: Iterable[Queue]) -> list[str]:
    """Partitions as recordings write them, sorted."""
    return [f"{queue.topic}:{queue.number}" for queue in sorted(queues)]


Partition = Annotated[Queue, BeforeValidator(queue_named)]

MOST_RATE = 1_000_000
"""A recording with more records is damaged rather than recorded."""

Milliseconds = Annotated[float, Field(ge=-MOST_MS, le=MOST_MS)]


class Member(Part):
    """A client that took part: its kind, the group protocol, its settings under its own names."""

    client: str
    protocol: str
    settings: dict[str, object]


class Described(Part):
    """A member as the group's description shows it: ``client`` is its client id."""

    id: str
    client: str
    tp: tuple[Partition, ...]


class Group(Part):
    """The group's description; without members where it was not found."""

    state: str = ""
    assignor: str = ""
    group_epoch: int | None = None
    """None: a classic group."""
    members: tuple[Described, ...] = ()


class Event(Part):
    """What happened at ``ms``. Which of the other fields are there depends on ``ev``."""

    ms: Milliseconds
    ev: str
    what: str = ""
    member: str = ""
    tp: tuple[Partition, ...] = ()
    all: tuple[Partition, ...] | None = None
    gen: int | None = None
    member_id: str | None = None
    topic: str = ""
    to: Count = 0
    topics: tuple[str, ...] = ()
    log: str = ""
    g: Group | None = None


class PartitionFigures(Part):
    """Of one partition, times in milliseconds after its first owner. None: it never had one."""

    first_owned_ms: Milliseconds | None
    unowned_ms: Milliseconds
    longest_unowned_ms: Milliseconds
    double_owned_ms: Milliseconds
    records_delivered_again: NonNegativeInt
    longest_silence_ms: Milliseconds | None


class Totals(Part):
    """Over all partitions."""

    partitions: NonNegativeInt
    unowned_partition_ms: float
    double_owned_partition_ms: float
    longest_unowned_ms: Milliseconds
    records_delivered_again: NonNegativeInt
    partitions_revoked: NonNegativeInt
    partitions_lost: NonNegativeInt
    callbacks: NonNegativeInt


class Recording(Part):
    """One recorded scenario. ``topics``: partitions at its end."""

    scenario: str
    broker: str | None = None
    """Its version, and more."""
    group: str
    topics: dict[str, Count]
    rate: float = Field(ge=0, le=MOST_RATE, alias="records_per_second_per_partition")
    members: dict[str, Member]
    group_config: dict[str, Annotated[int, Field(ge=0, le=MOST_MS)]] | None = None
    """The group's own settings at the coordinator; None: the broker's hold."""
    totals: Totals
    per_partition: dict[str, PartitionFigures]
    events: tuple[Event, ...]

    @property
    def end(self) -> float:
        """When the script ended."""
        return self.events[-1].ms

    def of(self, *kinds: str) -> list[Event]:
        """The events of these kinds, in order."""
        return [event for event in self.events if event.ev in kinds]


OF_MEMBERS = ("started", "closing", "closed", "paused", "resumed", "revoked", "assigned", "lost", "subscribe")
"""Kinds of events that name a member."""

KINDS = ("step", *OF_MEMBERS, "group", "committed", "broker", "error", "rebalancing")
"""Kinds of events that there are."""


def recognises(line: Line) -> bool:
    """Whether the line is meant to be a recording of a Kafka cluster."""
    return {"events", "per_partition", "group"} <= line.keys()


def read(line: Line) -> Recording:
    """The recording, its events by time up to the script's end. Raises `MalformedCase` naming the field at fault."""
    recording = validated(Recording, line)
    for number, event in enumerate(recording.events):
        if event.ev not in KINDS:
            raise MalformedCase(f"events.{number}.ev", f"one of {', '.join(KINDS)}", event.ev)
        if event.member not in recording.members and (event.ev in OF_MEMBERS or event.member):
            raise MalformedCase(f"events.{number}.member", "one of the members", event.member)
    events = sorted(recording.events, key=lambda event: event.ms)
    ends = [event.ms for event in events if event.ev == "step" and event.what == "end"]
    if len(ends) != 1:
        raise MalformedCase("events", "one step that is called end", len(ends))
    last = next(number for number, event in enumerate(events) if event.what == "end" and event.ev == "step")
    return recording.model_copy(update={"events": tuple(events[: last + 1])})


PROTOCOLS: Final = tuple(REFUSED_UNDER)

JAVA, CONFLUENT, KAFKA_PYTHON, KAFKAJS = "java", "confluent", "kafka-python", "kafkajs"

STRATEGY = "partition.assignment.strategy"

DEFAULT_STRATEGY: Final[Mapping[str, str]] = {
    JAVA: "range,cooperative-sticky",
    CONFLUENT: "range,roundrobin",
    KAFKA_PYTHON: "range,roundrobin",
}
"""Kind of client to the assignors it has unless set otherwise. All other defaults that matter here are the same."""

_ASSIGNORS: Final[Mapping[str, str]] = {
    **{java_class: name for name, java_class in CLASSIC_CLASSES.items()},
    "RangePartitionAssignor": "range",
    "RoundRobinPartitionAssignor": "roundrobin",
    "StickyPartitionAssignor": "sticky",
    **{name: name for name in CLASSIC},
}
"""Simple names of the clients' classes, and librdkafka's names, to ours."""

_RESETS: Final[Mapping[str, str]] = {
    "earliest": "earliest",
    "smallest": "earliest",
    "beginning": "earliest",
    "latest": "latest",
    "largest": "latest",
    "end": "latest",
}


class Client(NamedTuple):
    """A member's client: ``settings`` under Kafka's names, only those that the model knows."""

    kind: str
    client_id: str
    instance_id: str | None
    strategy: str | None
    """Assignors of the classic protocol; None under the consumer protocol."""
    settings: Mapping[str, object]

    @property
    def is_classic(self) -> bool:
        """Whether it speaks the classic protocol."""
        return self.strategy is not None


def why_not_played(recording: Recording) -> str | None:
    """Why the model cannot play a recording, or None if it can."""
    for name, member in recording.members.items():
        if member.client == KAFKAJS:
            return f"{name} is a kafkajs client, which deals partitions in the order of the broker's metadata"
        if member.client not in DEFAULT_STRATEGY:
            return f"{name} is a client of an unknown kind ({member.client})"
        if member.protocol not in PROTOCOLS:
            return f"{name} uses the {member.protocol} protocol, which is not modelled"
    return None


def clients(recording: Recording) -> dict[str, Client]:
    """Each member's client. Raises `MalformedCase` for settings that cannot be."""
    return {name: _client(name, member) for name, member in recording.members.items()}


def _client(name: str, member: Member) -> Client:
    given: dict[str, object] = {}
    for own, value in member.settings.items():
        given[own.replace("_", ".") if member.client == KAFKA_PYTHON else own] = value
    if member.client == CONFLUENT:
        # Its metadata.max.age.ms is the age at which a cached entry is dropped, not how often it asks.
        given.pop("metadata.max.age.ms", None)
        if "topic.metadata.refresh.interval.ms" in given:
            given["metadata.max.age.ms"] = given["topic.metadata.refresh.interval.ms"]
    if member.protocol != CLASSIC_PROTOCOL:
        return _of_consumer_protocol(member, given)
    given.setdefault(STRATEGY, given.get("assignors", DEFAULT_STRATEGY[member.client]))
    return _made(member.client, given, _assignors(name, given[STRATEGY]))


def _of_consumer_protocol(member: Member, given: Mapping[str, object]) -> Client:
    """What the client refuses under this protocol it was not given, or it would not have started."""
    kept = {setting: value for setting, value in given.items() if setting not in REFUSED_UNDER[member.protocol]}
    return _made(member.client, {**kept, GROUP_PROTOCOL: member.protocol}, None)


def _made(kind: str, given: Mapping[str, object], strategy: str | None) -> Client:
    settings = {setting: value for setting, value in given.items() if setting in NAMES and setting != STRATEGY}
    reset = str(settings.pop("auto.offset.reset", ""))
    if reset in _RESETS:
        settings["auto.offset.reset"] = _RESETS[reset]
    instance_id = given.get("group.instance.id")
    client_id = str(given.get("client.id", ""))
    return Client(kind, client_id, None if instance_id is None else str(instance_id), strategy, settings)


def _assignors(name: str, given: object) -> str:
    """Assignors as a client writes them (names, classes, a list or the text of one), in our names."""
    words = [word.rpartition(".")[2] for word in re.findall(r"[\w.-]+", str(given))]
    if not words or not all(word in _ASSIGNORS for word in words):
        raise MalformedCase(f"members.{name}.settings.{STRATEGY}", "assignors that Kafka has", given)
    return ",".join(_ASSIGNORS[word] for word in words)
