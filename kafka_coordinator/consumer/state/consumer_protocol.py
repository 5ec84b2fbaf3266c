"""What a member of the consumer protocol knows (in Kafka the fields of `AbstractMembershipManager` and
`HeartbeatRequestState`)."""

from dataclasses import dataclass
from typing import NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from protocols.engine.nodes import Time
from protocols.node_state import NodeState

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
