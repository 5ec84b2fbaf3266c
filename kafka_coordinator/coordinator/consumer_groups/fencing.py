"""Members leave a group of the consumer protocol, or are removed from it (spec 6.5).

In Kafka `consumerGroupFenceMembers`, `consumerGroupStaticMemberGroupLeave` and the operations of the timers.
"""

from collections.abc import Sequence

from kafka_coordinator.coordinator.consumer_groups import states, storing
from kafka_coordinator.coordinator.consumer_groups.checks import Refused
from kafka_coordinator.coordinator.consumer_groups.conversion import check_targets, downgrade, may_downgrade
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import NOTHING, ConsumerMember, observe_member_epoch
from kafka_coordinator.coordinator.consumer_groups.sessions import (
    cancel_timers,
    refresh_hash,
    rejoin_timer,
    revocation_timer,
    sync_timer,
)
from kafka_coordinator.coordinator.consumer_groups.storing import bump
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import session_timer
from kafka_coordinator.messages import LEAVES_FOR_A_WHILE
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Transition
from protocols.state_machine import ALWAYS


def fence(
    core: Core, group: ConsumerGroup, members: Sequence[ConsumerMember], event: str, words: str, now: Time, out: Outbox
) -> None:
    """Remove members; what they had is free at once. A group in which only classic members are left becomes a classic
    group, if it may."""
    gone = dict.fromkeys(member.id for member in members)
    by = members[0].profile.client_id
    converts = may_downgrade(core, group, gone)
    if converts:
        check_targets(core, group, gone)
    for member in members:
        state = member.standing.state
        after = states.MEMBER.next_state(state, states.LEFT, ALWAYS)
        out.observe(Transition(states.MEMBER.name, member.called, state, states.LEFT, after))
        cancel_timers(group.id, member.id, out)
    if converts:
        downgrade(core, group, gone, by, words, now, out)
        return
    for member in members:
        storing.erase_member(core, group, member.id)
        regex = member.profile.regex
        group.remove(member)
        if regex and regex not in group.resolved:
            storing.store_pattern(core, group, regex)
    refresh_hash(core, group)
    stale = group.stale
    bump(core, group, by, words, out)
    group.stale = stale
    if not group.members and core.settings.version.emptied_group_starts_anew:
        group.target_epoch, group.assigned_at = group.epoch, None
        storing.store_target_epoch(core, group)
    group.settle(event, out)
    for member in members:
        storing.observe_grant(core, group, member, out)
    storing.observe_end(group, out)


def leave_for_a_while(core: Core, group: ConsumerGroup, member: ConsumerMember, out: Outbox) -> None:
    """A static member leaves and keeps its assignment and target; its session runs on, and removes it at the end."""
    state = member.standing.state
    after = states.MEMBER.next_state(state, states.AWAY, ALWAYS)
    out.observe(Transition(states.MEMBER.name, member.called, state, states.AWAY, after))
    since = (
        ((0, member.standing.assigned),)
        if core.settings.version.replacing_resets_partition_epochs
        else member.standing.since
    )
    group.set_standing(member, member.standing._replace(epoch=LEAVES_FOR_A_WHILE, pending=NOTHING, since=since))
    observe_member_epoch(group.id, member, out)
    storing.store_standing(core, group, member)
    group.settle(states.LEFT_FOR_A_WHILE, out)


def timed_out(core: Core, group_id: str, member_id: str, event: str, now: Time, out: Outbox) -> None:
    """A timer of a member is due; one to revoke counts only at the epoch at which it was set."""
    group = core.consumer_groups.get(group_id)
    member = None if group is None else group.members.get(member_id)
    if group is None or member is None:
        return
    if event == states.REVOCATION_EXPIRED and member.revoking_at != member.standing.epoch:
        return
    name = member.profile.client_id
    words = {
        states.SESSION_EXPIRED: f"session of {name} timed out",
        states.REVOCATION_EXPIRED: f"{name} has not revoked its partitions in time",
        states.REJOIN_EXPIRED: f"no JoinGroup from {name}",
        states.SYNC_EXPIRED: f"no SyncGroup from {name}",
    }
    try:
        fence(core, group, [member], event, words[event], now, out)
    except Refused:
        out.set_timer(_TIMERS[event](group_id, member_id), now + _RETRY_MS)


_TIMERS = {
    states.SESSION_EXPIRED: session_timer,
    states.REVOCATION_EXPIRED: revocation_timer,
    states.REJOIN_EXPIRED: rejoin_timer,
    states.SYNC_EXPIRED: sync_timer,
}
_RETRY_MS = 500
"""After which a timer's event that failed is tried again; fixed in Kafka's code."""
