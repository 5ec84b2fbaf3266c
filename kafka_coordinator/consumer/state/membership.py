"""Who the member is (in Kafka ``Generation`` and ``MemberState`` of `AbstractCoordinator`).

How far the way into the next generation has come (in Kafka `AbstractCoordinator.joinGroupIfNeeded` with
``needsJoinPrepare``, and ``joinedSubscription`` of `ConsumerCoordinator`).

What the heartbeat thread knows (in Kafka the class `Heartbeat`).

Who coordinates the group (in Kafka the fields ``coordinator`` and ``findCoordinatorFuture`` of
`AbstractCoordinator`).

What the leader watches and what assignors remember (in Kafka ``isLeader`` and ``assignmentSnapshot`` of
`ConsumerCoordinator`, ``groupSubscription`` of `SubscriptionState`, and the fields of `AbstractStickyAssignor`).
"""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import NO_GENERATION, Partition
from kafka_coordinator.consumer.states import UNJOINED
from kafka_coordinator.messages import JoinGroupAnswer
from protocols.engine.nodes import Time
from protocols.node_state import NodeState


@dataclass(slots=True)
class Membership(NodeState):
    """State, generation and member id; and whether the next poll() rejoins."""

    rejoin_needed: bool
    state: str = UNJOINED
    """One of `kafka_coordinator.consumer.states`."""
    generation: int = NO_GENERATION
    member_id: str = ""
    protocol: str | None = None
    """The assignor that the group has chosen for this generation."""
    rejoin_reason: str = ""
    """In Kafka's words; the next JoinGroup carries it."""


NOTHING, METADATA, COMMIT, JOIN, SYNC, BACKOFF = "", "metadata", "commit", "join", "sync", "backoff"
"""What the user's thread waits for on its way to a new assignment."""


@dataclass(slots=True)
class JoinProgress(NodeState):
    """The steps of the current rebalance that are done, and what the next one waits for."""

    awaiting: str = NOTHING
    needs_prepare: bool = True
    """onJoinPrepare is still to be run."""
    prepare_deadline: Time = 0.0
    """Until when the commit before the join is tried again."""
    failures: int = 0
    """Joins that failed in a row."""
    joined_subscription: tuple[str, ...] = ()
    """The topics that the last JoinGroup named; the same object as the subscription's as long as that is unchanged."""
    answer_to_leader: JoinGroupAnswer | None = None
    """The answer to the leader's JoinGroup while it waits for metadata."""


@dataclass(slots=True)
class HeartbeatState(NodeState):
    """When the coordinator was heard last, and whether a heartbeat is on its way."""

    heard_at: Time = 0.0
    """When the coordinator answered last; the session ends ``session.timeout.ms`` later."""
    awaits_answer: bool = False
    """A heartbeat is on its way (in Kafka ``heartbeatInFlight``)."""
    failures: int = 0
    """Heartbeats that failed in a row."""


@dataclass(slots=True)
class CoordinatorLookup(NodeState):
    """The coordinator, or how far the lookup has come."""

    coordinator: str | None = None
    """The broker's node name; None: unknown."""
    awaiting_reconnect: str = ""
    """The coordinator, as long as its lost connection is not to be opened again."""
    in_progress: bool = False
    """A FindCoordinator is on its way, or will be after a pause."""
    failures: int = 0
    """Lookups that failed in a row."""


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
