"""What the consumer subscribes to, owns and reads (in Kafka `SubscriptionState`)."""

from dataclasses import dataclass, field

from kafka_coordinator.assignors.inputs import Partition
from protocols.load import Reading
from protocols.node_state import NodeState


@dataclass(slots=True)
class SubscriptionState(NodeState):
    """Topics, partitions and positions."""

    topics: tuple[str, ...]
    """The topics subscribed to now; a pattern's are those that matched last, sorted."""
    owned: tuple[Partition, ...] = ()
    """What the member takes for its own, sorted."""
    assigned_by_user: tuple[Partition, ...] = ()
    """What it reads without a membership (assign()), sorted."""
    beside: tuple[Partition, ...] = ()
    """What a member's user reads though the group has not given it, sorted."""
    positions: dict[Partition, Reading] = field(default_factory=dict)
    """Partitions that it reads, in the order in which it began."""
    unpositioned: tuple[Partition, ...] = ()
    """Partitions whose committed offsets it has to ask for, sorted."""
    awaits_offsets: bool = False
    """An OffsetFetch is on its way, or will be after a pause."""
    paused: bool = False
    """Reading stands still while the commit before an eager rebalance is on its way."""
    pending_revocation: frozenset[Partition] = frozenset()
    """Owned partitions that are not read any more, because they will be revoked."""
    reading: bool = False
    """Whether the positions advance with time; else they are exactly their ``start``."""
