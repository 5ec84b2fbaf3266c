"""Commits that are due or on their way (in Kafka ``nextAutoCommitTimer`` of `ConsumerCoordinator`, commitSync())."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from protocols.engine.nodes import Time
from protocols.node_state import NodeState

Offsets: TypeAlias = tuple[tuple[Partition, int, str], ...]
"""Partition, offset and the user's metadata."""


class UserCommit(NamedTuple):
    """A synchronous commit of the user's: None for what is not given."""

    offsets: Offsets | None
    generation: int | None
    until: Time


@dataclass(slots=True)
class CommitState(NodeState):
    """What is to be committed, and the outcome of the user's last commit."""

    auto_due: bool = False
    """``auto.commit.interval.ms`` is over: the next poll() commits."""
    stored: tuple[tuple[Partition, int], ...] | None = None
    """What commits without offsets of their own commit; None: the positions."""
    by_user: UserCommit | None = None
    """A commit of the user's that is tried again, and until when."""
    outcome: str = ""
    """The outcome of the user's last commit."""
