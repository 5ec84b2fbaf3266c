"""JoinGroup (spec 2.3, 2.4, 2.8).

In Kafka `GroupMetadataManager.classicGroupJoin`, `classicGroupJoinNewMember` and
`updateStaticMemberThenRebalanceOrCompleteJoin`; before 4.0 `GroupCoordinator.handleJoinGroup`.

Why an answer comes late: a generation has a fixed list of members, so the coordinator holds each JoinGroup until every
member that it knows has asked again, or has used up its rebalance timeout (`rebalance`).

Why a client is first given an id (KIP-394): a client that gave up waiting and asked again without an id would leave a
member behind that nobody is, and the next rebalance would wait for it. Why a static member takes the place of the one
with its instance id: it is the same application after a restart, and its partitions need not move (KIP-345).
"""

from kafka_coordinator import errors
from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.core import Core, create_group, store_group
from kafka_coordinator.coordinator.group import Group, Member, session_timer
from kafka_coordinator.coordinator.rebalance import (
    Cause,
    joined,
    joined_members,
    prepare,
    rebalance,
    remove_members,
    remove_pending,
    restart_session,
)
from kafka_coordinator.coordinator.refusals import NO_MEMBER, identity_error, join_refused, sync_refused
from kafka_coordinator.messages import METADATA_CHANGED, SUBSCRIPTION_CHANGED, JoinGroup
from protocols.engine.nodes import Outbox, Time
from protocols.state_machine import ALWAYS

MEMBER_ID_REQUIRED_SINCE = 4
"""From this version of JoinGroup on a dynamic member is given an id before it is taken in (KIP-394)."""

SKIP_ASSIGNMENT_SINCE = 9
"""From this version of JoinGroup on a leader can be asked to skip the assignment (KIP-814)."""


def join(core: Core, now: Time, sender: str, request: JoinGroup, out: Outbox) -> None:
    """Add the client to the group, or start a rebalance; most answers come later."""
    settings = core.settings
    group_id, member_id = request.group, request.member_id

    def refuse(error: str, answered_id: str = member_id, protocol: str | None = "") -> None:
        out.send(sender, join_refused(request.correlation, error, answered_id, protocol))

    if not group_id:
        return refuse(errors.INVALID_GROUP_ID)
    if not settings.group_min_session_timeout_ms <= request.session_timeout_ms <= settings.group_max_session_timeout_ms:
        return refuse(errors.INVALID_SESSION_TIMEOUT)
    group = core.groups.get(group_id)
    if group is None:
        if member_id != NO_MEMBER:
            return refuse(errors.UNKNOWN_MEMBER_ID)
        group = create_group(core, group_id, now, out)
        store_group(core, group)
    if not _has_room(core, group, member_id):
        if member_id in group.members:
            remove_members(core, group, [group.members[member_id]], out)
        elif member_id in group.pending_join:
            remove_pending(group, member_id, out)
        return refuse(errors.GROUP_MAX_SIZE_REACHED, NO_MEMBER)
    if not group.supports(request.protocol_type, request.protocols):
        return refuse(errors.INCONSISTENT_GROUP_PROTOCOL)
    if member_id == NO_MEMBER:
        return _join_new(core, group, now, sender, request, out)
    if member_id in group.pending_join:
        if request.instance_id is not None:
            # Ids are only handed out to dynamic members. Kafka's own code throws here, and what it answers in
            # its need names no member.
            return refuse(errors.UNKNOWN_SERVER_ERROR, NO_MEMBER)
        return _add(core, group, member_id, now, sender, request, out)
    error = identity_error(group, member_id, request.instance_id)
    if error != errors.NONE:
        return refuse(error, protocol=None)
    return _join_again(core, group, group.members[member_id], now, sender, request, out)


def _has_room(core: Core, group: Group, member_id: str) -> bool:
    most = core.settings.group_max_size
    member = group.members.get(member_id)
    if group.state == states.EMPTY:
        return True
    if group.state == states.PREPARING_REBALANCE:
        return group.parked_joins < most or (member is not None and member.join is not None)
    return member is not None or len(group.members) < most


def _join_new(core: Core, group: Group, now: Time, sender: str, request: JoinGroup, out: Outbox) -> None:
    instance_id = request.instance_id
    if instance_id is not None:
        new_id = out.new_id(instance_id)
        old_id = group.static_members.get(instance_id)
        if old_id is None:
            _add(core, group, new_id, now, sender, request, out)
        else:
            _replace(core, group, group.members[old_id], new_id, now, sender, request, out)
        return
    new_id = out.new_id(request.client_id)
    if request.version < MEMBER_ID_REQUIRED_SINCE:
        _add(core, group, new_id, now, sender, request, out)
        return
    group.transition(states.ID_HANDED_OUT, ALWAYS, now, out)
    group.pending_join[new_id] = None
    out.set_timer(session_timer(group.id, new_id), now + request.session_timeout_ms)
    out.send(sender, join_refused(request.correlation, errors.MEMBER_ID_REQUIRED, new_id))


def _add(core: Core, group: Group, member_id: str, now: Time, sender: str, request: JoinGroup, out: Outbox) -> None:
    """The client becomes a member; its answer comes with the next generation."""
    member = Member(
        group.id,
        member_id,
        request.instance_id,
        request.client_id,
        f"/{sender}",
        request.session_timeout_ms,
        request.rebalance_timeout_ms,
        request.protocols,
    )
    member.is_new = True
    member.join = core.parked(sender, request.correlation)
    if group.state == states.PREPARING_REBALANCE and group.previous == states.EMPTY:
        group.new_member_added = True
    group.add(member, request.protocol_type)
    # A new member cannot heartbeat before it is answered: it gets a fixed time in which it must be.
    out.set_timer(member.timer, now + core.settings.new_member_join_timeout_ms)
    name = request.client_id
    rebalance(core, group, Cause(states.MEMBER_ADDED, ALWAYS, name, f"{name} joined"), now, out)


def _join_again(
    core: Core, group: Group, member: Member, now: Time, sender: str, request: JoinGroup, out: Outbox
) -> None:
    same = member.protocols == request.protocols
    leads = member.id == group.leader
    guard = ALWAYS
    if group.state == states.COMPLETING_REBALANCE:
        guard = states.SAME_PROTOCOLS if same else states.OTHER_PROTOCOLS
    elif group.state == states.STABLE:
        guard = states.SAME_FOLLOWER if same and not leads else states.LEADER_OR_OTHER
    if guard in (states.SAME_PROTOCOLS, states.SAME_FOLLOWER):
        group.transition(states.MEMBER_REJOINED, guard, now, out)
        members = joined_members(group) if leads else ()
        out.send(sender, joined(group, member, request.correlation, members))
        return
    name = member.client_id
    words = f"{name} rejoined" if same else f"{name} rejoined with other protocols or metadata"
    _park(core, group, member, sender, request)
    of_topics = True if request.reason in (METADATA_CHANGED, SUBSCRIPTION_CHANGED) else None
    rebalance(core, group, Cause(states.MEMBER_REJOINED, guard, name, words, of_topics), now, out)


def _park(core: Core, group: Group, member: Member, sender: str, request: JoinGroup) -> None:
    """The member's join is answered with the next generation; one that was parked before never is."""
    group.update(member, request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    if member.join is None:
        group.parked_joins += 1
    member.join = core.parked(sender, request.correlation)


def _replace(
    core: Core, group: Group, old: Member, new_id: str, now: Time, sender: str, request: JoinGroup, out: Outbox
) -> None:
    """A static member is back without its id: it is a new process, and the one with the old id is fenced (2.8)."""
    old_leader = group.leader
    if old.join is not None:
        core.answer(old.join, join_refused(old.join.correlation, errors.FENCED_INSTANCE_ID, old.id, None), out)
        group.parked_joins -= 1
    if old.sync is not None:
        core.answer(old.sync, sync_refused(old.sync.correlation, errors.FENCED_INSTANCE_ID), out)
    out.cancel_timer(old.timer)
    member = group.replace(old, new_id)
    restart_session(member, now, out)
    _park(core, group, member, sender, request)
    name = member.client_id
    if group.state != states.STABLE:
        cause = Cause(states.STATIC_REPLACED, ALWAYS, name, f"{name} is back with a new id")
        return rebalance(core, group, cause, now, out)
    if group.voted_protocol() != group.protocol:
        words = f"{name} is back with a new id and changes the protocol"
        return prepare(core, group, Cause(states.STATIC_REPLACED, states.OTHER_VOTE, name, words), now, out)
    group.transition(states.STATIC_REPLACED, states.SAME_VOTE, now, out)
    store_group(core, group)
    leads = group.leader == new_id
    members = joined_members(group) if leads and request.version >= SKIP_ASSIGNMENT_SINCE else ()
    answer = joined(group, member, request.correlation, members, skip_assignment=bool(members))
    if request.version < SKIP_ASSIGNMENT_SINCE:
        # An older client cannot skip the assignment: the answer names another leader, so that it does not compute.
        answer = answer._replace(leader=old_leader or NO_MEMBER)
    member.join = None
    group.parked_joins -= 1
    out.send(sender, answer)
    return None
