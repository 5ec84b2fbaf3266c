"""The part of confluent-kafka that is used, as types: the library itself has none."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeAlias

Answer: TypeAlias = Future[Any]
"""What becomes of a request: each kind of request has its own result, and many kinds wait in one line."""


class Named(Protocol):
    """A value of one of the library's enumerations."""

    name: str


class Place(Protocol):
    """A partition; ``offset`` and ``error`` where it was asked for them."""

    topic: str
    partition: int
    offset: int
    error: object


class Places(Protocol):
    """What a member owns or is to own, or what a group has committed."""

    topic_partitions: Sequence[Place] | None


class MemberDescription(Protocol):
    """A member. ``target_assignment`` is told of groups of the consumer protocol only."""

    member_id: str
    client_id: str
    group_instance_id: str | None
    host: str
    assignment: Places | None
    target_assignment: Places | None


class GroupDescription(Protocol):
    """A group with its members."""

    is_simple_consumer_group: bool
    members: Sequence[MemberDescription]
    partition_assignor: str
    state: Named
    type: Named


class PartitionMetadata(Protocol):
    """A partition; ``leader`` is -1 where no node leads it."""

    leader: int


class TopicMetadata(Protocol):
    """A topic's partitions by their numbers."""

    partitions: Mapping[int, PartitionMetadata]


class ClusterMetadata(Protocol):
    """The cluster's topics by their names."""

    topics: Mapping[str, TopicMetadata]


class LibraryError(Protocol):
    """A KafkaError."""

    def name(self) -> str: ...
    def str(self) -> str: ...


class Admin(Protocol):
    """The part of confluent-kafka's AdminClient that is used. Times are seconds."""

    def poll(self, timeout: float) -> object: ...
    def list_topics(self, *, timeout: float) -> ClusterMetadata: ...
    def list_consumer_groups(self, *, request_timeout: float) -> Answer: ...
    def describe_consumer_groups(self, groups: list[str], /, *, request_timeout: float) -> Mapping[str, Answer]: ...
    def list_consumer_group_offsets(
        self, wanted: list[object], /, *, request_timeout: float
    ) -> Mapping[str, Answer]: ...
    def list_offsets(
        self, wanted: Mapping[object, object], /, *, request_timeout: float
    ) -> Mapping[object, Answer]: ...
