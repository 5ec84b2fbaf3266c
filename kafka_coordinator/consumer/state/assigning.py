"""What the leader watches and what assignors remember (in Kafka ``isLeader`` and ``assignmentSnapshot`` of
`ConsumerCoordinator`, ``groupSubscription`` of `SubscriptionState`, and the fields of `AbstractStickyAssignor`)."""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import NO_GENERATION, Partition
from protocols.node_state import NodeState

MetadataSnapshot: TypeAlias = tuple[tuple[str, int, tuple[tuple[str, ...], ...]], ...]
"""Topic, number of partitions and, where the client has a rack, the replicas' racks; sorted."""


class AssignorMemory(NamedTuple):
    """What an assignor object of this client remembers (spec 5.8)."""

    claims: tuple[Partition, ...] | None = None
    """The last assignment, in the assignor's order; None before the first."""
    generation: int = NO_GENERATION
    highest: int = NO_GENERATION
    """The highest generation it has seen when it computed."""


@dataclass(slots=True)
class Assigning(NodeState):
    """The leader's view of the group, and the memories of the assignors that were run."""

    is_leader: bool = False
    snapshot: MetadataSnapshot | None = None
    """The metadata with which the leader computed; None: not the leader."""
    group_topics: tuple[str, ...] = ()
    """Sorted topics of the whole group, which the leader watches; empty: not the leader."""
    memories: dict[str, AssignorMemory] = field(default_factory=dict)
    """Name of the assignor to what it remembers."""
