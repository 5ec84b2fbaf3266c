"""Connections that failed, or are to be closed (in Kafka `ClusterConnectionStates`)."""

from dataclasses import dataclass

from protocols.node_state import NodeState


@dataclass(slots=True)
class Connections(NodeState):
    """The broker that failed last, and the connection that is given up."""

    failed: str = ""
    """The broker whose connection was refused or lost last, until it answers again."""
    failures: int = 0
    """How often in a row."""
    to_close: str = ""
    """The former coordinator, whose connection is closed before anything else happens."""
