"""The kinds of clients in recordings, and their settings in the words of the model.

The model is the Java client. librdkafka and kafka-python keep to the same protocol; where they differ is written in
docs/closeness.md.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from compare.catalogues import CLASSIC, CLASSIC_CLASSES
from compare.conformance.cases import MalformedCase
from compare.conformance.kafka_recordings.reading import Member, Recording
from kafka_coordinator.catalogue import CLASSIC as CLASSIC_PROTOCOL
from kafka_coordinator.cluster import GROUP_PROTOCOL, NAMES, REFUSED_UNDER

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
