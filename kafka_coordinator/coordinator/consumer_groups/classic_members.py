"""Classic members of a group of the consumer protocol: their requests become heartbeats (spec 6.9).

A JoinGroup is answered at once, with the member's epoch as generation and without a list of members; SyncGroup tells
what the coordinator assigns; Heartbeat tells when to join again.

In Kafka `classicGroupJoinToConsumerGroup`, `classicGroupSyncToConsumerGroup`, `classicGroupHeartbeatToConsumerGroup`
and `classicGroupLeaveToConsumerGroup`.
"""

from kafka_coordinator import messages
from kafka_coordinator.coordinator import states as classic_states
from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.checks import Refused, check_room, existing
from kafka_coordinator.coordinator.consumer_groups.conversion import become_classic, check_targets, may_downgrade
from kafka_coordinator.coordinator.consumer_groups.fencing import fence
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ClassicPart, ConsumerMember, Profile
from kafka_coordinator.coordinator.consumer_groups.patterns import Patterns, refresh_if_due
from kafka_coordinator.coordinator.consumer_groups.progress import move, observe, raise_epoch, seat
from kafka_coordinator.coordinator.consumer_groups.sessions import is_due, rejoin_timer, restart_session, sync_timer
from kafka_coordinator.coordinator.consumer_groups.target import compute_target
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.join import MEMBER_ID_REQUIRED_SINCE
from kafka_coordinator.coordinator.rebalance import Cause, prepare
from kafka_coordinator.coordinator.refusals import NO_MEMBER, join_refused, sync_refused
from kafka_coordinator.coordinator.settings import ASSIGNMENT_INTERVAL, BrokerSettings
from kafka_coordinator.errors import (
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_SESSION_TIMEOUT,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_SERVER_ERROR,
)
from protocols.engine.nodes import Outbox, Time
from protocols.load import quickly_made
from protocols.state_machine import ALWAYS

_heard = quickly_made(messages.HeartbeatAnswer)


def join(core: Core, group: ConsumerGroup, now: Time, sender: str, request: messages.JoinGroup, out: Outbox) -> None:
    """A classic member joins, or comes again: answered at once."""
    settings = core.settings
    if not settings.group_min_session_timeout_ms <= request.session_timeout_ms <= settings.group_max_session_timeout_ms:
        out.send(sender, join_refused(request.correlation, INVALID_SESSION_TIMEOUT, request.member_id))
        return
    try:
        answer = _joined(core, group, now, sender, request, out)
    except Refused as refused:
        # Kafka's code throws here, and what it answers then names no member.
        answer = join_refused(request.correlation, refused.error, NO_MEMBER)
    out.send(sender, answer)


def _joined(
    core: Core, group: ConsumerGroup, now: Time, sender: str, request: messages.JoinGroup, out: Outbox
) -> messages.JoinGroupAnswer:
    _check(core.settings, group, request)
    has_no_id = request.member_id == NO_MEMBER
    if has_no_id and request.instance_id is None and request.version >= MEMBER_ID_REQUIRED_SINCE:
        return join_refused(request.correlation, MEMBER_ID_REQUIRED, out.new_id(""))
    old = _replaced(group, request)
    metadata = request.protocols[0][1]
    if not isinstance(metadata, messages.ConsumerMetadata):
        is_inconsistent = core.settings.version.malformed_subscription_is_inconsistent
        raise Refused(INCONSISTENT_GROUP_PROTOCOL if is_inconsistent else UNKNOWN_SERVER_ERROR)
    # Before anything changes: whether the last member of the consumer protocol is the one that is replaced.
    ends = old is not None and old.profile.classic is None and may_downgrade(core, group, {old.id}, joining=1)
    if ends:
        check_targets(core, group)
    member_id = out.new_id("") if has_no_id else request.member_id
    known = old or group.members.get(member_id)
    is_new = known is None or old is not None
    profile = _told(core, known.profile if known is not None else Profile(), metadata, request, sender)
    epochs, patterns = (group.epoch, group.target_epoch), Patterns.of(group)
    alike = group.epoch <= group.target_epoch or group.alike
    is_unknown = request.instance_id is not None and request.instance_id not in group.static_members
    member = seat(core, group, member_id, old, profile, out)
    targets = dict(group.target) if ends else {}
    before = member.profile
    takes_pattern_back = profile.regex != before.regex
    if raise_epoch(core, group, member, profile, takes_pattern_back, out):
        alike = group.homogeneous()
    if core.settings.version.classic_member_has_no_pattern:
        refresh_if_due(core, group, patterns, False, now, out)
    if ends and core.settings.version.replacement_downgrades_first and group.epoch > group.target_epoch:
        classic = become_classic(core, group, (), epochs[0], targets, now, out, joining=member.id)
        words = f"{profile.client_id} replaces the last member of the consumer protocol"
        prepare(core, classic, Cause(classic_states.DOWNGRADED, ALWAYS, profile.client_id, words), now, out)
        return _answer(request, member)
    target = group.target.get(member.id, ())
    if group.epoch > group.target_epoch and is_due(core, group.id, group.assigned_at, ASSIGNMENT_INTERVAL, now):
        compute_target(core, group, member, is_new, alike, now)
        target = group.target.get(member.id, ())
    elif is_unknown:
        target = ()
    owned = [partition for partition in metadata.owned if partition[0] in core.partition_counts]
    cut = takes_pattern_back or profile.topics != before.topics
    moved = move(core, group, member, owned, target, now, out, cut)
    answer = _answer(request, member)
    if is_new:
        observe(core, group, member, states.MEMBER_JOINED, out)
    elif moved or epochs != (group.epoch, group.target_epoch):
        observe(core, group, member, states.MEMBER_RECONCILED, out)
    if ends:
        # What has just been computed is not written yet, and the classic group is made of what is.
        become_classic(core, group, (), epochs[0], targets, now, out, joining=member.id)
        return answer
    member.must_rejoin = False
    out.cancel_timer(rejoin_timer(group.id, member.id))
    restart_session(core, group, member, now, out)
    out.set_timer(sync_timer(group.id, member.id), now + request.rebalance_timeout_ms)
    return answer


def _check(settings: BrokerSettings, group: ConsumerGroup, request: messages.JoinGroup) -> None:
    """`Refused` where the member may not join, or has no protocol in common with all classic members."""
    if settings.version.disabled_policy_refuses_classic and settings.group_consumer_migration_policy == "disabled":
        raise Refused(INCONSISTENT_GROUP_PROTOCOL)
    check_room(settings, group, request.member_id, request.instance_id)
    names = [
        {name for name, _ in member.profile.classic.protocols}
        for member in group.members.values()
        if member.profile.classic is not None
    ]
    in_common = any(all(name in each for each in names) for name, _ in request.protocols)
    if request.protocol_type != messages.CONSUMER_PROTOCOL_TYPE or not in_common:
        raise Refused(INCONSISTENT_GROUP_PROTOCOL)


def _replaced(group: ConsumerGroup, request: messages.JoinGroup) -> ConsumerMember | None:
    """The static member whose place the request takes; `Refused` where it names a member that is not its own."""
    if request.instance_id is None:
        return None
    if request.member_id != NO_MEMBER:
        existing(group, request.member_id, request.instance_id)
        return None
    known = group.static_members.get(request.instance_id)
    return None if known is None else group.members[known]


def _told(
    core: Core, profile: Profile, metadata: messages.ConsumerMetadata, request: messages.JoinGroup, sender: str
) -> Profile:
    return Profile(
        profile.instance_id if request.instance_id is None else request.instance_id,
        metadata.rack or profile.rack,
        request.client_id,
        f"/{sender}",
        tuple(sorted(set(metadata.topics))),
        "" if core.settings.version.classic_member_has_no_pattern else profile.regex,
        request.rebalance_timeout_ms,
        profile.assignor,
        ClassicPart(request.session_timeout_ms, request.protocols),
    )


def _answer(request: messages.JoinGroup, member: ConsumerMember) -> messages.JoinGroupAnswer:
    return messages.JoinGroupAnswer(
        request.correlation,
        NONE,
        member.standing.epoch,
        member.id,
        NO_MEMBER,
        messages.CONSUMER_PROTOCOL_TYPE,
        request.protocols[0][0],
        False,
        (),
    )


def _classic(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> ConsumerMember:
    """The member; `Refused` where it is none, speaks the consumer protocol, or names another generation."""
    member = existing(group, member_id, instance_id)
    if member.profile.classic is None:
        raise Refused(UNKNOWN_MEMBER_ID)
    if generation != member.standing.epoch:
        raise Refused(ILLEGAL_GENERATION)
    return member


def sync(core: Core, group: ConsumerGroup, now: Time, sender: str, request: messages.SyncGroup, out: Outbox) -> None:
    """A classic member asks for its assignment; what it brings itself counts for nothing."""
    try:
        member = _classic(group, request.member_id, request.instance_id, request.generation)
        _check_protocol(member, request)
        if _due_epoch(core, group) > member.standing.epoch and member.standing.state != states.UNREVOKED:
            _must_rejoin(group, member, now, out)
            raise Refused(REBALANCE_IN_PROGRESS)
    except Refused as refused:
        out.send(sender, sync_refused(request.correlation, refused.error))
        return
    out.cancel_timer(sync_timer(group.id, member.id))
    restart_session(core, group, member, now, out)
    assigned = tuple(sorted(each for each in member.standing.assigned if each[0] in core.partition_counts))
    answer = messages.SyncGroupAnswer(request.correlation, NONE, request.protocol_type, request.protocol, assigned)
    out.send(sender, answer)


def _check_protocol(member: ConsumerMember, request: messages.SyncGroup) -> None:
    assert member.profile.classic is not None
    own = member.profile.classic.protocols[0][0]
    other_type = request.protocol_type is not None and request.protocol_type != messages.CONSUMER_PROTOCOL_TYPE
    if other_type or (request.protocol is not None and request.protocol != own):
        raise Refused(INCONSISTENT_GROUP_PROTOCOL)


def heartbeat(
    core: Core, group: ConsumerGroup, now: Time, sender: str, request: messages.Heartbeat, out: Outbox
) -> None:
    """A sign of life of a classic member, which is told when to join again."""
    try:
        member = _classic(group, request.member_id, request.instance_id, request.generation)
    except Refused as refused:
        out.send(sender, messages.HeartbeatAnswer(request.correlation, refused.error))
        return
    restart_session(core, group, member, now, out)
    rejoin = (
        member.standing.epoch < _due_epoch(core, group)
        or member.standing.state == states.UNREVOKED
        or _released(group, member)
    )
    if rejoin:
        _must_rejoin(group, member, now, out)
    out.send(sender, _heard((request.correlation, REBALANCE_IN_PROGRESS if rejoin else NONE)))


def _due_epoch(core: Core, group: ConsumerGroup) -> int:
    """The epoch below which a classic member must join again."""
    return group.target_epoch if core.settings.version.classic_rejoins_for_target else group.epoch


def _released(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether the member waits for partitions all of which are free now."""
    if member.standing.state != states.UNRELEASED:
        return False
    missing = frozenset(group.target.get(member.id, ())) - member.standing.assigned
    return len(group.free(missing)) == len(missing)


def _must_rejoin(group: ConsumerGroup, member: ConsumerMember, now: Time, out: Outbox) -> None:
    """The member has its rebalance timeout to join again, from the first time that it is told."""
    if not member.must_rejoin:
        member.must_rejoin = True
        out.set_timer(rejoin_timer(group.id, member.id), now + member.profile.rebalance_timeout_ms)


def leave(core: Core, group: ConsumerGroup, now: Time, sender: str, request: messages.LeaveGroup, out: Outbox) -> None:
    """Members leave, or an administrator removes them, whichever protocol they speak."""
    errors: list[str] = []
    leaving: dict[str, ConsumerMember] = {}
    for each in request.members:
        try:
            member = _leaving(group, each)
        except Refused as refused:
            errors.append(refused.error)
        else:
            errors.append(NONE)
            leaving[member.id] = member
    answered = tuple(
        [(each.member_id, each.instance_id, error) for each, error in zip(request.members, errors, strict=True)]
    )
    if leaving:
        members = list(leaving.values())
        words = f"{', '.join(member.profile.client_id for member in members)} left"
        try:
            fence(core, group, members, states.MEMBER_LEFT, words, now, out)
        except Refused as refused:
            out.send(sender, messages.LeaveGroupAnswer(request.correlation, refused.error, ()))
            return
    out.send(sender, messages.LeaveGroupAnswer(request.correlation, NONE, answered))


def _leaving(group: ConsumerGroup, leaving: messages.Leaving) -> ConsumerMember:
    if leaving.instance_id is not None and leaving.member_id == NO_MEMBER:
        known = group.static_members.get(leaving.instance_id)
        if known is None:
            raise Refused(UNKNOWN_MEMBER_ID)
        return group.members[known]
    return existing(group, leaving.member_id, leaving.instance_id)
