"""What Kafka's clients and brokers say to each other in the consumer protocol (KIP-848, spec 6.2), one record per
request and answer; the rest is in `kafka_coordinator.messages`.

In Kafka `ConsumerGroupHeartbeatRequestData`, `ConsumerGroupDescribeRequestData` and their answers.
"""

from typing import Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition

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
    """``assignment``: all partitions that the member shall own, sorted; None: what it was told last still holds."""

    correlation: int
    error: str
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: tuple[Partition, ...] | None


class ConsumerGroupDescribe(NamedTuple):
    correlation: int
    group: str


class DescribedConsumer(NamedTuple):
    """One member of a group of the consumer protocol; partitions are sorted."""

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
