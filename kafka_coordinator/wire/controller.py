"""The controller of a served cluster as a node: brokers pass on to it what changes the cluster, it answers, and tells
all brokers the new state first.

In Kafka `QuorumController` with `ForwardingManager`.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias
from uuid import UUID

from kio.static.protocol import Entity

from kafka_coordinator.wire import requests
from kafka_coordinator.wire.cluster import ClusterRecord
from kafka_coordinator.wire.config_changes import alter_configs
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.requests import AlterConfigs, Answer, IncrementalAlterConfigs, Work, answered
from kafka_coordinator.wire.topic_changes import (
    NewTopic,
    check_new_topic,
    create_partitions,
    create_topics,
    delete_topics,
)
from protocols.engine.nodes import Message, Outbox, Time, TimerName

Change: TypeAlias = (
    requests.CreateTopics | requests.DeleteTopics | requests.CreatePartitions | AlterConfigs | IncrementalAlterConfigs
)


class Administer(NamedTuple):
    """A broker passes on its client's request; ``settings`` are the broker's (Kafka's names and texts)."""

    client: str
    request: Change
    node_id: int
    settings: Mapping[str, str]


class Administered(NamedTuple):
    """The answer to it, for the broker's client."""

    client: str
    answer: Answer


class CreateMissing(NamedTuple):
    """Clients have asked for topics that there are not: create them with the defaults."""

    topics: tuple[str, ...]


class BrokerAway(NamedTuple):
    """A command: the broker has stopped, or its session has ended; others lead what it led."""

    broker: str


class BrokerBack(NamedTuple):
    """A command: the broker runs again; it leads only partitions that have no leader."""

    broker: str


class BalanceLeaders(NamedTuple):
    """A command: partitions go back to their preferred leaders."""


class TellBrokers(NamedTuple):
    """A command: the record was changed from outside; tell the brokers."""


class ControllerNode:
    """Answers from ``cluster``; every other node that it tells is a broker."""

    __slots__ = ("cluster",)

    def __init__(self, cluster: ClusterRecord) -> None:
        self.cluster = cluster

    def start(self, now: Time, out: Outbox) -> None:
        """Brokers start with the state that they are given."""

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        controller = self.cluster.controller
        if isinstance(message, Administer):
            answer = answered(message.request.correlation, self._work(message, out))
            out.send(sender, Administered(message.client, answer))
            return
        if isinstance(message, CreateMissing):
            self._create(message.topics, out)
        elif isinstance(message, BrokerAway):
            controller.ended(message.broker)
            controller.fence(message.broker)
        elif isinstance(message, BrokerBack):
            controller.unfence(message.broker)
        elif isinstance(message, BalanceLeaders):
            controller.rebalance_leaders()
        for _ in self._tell(out):
            pass

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """It sets no timers."""

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing changes."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """A broker has ended; whoever ended it tells by a command."""

    def _work(self, message: Administer, out: Outbox) -> Work:
        request = message.request
        made: Entity | None
        if isinstance(request, requests.CreateTopics):
            made = yield from create_topics(self.cluster, request, lambda: _new_id(out))
        elif isinstance(request, requests.DeleteTopics):
            made = yield from delete_topics(self.cluster, request)
        elif isinstance(request, requests.CreatePartitions):
            made = yield from create_partitions(self.cluster, request)
        else:
            made = yield from alter_configs(self.cluster, request, message.node_id, message.settings)
        is_long = len(self.cluster.topics()) > _MANY
        if is_long:
            yield
        for _ in self._tell(out):
            if is_long:
                yield
        return made

    def _create(self, topics: tuple[str, ...], out: Outbox) -> None:
        for topic in topics:
            try:
                replicas = check_new_topic(self.cluster, NewTopic(topic), {})
            except RefusedError:
                continue  # somebody else was faster, or nobody can have it: the client that asks again is told
            self.cluster.create(topic, replicas, {}, _new_id(out))

    def _tell(self, out: Outbox) -> Iterator[None]:
        """The brokers learn the state one after the other: others may have their turn in between."""
        state = self.cluster.news()
        if state is not None:
            for broker in self.cluster.controller.brokers:  # those that do not run do not hear it
                out.send(broker, state)
                yield


_MANY = 1_000
"""Topics with which a broker needs long enough to learn a state for others to have their turn."""


def _new_id(out: Outbox) -> UUID:
    return UUID(out.new_id(""))
