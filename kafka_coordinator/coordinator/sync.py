"""SyncGroup (spec 2.3, 2.4, 2.6).

In Kafka `GroupMetadataManager.classicGroupSync` and `expirePendingSync`; before 4.0
`GroupCoordinator.handleSyncGroup` and `DelayedSync`.
"""

from kafka_coordinator import errors
from kafka_coordinator.coordinator import rebalance, states
from kafka_coordinator.coordinator.core import Core, store_group
from kafka_coordinator.coordinator.group import NO_BYTES, Group, Member
from kafka_coordinator.coordinator.refusals import identity_error, sync_refused
from kafka_coordinator.messages import SyncGroup, SyncGroupAnswer
from protocols.engine.nodes import Outbox, Time
from protocols.load import quickly_made
from protocols.state_machine import ALWAYS

_answer = quickly_made(SyncGroupAnswer)


def sync(core: Core, now: Time, sender: str, request: SyncGroup, out: Outbox) -> None:
    """A member wants its assignment; the leader brings everybody's."""
    group = core.groups.get(request.group)
    error = _error(group, request)
    if group is None or error != errors.NONE:
        out.send(sender, sync_refused(request.correlation, error))
        return
    member = group.members[request.member_id]
    if group.state == states.STABLE:
        group.transition(states.MEMBER_SYNCED, ALWAYS, now, out)
        _has_synced(group, member, out)
        out.send(sender, _synced(group, member, request.correlation))
        return
    member.sync = core.parked(sender, request.correlation)
    if member.id != group.leader:
        group.transition(states.MEMBER_SYNCED, ALWAYS, now, out)
        _has_synced(group, member, out)
        return
    _has_synced(group, member, out)
    _distribute(core, group, request, now, out)


def _error(group: Group | None, request: SyncGroup) -> str:
    if not request.group:
        return errors.INVALID_GROUP_ID
    if group is None or group.state == states.EMPTY:
        return errors.UNKNOWN_MEMBER_ID
    error = identity_error(group, request.member_id, request.instance_id)
    if error != errors.NONE:
        return error
    if request.generation != group.generation:
        return errors.ILLEGAL_GENERATION
    if _contradicts(request.protocol_type, group.protocol_type) or _contradicts(request.protocol, group.protocol):
        return errors.INCONSISTENT_GROUP_PROTOCOL
    return errors.REBALANCE_IN_PROGRESS if group.state == states.PREPARING_REBALANCE else errors.NONE


def _contradicts(given: str | None, known: str | None) -> bool:
    """Whether both are given and differ (a group has no protocol before its first generation)."""
    return given is not None and known is not None and given != known


def _distribute(core: Core, group: Group, request: SyncGroup, now: Time, out: Outbox) -> None:
    """The members get the leader's assignments; SyncGroup requests that wait for them are answered."""
    members = group.ordered()
    for member in members:
        member.assignment = request.assignments.get(member.id, NO_BYTES)
    for member in members:
        if member.sync is not None:
            core.answer(member.sync, _synced(group, member, member.sync.correlation), out)
            member.sync = None
            rebalance.restart_session(member, now, out)
    group.transition(states.LEADER_SYNCED, ALWAYS, now, out)
    store_group(core, group)
    rebalance.observe_grants(core, group, out)


def _synced(group: Group, member: Member, correlation: int) -> SyncGroupAnswer:
    return _answer((correlation, errors.NONE, group.protocol_type, group.protocol, member.assignment))


def _has_synced(group: Group, member: Member, out: Outbox) -> None:
    group.pending_sync.pop(member.id, None)
    if not group.pending_sync:
        out.cancel_timer(rebalance.sync_timer(group))


def sync_timed_out(core: Core, group: Group, now: Time, out: Outbox) -> None:
    """Who has not sent SyncGroup by now is removed, and the others join anew."""
    if not group.pending_sync:
        return
    late = [group.members[member_id] for member_id in group.pending_sync if member_id in group.members]
    rebalance.remove_members(core, group, late, out)
    names = [member.client_id for member in late]
    words = f"no SyncGroup from {', '.join(names) or 'a static member that has been replaced'}"
    by = names[0] if names else None
    rebalance.prepare(core, group, rebalance.Cause(states.SYNC_EXPIRED, ALWAYS, by, words), now, out)
