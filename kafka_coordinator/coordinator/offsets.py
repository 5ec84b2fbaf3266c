"""OffsetCommit, OffsetFetch, OffsetDelete, and topics that are deleted (spec 2.12).

In Kafka `OffsetMetadataManager.commitOffset`, `fetchOffsets`, `deleteOffsets` and `ClassicGroup.validateOffsetCommit`.
"""

from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import Final

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.commands import OffsetsDecided
from kafka_coordinator.coordinator.core import (
    Core,
    WaitingCommit,
    WithOffsets,
    create_group,
    delete_offset,
    offsets_of,
    store_offset,
)
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.log import CommittedOffset, offset_key
from kafka_coordinator.coordinator.rebalance import restart_session
from kafka_coordinator.coordinator.refusals import commit_refused, identity_error
from kafka_coordinator.errors import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_ID_NOT_FOUND,
    GROUP_SUBSCRIBED_TO_TOPIC,
    ILLEGAL_GENERATION,
    INVALID_GROUP_ID,
    NON_EMPTY_GROUP,
    NONE,
    OFFSET_METADATA_TOO_LARGE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    UNSTABLE_OFFSET_COMMIT,
)
from kafka_coordinator.messages import (
    CONSUMER_PROTOCOL_TYPE,
    NO_LEADER_EPOCH,
    NO_OFFSET,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    TxnOffsetCommit,
)
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Committed
from protocols.java import sorted_pairs
from protocols.load import quickly_made

_committed, _stored = quickly_made(Committed), quickly_made(CommittedOffset)
_answer, _fetched = quickly_made(OffsetCommitAnswer), quickly_made(OffsetFetchAnswer)

_NOT_COMMITTED = CommittedOffset(NO_OFFSET, "", 0.0)

GROUP_ID_NOT_FOUND_SINCE = 9
"""From this version of OffsetCommit on a missing group has an error of its own."""


def commit(core: Core, now: Time, sender: str, request: OffsetCommit, out: Outbox) -> None:
    """Store offsets. Nobody asks whether the member owns the partition or whether the offset grows."""
    group = core.groups.get(request.group)
    if group is None and request.generation < 0 and not _are_all_too_large(core, request):
        group = create_group(core, request.group, now, out)
    if group is None and request.generation < 0:
        error = OFFSET_METADATA_TOO_LARGE
    elif group is None:
        error = GROUP_ID_NOT_FOUND if request.version >= GROUP_ID_NOT_FOUND_SINCE else ILLEGAL_GENERATION
    else:
        error = _commit_error(group, request)
    member = None if group is None else group.members.get(request.member_id)
    name = None if member is None else member.client_id
    if group is None or error != NONE:
        refuse_commit(core, request, name, error, sender, out)
        return
    if member is not None and group.state in (states.STABLE, states.PREPARING_REBALANCE):
        restart_session(member, now, out)
    store_commit(core, group, name, now, sender, request, out)


def _are_all_too_large(core: Core, request: OffsetCommit) -> bool:
    """Whether nothing of the request can be stored, so that it makes no group."""
    most = core.settings.offset_metadata_max_bytes
    return bool(request.offsets) and all(len(metadata) > most for _, _, metadata in request.offsets)


def refuse_commit(core: Core, request: OffsetCommit, name: str | None, error: str, sender: str, out: Outbox) -> None:
    """Nothing is stored; ``name``: client id of the member that wanted it."""
    observe_refusal(core, request, name, error, out)
    out.send(sender, commit_refused(request, error))


def observe_refusal(
    core: Core, request: OffsetCommit | TxnOffsetCommit, name: str | None, error: str, out: Outbox
) -> None:
    generation = None if request.generation < 0 else request.generation
    for partition, offset, _ in request.offsets:
        out.observe(Committed(request.group, core.queue(partition), offset, name, generation, error))


def store_commit(
    core: Core, group: WithOffsets, name: str | None, now: Time, sender: str, request: OffsetCommit, out: Outbox
) -> None:
    """Store the offsets of a request whose sender may do that, and answer it; later, where nothing is replicated."""
    if group.partition in core.waiting:
        due = now + core.settings.offsets_commit_timeout_ms
        parked = core.parked(sender, request.correlation)
        core.commits.append(WaitingCommit(group.partition, name, request, parked, due))
        if len(core.commits) == 1 or core.commits[-2].parked is None:
            out.set_timer(COMMITS, due)
        return
    out.send(sender, _stored_answer(core, group, name, now, request, out))


def commits_timed_out(core: Core, now: Time, out: Outbox) -> None:
    """Commits were not replicated in time: so they are answered, and count all the same when they are."""
    for at, each in enumerate(core.commits):
        if each.parked is not None and each.due <= now:
            core.commits[at] = each._replace(parked=None)
            observe_refusal(core, each.request, each.name, COORDINATOR_NOT_AVAILABLE, out)
            core.answer(each.parked, commit_refused(each.request, COORDINATOR_NOT_AVAILABLE), out)
    left = [each.due for each in core.commits if each.parked is not None]
    if left:
        out.set_timer(COMMITS, min(left))


def replicate(core: Core, waiting: frozenset[int], now: Time, out: Outbox) -> None:
    """Nothing is replicated from now on but elsewhere than on these partitions: what waited on others counts now."""
    core.waiting = waiting
    done = [each for each in core.commits if each.partition not in waiting]
    core.commits = [each for each in core.commits if each.partition in waiting]
    for each in done:
        group = core.groups.get(each.request.group) or core.consumer_groups.get(each.request.group)
        if group is not None:
            answer = _stored_answer(core, group, each.name, now, each.request, out)
            if each.parked is not None:
                core.answer(each.parked, answer, out)
    if not any(each.parked is not None for each in core.commits):
        out.cancel_timer(COMMITS)


COMMITS: Final = ("commits",)
"""The timer of what waits."""


def _stored_answer(
    core: Core, group: WithOffsets, name: str | None, now: Time, request: OffsetCommit, out: Outbox
) -> OffsetCommitAnswer:
    generation = None if request.generation < 0 else request.generation
    most, stored, log = core.settings.offset_metadata_max_bytes, group.offsets, core.log(group.partition)
    group_id, errors = group.id, []
    epochs = request.epochs or repeat(NO_LEADER_EPOCH)
    for (partition, offset, metadata), epoch in zip(request.offsets, epochs, strict=False):
        if metadata and len(metadata) > most:
            error = OFFSET_METADATA_TOO_LARGE
            out.observe(_committed((group_id, core.queue(partition), offset, name, generation, error)))
            errors.append((partition, error))
            continue
        before = stored.get(partition)
        # A commit that repeats what is stored changes nothing: it is not observed, so that it can be skipped.
        if before is None or before[0] != offset or before[1] != metadata:
            out.observe(_committed((group_id, core.queue(partition), offset, name, generation, "")))
        committed = stored[partition] = _stored((offset, metadata, now, epoch))
        log.append(offset_key(group_id, partition), committed)
        if core.pending:
            core.outdate(group_id, partition, log.end)
        errors.append((partition, NONE))
    return _answer((request.correlation, tuple(errors)))


def _commit_error(group: Group, request: OffsetCommit) -> str:
    if request.generation < 0 and group.state == states.EMPTY:
        return NONE
    if request.generation < 0 and not request.member_id and request.instance_id is None:
        return UNKNOWN_MEMBER_ID
    return _membership_error(group, request.member_id, request.generation, request.instance_id)


def _membership_error(group: Group, member_id: str, generation: int, instance_id: str | None) -> str:
    error = identity_error(group, member_id, instance_id)
    if error != NONE:
        return error
    if generation != group.generation:
        return ILLEGAL_GENERATION
    return REBALANCE_IN_PROGRESS if group.state == states.COMPLETING_REBALANCE else NONE


def fetch(core: Core, now: Time, sender: str, request: OffsetFetch, out: Outbox) -> None:
    """Look up offsets. Nobody asks who wants to know."""
    group = core.groups.get(request.group)
    answer_fetch(core, {} if group is None else group.offsets, sender, request, out)


def answer_fetch(
    core: Core, offsets: Mapping[Partition, CommittedOffset], sender: str, request: OffsetFetch, out: Outbox
) -> None:
    """The answer to whoever may look offsets up."""
    partitions = sorted_pairs(offsets) if request.partitions is None else request.partitions
    found, texts, epochs = [], [], []
    for partition in partitions:
        is_unstable = request.require_stable and core.is_pending(request.group, partition)
        offset, text, _, epoch = _NOT_COMMITTED if is_unstable else offsets.get(partition, _NOT_COMMITTED)
        found.append((partition, offset, UNSTABLE_OFFSET_COMMIT if is_unstable else NONE))
        texts.append(text)
        epochs.append(epoch)
    told = tuple(texts) if any(texts) else ()
    known = tuple(epochs) if any(each != NO_LEADER_EPOCH for each in epochs) else ()
    out.send(sender, _fetched((request.correlation, NONE, tuple(found), told, known)))


def delete_offsets(core: Core, now: Time, sender: str, request: OffsetDelete, out: Outbox) -> None:
    """Forget offsets, but not those of topics to which the group subscribes."""
    group = core.groups.get(request.group)
    if group is None or not request.group:  # offsets without a group's name may be there
        error = GROUP_ID_NOT_FOUND if request.group else INVALID_GROUP_ID
        out.send(sender, OffsetDeleteAnswer(request.correlation, error, ()))
        return
    if group.state != states.EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        out.send(sender, OffsetDeleteAnswer(request.correlation, NON_EMPTY_GROUP, ()))
        return
    delete_unsubscribed(core, group, sender, request, out)


def delete_unsubscribed(core: Core, group: WithOffsets, sender: str, request: OffsetDelete, out: Outbox) -> None:
    """Forget the offsets that the group may lose, and answer."""
    errors = []
    for partition in request.partitions:
        subscribed = group.subscribes(partition[0])
        errors.append((partition, GROUP_SUBSCRIBED_TO_TOPIC if subscribed else NONE))
        if not subscribed:
            delete_offset(core, group, partition)
    out.send(sender, OffsetDeleteAnswer(request.correlation, NONE, tuple(errors)))


def forget_topics(core: Core, topics: Iterable[str]) -> None:
    """Topics have been deleted: no group keeps an offset of them."""
    gone = frozenset(topics)
    groups: list[WithOffsets] = [*core.groups.values(), *core.consumer_groups.values()]
    for group in groups:
        for partition in [offset for offset in offsets_of(core, group) if offset[0] in gone]:
            delete_offset(core, group, partition)


def complete(core: Core, now: Time, sender: str, command: OffsetsDecided, out: Outbox) -> None:
    """The transaction is committed: its offsets are the group's, whatever has become of the member since."""
    for partition, offset, metadata in command.offsets:
        committed = CommittedOffset(offset, metadata, now)
        take(core, now, command.group, partition, committed, command.member, command.generation, out)


def take(
    core: Core,
    now: Time,
    group_id: str,
    partition: Partition,
    committed: CommittedOffset,
    member: str | None,
    generation: int | None,
    out: Outbox,
) -> None:
    """The group, which there may not be yet, has this offset from now on; ``member``: client id of whose it is."""
    group = core.groups.get(group_id) or core.consumer_groups.get(group_id)
    if group is None:
        group = create_group(core, group_id, now, out)
    before = group.offsets.get(partition)
    if before is None or before[:2] != committed[:2]:
        out.observe(Committed(group_id, core.queue(partition), committed.offset, member, generation, ""))
    store_offset(core, group, partition, committed)
