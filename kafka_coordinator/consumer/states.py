"""The names of a consumer's timers.

In Kafka the `Timer` objects of `Heartbeat`, `AbstractCoordinator` and `ConsumerCoordinator`.

The client's own states of membership (spec 4.2), as a table: state and event to the next state.

``join sent``: a JoinGroup is on its way; heartbeats stop. ``joined``: it was answered, the generation is known, the
SyncGroup is on its way; heartbeats begin. ``synced``: the assignment is there. ``failed``: the join or the sync was
refused or lost, the next try begins anew. ``reset``: the membership is over (fenced, unknown, left).

In Kafka `AbstractCoordinator.MemberState`.
"""

from protocols.state_machine import ALWAYS, Edge, StateMachine

REQUESTS = "requests"
"""A request was not answered in time."""
LOOKUP = "lookup"
METADATA = "metadata"
HEARTBEAT = "heartbeat"
POLL = "poll"
"""The user did not poll for ``max.poll.interval.ms``; set only while the user's loop does something else."""
RESUME = "resume"
"""The user's loop has handled what it had in hand."""
SHARE = "share"
"""A partition has caught up: that is told, and the partitions share the member's time anew."""
POISON = "poison"
"""The user's loop comes to a record that it cannot handle."""
SKIP = "skip"
"""The user's loop has tried such a record often enough."""
REJOIN = "rejoin"
RECONCILE = "reconcile"
"""The user's thread looks at a new target."""
POSITIONS = "positions"
AUTO_COMMIT = "auto commit"
COMMIT_AGAIN = "commit again"
CLOSE = "close"

ALL = (
    *(REQUESTS, LOOKUP, METADATA, HEARTBEAT, POLL, RESUME, SHARE, POISON, SKIP),
    *(REJOIN, RECONCILE, POSITIONS, AUTO_COMMIT, COMMIT_AGAIN, CLOSE),
)


UNJOINED = "UNJOINED"
PREPARING_REBALANCE = "PREPARING_REBALANCE"
COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
STABLE = "STABLE"

JOINED = "joined"
RESET = "reset"
"""The events with which the member has another generation, or none."""
GENERATION = "generation"
"""What facts call its number."""

CONSUMER = StateMachine(
    "consumer",
    (UNJOINED, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE),
    (
        Edge(UNJOINED, "join sent", ALWAYS, PREPARING_REBALANCE),
        Edge(STABLE, "join sent", ALWAYS, PREPARING_REBALANCE),
        Edge(PREPARING_REBALANCE, JOINED, ALWAYS, COMPLETING_REBALANCE),
        Edge(PREPARING_REBALANCE, "failed", ALWAYS, UNJOINED),
        Edge(COMPLETING_REBALANCE, "failed", ALWAYS, UNJOINED),
        Edge(COMPLETING_REBALANCE, "synced", ALWAYS, STABLE),
        Edge(UNJOINED, RESET, ALWAYS, UNJOINED),
        Edge(PREPARING_REBALANCE, RESET, ALWAYS, UNJOINED),
        Edge(COMPLETING_REBALANCE, RESET, ALWAYS, UNJOINED),
        Edge(STABLE, RESET, ALWAYS, UNJOINED),
    ),
    meanings={
        UNJOINED: "the member is in no group and sends no heartbeats",
        PREPARING_REBALANCE: "the member has sent JoinGroup and waits until all others have joined",
        COMPLETING_REBALANCE: "the member has a generation, has sent SyncGroup and waits for its share",
        STABLE: "the member has its share",
    },
)
"""The table. The code runs from it, `equipoise states kafka --machine consumer` draws it."""

HEARTBEATS = frozenset({COMPLETING_REBALANCE, STABLE})
"""The states in which the client sends heartbeats."""
