"""How far the way into the next generation has come (in Kafka `AbstractCoordinator.joinGroupIfNeeded` with
``needsJoinPrepare``, and ``joinedSubscription`` of `ConsumerCoordinator`)."""

from dataclasses import dataclass

from kafka_coordinator.messages import JoinGroupAnswer
from protocols.engine.nodes import Time
from protocols.node_state import NodeState

NOTHING, METADATA, COMMIT, JOIN, SYNC, BACKOFF = "", "metadata", "commit", "join", "sync", "backoff"
"""What the user's thread waits for on its way to a new assignment."""


@dataclass(slots=True)
class JoinProgress(NodeState):
    """The steps of the current rebalance that are done, and what the next one waits for."""

    awaiting: str = NOTHING
    needs_prepare: bool = True
    """onJoinPrepare is still to be run."""
    prepare_deadline: Time = 0.0
    """Until when the commit before the join is tried again."""
    failures: int = 0
    """Joins that failed in a row."""
    joined_subscription: tuple[str, ...] = ()
    """The topics that the last JoinGroup named; the same object as the subscription's as long as that is unchanged."""
    answer_to_leader: JoinGroupAnswer | None = None
    """The answer to the leader's JoinGroup while it waits for metadata."""
