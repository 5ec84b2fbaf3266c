"""What a consumer registers and watches in ZooKeeper, and why it is to rebalance (spec 7.2).

A watch fires once; it is set again at once, before anything is done about the change.

In Kafka 0.8 `ZKRebalancerListener.handleChildChange`, `ZKTopicPartitionChangeListener` and
`ZookeeperTopicEventWatcher`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from kafka_coordinator.zookeeper import messages
from kafka_coordinator.zookeeper.connection import Asked, Connection
from kafka_coordinator.zookeeper.messages import (
    DATA,
    Create,
    GetChildren,
    GetData,
    Registration,
    Request,
    WatchEvent,
    matching,
)
from protocols.engine.nodes import Outbox
from protocols.node_state import NodeState

WATCHING = "watching"
"""What a request is for: to register or to watch."""

LISTING = GetChildren(0, messages.TOPICS, watch=True)
"""How a pattern subscriber learns what topics there are."""


class Subscription(NamedTuple):
    """Topics by name, or by a pattern."""

    topics: tuple[str, ...]
    pattern: str | None = None


@dataclass(slots=True, init=False, eq=False)
class Watching(NodeState):
    """A part of the consumer's node. ``due``: why a rebalance is due, in a few words; None: none is."""

    _group: str
    _subscription: Subscription
    topics: tuple[str, ...]
    """Those subscribed to now; with a pattern, those that match."""
    due: str | None

    def __init__(self, group: str, subscription: Subscription) -> None:
        self._group, self._subscription = group, subscription
        self.topics = subscription.topics
        self.due = None

    def register(self, consumer_id: str, connection: Connection, out: Outbox) -> None:
        """In a new session: make our node, watch the group and the partitions of our topics."""
        topics, pattern = self._subscription
        data = Registration(tuple((topic, 1) for topic in topics), pattern)
        connection.ask(WATCHING, Create(0, messages.member(self._group, consumer_id), data), out)
        connection.ask(WATCHING, GetChildren(0, messages.members(self._group), watch=True), out)
        if pattern is not None:
            connection.ask(WATCHING, LISTING, out)
        self._watch(self.topics, connection, out)

    def watch_brokers(self, connection: Connection, out: Outbox) -> None:
        """There was no broker at all."""
        connection.ask(WATCHING, GetChildren(0, messages.BROKERS, watch=True), out)

    def fired(self, event: WatchEvent, connection: Connection, out: Outbox) -> None:
        """Watch again. A changed topic list matters only where the pattern matches other topics (`topics_listed`)."""
        kind = GetData if event.kind == DATA else GetChildren
        again: Request = kind(0, event.path, watch=True)
        connection.ask(WATCHING, again, out)
        if event.path == messages.members(self._group):
            self.due = "member list changed"
        elif event.path == messages.BROKERS:
            self.due = "brokers changed"
        elif event.path != messages.TOPICS:
            self.due = f"partitions of {event.path.rpartition('/')[2]} changed"

    def topics_listed(self, names: tuple[str, ...], connection: Connection, out: Outbox) -> None:
        """These topics there are."""
        topics = matching(self._subscription.pattern or "", names)
        if topics != self.topics:
            self._watch(tuple(topic for topic in topics if topic not in self.topics), connection, out)
            self.topics = topics
            self.due = self.due or "topics that match the pattern changed"

    @staticmethod
    def is_listing(connection: Connection) -> bool:
        """Whether a pattern subscriber still waits to learn its topics."""
        return Asked(WATCHING, LISTING) in connection.asked.values()

    def _watch(self, topics: tuple[str, ...], connection: Connection, out: Outbox) -> None:
        for topic in topics:
            connection.ask(WATCHING, GetData(0, messages.topic(topic), watch=True), out)
