"""What one request writes to ``__consumer_offsets`` is one batch, which is written whole or not at all (spec 1.3).

A batch larger than ``message.max.bytes`` is refused: the group goes back to what it was before the request, which is
answered with UNKNOWN_SERVER_ERROR; timers that it has set stay set. Targets of all members are in one batch, so that in
a large group nobody gets a new one, and each heartbeat that would compute one fails.

Here it is so for heartbeats of the consumer protocol and for classic members' JoinGroup and LeaveGroup in its groups.
Whether a request may write so much is estimated first, because only then is the group copied.

In Kafka `CoordinatorRuntime.append` and `GroupCoordinatorRecordHelpers`; sizes as in the schemas of its records.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from kafka_coordinator import messages
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup, Resolved
from kafka_coordinator.coordinator.consumer_groups.member import Profile, Standing
from kafka_coordinator.coordinator.consumer_groups.storing import (
    CurrentKey,
    EpochKey,
    EpochValue,
    MemberKey,
    PatternKey,
    TargetEpochKey,
    TargetKey,
)
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.log import GroupKey, GroupValue, StoredMember
from kafka_coordinator.coordinator.refusals import REFUSE
from kafka_coordinator.errors import UNKNOWN_SERVER_ERROR
from kafka_coordinator.frame_sizes import array, data, opaque, text, varint
from kafka_coordinator.versions import Version
from protocols.engine.nodes import Message, Outbox, PassedOn, Time

T = TypeVar("T")

BATCH_HEAD: Final = 61
_TAGS: Final = 1
_VERSION: Final = 2
_TAGGED: Final = 1 + 1
"""Number of a field with a tag, and its length below 128 bytes."""
_WHOLE: Final = 1_000
"""Bytes of all records of a member, about at most."""


def batch_bytes(records: Iterable[tuple[object, object]], version: Version) -> int:
    """The batch with these keys and values, as far as they are a group's own."""
    return BATCH_HEAD + sum(
        record_bytes(key_bytes(key), None if value is None else value_bytes(key, value, version), number)
        for number, (key, value) in enumerate(records)
        if isinstance(key, tuple) and type(key) in _VALUES
    )


def record_bytes(key: int, value: int | None, number: int) -> int:
    """A record whose key and value have so many bytes; ``number``: its place in the batch."""
    content = 1 + 1 + _signed(number) + _signed(key) + key + _signed(value or 0) + (value or 0) + 1
    return _signed(content) + content


def _signed(number: int) -> int:
    """Bytes of a signed varint that is not negative."""
    return max(1, -(-(2 * number).bit_length() // 7))


def value_bytes(key: object, value: object, version: Version) -> int:
    """The value of a record with this key."""
    return _VALUES[type(key)](value, version)


def key_bytes(key: tuple[str, ...]) -> int:
    """Its kind, and texts with lengths of two bytes; the last field is the name of its type."""
    texts = key if isinstance(key, GroupKey) else key[:-1]
    return 2 + sum(2 + len(each.encode()) for each in texts)


def _epoch(value: EpochValue, version: Version) -> int:
    return _VERSION + 4 + _TAGS + (_TAGGED + 8 if value.metadata_hash else 0)


def _member(value: Profile, version: Version) -> int:
    texts = (value.instance_id, value.rack, value.client_id, value.host, value.regex, value.assignor)
    classic = 1
    if value.classic is not None:
        classic += 4 + _TAGS
        classic += array(text(name) + data(opaque(told)) + _TAGS for name, told in value.classic.protocols)
    names = sum(map(text, texts)) + array(map(text, value.topics))
    return _VERSION + names + 4 + _TAGS + 1 + varint(classic) + classic


def _target_epoch(value: tuple[int, Time | None], version: Version) -> int:
    tells_time = version.assignment_interval and value[1] is not None
    return _VERSION + 4 + _TAGS + (_TAGGED + 8 if tells_time else 0)


def _target(value: Iterable[Partition], version: Version) -> int:
    return _VERSION + _topics(value, False) + _TAGS


def _current(value: Standing, version: Version) -> int:
    held = sum(_topics(each, version.partition_epochs) for each in (value.assigned, value.pending))
    return _VERSION + 4 + 4 + 1 + held + _TAGS


def _topics(partitions: Iterable[Partition], with_epochs: bool) -> int:
    counts: dict[str, int] = {}
    for topic, _ in partitions:
        counts[topic] = counts.get(topic, 0) + 1
    return array(_numbers(count, with_epochs) for count in counts.values())


def _numbers(count: int, with_epochs: bool) -> int:
    listed = varint(count + 1) + 4 * count
    return 16 + listed + _TAGS + (1 + varint(listed) + listed if with_epochs else 0)


def _pattern(value: Resolved, version: Version) -> int:
    return _VERSION + array(map(text, value.topics)) + 8 + 8 + _TAGS


def _classic(value: GroupValue, version: Version) -> int:
    names = (value.protocol_type or "", value.protocol, value.leader)
    return _VERSION + sum(map(_short, names)) + 4 + 8 + 4 + sum(map(stored_bytes, value.members))


def stored_bytes(member: StoredMember) -> int:
    """A `StoredMember` in the record of its classic group."""
    *texts, _, _, subscription, assignment = member
    return sum(map(_short, texts)) + 4 + 4 + 4 + opaque(subscription) + 4 + opaque(assignment)


def _short(name: str | None) -> int:
    return 2 + len((name or "").encode())


_VALUES: Final[Mapping[type, Callable[..., int]]] = {
    EpochKey: _epoch,
    MemberKey: _member,
    TargetEpochKey: _target_epoch,
    TargetKey: _target,
    CurrentKey: _current,
    PatternKey: _pattern,
    GroupKey: _classic,
}


def may_be_too_large(core: Core, request: Message) -> bool:
    """Whether what the request writes may be more than a batch takes; False is certain, but where one of few members
    gets most partitions of a group whose members subscribe to different topics."""
    kind, limit = type(request), core.settings.message_max_bytes
    if kind not in (messages.ConsumerGroupHeartbeat, messages.JoinGroup, messages.LeaveGroup):
        return False
    group_id = request.group  # type: ignore[attr-defined]
    group = core.consumer_groups.get(group_id)
    if group is None:
        classic = core.groups.get(group_id)
        members = 1 + len(classic.members if classic else ())
        return kind is messages.ConsumerGroupHeartbeat and _WHOLE * members > limit
    if isinstance(request, messages.ConsumerGroupHeartbeat) and _computes_nothing(group, request):
        return False
    if group.spoken_classic:
        return _WHOLE * (1 + len(group.members)) > limit
    return _of_targets(core, group) > limit


def _computes_nothing(group: ConsumerGroup, request: messages.ConsumerGroupHeartbeat) -> bool:
    told = request.topics, request.regex, request.assignor
    is_alive = request.member_epoch > messages.JOINS and told == (None, None, None)
    return is_alive and group.epoch <= group.target_epoch and not group.stale


def _of_targets(core: Core, group: ConsumerGroup) -> int:
    """At most so many bytes have all targets of the group, and what else their computation writes."""
    counts = core.partition_counts
    named = [counts[topic] for topic in {**group.by_name, **group.by_pattern} if topic in counts]
    total, members = sum(named), len(group.members) + 1
    entries = 20 * min(total, members * len(named))
    of_caller = 8 * (total // members + 1 if group.alike else total)
    texts = members * (2 * len(group.id.encode()) + 21) + group.id_bytes
    return BATCH_HEAD + 2 * _WHOLE + texts + entries + 4 * total + of_caller


class _Held(PassedOn):
    """An outbox that keeps what is told until it is known whether it counts."""

    __slots__ = ("_told",)

    def __init__(self, out: Outbox) -> None:
        super().__init__(out)
        self._told: list[Callable[[], None]] = []

    def send(self, to: str, message: Message) -> None:
        self._told.append(lambda: self.out.send(to, message))

    def observe(self, fact: tuple[object, ...]) -> None:
        self._told.append(lambda: self.out.observe(fact))

    def release(self) -> None:
        for tell in self._told:
            tell()


def in_one_batch(core: Core, sender: str, request: Message, out: Outbox, handle: Callable[[Outbox], None]) -> None:
    """Handle the request; nothing of it counts if it writes more than a batch takes."""
    group_id = request.group  # type: ignore[attr-defined]
    tables: list[dict[str, Any]] = [core.groups, core.consumer_groups, core.forgotten]
    before = [each[group_id].copy() if group_id in each else None for each in tables]
    held, core.staged = _Held(out), []
    handle(held)
    staged, core.staged = core.staged, None
    # Of a group that is made, the released coordinator writes what becomes of it in the request alone.
    newest = {key: value for _, key, value in staged}
    if batch_bytes(newest.items(), core.settings.version) <= core.settings.message_max_bytes:
        for partition, key, value in staged:
            core.write(partition, key, value)
        held.release()
        return
    for table, known in zip(tables, before, strict=True):
        table.pop(group_id, None) if known is None else table.update({group_id: known})
    out.send(sender, REFUSE[type(request)](request, UNKNOWN_SERVER_ERROR))
