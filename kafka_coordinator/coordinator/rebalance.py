"""The facts about grants that the coordinator lets the observer see (`protocols.facts`); the group does not change.

A member's name in facts is the client id that its JoinGroup gave. Where several members of a group have one name (a
member that was killed and started again, until its old session ends), the name has what any of them has.

The procedures PREPARE, TRY-COMPLETE and COMPLETE, and the initial delay (spec 2.5 to 2.7).

In Kafka `GroupMetadataManager.prepareRebalance`, `maybeCompleteJoinElseSchedule`, `completeClassicGroupJoin` and
`tryCompleteInitialRebalanceElseSchedule`; before 4.0 `DelayedJoin` and `InitialDelayedJoin`.
"""

from typing import NamedTuple

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.core import Core, store_group
from kafka_coordinator.coordinator.group import NO_BYTES, Group, Member, session_timer
from kafka_coordinator.coordinator.refusals import sync_refused
from kafka_coordinator.errors import NONE, REBALANCE_IN_PROGRESS
from kafka_coordinator.messages import JoinedMember, JoinGroupAnswer
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Granted, RebalanceBegan, RebalanceEnded
from protocols.java import Queue, sort_queues
from protocols.load import quickly_made

_granted = quickly_made(Granted)


def observe_grants(core: Core, group: Group, out: Outbox) -> None:
    """The generation has its assignment: who has what from now on, and that the rebalance is over."""
    granted: dict[str, tuple[Queue, ...]] = {}
    for member in group.ordered():
        queues = core.queues_of(member.assignment)
        name = member.client_id
        granted[name] = sort_queues({*granted[name], *queues}) if name in granted else queues
    before = group.granted
    changed = group.changed
    for name, queues in granted.items():
        changed = changed or before.get(name, ()) != queues
        out.observe(_granted((group.id, name, queues, group.generation)))
    group.granted = {name: queues for name, queues in granted.items() if queues}
    group.changed = False
    out.observe(RebalanceEnded(group.id, group.generation, changed))


def observe_removed(core: Core, group: Group, names: list[str], out: Outbox) -> None:
    """Members of these names have been removed: their grants end at once, unless another member has the name."""
    for name in names:
        before = group.granted.get(name)
        if not before:
            continue
        left: set[Queue] = set()
        if name in group.names:
            for member in group.members.values():
                if member.client_id == name:
                    left.update(core.queues_of(member.assignment))
        queues = sort_queues(left)
        if queues != before:
            group.changed = True
            group.granted[name] = queues
            out.observe(Granted(group.id, name, queues, group.generation))
        if not queues:
            del group.granted[name]


def observe_emptied(group: Group, out: Outbox) -> None:
    changed, group.changed = group.changed, False
    out.observe(RebalanceEnded(group.id, group.generation, changed))


_answer, _joined = quickly_made(JoinGroupAnswer), quickly_made(JoinedMember)


class Cause(NamedTuple):
    """What makes a group rebalance: the event and guard of the state machine, and who did what in words, and whether
    for other topics (`protocols.facts.RebalanceBegan`)."""

    event: str
    guard: str
    by: str | None
    words: str
    of_topics: bool | None = False


def rebalance(core: Core, group: Group, cause: Cause, now: Time, out: Outbox) -> None:
    """Something happened for which the members must join anew: start that, or see whether all have joined."""
    if group.can_rebalance:
        prepare(core, group, cause, now, out)
    else:
        group.transition(cause.event, cause.guard, now, out)
        try_complete(core, group, now, out)


def prepare(core: Core, group: Group, cause: Cause, now: Time, out: Outbox) -> None:
    if group.state == states.COMPLETING_REBALANCE:
        for member in group.ordered():
            member.assignment = NO_BYTES
            if member.sync is not None:
                core.answer(member.sync, sync_refused(member.sync.correlation, REBALANCE_IN_PROGRESS), out)
                member.sync = None
                restart_session(member, now, out)
    group.pending_sync.clear()
    out.cancel_timer(sync_timer(group))
    initial = group.state == states.EMPTY
    if initial:
        delay = core.settings.group_initial_rebalance_delay_ms
        group.delay = delay, max(group.rebalance_timeout_ms - delay, 0)
        out.set_timer(join_timer(group), now + delay)
    group.transition(cause.event, cause.guard, now, out)
    out.observe(RebalanceBegan(group.id, cause.words, cause.by, group.generation, None, cause.of_topics))
    if not initial:
        if group.all_joined:
            complete(core, group, now, out)
        else:
            out.set_timer(join_timer(group), now + group.rebalance_timeout_ms)


def try_complete(core: Core, group: Group, now: Time, out: Outbox) -> None:
    """End the join phase if all have joined, but never before the initial delay is over (TRY-COMPLETE)."""
    if group.all_joined and group.state == states.PREPARING_REBALANCE and group.previous != states.EMPTY:
        complete(core, group, now, out)


def complete(core: Core, group: Group, now: Time, out: Outbox) -> None:
    """The join phase ends: the next generation begins with those who joined and with absent static members."""
    out.cancel_timer(join_timer(group))
    group.delay = None
    absent = [member for member in group.members.values() if member.join is None and member.instance_id is None]
    remove_members(core, group, absent, out)
    if group.leader is not None and group.members[group.leader].join is None:
        joined = next((member for member in group.ordered() if member.join is not None), None)
        if joined is None:
            if group.state == states.PREPARING_REBALANCE:
                group.transition(states.JOIN_ENDED, states.ONLY_ABSENT, now, out)
            out.set_timer(join_timer(group), now + group.rebalance_timeout_ms)
            return
        group.leader = joined.id
    group.generation += 1
    group.protocol = group.voted_protocol() if group.members else None
    group.subscribed = group.find_subscribed()
    group.pending_sync.clear()
    if not group.members:
        group.transition(states.JOIN_ENDED, states.WITHOUT_MEMBERS, now, out)
        store_group(core, group)
        observe_emptied(group, out)
        return
    group.transition(states.JOIN_ENDED, states.WITH_MEMBERS, now, out)
    _answer_joins(core, group, now, out)
    out.set_timer(sync_timer(group), now + group.rebalance_timeout_ms)


def _answer_joins(core: Core, group: Group, now: Time, out: Outbox) -> None:
    everybody = joined_members(group)
    for member in group.ordered():
        parked = member.join
        if parked is not None:
            members = everybody if member.id == group.leader else ()
            core.answer(parked, joined(group, member, parked.correlation, members), out)
            member.join = None
        restart_session(member, now, out)
        member.is_new = False
        group.pending_sync[member.id] = None
    group.parked_joins = 0


def initial_delay_over(core: Core, group: Group, now: Time, out: Outbox) -> None:
    """A part of the initial delay has passed: prolong it if a member joined in it and time is left, else end it."""
    assert group.delay is not None
    delay, left = group.delay
    if group.new_member_added and left:
        group.new_member_added = False
        longer = min(core.settings.group_initial_rebalance_delay_ms, left)
        group.delay = longer, max(left - delay, 0)
        out.set_timer(join_timer(group), now + longer)
    else:
        complete(core, group, now, out)


def join_timed_out(core: Core, group: Group, now: Time, out: Outbox) -> None:
    """The time to join is over. A stable group has such a timer from a rebalance that ended with an upgrade, if it has
    come back without another one: its dynamic members are removed all the same."""
    if group.state not in (states.PREPARING_REBALANCE, states.STABLE):
        return
    if group.delay is None:
        complete(core, group, now, out)
    else:
        initial_delay_over(core, group, now, out)


def joined(
    group: Group, member: Member, correlation: int, members: tuple[JoinedMember, ...], skip_assignment: bool = False
) -> JoinGroupAnswer:
    leader, kind, protocol = group.leader or "", group.protocol_type, group.protocol
    return _answer((correlation, NONE, group.generation, member.id, leader, kind, protocol, skip_assignment, members))


def joined_members(group: Group) -> tuple[JoinedMember, ...]:
    protocol = group.protocol
    return tuple([_joined((member.id, member.instance_id, member.metadata(protocol))) for member in group.ordered()])


def remove_members(core: Core, group: Group, members: list[Member], out: Outbox) -> None:
    if members:
        for member in members:
            out.cancel_timer(member.timer)
        group.remove(member.id for member in members)
        observe_removed(core, group, [member.client_id for member in members], out)


def remove_pending(group: Group, member_id: str, out: Outbox) -> None:
    out.cancel_timer(session_timer(group.id, member_id))
    group.remove((member_id,))


def restart_session(member: Member, now: Time, out: Outbox) -> None:
    """The session starts anew: the member was heard from, or was answered and gets time to react."""
    out.set_timer(member.timer, now + member.session_timeout_ms)


def join_timer(group: Group | ConsumerGroup) -> tuple[str, str]:
    return "join", group.id


def sync_timer(group: Group) -> tuple[str, str]:
    return "sync", group.id
