"""What a group of the consumer protocol answers besides heartbeats: its description, its end (spec 2.13), and its
offsets; who may commit and fetch them is told by member epochs (spec 2.12, 6.5).

In Kafka `GroupMetadataManager.consumerGroupDescribe`, `ConsumerGroup.asDescribedGroup`, `validateOffsetCommit` and
`validateOffsetFetch`, `OffsetMetadataManager`.
"""

from collections.abc import Iterable

from kafka_coordinator import messages
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.conversion import end_consumer_group
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.core import Core, delete_offset, offsets_of
from kafka_coordinator.coordinator.offsets import answer_fetch, refuse_commit, store_commit
from kafka_coordinator.coordinator.refusals import refusal
from kafka_coordinator.coordinator.transactional_offsets import OWN_ERRORS_SINCE, keep
from kafka_coordinator.errors import (
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    INVALID_GROUP_ID,
    NON_EMPTY_GROUP,
    NONE,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNSUPPORTED_VERSION,
)
from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java


def describe_consumer_group(
    core: Core, now: Time, sender: str, request: messages.ConsumerGroupDescribe, out: Outbox
) -> None:
    """Epochs, state and members; partitions of topics that are gone are left out."""
    group = core.readable(request.group)
    if group is None:
        out.send(sender, refusal(request, GROUP_ID_NOT_FOUND if request.group else INVALID_GROUP_ID))
        return
    members = tuple([_described(core, group, group.members[each]) for each in sorted_as_java(group.members)])
    assignor = group.preferred_assignor() or core.settings.assignors[0]
    out.send(
        sender,
        messages.ConsumerGroupDescribeAnswer(
            request.correlation, NONE, group.state, group.epoch, group.target_epoch, assignor, members
        ),
    )


def _described(core: Core, group: ConsumerGroup, member: ConsumerMember) -> messages.DescribedConsumer:
    profile, standing = member.profile, member.standing
    assigned = _known(core, standing.assigned)
    pending = _known(core, standing.pending) if core.settings.version.describes_pending else ()
    return messages.DescribedConsumer(
        member.id,
        profile.instance_id,
        profile.rack,
        profile.client_id,
        profile.host,
        standing.epoch,
        profile.classic is not None,
        profile.topics,
        profile.regex,
        assigned + pending,
        _known(core, group.target.get(member.id, ())),
    )


def _known(core: Core, partitions: Iterable[Partition]) -> tuple[Partition, ...]:
    return tuple(sorted(partition for partition in partitions if partition[0] in core.partition_counts))


def delete(
    core: Core, group: ConsumerGroup, now: Time, sender: str, request: messages.DeleteGroup, out: Outbox
) -> None:
    error = NON_EMPTY_GROUP if group.members else NONE
    if error == NONE:
        delete_empty(core, group, states.DELETED, out)
    out.send(sender, messages.DeleteGroupAnswer(request.correlation, error))


def delete_empty(core: Core, group: ConsumerGroup, event: str, out: Outbox) -> None:
    for partition in offsets_of(core, group):
        delete_offset(core, group, partition)
    end_consumer_group(core, group, event, out)


MEMBER_EPOCHS_SINCE = 9
"""From this version of OffsetCommit on a member of the consumer protocol may commit."""


def commit(
    core: Core, group: ConsumerGroup, now: Time, sender: str, request: messages.OffsetCommit, out: Outbox
) -> None:
    """Store offsets of a member that names its very epoch."""
    error = _commit_error(core, group, request)
    member = group.members.get(request.member_id)
    name = None if member is None else member.profile.client_id
    if error == NONE:
        store_commit(core, group, name, now, sender, request, out)
    else:
        refuse_commit(core, request, name, error, sender, out)


def commit_in_transaction(
    core: Core, group: ConsumerGroup, now: Time, sender: str, request: messages.TxnOffsetCommit, out: Outbox
) -> None:
    """Keep offsets until their transaction ends."""
    is_nobodys = request.generation < 0 and not request.member_id and request.instance_id is None
    error = NONE if is_nobodys else _commit_error(core, group, request)
    member = group.members.get(request.member_id)
    name = None if member is None else member.profile.client_id
    if error == STALE_MEMBER_EPOCH and request.version < OWN_ERRORS_SINCE:
        error = ILLEGAL_GENERATION
    keep(core, now, sender, request, name, error, out)


def _commit_error(core: Core, group: ConsumerGroup, request: messages.OffsetCommit | messages.TxnOffsetCommit) -> str:
    if request.generation < 0 and not group.members:
        return NONE
    member = group.members.get(request.member_id)
    if member is None:
        return UNKNOWN_MEMBER_ID
    is_old = isinstance(request, messages.OffsetCommit) and request.version < MEMBER_EPOCHS_SINCE
    if member.profile.classic is None and is_old:
        return UNSUPPORTED_VERSION
    standing = member.standing
    if core.settings.version.partition_epochs and request.generation < standing.epoch:
        since = [standing.since_epoch(partition) for partition, *_ in request.offsets]
        if all(epoch is not None and request.generation >= epoch for epoch in since):
            return NONE
    return _epoch_error(group, request.member_id, request.generation)


def _epoch_error(group: ConsumerGroup, member_id: str, epoch: int) -> str:
    member = group.members.get(member_id)
    if member is None:
        return UNKNOWN_MEMBER_ID
    if epoch == member.standing.epoch:
        return NONE
    return STALE_MEMBER_EPOCH if member.profile.classic is None else ILLEGAL_GENERATION


def fetch(core: Core, group: ConsumerGroup, now: Time, sender: str, request: messages.OffsetFetch, out: Outbox) -> None:
    """Look up offsets; a request that names a member must name its epoch."""
    if request.member_id is not None or request.generation >= 0:
        error = _epoch_error(group, request.member_id or "", request.generation)
        if error != NONE:
            out.send(sender, messages.OffsetFetchAnswer(request.correlation, error, ()))
            return
    answer_fetch(core, group.offsets, sender, request, out)


def expire_offsets(core: Core, group: ConsumerGroup, now: Time) -> None:
    """Forget offsets that are old and of topics to which the group does not subscribe."""
    oldest = now - core.settings.offsets_retention_ms
    for partition, committed in list(group.offsets.items()):
        is_old = committed.committed_at <= oldest and not core.is_pending(group.id, partition)
        if is_old and not group.subscribes(partition[0]):
            delete_offset(core, group, partition)
