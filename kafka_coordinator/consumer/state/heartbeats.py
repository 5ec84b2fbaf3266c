"""What the heartbeat thread knows (in Kafka the class `Heartbeat`)."""

from dataclasses import dataclass, replace

from protocols.engine.nodes import Time


@dataclass(slots=True)
class HeartbeatState:
    """When the coordinator was heard last, and whether a heartbeat is on its way."""

    heard_at: Time = 0.0
    """When the coordinator answered last; the session ends ``session.timeout.ms`` later."""
    awaits_answer: bool = False
    """A heartbeat is on its way (in Kafka ``heartbeatInFlight``)."""
    failures: int = 0
    """Heartbeats that failed in a row."""

    def copy(self) -> "HeartbeatState":
        """An independent copy."""
        return replace(self)

    def key(self, now: Time) -> tuple[object, ...]:
        """All that behaviour depends on, times relative to ``now``."""
        return self.heard_at - now, self.awaits_answer, self.failures
