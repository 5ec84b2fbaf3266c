"""What the heartbeat thread knows (in Kafka the class `Heartbeat`)."""

from dataclasses import dataclass

from protocols.engine.nodes import Time
from protocols.node_state import NodeState


@dataclass(slots=True)
class HeartbeatState(NodeState):
    """When the coordinator was heard last, and whether a heartbeat is on its way."""

    heard_at: Time = 0.0
    """When the coordinator answered last; the session ends ``session.timeout.ms`` later."""
    awaits_answer: bool = False
    """A heartbeat is on its way (in Kafka ``heartbeatInFlight``)."""
    failures: int = 0
    """Heartbeats that failed in a row."""
