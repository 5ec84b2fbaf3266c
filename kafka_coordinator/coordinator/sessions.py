"""A membership goes on and ends: heartbeats, session timers of members and pending ids (spec 2.11), LeaveGroup (one
request, several members, one rebalance: spec 2.4); and a rebalance that somebody asks for, without anything having
changed.

In Kafka `GroupMetadataManager.classicGroupHeartbeat`, `expireClassicGroupMemberHeartbeat` and `classicGroupLeave`;
before 4.0 `GroupCoordinator.handleHeartbeat`, `DelayedHeartbeat` and `handleLeaveGroup`.
"""

from typing import Final

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.commands import RebalanceGroup
from kafka_coordinator.coordinator.consumer_groups.storing import bump
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.rebalance import Cause, complete, prepare, rebalance, remove_members, remove_pending
from kafka_coordinator.coordinator.refusals import NO_MEMBER, identity_error, join_refused
from kafka_coordinator.errors import (
    ILLEGAL_GENERATION,
    INVALID_GROUP_ID,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from kafka_coordinator.messages import Heartbeat, HeartbeatAnswer, LeaveGroup, LeaveGroupAnswer, Leaving
from protocols.engine.nodes import Outbox, Time
from protocols.load import quickly_made
from protocols.state_machine import ALWAYS

_answer = quickly_made(HeartbeatAnswer)


def heartbeat(core: Core, now: Time, sender: str, request: Heartbeat, out: Outbox) -> None:
    """A sign of life; answered at once. In a rebalance it is how a member learns of it."""
    correlation, group_id, member_id, generation, instance_id = request
    group = core.groups.get(group_id)
    if group is None or not group_id:
        out.send(sender, HeartbeatAnswer(correlation, UNKNOWN_MEMBER_ID if group_id else INVALID_GROUP_ID))
        return
    member = group.members.get(member_id)
    if member is None or instance_id is not None:
        error = identity_error(group, member_id, instance_id)
        if member is None or error != NONE:
            out.send(sender, HeartbeatAnswer(correlation, error))
            return
    if generation != group.generation:
        out.send(sender, HeartbeatAnswer(correlation, ILLEGAL_GENERATION))
        return
    out.set_timer(member.timer, now + member.session_timeout_ms)
    rebalancing = group.state == states.PREPARING_REBALANCE
    out.send(sender, _answer((correlation, REBALANCE_IN_PROGRESS if rebalancing else NONE)))


def session_timed_out(core: Core, group: Group, member_id: str, now: Time, out: Outbox) -> None:
    """A member, or a client that was given a member id, has sent nothing for its session timeout."""
    if member_id in group.pending_join:
        remove_pending(group, member_id, out)
        group.transition(states.PENDING_EXPIRED, ALWAYS, now, out)
        _complete_if_all_joined(core, group, now, out)
        return
    member = group.members[member_id]
    if not member.is_new and (member.join is not None or member.sync is not None):
        # It waits for our answer: that it is silent says nothing. The answer starts its timer again.
        return
    if member.join is not None:
        core.answer(member.join, join_refused(member.join.correlation, UNKNOWN_MEMBER_ID, NO_MEMBER), out)
    remove_members(core, group, [member], out)
    name = member.client_id
    cause = Cause(states.SESSION_EXPIRED, ALWAYS, name, f"session of {name} timed out")
    if group.can_rebalance:
        prepare(core, group, cause, now, out)
    else:
        group.transition(cause.event, cause.guard, now, out)
        _complete_if_all_joined(core, group, now, out)


def _complete_if_all_joined(core: Core, group: Group, now: Time, out: Outbox) -> None:
    """Unlike TRY-COMPLETE this ends even the initial delay (spec 2.7)."""
    if group.state == states.PREPARING_REBALANCE and group.all_joined:
        complete(core, group, now, out)


def leave(core: Core, now: Time, sender: str, request: LeaveGroup, out: Outbox) -> None:
    """Members leave, or an administrator removes static ones."""
    group = core.groups.get(request.group)
    if not request.group:
        out.send(sender, LeaveGroupAnswer(request.correlation, INVALID_GROUP_ID, ()))
        return
    errors: list[str] = []
    gone: list[str | None] = []
    for member in request.members:
        error, name = (UNKNOWN_MEMBER_ID, None) if group is None else _remove(core, group, member, out)
        errors.append(error)
        if error == NONE:
            gone.append(name)
    answered = tuple(
        [(member.member_id, member.instance_id, error) for member, error in zip(request.members, errors, strict=True)]
    )
    out.send(sender, LeaveGroupAnswer(request.correlation, NONE, answered))
    if group is None or not gone:
        return
    if group.state == states.EMPTY:
        # Only ids that were handed out have left: there is no member to join anew.
        group.transition(states.MEMBER_LEFT, ALWAYS, now, out)
    else:
        names = [name for name in gone if name is not None]
        words = f"{', '.join(names)} left" if names else "somebody left who had an id and never joined"
        by = names[0] if names else None
        rebalance(core, group, Cause(states.MEMBER_LEFT, ALWAYS, by, words), now, out)


def _remove(core: Core, group: Group, leaving: Leaving, out: Outbox) -> tuple[str, str | None]:
    """The error (or NONE) of one entry, and the name of the member that it removed, if it was one."""
    member_id = leaving.member_id
    if member_id == NO_MEMBER:
        known = None if leaving.instance_id is None else group.static_members.get(leaving.instance_id)
        if known is None:
            return UNKNOWN_MEMBER_ID, None
        member_id = known
    elif member_id in group.pending_join:
        remove_pending(group, member_id, out)
        return NONE, None
    else:
        error = identity_error(group, member_id, leaving.instance_id)
        if error != NONE:
            return error, None
    member = group.members[member_id]
    if member.join is not None:
        core.answer(member.join, join_refused(member.join.correlation, UNKNOWN_MEMBER_ID, NO_MEMBER), out)
    remove_members(core, group, [member], out)
    return NONE, member.client_id


WORDS: Final = "a rebalance was asked for"


def enforce(core: Core, now: Time, sender: str, command: RebalanceGroup, out: Outbox) -> None:
    """Let the group rebalance, if it has members and does not do it already."""
    group = core.groups.get(command.group)
    other = core.consumer_groups.get(command.group)
    if group is not None and group.state in _GUARDS:
        prepare(core, group, Cause(states.MEMBER_REJOINED, _GUARDS[group.state], None, WORDS), now, out)
    elif other is not None and other.members:
        bump(core, other, None, WORDS, out)


_GUARDS: Final = {states.STABLE: states.LEADER_OR_OTHER, states.COMPLETING_REBALANCE: states.OTHER_PROTOCOLS}
