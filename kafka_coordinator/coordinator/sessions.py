"""Heartbeats and the session timers of members and pending ids (spec 2.11).

In Kafka `GroupMetadataManager.classicGroupHeartbeat` and `expireClassicGroupMemberHeartbeat`; before 4.0
`GroupCoordinator.handleHeartbeat` and `DelayedHeartbeat`.
"""

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.rebalance import Cause, complete, prepare, remove_members, remove_pending
from kafka_coordinator.coordinator.refusals import NO_MEMBER, identity_error, join_refused
from kafka_coordinator.errors import (
    ILLEGAL_GENERATION,
    INVALID_GROUP_ID,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from kafka_coordinator.messages import Heartbeat, HeartbeatAnswer
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
