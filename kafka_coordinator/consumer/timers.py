"""The names of a consumer's timers.

In Kafka the `Timer` objects of `Heartbeat`, `AbstractCoordinator` and `ConsumerCoordinator`.
"""

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
