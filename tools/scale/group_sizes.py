"""Bytes of what grows with the members of a group: frames of a classic group's leader, and batches in
``__consumer_offsets`` (spec kafka 1.3).

All members are alike: of one topic, with ids, client ids and shares of equal length. The sizes are those of
`kafka_coordinator.frame_sizes` and `kafka_coordinator.coordinator.batches`: one member is written, and the others are
added.
"""

from typing import NamedTuple

from kafka_coordinator import messages
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.batches import BATCH_HEAD, key_bytes, record_bytes, stored_bytes, value_bytes
from kafka_coordinator.coordinator.consumer_groups.storing import TargetKey
from kafka_coordinator.coordinator.log import GroupKey, GroupValue, StoredMember
from kafka_coordinator.frame_sizes import frame_size as frame_size
from kafka_coordinator.versions import DEFAULT

_UUID, _HOST = 36, "/127.0.0.1"
"""Characters of an id that a client or the broker makes up, and a member's host."""


class Alike(NamedTuple):
    """A group whose members are alike. ``client_id``: of a member; ``share``: the partitions of one topic that each
    owns."""

    group: str
    client_id: str
    share: tuple[Partition, ...]
    protocol: str = "range"

    @property
    def member_id(self) -> str:
        """A classic member's id, which the broker makes of the client's."""
        return f"{self.client_id}-{'0' * _UUID}"

    @property
    def subscription(self) -> messages.ConsumerMetadata:
        return messages.ConsumerMetadata((self.share[0][0],), (), -1, None)


def joined_bytes(alike: Alike, members: int) -> int:
    """The frame of the JoinGroup answer to the leader."""
    told = messages.JoinedMember(alike.member_id, None, alike.subscription)
    answer = messages.JoinGroupAnswer(
        0, "NONE", 1, alike.member_id, alike.member_id, "consumer", alike.protocol, False, ()
    )
    none, one = (frame_size(answer._replace(members=each), alike.client_id) for each in ((), (told,)))
    return none + members * (one - none) + _array_length(members)


def sync_bytes(alike: Alike, members: int) -> int:
    """The frame of the leader's SyncGroup."""
    request = messages.SyncGroup(0, alike.group, alike.member_id, 1, None, "consumer", alike.protocol, {})
    none = frame_size(request, alike.client_id)
    one = frame_size(request._replace(assignments={alike.member_id: alike.share}), alike.client_id)
    return none + members * (one - none) + _array_length(members)


def metadata_batch_bytes(alike: Alike, members: int) -> int:
    """The batch with the one record that a classic group is written in after its leader's SyncGroup."""
    member = StoredMember(alike.member_id, None, alike.client_id, _HOST, 0, 0, alike.subscription, alike.share)
    key, head = GroupKey(alike.group), GroupValue("consumer", 1, alike.protocol, alike.member_id, 0, ())
    value = value_bytes(key, head, DEFAULT) + members * stored_bytes(member)
    return BATCH_HEAD + record_bytes(key_bytes(key), value, 0)


def target_batch_bytes(alike: Alike, members: int) -> int:
    """The targets of so many members of the consumer protocol, which the coordinator writes together; what else the
    same heartbeat writes (at most five records) is left out."""
    key = TargetKey(alike.group, "0" * _UUID)
    each = record_bytes(key_bytes(key), value_bytes(key, alike.share, DEFAULT), 0)
    # The record's number in its batch takes a byte up to 63, two up to 8,191 and so on.
    deltas = sum(max(0, members - first) for first in (64, 8_192, 1_048_576))
    return BATCH_HEAD + members * each + deltas


def _array_length(items: int) -> int:
    """Bytes of an array's length beyond the one of a short array."""
    return max(0, -(-(items + 1).bit_length() // 7) - 1)
