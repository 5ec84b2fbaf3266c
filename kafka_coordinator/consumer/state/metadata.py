"""What brokers have said about brokers and topics (in Kafka `org.apache.kafka.clients.Metadata`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from protocols.node_state import NodeState


@dataclass(slots=True)
class ClusterMetadata(NodeState):
    """The last metadata, and whether newer one is on its way."""

    brokers: tuple[str, ...]
    """Those that a request to any broker may go to."""
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Topic to the leader of each of its partitions; never changed, but replaced."""
    replica_racks: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """Topic to the racks of each partition's replicas; never changed, but replaced."""
    requested_topics: tuple[str, ...] | None = ()
    """The topics that the last answer is about; None: all."""
    refreshing: bool = False
    """A MetadataRequest is on its way, or will be after a pause."""
    failures: int = 0
    """Requests that failed in a row."""
    incomplete: int = 0
    """Answers in a row that lacked a topic."""
    is_fresh: bool = False
    """Refreshed since the current rejoin was requested (a pattern's joins need that)."""
    has_news: bool = False
    """It has changed, and poll() has not looked at it."""
