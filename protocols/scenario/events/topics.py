"""Topics come, go, and have another number of queues."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from protocols.scenario import shorthands
from protocols.scenario.descriptions import listed
from protocols.scenario.events.base import Event
from protocols.scenario.events.cluster_state import ClusterState
from protocols.scenario.fields import Count
from protocols.scenario.groups import TopicPart
from protocols.scenario.paths import Path
from protocols.scenario.validation import PartError, mapping, validated


class Queues(Event):
    """Topics get more or fewer queues: a number (distributed over the brokers in turn), or per broker."""

    queues: dict[str, dict[str, Count]]
    """Topic to its queues from now on."""

    example: ClassVar[str] = "{at: 120s, queues: {orders: 8, payments: {broker-a: 2, broker-b: 2}}}"
    changes_topics = True
    may_be_refused = True

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        inside = (*path, "queues")
        changed = mapping(fields["queues"], inside)
        queues = {topic: shorthands.queues(each, brokers, (*inside, topic)) for topic, each in changed.items()}
        return validated(cls, {**fields, "queues": queues}, path)

    def describe(self) -> str:
        return listed(f"{topic} has {sum(per_broker.values())} queues" for topic, per_broker in self.queues.items())

    def check(self, there: ClusterState, path: Path) -> None:
        for topic in self.queues:
            there.need_topic(topic, (*path, "queues", topic))

    def queue_changes(self) -> Mapping[str, Mapping[str, int] | None]:
        return self.queues


class AddTopic(Event):
    """Topics are created."""

    add_topic: dict[str, TopicPart]
    """New topics, written as under ``topics``."""

    example: ClassVar[str] = "{at: 130s, add_topic: {refunds: {queues: 4}}}"
    changes_topics = True

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        topics = shorthands.topics(fields["add_topic"], brokers, (*path, "add_topic"))
        return validated(cls, {**fields, "add_topic": topics}, path)

    def describe(self) -> str:
        return f"{listed(self.add_topic)} is created"

    def check(self, there: ClusterState, path: Path) -> None:
        for topic in self.add_topic:
            if topic in there.topics:
                raise PartError((*path, "add_topic", topic), f"topic {topic!r} already exists, expected a new name")

    def queue_changes(self) -> Mapping[str, Mapping[str, int] | None]:
        return {topic: part.queues for topic, part in self.add_topic.items()}


class DeleteTopic(Event):
    """A topic is deleted."""

    delete_topic: str
    """The topic."""

    example: ClassVar[str] = "{at: 140s, delete_topic: audit}"
    changes_topics = True

    def describe(self) -> str:
        return f"{self.delete_topic} is deleted"

    def check(self, there: ClusterState, path: Path) -> None:
        there.need_topic(self.delete_topic, (*path, "delete_topic"))

    def queue_changes(self) -> Mapping[str, Mapping[str, int] | None]:
        return {self.delete_topic: None}
