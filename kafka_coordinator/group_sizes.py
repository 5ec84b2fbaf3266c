"""Bytes of what grows with the members of a group: frames of a classic group's leader, and batches in
``__consumer_offsets`` (spec 1.3).

All members are alike: of one topic, with ids, client ids and shares of equal length. Frames are those of `frame_sizes`,
which has one message for all members; here one member is written, and the others are added. Records are counted field
by field of Kafka's schemas: a group's metadata in version 3 and the member's target in version 0, which 4.4.0 writes
(`GroupCoordinatorRecordHelpers`).

In Kafka `GroupMetadataValue`, `ConsumerGroupTargetAssignmentMemberValue`, `DefaultRecordBatch`, `DefaultRecord`.
"""

from typing import NamedTuple

from kafka_coordinator import messages
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.frame_sizes import frame_size, opaque

_BATCH_HEAD = 61
_RECORD_HEAD = 1 + 1 + 1 + 1
"""Attributes, the deltas of time and offset with a byte each, the number of headers."""
_UUID, _HOST = 36, len("/127.0.0.1")
"""Characters of an id that a client or the broker makes up, and of a member's host."""


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
    each = 2 + len(alike.member_id) + 2 + 2 + len(alike.client_id) + 2 + _HOST + 4 + 4
    each += 4 + opaque(alike.subscription) + 4 + opaque(alike.share)
    names = 2 + len("consumer") + 2 + len(alike.protocol) + 2 + len(alike.member_id)
    return _BATCH_HEAD + _record(2 + 2 + len(alike.group), 2 + names + 4 + 8 + 4 + members * each)


def target_batch_bytes(alike: Alike, members: int) -> int:
    """The targets of so many members of the consumer protocol, which the coordinator writes together; what else the
    same heartbeat writes (at most five records) is left out."""
    key = 2 + 2 + len(alike.group) + 2 + _UUID
    value = 2 + 1 + 16 + 1 + 4 * len(alike.share) + 1 + 1
    # The record's number in its batch takes a byte up to 63, two up to 8,191 and so on.
    deltas = sum(max(0, members - first) for first in (64, 8_192, 1_048_576))
    return _BATCH_HEAD + members * _record(key, value) + deltas


def _record(key: int, value: int) -> int:
    """A record whose key and value have so many bytes."""
    content = _RECORD_HEAD + _length(key) + key + _length(value) + value
    return _length(content) + content


def _length(number: int) -> int:
    """Bytes of a signed varint that is not negative."""
    return max(1, -(-(2 * number).bit_length() // 7))


def _array_length(items: int) -> int:
    """Bytes of an array's length beyond the one of a short array."""
    return max(0, -(-(items + 1).bit_length() // 7) - 1)
