"""Who coordinates the group (in Kafka the fields ``coordinator`` and ``findCoordinatorFuture`` of
`AbstractCoordinator`)."""

from dataclasses import dataclass

from protocols.node_state import NodeState


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
