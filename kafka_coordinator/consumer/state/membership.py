"""Who the member is (in Kafka ``Generation`` and ``MemberState`` of `AbstractCoordinator`)."""

from dataclasses import dataclass

from kafka_coordinator.assignors.inputs import NO_GENERATION
from kafka_coordinator.consumer.states import UNJOINED
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
