"""``__consumer_offsets``: what a coordinator remembers beyond its own life (spec 1.3).

An append-only log per partition; a record's type is its key's class. Compaction keeps the newest record of each key.
The topic is replicated: it lives outside of the brokers, and whoever leads a partition reads and writes its log.

In Kafka the internal topic, `CoordinatorLoaderImpl` and `LogCleaner`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.messages import NO_LEADER_EPOCH, Opaque
from protocols.engine.nodes import Time
from protocols.java import string_hash
from protocols.load import quickly_made
from protocols.node_state import NodeState

ENTRY_COST: Final = 512
"""Bytes that keeping a transactional id, an offset, a group or a partition of a transaction takes besides its texts."""


class OffsetKey(NamedTuple):
    """Key of an offset commit."""

    group: str
    topic: str
    number: int


@lru_cache(maxsize=1 << 16)
def offset_key(group: str, partition: Partition) -> OffsetKey:
    """The key of a group's commits of a partition: one object for all records."""
    return OffsetKey(group, *partition)


class GroupKey(NamedTuple):
    """Key of a classic group's metadata."""

    group: str


class CommittedOffset(NamedTuple):
    """An offset that a group has stored: value of an `OffsetKey`."""

    offset: int
    metadata: str
    committed_at: Time
    leader_epoch: int = NO_LEADER_EPOCH
    """Of the last record that the committer has read."""


class PendingKey(NamedTuple):
    """Key of an offset that was committed within a transaction which is still open; its value is a `PendingOffset`."""

    group: str
    producer_id: int
    topic: str
    number: int


class PendingOffset(NamedTuple):
    """``member``: client id of the member whose offset it is, None: nobody's; ``position``: where the log had it first;
    ``is_outdated``: the group has an offset of the partition that came after it."""

    committed: CommittedOffset
    member: str | None
    generation: int | None
    position: int
    is_outdated: bool = False

    def cost(self, group: str, partition: Partition) -> int:
        return offset_cost(group, partition, self.committed.metadata)


def offset_cost(group: str, partition: Partition, metadata: str) -> int:
    """Bytes that a committed offset takes, and one that waits for its transaction's end, about."""
    return ENTRY_COST + sum([len(text.encode()) for text in (group, partition[0], metadata)])


class MarkerKey(NamedTuple):
    """Key of the marker that ends a producer's transaction; its value is whether it commits."""

    producer_id: int
    group: str = ""


class StoredMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: Opaque
    assignment: Opaque


class GroupValue(NamedTuple):
    protocol_type: str | None
    generation: int
    protocol: str | None
    leader: str | None
    since: Time
    """When the group came into its state."""
    members: tuple[StoredMember, ...]


class Key(Protocol):
    """A key; keys are hashable, and those of different types are never equal."""

    @property
    def group(self) -> str:
        """The group that the record is about."""
        ...


Value: TypeAlias = Any
"""A `CommittedOffset`, a `GroupValue`, or a value of `consumer_groups.records`; immutable."""


class Record(NamedTuple):
    """``position`` counts from 0 and never changes; a value of None is a tombstone."""

    position: int
    key: Key
    value: Value | None


_record = quickly_made(Record)


@dataclass(slots=True, eq=False)
class PartitionLog(NodeState):
    """The records of one partition, compacted when too many are outdated."""

    _ratio: float
    _least: int
    records: list[Record] = field(default_factory=list)
    end: int = 0
    """Position of the next record."""
    _newest: dict[Key, Record] = field(default_factory=dict)
    """The newest record of each key, in order, where it is no tombstone."""

    def append(self, key: Key, value: Value | None) -> None:
        """Write a record; it counts from now on."""
        records, newest, end = self.records, self._newest, self.end
        record = _record((end, key, value))
        records.append(record)
        self.end = end + 1
        if key in newest:
            del newest[key]
        if value is not None:
            newest[key] = record
        count = len(records)
        if count >= self._least and count - len(newest) >= self._ratio * count:
            self.compact()

    def compact(self) -> None:
        """Keep the newest record of each key, in order; tombstones have done their work and go."""
        self.records = list(self._newest.values())

    def history(self) -> Iterable[tuple[Key, Value | None]]:
        """All records that are still there, oldest first."""
        return [(key, value) for _, key, value in self.records]

    def latest(self) -> dict[Key, Value]:
        """The newest value of each key that has one, in the order in which they were written."""
        return {key: value for key, (_, _, value) in self._newest.items() if value is not None}


@dataclass(slots=True, init=False, eq=False)
class OffsetsTopic(NodeState):
    """All partitions of ``__consumer_offsets``: one object for all brokers of a cluster."""

    partitions: list[PartitionLog]

    def __init__(self, partitions: int, min_cleanable_ratio: float, least_records: int) -> None:
        self.partitions = [PartitionLog(min_cleanable_ratio, least_records) for _ in range(partitions)]


def offsets_partition(group: str, partitions: int) -> int:
    """The partition that stores a group (spec 1.1); its leader is the group's coordinator."""
    code = string_hash(group)
    if code == 1 << 31:
        return 0  # Java's Math.abs cannot turn the smallest integer round; Kafka takes 0 instead.
    return (code if code < 1 << 31 else (1 << 32) - code) % partitions
