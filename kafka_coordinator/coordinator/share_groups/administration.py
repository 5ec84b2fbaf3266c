"""What a share group answers besides heartbeats: its description, its offsets, its end (spec share 2.4).

In Kafka `GroupMetadataManager.shareGroupDescribe`, `alterShareGroupOffsets`, `sharePartitionsEligibleForOffsetDeletion`
and `shareGroupBuildPartitionDeleteRequest`; what follows from the persister's answers is in `GroupCoordinatorService`.
"""

from typing import Final

from kafka_coordinator.coordinator.consumer_groups.checks import Refused
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Parked
from kafka_coordinator.coordinator.share_groups import initializing, states
from kafka_coordinator.coordinator.share_groups.group import (
    ALTERS,
    DELETES,
    FORGETS,
    INITIALIZES,
    NOTHING,
    Asked,
    Initialized,
    ShareGroup,
    union,
)
from kafka_coordinator.coordinator.share_groups.heartbeat import existing, group_or_new
from kafka_coordinator.coordinator.share_groups.messages import (
    PERSISTER,
    AlterShareGroupOffsets,
    AlterShareGroupOffsetsAnswer,
    DeleteShareGroupOffsets,
    DeleteShareGroupOffsetsAnswer,
    DeleteShareStates,
    DescribedShareMember,
    InitializeShareStates,
    ShareGroupDescribe,
    ShareGroupDescribeAnswer,
    ShareStatesAnswer,
)
from kafka_coordinator.coordinator.share_groups.storing import erase_group, keep
from kafka_coordinator.errors import (
    GROUP_ID_NOT_FOUND,
    INVALID_GROUP_ID,
    NON_EMPTY_GROUP,
    NONE,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kafka_coordinator.messages import DeleteGroup, DeleteGroupAnswer
from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java


def describe_share_group(core: Core, now: Time, sender: str, request: ShareGroupDescribe, out: Outbox) -> None:
    """Epochs, state and members; partitions of topics that are gone are left out."""
    group = core.share_groups.get(request.group)
    if group is None:
        error = GROUP_ID_NOT_FOUND if request.group else INVALID_GROUP_ID
        out.send(sender, ShareGroupDescribeAnswer(request.correlation, error, "", 0, 0, "", ()))
        return
    members = tuple(
        [
            DescribedShareMember(
                member.id,
                member.rack,
                member.client_id,
                member.host,
                member.epoch,
                member.topics,
                tuple(sorted(each for each in member.assigned if each[0] in core.partition_counts)),
            )
            for member in (group.members[member_id] for member_id in sorted_as_java(group.members))
        ]
    )
    answer = ShareGroupDescribeAnswer(
        request.correlation, NONE, group.state, group.epoch, group.target_epoch, ASSIGNOR, members
    )
    out.send(sender, answer)


ASSIGNOR: Final = "simple"
"""The only one of share groups."""


def alter_offsets(core: Core, now: Time, sender: str, request: AlterShareGroupOffsets, out: Outbox) -> None:
    """Set start offsets; since 4.2 of a group that there is not, too."""
    version = core.settings.version
    try:
        if not request.group:
            raise Refused(INVALID_GROUP_ID)
        find = group_or_new if version.altering_makes_share_group else existing
        group = find(core, request.group)
        _check_empty(group)
    except Refused as refused:
        out.send(sender, AlterShareGroupOffsetsAnswer(request.correlation, refused.error, (), refused.text))
        return
    counts = core.partition_counts
    known = {partition: offset for partition, offset in request.offsets if partition[1] < counts.get(partition[0], 0)}
    rows = [(each, NONE if each in known else UNKNOWN_TOPIC_OR_PARTITION) for each, _ in request.offsets]
    # A topic that there is counts as being initialized even if none of the partitions exists.
    named = {topic: frozenset[int]() for (topic, _), _ in request.offsets if topic in counts}
    asked = union(named, initializing.numbers_of(known))
    if asked:
        if group.id not in core.share_groups:
            core.share_groups[group.id] = group
            group.settle(states.OFFSETS_ALTERED, out)
        initializing.add(core, group, asked, now)
    parked = core.parked(sender, request.correlation)
    if not request.offsets or (not known and version.altering_makes_share_group):
        out.send(sender, AlterShareGroupOffsetsAnswer(request.correlation, NONE, tuple(rows)))
        return
    call = core.ask_persister(Asked(group.id, ALTERS, initializing.numbers_of(known), parked, tuple(rows)))
    out.send(PERSISTER, InitializeShareStates(call, group.id, group.epoch, tuple(sorted(known.items()))))


def _check_empty(group: ShareGroup) -> None:
    if group.members:
        raise Refused(NON_EMPTY_GROUP)


def delete_offsets(core: Core, now: Time, sender: str, request: DeleteShareGroupOffsets, out: Outbox) -> None:
    """Let an empty group forget topics, once the persister has."""
    try:
        if not request.group:
            raise Refused(INVALID_GROUP_ID)
        group = existing(core, request.group)
        _check_empty(group)
    except Refused as refused:
        out.send(sender, DeleteShareGroupOffsetsAnswer(request.correlation, refused.error, (), refused.text))
        return
    if group.kept is None:
        out.send(sender, DeleteShareGroupOffsetsAnswer(request.correlation, NONE, ()))
        return
    kept, counts = group.kept, core.partition_counts
    going: dict[str, frozenset[int]] = {}
    for topic in request.topics:
        if topic in counts and topic in kept.initialized:
            going[topic] = kept.initialized[topic]
        elif topic in counts and topic in kept.deleting:
            going[topic] = frozenset(range(counts[topic]))
    rows = tuple([(topic, UNKNOWN_TOPIC_OR_PARTITION) for topic in request.topics if topic not in going])
    initialized = {topic: each for topic, each in kept.initialized.items() if topic not in going}
    keep(core, group, kept._replace(initialized=initialized, deleting=kept.deleting.union(going)), now)
    if not going:
        out.send(sender, DeleteShareGroupOffsetsAnswer(request.correlation, NONE, rows))
        return
    parked = core.parked(sender, request.correlation)
    call = core.ask_persister(Asked(group.id, FORGETS, going, parked, rows))
    out.send(PERSISTER, DeleteShareStates(call, group.id, initializing.partitions_of(going)))


def delete(core: Core, group: ShareGroup, now: Time, sender: str, request: DeleteGroup, out: Outbox) -> None:
    """Delete an empty group, once the persister has forgotten what it keeps of it."""
    if group.members:
        out.send(sender, DeleteGroupAnswer(request.correlation, NON_EMPTY_GROUP))
        return
    kept, counts = group.kept or NOTHING, core.partition_counts
    deleting = {topic: frozenset(range(counts[topic])) for topic in kept.deleting if topic in counts}
    going = union(union(kept.initialized, kept.initializing), deleting)
    parked = core.parked(sender, request.correlation)
    if group.kept is not None and (going or kept.deleting or core.settings.version.altering_makes_share_group):
        keep(core, group, Initialized(deleting=frozenset(going)), now)
    if going:
        call = core.ask_persister(Asked(group.id, DELETES, going, parked))
        out.send(PERSISTER, DeleteShareStates(call, group.id, initializing.partitions_of(going)))
    else:
        _end(core, group, parked, out)


def _end(core: Core, group: ShareGroup, parked: Parked, out: Outbox) -> None:
    error = NON_EMPTY_GROUP if group.members else NONE
    if error == NONE:
        group.end(states.DELETED, out)
        erase_group(core, group)
        del core.share_groups[group.id]
    core.answer(parked, DeleteGroupAnswer(parked.correlation, error), out)


def persister_answered(core: Core, now: Time, sender: str, answer: ShareStatesAnswer, out: Outbox) -> None:
    """The persister has done what it was asked, or has not."""
    asked = core.share_calls.pop(answer.correlation, None)
    group = core.share_groups.get(asked.group) if asked else None
    if asked is None or group is None:
        return
    _ANSWERED[asked.purpose](core, group, asked, answer, now, out)


def _initialized(
    core: Core, group: ShareGroup, asked: Asked, answer: ShareStatesAnswer, now: Time, out: Outbox
) -> None:
    initializing.done(core, group, asked.numbers, answer.error, now)


def _altered(core: Core, group: ShareGroup, asked: Asked, answer: ShareStatesAnswer, now: Time, out: Outbox) -> None:
    assert asked.parked is not None
    if answer.error == NONE:
        initializing.done(core, group, asked.numbers, NONE, now)
    tells = core.settings.version.altering_makes_share_group
    error = answer.error if answer.failed else NONE
    rows = asked.errors
    if answer.failed:
        rows = tuple([(each, answer.error) for each, _ in rows])
    elif tells:
        rows = tuple([(each, answer.error if before == NONE else before) for each, before in rows])
    core.answer(asked.parked, AlterShareGroupOffsetsAnswer(asked.parked.correlation, error, rows), out)


def _forgotten(core: Core, group: ShareGroup, asked: Asked, answer: ShareStatesAnswer, now: Time, out: Outbox) -> None:
    assert asked.parked is not None
    correlation = asked.parked.correlation
    if answer.failed:
        core.answer(asked.parked, DeleteShareGroupOffsetsAnswer(correlation, answer.error, ()), out)
        return
    if answer.error == NONE and group.kept is not None:
        keep(core, group, group.kept._replace(deleting=group.kept.deleting.difference(asked.numbers)), now)
    told = [(topic, answer.error) for topic in asked.numbers]
    rows = (*told, *asked.errors) if answer.error == NONE else (*asked.errors, *told)
    core.answer(asked.parked, DeleteShareGroupOffsetsAnswer(correlation, NONE, rows), out)


def _deleted(core: Core, group: ShareGroup, asked: Asked, answer: ShareStatesAnswer, now: Time, out: Outbox) -> None:
    assert asked.parked is not None
    if answer.error == NONE:
        _end(core, group, asked.parked, out)
    else:
        core.answer(asked.parked, DeleteGroupAnswer(asked.parked.correlation, answer.error), out)


_ANSWERED: Final = {INITIALIZES: _initialized, ALTERS: _altered, FORGETS: _forgotten, DELETES: _deleted}
