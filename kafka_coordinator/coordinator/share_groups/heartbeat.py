"""ShareGroupHeartbeat: one request for joining, living and leaving (spec share 2.2 to 2.4).

Everything that can be refused is refused before anything changes.

In Kafka `GroupMetadataManager.shareGroupHeartbeat`, `shareGroupLeave` and `shareGroupFenceMember`.
"""

from kafka_coordinator import errors
from kafka_coordinator.assignors.inputs import AssignorError
from kafka_coordinator.coordinator.consumer_groups.checks import Refused
from kafka_coordinator.coordinator.consumer_groups.member import in_order, observe_epochs
from kafka_coordinator.coordinator.consumer_groups.sessions import is_due, own_setting
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import session_timer
from kafka_coordinator.coordinator.settings import (
    SHARE_ASSIGNMENT_INTERVAL,
    SHARE_HEARTBEAT_INTERVAL,
    BrokerSettings,
)
from kafka_coordinator.coordinator.share_groups import initializing, states
from kafka_coordinator.coordinator.share_groups.group import NO_TARGET, ShareGroup, ShareMember, Target, topics_of
from kafka_coordinator.coordinator.share_groups.messages import ShareGroupHeartbeat, ShareGroupHeartbeatAnswer
from kafka_coordinator.coordinator.share_groups.storing import restart_session, store_group, store_member
from kafka_coordinator.coordinator.share_groups.target import Targets, targets
from kafka_coordinator.errors import NONE
from kafka_coordinator.messages import JOINS, LEAVES
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Granted
from protocols.java import Queue
from protocols.load import quickly_made

_queue = quickly_made(Queue)


def share_heartbeat(core: Core, now: Time, sender: str, request: ShareGroupHeartbeat, out: Outbox) -> None:
    """Answer a heartbeat, at once; only then the persister is asked for what is missing."""
    try:
        _check_request(request)
        if request.member_epoch == LEAVES:
            out.send(sender, _leave(core, request, out))
            return
        group = _group_for(core, request)
        answer = _proceed(core, group, _caller(core, group, request), now, sender, request, out)
    except Refused as refused:
        told = ShareGroupHeartbeatAnswer(request.correlation, refused.error, None, 0, 0, None, refused.text)
        out.send(sender, told)
        return
    out.send(sender, answer)
    initializing.begin(core, group, now, out)


def _check_request(request: ShareGroupHeartbeat) -> None:
    if not request.member_id:
        raise Refused(errors.INVALID_REQUEST)
    for name, text in (("MemberId", request.member_id), ("GroupId", request.group), ("RackId", request.rack)):
        if text is not None and not text.strip():
            raise Refused(errors.INVALID_REQUEST, f"{name} can't be empty.")
    if request.member_epoch == JOINS and not request.topics:
        raise Refused(errors.INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVES:
        raise Refused(errors.INVALID_REQUEST, "MemberEpoch is invalid.")


def existing(core: Core, group_id: str, called: str = "Group") -> ShareGroup:
    """The share group; `Refused` where there is none, which is ``called`` so."""
    group = core.share_groups.get(group_id)
    if group is None:
        of_other_kind = core.is_group(group_id)
        text = f"Group {group_id} is not a share group." if of_other_kind else f"{called} {group_id} not found."
        raise Refused(errors.GROUP_ID_NOT_FOUND, text)
    return group


def group_or_new(core: Core, group_id: str) -> ShareGroup:
    """The share group, or one that nobody has written yet; `Refused` where the id is that of another kind of group."""
    if core.is_group(group_id):
        return existing(core, group_id)
    group = ShareGroup(group_id, core.partition_of(group_id))
    if core.settings.version.groups_begin_at_one:
        group.epoch = group.target_epoch = 1
    return group


def _group_for(core: Core, request: ShareGroupHeartbeat) -> ShareGroup:
    joins = request.member_epoch == JOINS
    group = group_or_new(core, request.group) if joins else existing(core, request.group, "Share group")
    _check_room(core.settings, group, request.member_id)
    return group


def _check_room(settings: BrokerSettings, group: ShareGroup, member_id: str) -> None:
    most = settings.group_share_max_size
    if len(group.members) >= most and member_id not in group.members:
        text = f"The share group has reached its maximum capacity of {most} members."
        raise Refused(errors.GROUP_MAX_SIZE_REACHED, text)


def _caller(core: Core, group: ShareGroup, request: ShareGroupHeartbeat) -> ShareMember:
    """Who sends a heartbeat; `Refused` if its epoch is not one that it was told."""
    received = request.member_epoch
    member = group.members.get(request.member_id)
    if member is None:
        if received != JOINS:
            raise Refused(errors.UNKNOWN_MEMBER_ID, f"Member {request.member_id} is not a member of group {group.id}.")
        return ShareMember(request.member_id)
    if received == JOINS and core.settings.version.epoch_zero_is_never_fenced:
        return member
    if received > member.epoch:
        raise Refused(
            errors.FENCED_MEMBER_EPOCH,
            f"The share group member has a greater member epoch ({received}) than the one known by the group"
            f" coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
        )
    if received < member.epoch and received != member.previous_epoch:
        raise Refused(
            errors.FENCED_MEMBER_EPOCH,
            f"The share group member has a smaller member epoch ({received}) than the one known by the group"
            f" coordinator ({member.epoch}), and it does not match the previous member epoch"
            f" ({member.previous_epoch}). The member must abandon all its partitions and rejoin.",
        )
    return member


def _proceed(
    core: Core,
    group: ShareGroup,
    member: ShareMember,
    now: Time,
    sender: str,
    request: ShareGroupHeartbeat,
    out: Outbox,
) -> ShareGroupHeartbeatAnswer:
    version = core.settings.version
    is_new = member.id not in group.members
    updated = member._replace(
        rack=member.rack if request.rack is None else request.rack,
        client_id=request.client_id or member.client_id or request.member_id,
        host=f"/{sender}",
        topics=topics_of(member, request.topics),
    )
    bumps = updated.topics != member.topics
    if not version.assignment_interval or group.target_epoch >= group.epoch:
        bumps = bumps or initializing.is_pending(core, group)
    epoch, metadata_hash = group.epoch, group.metadata_hash
    after = group
    if is_new or updated.topics != member.topics:
        # Should the assignor fail, the group is as before.
        after = group.copy()
        after.put(updated)
    if bumps or group.stale:
        metadata_hash = core.subscription(after.subscribed()).hash
        bumps = bumps or metadata_hash != group.metadata_hash
        epoch += bumps
    target_epoch, dealt = group.target_epoch, None
    if epoch > target_epoch and is_due(core, group.id, group.assigned_at, SHARE_ASSIGNMENT_INTERVAL, now):
        target_epoch, dealt = epoch, _dealt(core, group, after, updated, is_new)
    own = (group.target if dealt is None else dealt).get(member.id, NO_TARGET)
    updated = _reconciled(core, updated, target_epoch, own, bumps)
    _store(core, group, updated, (epoch, target_epoch), dealt, now)
    if bumps or group.stale:
        group.stale, group.metadata_hash = False, metadata_hash
    store_group(core, group)
    restart_session(core, group, member.id, now, out)
    if updated.assigned != member.assigned:
        _observe_permission(group, updated, out)
    if is_new:
        group.settle(states.MEMBER_JOINED, out)
    group.told_epochs = observe_epochs(group.id, group.told_epochs, (epoch, target_epoch), out, states.GROUP.name)
    tells = (
        request.member_epoch == JOINS
        or request.topics is not None
        or (updated.assigned, updated.of_topics)
        != (
            member.assigned,
            member.of_topics,
        )
    )
    interval = own_setting(core, group.id, SHARE_HEARTBEAT_INTERVAL)
    assignment = in_order(updated.assigned) if tells else None
    return ShareGroupHeartbeatAnswer(request.correlation, NONE, member.id, updated.epoch, interval, assignment)


def _observe_permission(group: ShareGroup, member: ShareMember, out: Outbox) -> None:
    """What the member may fetch now; of members with one client id nobody outside could tell which is meant."""
    if sum(each.client_id == member.client_id for each in group.members.values()) == 1:
        queues = tuple([_queue((topic, "", number)) for topic, number in in_order(member.assigned)])
        out.observe(Granted(group.id, member.client_id, queues, member.epoch))


def _dealt(core: Core, group: ShareGroup, after: ShareGroup, member: ShareMember, is_new: bool) -> Targets:
    members = {**group.members, member.id: member}
    try:
        return targets(core, group, members, member.id if is_new else None, after.homogeneous())
    except AssignorError as error:
        raise Refused(
            errors.UNKNOWN_SERVER_ERROR,
            f"Failed to compute a new target assignment for epoch {group.epoch + 1}: {error}",
        ) from None


def _reconciled(core: Core, member: ShareMember, target_epoch: int, target: Target, bumps: bool) -> ShareMember:
    """The member with its target, at once; since 4.2 no more than it subscribes to."""
    cuts = core.settings.version.cuts_to_subscription
    if member.epoch == target_epoch and not (bumps and cuts):
        return member
    topics = frozenset([topic for topic in member.topics if topic in core.partition_counts]) if cuts else target.topics
    has_all = target.topics <= topics
    assigned = frozenset(target.partitions if has_all else [each for each in target.partitions if each[0] in topics])
    member = member._replace(assigned=assigned, of_topics=target.topics & topics)
    if member.epoch == target_epoch:
        return member
    return member._replace(epoch=target_epoch, previous_epoch=member.epoch)


def _store(
    core: Core, group: ShareGroup, member: ShareMember, epochs: tuple[int, int], dealt: Targets | None, now: Time
) -> None:
    core.share_groups[group.id] = group
    changed = {member.id} if group.members.get(member.id) != member else set()
    group.put(member)
    group.epoch, group.target_epoch = epochs
    if dealt is not None:
        group.assigned_at = now
        for member_id, target in dealt.items():
            before = group.target.get(member_id)
            if before is None or before.topics != target.topics or set(before.partitions) != set(target.partitions):
                group.target[member_id] = target
                changed.add(member_id)
    for member_id in group.members:
        if member_id in changed:
            store_member(core, group, member_id)


def _leave(core: Core, request: ShareGroupHeartbeat, out: Outbox) -> ShareGroupHeartbeatAnswer:
    group = existing(core, request.group)
    if request.member_id not in group.members:
        raise Refused(errors.UNKNOWN_MEMBER_ID, f"Member {request.member_id} is not a member of group {group.id}.")
    fence(core, group, request.member_id, states.MEMBER_LEFT, out)
    out.cancel_timer(session_timer(group.id, request.member_id))
    return ShareGroupHeartbeatAnswer(request.correlation, NONE, request.member_id, LEAVES, 0, None)


def fence(core: Core, group: ShareGroup, member_id: str, event: str, out: Outbox) -> None:
    """Remove a member; what it alone had nobody fetches until a heartbeat deals anew."""
    _observe_permission(group, group.members[member_id]._replace(assigned=frozenset()), out)
    group.remove(member_id)
    store_member(core, group, member_id)
    group.metadata_hash = core.subscription(group.subscribed()).hash
    group.epoch += 1
    if not group.members and core.settings.version.emptied_group_starts_anew:
        group.target_epoch, group.assigned_at = group.epoch, None
    store_group(core, group)
    group.settle(event, out)
    epochs = group.epoch, group.target_epoch
    group.told_epochs = observe_epochs(group.id, group.told_epochs, epochs, out, states.GROUP.name)
