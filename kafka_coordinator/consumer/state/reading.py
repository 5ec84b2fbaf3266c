"""Commits that are due or on their way (in Kafka ``nextAutoCommitTimer`` of `ConsumerCoordinator`, commitSync()).

What brokers have said about brokers and topics (in Kafka `org.apache.kafka.clients.Metadata`).

Requests that are on their way (in Kafka `ConsumerNetworkClient` and `InFlightRequests`).

What the consumer subscribes to, owns and reads (in Kafka `SubscriptionState`).

The user's thread: what keeps it from poll(), and how it ends (in Kafka the thread that calls `ConsumerNetworkClient`
from `KafkaConsumer.poll` and `KafkaConsumer.close`).

Connections that failed, or are to be closed (in Kafka `ClusterConnectionStates`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer.settings import ConsumerSettings
from protocols.engine.nodes import Message, Time
from protocols.load import Reading, StuckOn
from protocols.node_state import NodeState

Offsets: TypeAlias = tuple[tuple[Partition, int, str], ...]
"""Partition, offset and the user's metadata."""


class UserCommit(NamedTuple):
    """A synchronous commit of the user's: None for what is not given."""

    offsets: Offsets | None
    generation: int | None
    until: Time


@dataclass(slots=True)
class CommitState(NodeState):
    """What is to be committed, and the outcome of the user's last commit."""

    auto_due: bool = False
    """``auto.commit.interval.ms`` is over: the next poll() commits."""
    stored: tuple[tuple[Partition, int], ...] | None = None
    """What commits without offsets of their own commit; None: the positions."""
    by_user: UserCommit | None = None
    """A commit of the user's that is tried again, and until when."""
    outcome: str = ""
    """The outcome of the user's last commit."""


@dataclass(slots=True)
class ClusterMetadata(NodeState):
    """The last metadata, and whether newer one is on its way."""

    brokers: tuple[str, ...]
    """Those that a request to any broker may go to."""
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Topic to the leader of each of its partitions; never changed, but replaced."""
    replica_racks: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """Topic to the racks of each partition's replicas; never changed, but replaced."""
    requested_topics: tuple[str, ...] | None = ()
    """The topics that the last answer is about; None: all."""
    refreshing: bool = False
    """A MetadataRequest is on its way, or will be after a pause."""
    failures: int = 0
    """Requests that failed in a row."""
    incomplete: int = 0
    """Answers in a row that lacked a topic."""
    is_fresh: bool = False
    """Refreshed since the current rejoin was requested (a pattern's joins need that)."""
    has_news: bool = False
    """It has changed, and poll() has not looked at it."""


class InFlightRequest(NamedTuple):
    """A request that was sent and not answered: receiver, type, deadline, and what the handler of its answer needs."""

    to: str
    kind: type[Message]
    deadline: Time
    about: object


@dataclass(slots=True)
class Requests(NodeState):
    """The requests without answer, and when the oldest is given up."""

    correlation: int = 0
    """The number of the last request."""
    in_flight: dict[int, InFlightRequest] = field(default_factory=dict)
    check_at: Time | None = None
    """When the timer looks for requests that were not answered in time."""


@dataclass(slots=True)
class SubscriptionState(NodeState):
    """Topics, partitions and positions."""

    topics: tuple[str, ...]
    """The topics subscribed to now; a pattern's are those that matched last, sorted."""
    owned: tuple[Partition, ...] = ()
    """What the member takes for its own, sorted."""
    assigned_by_user: tuple[Partition, ...] = ()
    """What it reads without a membership (assign()), sorted."""
    beside: tuple[Partition, ...] = ()
    """What a member's user reads though the group has not given it, sorted."""
    positions: dict[Partition, Reading] = field(default_factory=dict)
    """Partitions that it reads, in the order in which it began."""
    unpositioned: tuple[Partition, ...] = ()
    """Partitions whose committed offsets it has to ask for, sorted."""
    awaits_offsets: bool = False
    """An OffsetFetch is on its way, or will be after a pause."""
    paused: bool = False
    """Reading stands still while the commit before an eager rebalance is on its way."""
    pending_revocation: frozenset[Partition] = frozenset()
    """Owned partitions that are not read any more, because they will be revoked, or their topic was unsubscribed."""
    reading: bool = False
    """Whether the positions advance with time; else they are exactly their ``start``."""


class ListenerCall(NamedTuple):
    """The user's listener runs. ``then``: what the client does once it returns; empty: nothing."""

    kind: str
    partitions: tuple[Partition, ...]
    then: str
    assigned: tuple[Partition, ...] = ()
    """The new assignment, in the assignor's order, where that is what follows."""


@dataclass(slots=True)
class UserLoop(NodeState):
    """What keeps the user's loop from poll(), and what waits for it there."""

    away: bool
    """It stands still."""
    stuck: StuckOn[Partition] | None = None
    """The record that it stands still on, where one keeps it."""
    listener_call: ListenerCall | None = None
    """The user's listener that is being run, where that is the user's own."""
    deferred: list[tuple[Message, object]] = field(default_factory=list)
    """Answers for poll() that arrived while the loop was elsewhere, with what their requests were about."""
    frozen: bool = False
    """The process is stopped, or about to be."""
    resume_at: Time | None = None
    """It handles records until then."""
    polled_at: Time = -1.0
    """When it polled last after it had handled records: it does nothing else at that moment."""
    batch_end: Time = 0.0
    """When a poll that returns too much will have been handled."""
    fatal: str = ""
    """The error that the next poll() throws."""
    closing: str = ""
    """What close() waits for: ``commit``, ``leave``; empty: not closing."""
    closed: bool = False


@dataclass(slots=True)
class Connections(NodeState):
    """The broker that failed last, and the connection that is given up."""

    failed: str = ""
    """The broker whose connection was refused or lost last, until it answers again."""
    failures: int = 0
    """How often in a row."""
    reconnect_at: Time = 0.0
    """When the client may connect to that broker again (``reconnect.backoff.ms``)."""
    to_close: str = ""
    """The former coordinator, whose connection is closed before anything else happens."""

    def refused(self, now: Time, broker: str, settings: ConsumerSettings) -> None:
        """The connection to this broker was refused or has ended."""
        self.failures = self.failures + 1 if self.failed == broker else 1
        self.failed = broker
        self.reconnect_at = now + settings.reconnect_backoff(self.failures)

    def answered(self, broker: str) -> None:
        """This broker has answered: it may be connected to."""
        if broker == self.failed:
            self.failed, self.reconnect_at = "", 0.0
