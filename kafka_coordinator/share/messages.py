"""What share consumers and the leaders of partitions say to each other, one record per request and answer (KIP-932).

As in `kafka_coordinator.messages`, every request has a ``correlation`` number, and ``error`` is NONE for success. No
record is a message: an answer tells offsets, of which a consumer knows what they hold.

In Kafka `ShareFetchRequestData`, `ShareAcknowledgeRequestData` and their answers.
"""

from typing import Final, NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.errors import NONE

FIRST_EPOCH: Final = 0
"""Session epoch of a request that begins a session."""
FINAL_EPOCH: Final = -1
"""Session epoch of a request that ends it."""

Ranges: TypeAlias = tuple[tuple[int, int, tuple[str, ...]], ...]
"""First and last offset with one type of acknowledgement, or one per offset (`acknowledging.ACKNOWLEDGED_AS`, RENEW);
a type that Kafka does not know is any other text."""
Acknowledgements: TypeAlias = tuple[tuple[Partition, Ranges], ...]
AcquiredRanges: TypeAlias = tuple[tuple[int, int, int], ...]
"""First and last offset, and how often the records have been delivered, this time included."""


class ShareFetch(NamedTuple):
    """``added`` and ``forgotten`` change what the session fetches. ``client_id`` comes from the request's header."""

    correlation: int
    group: str
    member_id: str
    epoch: int
    added: tuple[Partition, ...] = ()
    forgotten: tuple[Partition, ...] = ()
    acknowledged: Acknowledgements = ()
    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 52_428_800
    max_records: int = 500
    batch_size: int = 500
    exactly: bool = False
    """Acquire mode `record_limit`: never more than ``max_records``."""
    renews: bool = False
    """Whether RENEW is among the acknowledgements; nothing is fetched then."""
    client_id: str = ""


class SharedRecords(NamedTuple):
    """What was acquired of a partition, and what became of the acknowledgements that came with the fetch."""

    partition: Partition
    error: str = NONE
    acknowledge_error: str = NONE
    acquired: AcquiredRanges = ()


class ShareFetchAnswer(NamedTuple):
    correlation: int
    error: str
    lock_duration_ms: int = 0
    partitions: tuple[SharedRecords, ...] = ()


class ShareAcknowledge(NamedTuple):
    correlation: int
    group: str
    member_id: str
    epoch: int
    acknowledged: Acknowledgements = ()
    renews: bool = False
    client_id: str = ""


class ShareAcknowledgeAnswer(NamedTuple):
    correlation: int
    error: str
    lock_duration_ms: int = 0
    partitions: tuple[tuple[Partition, str], ...] = ()
