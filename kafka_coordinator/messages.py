"""What Kafka's clients and brokers say to each other: bare records, one per request and answer.

Every request has a ``correlation`` number that its sender made up and the answer repeats. ``error`` is a name of
`kafka_coordinator.errors` (spec 1.5), ``NONE`` for success. Times in settings are milliseconds. Metadata and
assignments are opaque to the coordinator (any hashable value): consumers put `ConsumerMetadata` and tuples of
partitions in them.

In Kafka the classes that are generated from its message schemas (`JoinGroupRequestData` and so on).

What Kafka's clients and brokers say to each other in the consumer protocol (KIP-848, spec 6.2), one record per
request and answer; the rest is in `kafka_coordinator.messages`.

In Kafka `ConsumerGroupHeartbeatRequestData`, `ConsumerGroupDescribeRequestData` and their answers.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import Partition

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of consumers; Connect and others have their own."""

NO_OFFSET = -1
"""In an OffsetFetch's answer: the group has committed none."""

NO_LEADER_EPOCH = -1
"""With a committed offset: the committer did not say the leader epoch of the last record that it has read."""

Opaque: TypeAlias = Any
"""Bytes to the coordinator; here any hashable, immutable value. Empty bytes are ``b""``."""


class ConsumerMetadata(NamedTuple):
    """What a consumer sends to the group's leader with a JoinGroup, for one assignor (spec 4.4 step 2)."""

    topics: tuple[str, ...]
    """Sorted."""
    owned: tuple[Partition, ...] = ()
    """Sorted by topic, then number; empty under the eager protocol."""
    generation: int = -1
    rack: str | None = None
    user_data: tuple[tuple[Partition, ...], int] | None = None
    """The sticky assignor's own: partitions it had and in which generation."""


class FindCoordinator(NamedTuple):
    correlation: int
    group: str


class CoordinatorFound(NamedTuple):
    correlation: int
    error: str
    broker: str
    """Node name of the coordinator; empty where there is none."""


METADATA_CHANGED = "cached metadata has changed"
SUBSCRIPTION_CHANGED = "subscription has changed"
"""Reasons of a JoinGroup (KIP-800) of a member that sees other topics or partitions than before, or reads others."""


class JoinGroup(NamedTuple):
    correlation: int
    group: str
    member_id: str
    """Empty: the coordinator makes one up."""
    instance_id: str | None
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, Opaque], ...]
    """Name and metadata, in order of preference."""
    version: int = 9
    reason: str = ""


class JoinedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    metadata: Opaque


class JoinGroupAnswer(NamedTuple):
    correlation: int
    error: str
    generation: int
    member_id: str
    leader: str
    protocol_type: str | None
    protocol: str | None
    skip_assignment: bool
    members: tuple[JoinedMember, ...]
    """In the coordinator's order; empty but for the leader."""


class SyncGroup(NamedTuple):
    correlation: int
    group: str
    member_id: str
    generation: int
    instance_id: str | None
    protocol_type: str | None
    protocol: str | None
    assignments: Mapping[str, Opaque]
    """Member id to assignment; empty but from the leader. Never changed once it was sent."""


class SyncGroupAnswer(NamedTuple):
    correlation: int
    error: str
    protocol_type: str | None
    protocol: str | None
    assignment: Opaque


class Heartbeat(NamedTuple):
    correlation: int
    group: str
    member_id: str
    generation: int
    instance_id: str | None


class HeartbeatAnswer(NamedTuple):
    correlation: int
    error: str


class Leaving(NamedTuple):
    """One member of a LeaveGroup. An empty id with an instance id removes a static member (an administrator's call)."""

    member_id: str
    instance_id: str | None
    reason: str = ""


class LeaveGroup(NamedTuple):
    correlation: int
    group: str
    members: tuple[Leaving, ...]


class LeaveGroupAnswer(NamedTuple):
    correlation: int
    error: str
    members: tuple[tuple[str, str | None, str], ...]
    """Member id, instance id, error of each."""


class OffsetCommit(NamedTuple):
    correlation: int
    group: str
    member_id: str
    generation: int
    """-1: none."""
    instance_id: str | None
    offsets: tuple[tuple[Partition, int, str], ...]
    """Partition, offset, metadata text."""
    version: int = 9
    epochs: tuple[int, ...] = ()
    """Leader epoch of the last record read, for each; left out where none is known (`NO_LEADER_EPOCH`)."""


class OffsetCommitAnswer(NamedTuple):
    correlation: int
    errors: tuple[tuple[Partition, str], ...]
    """Of each partition, in the order of the request. (What is wrong with the whole request every partition has.)"""


class TxnOffsetCommit(NamedTuple):
    """Offsets that the group has once the producer's transaction is committed; the answer is an OffsetCommit's."""

    correlation: int
    group: str
    member_id: str
    generation: int
    """-1: none."""
    instance_id: str | None
    offsets: tuple[tuple[Partition, int, str], ...]
    """Partition, offset, metadata text."""
    transactional_id: str
    producer_id: int
    producer_epoch: int
    version: int = 5
    epochs: tuple[int, ...] = ()
    """As in an OffsetCommit."""


class OffsetFetch(NamedTuple):
    correlation: int
    group: str
    partitions: tuple[Partition, ...] | None
    """None: all that have an offset."""
    member_id: str | None = None
    generation: int = -1
    require_stable: bool = False
    """Whether offsets that an open transaction may change are refused (UNSTABLE_OFFSET_COMMIT)."""


class OffsetFetchAnswer(NamedTuple):
    correlation: int
    error: str
    offsets: tuple[tuple[Partition, int, str], ...]
    """Partition, offset (-1: none), error of each."""
    texts: tuple[str, ...] = ()
    """Metadata text of each; left out where all are empty."""
    epochs: tuple[int, ...] = ()
    """Leader epoch that was committed with each; left out where there is none (`NO_LEADER_EPOCH`)."""


class OffsetDelete(NamedTuple):
    correlation: int
    group: str
    partitions: tuple[Partition, ...]


class OffsetDeleteAnswer(NamedTuple):
    correlation: int
    error: str
    errors: tuple[tuple[Partition, str], ...]


class DescribeGroup(NamedTuple):
    correlation: int
    group: str
    version: int = 6


class DescribedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    metadata: Opaque
    assignment: Opaque


class DescribeGroupAnswer(NamedTuple):
    correlation: int
    error: str
    state: str
    protocol_type: str
    protocol: str
    members: tuple[DescribedMember, ...]


class ListGroups(NamedTuple):
    correlation: int
    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


class ListGroupsAnswer(NamedTuple):
    correlation: int
    error: str
    groups: tuple[tuple[str, str, str, str], ...]
    """Group, protocol type, state, type (``Classic`` or ``Consumer``)."""


class DeleteGroup(NamedTuple):
    correlation: int
    group: str


class DeleteGroupAnswer(NamedTuple):
    correlation: int
    error: str


class MetadataRequest(NamedTuple):
    """A client asks any broker what topics there are (spec 4.8)."""

    correlation: int
    topics: tuple[str, ...] | None
    """None: all (a pattern subscription needs them)."""


class MetadataAnswer(NamedTuple):
    correlation: int
    brokers: tuple[str, ...]
    """Live brokers' node names."""
    topics: Mapping[str, tuple[str, ...]]
    """Topic to the leader of each partition (a broker's node name, empty: none); missing topics are left out."""
    replica_racks: Mapping[str, tuple[tuple[str, ...], ...]] = {}


JOINS: Final = 0
"""Member epoch of a heartbeat that joins, or joins anew."""
LEAVES: Final = -1
"""Member epoch of a heartbeat that leaves."""
LEAVES_FOR_A_WHILE: Final = -2
"""Member epoch of the heartbeat of a static member that leaves and will be back."""

UNCHANGED_TIMEOUT: Final = -1


class ConsumerGroupHeartbeat(NamedTuple):
    """A member's heartbeat; a field that is None (or -1, for the timeout) stays as it was told before.

    A *full* request names the timeout, topics or pattern, and the owned partitions: the first one of a member does, and
    the first one after any error.
    """

    correlation: int
    group: str
    member_id: str
    """Made up by the client since version 1; in version 0 empty at first."""
    member_epoch: int
    """`JOINS`, `LEAVES`, `LEAVES_FOR_A_WHILE`, or what the last answer said."""
    instance_id: str | None = None
    rack: str | None = None
    rebalance_timeout_ms: int = UNCHANGED_TIMEOUT
    topics: tuple[str, ...] | None = None
    """Subscribed topics by name."""
    regex: str | None = None
    """Subscribed topics by a pattern that the coordinator resolves; empty: none any more."""
    assignor: str | None = None
    """The server-side assignor that the member asks for."""
    owned: tuple[Partition, ...] | None = None
    """Partitions that the member owns now; empty when it joins."""
    client_id: str = ""
    """From the request's header."""
    version: int = 1


class ConsumerGroupHeartbeatAnswer(NamedTuple):
    """``assignment``: all partitions that the member shall own, sorted; None: what it was told last still holds.
    ``error_message`` says of an error what is wrong."""

    correlation: int
    error: str
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: tuple[Partition, ...] | None
    error_message: str | None = None


class ConsumerGroupDescribe(NamedTuple):
    correlation: int
    group: str


class DescribedConsumer(NamedTuple):
    """One member of a group of the consumer protocol; partitions are sorted, those that it must give up come last."""

    member_id: str
    instance_id: str | None
    rack: str | None
    client_id: str
    host: str
    member_epoch: int
    is_classic: bool
    """Whether it speaks the classic protocol."""
    topics: tuple[str, ...]
    regex: str
    assignment: tuple[Partition, ...]
    target: tuple[Partition, ...]


class ConsumerGroupDescribeAnswer(NamedTuple):
    correlation: int
    error: str
    state: str
    group_epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[DescribedConsumer, ...]
    """By member id."""
