"""Records about groups of the consumer protocol in ``__consumer_offsets`` (spec 1.3, types 3, 5 to 8 and 16).

A key ends with the name of its type, so that keys of two types never compare equal.

In Kafka `ConsumerGroupMetadataKey`, `ConsumerGroupMemberMetadataKey` and so on, with their values.
"""

from typing import NamedTuple

from kafka_coordinator.assignors.inputs import Partition


class EpochKey(NamedTuple):
    group: str
    kind: str = "epoch"


class EpochValue(NamedTuple):
    epoch: int
    metadata_hash: str


class MemberKey(NamedTuple):
    """Its value is the member's `Profile`."""

    group: str
    member_id: str
    kind: str = "member"


class TargetEpochKey(NamedTuple):
    """Its value is the assignment epoch."""

    group: str
    kind: str = "target epoch"


class TargetKey(NamedTuple):
    """Its value is a tuple of partitions, in the order in which they were given."""

    group: str
    member_id: str
    kind: str = "target"


class CurrentKey(NamedTuple):
    """Its value is the member's `Standing`."""

    group: str
    member_id: str
    kind: str = "current"


class PatternKey(NamedTuple):
    """Its value is what the pattern was resolved to, `Resolved`."""

    group: str
    regex: str
    kind: str = "pattern"


Target = tuple[Partition, ...]
