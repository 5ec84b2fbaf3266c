"""Who the member is (in Kafka ``Generation`` and ``MemberState`` of `AbstractCoordinator`)."""

from dataclasses import dataclass, replace

from kafka_coordinator.assignors.inputs import NO_GENERATION
from kafka_coordinator.consumer.states import UNJOINED


@dataclass(slots=True)
class Membership:
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

    def copy(self) -> "Membership":
        """An independent copy."""
        return replace(self)

    def key(self) -> tuple[object, ...]:
        """All that behaviour depends on."""
        return (
            self.rejoin_needed,
            self.state,
            self.generation,
            self.member_id,
            self.protocol,
            self.rejoin_reason,
        )
