"""What a consumer knows of its membership, one record for each concern.

| here | in Kafka |
|---|---|
| who the member is | ``Generation`` and ``MemberState`` of `AbstractCoordinator` |
| how far the way into the next generation has come | `joinGroupIfNeeded`, ``joinedSubscription`` |
| what the heartbeat thread knows | the class `Heartbeat` |
| who coordinates the group | ``coordinator`` and ``findCoordinatorFuture`` of `AbstractCoordinator` |
| what the leader watches, what assignors remember | ``assignmentSnapshot``, ``groupSubscription`` |
| what a member of the consumer protocol knows | `AbstractMembershipManager` and `HeartbeatRequestState` |
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
    """Lookups that failed in a row; under the classic protocol in this round."""
    round_ends: Time = 0.0
    """Under the classic protocol: when this round of lookups is over, and the pauses begin anew."""


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


COMMITTING, REVOKING, ASSIGNING = "commit", "revoke", "assign"
"""The steps of a reconciliation: what it waits for. The last two wait for the user's thread."""


class LocalAssignment(NamedTuple):
    """Partitions, sorted, and which of the targets of this membership it is: they are counted from 0."""

    number: int
    partitions: tuple[Partition, ...]


NO_ASSIGNMENT = LocalAssignment(-1, ())
"""Before the first target of a membership."""


class SentFields(NamedTuple):
    """What the last heartbeats said: a heartbeat repeats nothing. None (or -1): not said, or to be said again."""

    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    assignor: str | None = None
    owned: LocalAssignment | None = None
    regex: str | None = None
    """The pattern that the coordinator resolves; None: none was told."""


NOTHING_SENT = SentFields()


@dataclass(slots=True)
class Reconciliation(NodeState):
    """A reconciliation that is under way."""

    step: str
    resolved: LocalAssignment
    """The part of the target whose topics the client knows."""
    revoked: tuple[Partition, ...]
    added: tuple[Partition, ...]
    deadline: Time
    """Until when its commit is tried again."""
    outdated: bool = False
    """The member has joined anew since it began: it is not applied."""


@dataclass(slots=True)
class ConsumerProtocolMember(NodeState):
    """Target and possession, the heartbeats, and what the user's thread is to do."""

    wants_to_join: bool
    """The user has subscribed: the next poll() joins, where there is no membership."""
    target: LocalAssignment = NO_ASSIGNMENT
    current: LocalAssignment = NO_ASSIGNMENT
    """The last assignment that was reconciled."""
    reconciliation: Reconciliation | None = None
    waits_for_metadata: bool = False
    """The target has topics that the client does not know yet."""
    at_records: bool = False
    """The user's thread waits for records inside poll(), and reconciles afterwards (see `ConsumerConfig.poll_wait`)."""
    overslept: bool = False
    """The user has not polled for ``max.poll.interval.ms``; the background thread sees that when it wakes up."""
    answered_at: Time = 0.0
    """When the last heartbeat was answered, where the interval is longer than the background thread sleeps."""
    releases: bool = False
    """All is lost; the user's thread is to say so to the listener."""
    last_epoch: int = -1
    """The last one that the coordinator gave it, which the user is told also when it is fenced or has left; -1: none
    yet."""
    interval: float = 0.0
    """Milliseconds between heartbeats, as the coordinator said; 0 before its first answer."""
    awaits_answer: bool = False
    """A heartbeat is on its way."""
    is_due: bool = False
    """The next heartbeat is sent as soon as the coordinator is known and has answered the one before."""
    backs_off: bool = False
    """It is not sent before the pause after a failure is over."""
    failures: int = 0
    """Heartbeats that failed in a row."""
    sent: SentFields = NOTHING_SENT
