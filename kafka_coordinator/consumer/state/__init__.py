"""What a consumer knows and waits for, one record for each concern. The other files of `kafka_coordinator.consumer` are
what it does; a record has the name of the file that works on it where there is one.

Two threads of the real client are told apart by what waits for whom: the *user's thread* acts in poll() alone
(`polling.poll`); the *heartbeat thread* and the network go on without it.
"""

from kafka_coordinator.consumer.state.consumer import ConsumerState, protocol_member
from kafka_coordinator.consumer.state.membership import (
    BACKOFF,
    COMMIT,
    JOIN,
    METADATA,
    NOTHING,
    SYNC,
    AssignorMemory,
    MetadataSnapshot,
)
from kafka_coordinator.consumer.state.reading import InFlightRequest, ListenerCall, Offsets, UserCommit

__all__ = [
    "BACKOFF",
    "COMMIT",
    "JOIN",
    "METADATA",
    "NOTHING",
    "SYNC",
    "AssignorMemory",
    "ConsumerState",
    "InFlightRequest",
    "ListenerCall",
    "MetadataSnapshot",
    "Offsets",
    "UserCommit",
    "protocol_member",
]
