"""Offsets that are committed within a transaction: they wait, and are the group's once a marker says so (spec 12.8).

The log has them, and the marker after them, so that whoever loads it comes to the same end.

In Kafka `OffsetMetadataManager.commitTransactionalOffset`, `replayEndTransactionMarker` and
`ClassicGroup.validateOffsetCommit`.
"""

from collections.abc import Mapping

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.commands import MarkerWritten
from kafka_coordinator.coordinator.core import Core, create_group
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.log import (
    CommittedOffset,
    Key,
    MarkerKey,
    PendingKey,
    PendingOffset,
    Value,
    offset_cost,
)
from kafka_coordinator.coordinator.offsets import observe_refusal, take
from kafka_coordinator.coordinator.refusals import identity_error
from kafka_coordinator.errors import GROUP_ID_NOT_FOUND, ILLEGAL_GENERATION, NONE, OFFSET_METADATA_TOO_LARGE
from kafka_coordinator.messages import NO_LEADER_EPOCH, OffsetCommitAnswer, TxnOffsetCommit
from protocols.engine.nodes import Outbox, Time

OWN_ERRORS_SINCE = 6
"""From this version of TxnOffsetCommit on a missing group and an old epoch have errors of their own (KIP-1319)."""


def commit(core: Core, now: Time, sender: str, request: TxnOffsetCommit, out: Outbox) -> None:
    """Keep offsets until their transaction ends; the group may be in the middle of a rebalance."""
    group = core.groups.get(request.group)
    if group is None and request.generation < 0:
        group = create_group(core, request.group, now, out)
    error = transactional_commit_error(group, request.member_id, request.generation, request.instance_id)
    if group is None and error == ILLEGAL_GENERATION and request.version >= OWN_ERRORS_SINCE:
        error = GROUP_ID_NOT_FOUND
    member = None if group is None else group.members.get(request.member_id)
    keep(core, now, sender, request, None if member is None else member.client_id, error, out)


def transactional_commit_error(group: Group | None, member_id: str, generation: int, instance_id: str | None) -> str:
    """Why the coordinator refuses offsets of a transaction, NONE where it takes them. Those of nobody's member are
    taken whoever is in the group; ``generation`` is -1 there and the id empty."""
    if generation < 0 and not member_id and instance_id is None:
        return NONE
    if group is None:
        return NONE if generation < 0 else ILLEGAL_GENERATION
    if generation < 0 and not group.members:
        return NONE
    error = identity_error(group, member_id, instance_id)
    return ILLEGAL_GENERATION if error == NONE and generation != group.generation else error


def keep(
    core: Core, now: Time, sender: str, request: TxnOffsetCommit, name: str | None, error: str, out: Outbox
) -> None:
    """Write what waits, unless ``error`` refuses all of it, and answer. ``name``: client id of the member."""
    if error != NONE:
        observe_refusal(core, request, name, error, out)
    generation = None if request.generation < 0 else request.generation
    epochs = request.epochs or (NO_LEADER_EPOCH,) * len(request.offsets)
    errors = []
    for (partition, offset, text), epoch in zip(request.offsets, epochs, strict=True):
        refused = error
        if error == NONE and len(text) > core.settings.offset_metadata_max_bytes:
            refused = OFFSET_METADATA_TOO_LARGE
        if refused == NONE:
            number = core.partition_of(request.group)
            committed = CommittedOffset(offset, text, now, epoch)
            waiting = PendingOffset(committed, name, generation, core.log(number).end)
            _wait(core, request.group, request.producer_id, partition, waiting)
            core.write(number, PendingKey(request.group, request.producer_id, *partition), waiting)
        errors.append((partition, refused))
    out.send(sender, OffsetCommitAnswer(request.correlation, tuple(errors)))


def complete(core: Core, now: Time, sender: str, command: MarkerWritten, out: Outbox) -> None:
    """A marker has been written: what waited for it is the group's, or gone, whatever has become of the member since.
    An offset that was committed later stays."""
    if core.leaders[command.partition] != core.name or command.partition in core.loading:
        return  # who leads the partition finds the marker in the log
    for group_id in list(core.pending):
        if core.partition_of(group_id) == command.partition:
            _end(core, now, group_id, command, out)
    core.write(command.partition, MarkerKey(command.producer_id), None)


def _end(core: Core, now: Time, group_id: str, marker: MarkerWritten, out: Outbox) -> None:
    of_group = core.pending[group_id]
    for partition, waiting in of_group.pop(marker.producer_id, {}).items():
        core.pending_bytes -= waiting.cost(group_id, partition)
        core.write(marker.partition, PendingKey(group_id, marker.producer_id, *partition), None)
        if not marker.commits or waiting.is_outdated:
            continue
        take(core, now, group_id, partition, waiting.committed, waiting.member, waiting.generation, out)
        core.outdate(group_id, partition, waiting.position)
    if not of_group:
        del core.pending[group_id]


def replay(core: Core, partition: int, latest: Mapping[Key, Value], now: Time, out: Outbox) -> None:
    """What the log of a partition says of transactions, after its groups."""
    markers = []
    for key, value in latest.items():
        if isinstance(key, PendingKey):
            _wait(core, key.group, key.producer_id, (key.topic, key.number), value)
        elif isinstance(key, MarkerKey):
            markers.append(MarkerWritten(partition, key.producer_id, value))
    for marker in markers:
        complete(core, now, core.name, marker, out)


def resign(core: Core, partition: int) -> None:
    """Another broker leads the partition."""
    for group in [group for group in core.pending if core.partition_of(group) == partition]:
        gone = core.pending.pop(group)
        core.pending_bytes -= sum(each.cost(group, of) for waiting in gone.values() for of, each in waiting.items())


def has_room(core: Core, request: TxnOffsetCommit, most_bytes: int) -> bool:
    """Whether all that waits at this broker is no more than this, with what the request adds."""
    known = core.pending.get(request.group, {}).get(request.producer_id, {})
    more = 0
    for partition, _, text in request.offsets:
        before = known.get(partition)
        more += offset_cost(request.group, partition, text) - _cost(request.group, partition, before)
    return core.pending_bytes + more <= most_bytes


def _wait(core: Core, group: str, producer_id: int, partition: Partition, waiting: PendingOffset) -> None:
    of_producer = core.pending.setdefault(group, {}).setdefault(producer_id, {})
    before = of_producer.get(partition)
    core.pending_bytes += waiting.cost(group, partition) - _cost(group, partition, before)
    of_producer[partition] = waiting


def _cost(group: str, partition: Partition, waiting: PendingOffset | None) -> int:
    return 0 if waiting is None else waiting.cost(group, partition)
