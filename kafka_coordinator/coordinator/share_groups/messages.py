"""Requests about share groups and their answers, and what the coordinator asks the persister of share-partitions.

In Kafka `ShareGroupHeartbeatRequest` and its kind, `Persister`.
"""

from typing import Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition


class ShareGroupHeartbeat(NamedTuple):
    """A member's heartbeat; ``topics`` of None are those that it told before."""

    correlation: int
    group: str
    member_id: str
    """Made up by the client."""
    member_epoch: int
    """`JOINS`, `LEAVES`, or what the last answer said."""
    rack: str | None = None
    topics: tuple[str, ...] | None = None
    client_id: str = ""
    """From the request's header."""


class ShareGroupHeartbeatAnswer(NamedTuple):
    """``assignment``: all partitions that the member may fetch from now on, sorted; None: as it was told last."""

    correlation: int
    error: str
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: tuple[Partition, ...] | None
    error_message: str | None = None


class ShareGroupDescribe(NamedTuple):
    correlation: int
    group: str


class DescribedShareMember(NamedTuple):
    """One member of a share group; partitions are sorted."""

    member_id: str
    rack: str | None
    client_id: str
    host: str
    member_epoch: int
    topics: tuple[str, ...]
    assignment: tuple[Partition, ...]


class ShareGroupDescribeAnswer(NamedTuple):
    correlation: int
    error: str
    state: str
    group_epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[DescribedShareMember, ...]
    """By member id."""


class AlterShareGroupOffsets(NamedTuple):
    """An administrator sets where share-partitions of an empty group begin."""

    correlation: int
    group: str
    offsets: tuple[tuple[Partition, int], ...]


class AlterShareGroupOffsetsAnswer(NamedTuple):
    correlation: int
    error: str
    errors: tuple[tuple[Partition, str], ...]
    error_message: str | None = None


class DeleteShareGroupOffsets(NamedTuple):
    """An administrator lets an empty group forget topics: whoever subscribes to one again begins anew."""

    correlation: int
    group: str
    topics: tuple[str, ...]


class DeleteShareGroupOffsetsAnswer(NamedTuple):
    correlation: int
    error: str
    errors: tuple[tuple[str, str], ...]
    error_message: str | None = None


PERSISTER: Final = "__share_group_state"
"""To whom the coordinator sends what follows: whoever carries its messages knows where the persister is."""


class InitializeShareStates(NamedTuple):
    """The persister shall keep states of these share-partitions, each from its start offset on (-1: the group's reset
    policy finds it)."""

    correlation: int
    group: str
    state_epoch: int
    partitions: tuple[tuple[Partition, int], ...]


class DeleteShareStates(NamedTuple):
    """The persister shall forget these share-partitions."""

    correlation: int
    group: str
    partitions: tuple[Partition, ...]


class ShareStatesAnswer(NamedTuple):
    """``error`` of every partition; ``failed``: there was no answer, and the error says why."""

    correlation: int
    error: str
    failed: bool = False
