"""What the cluster's controller, its transaction coordinator and its administrator send to a coordinator: commands from
`protocols.engine.nodes.OPERATOR`.

In Kafka `GroupCoordinatorService.onElection`, `onResignation` and `onNewMetadataImage`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from protocols.java import Queue


class OffsetsLeaders(NamedTuple):
    """From now on these brokers lead the partitions of ``__consumer_offsets``: one node name per partition, empty
    where a partition has no leader. A broker that gains one loads its groups, one that loses it drops them."""

    leaders: tuple[str, ...]


class Topics(NamedTuple):
    """From now on the cluster has exactly these topics with so many partitions each.

    ``queues``: topic to the queue that each of its partitions stands for in what is told to the observer; a partition
    that is not in it stands for ``Queue(topic, "", number)``.
    """

    partitions: Mapping[str, int]
    queues: Mapping[str, tuple[Queue, ...]] = {}
    racks: Mapping[str, tuple[tuple[str, ...], ...]] = {}
    """Topic to the racks of each partition's replicas."""
    ids: Mapping[str, int] = {}
    """Topic to its 128-bit id; one that is not in it has an id made from its name."""


class GroupSettings(NamedTuple):
    """From now on these groups have settings of their own, under Kafka's names (``consumer.session.timeout.ms`` and
    ``consumer.heartbeat.interval.ms``); those of other groups are the broker's.

    In Kafka what IncrementalAlterConfigs sets for a resource of the type GROUP.
    """

    of_group: Mapping[str, Mapping[str, int]]


class OffsetsWaiting(NamedTuple):
    """From now on nothing that is written to these partitions of ``__consumer_offsets`` is replicated, because an
    in-sync replica does not answer, or too few are in sync: commits wait, and fail after `offsets.commit.timeout.ms`.

    In Kafka the high watermark, for which `CoordinatorRuntime` waits.
    """

    partitions: frozenset[int]


class OffsetsDecided(NamedTuple):
    """Offsets that the group has from now on: the marker of a committed transaction (in Kafka
    `WriteTxnMarkersRequest`; the offsets are in the log already), or an administrator's. ``member``: whose they are,
    None: nobody's."""

    group: str
    member: str | None
    generation: int | None
    offsets: tuple[tuple[Partition, int, str], ...]
    """Partition, offset, metadata text."""


class MarkerWritten(NamedTuple):
    """The marker of a producer's transaction has been written to this partition of ``__consumer_offsets``."""

    partition: int
    producer_id: int
    commits: bool


class RebalanceGroup(NamedTuple):
    """The group rebalances now, as if its leader had asked for it (`Consumer.enforceRebalance`); in the consumer
    protocol its epoch goes up, so that targets are computed anew. Nothing happens to a group that has no members,
    or that rebalances already."""

    group: str
