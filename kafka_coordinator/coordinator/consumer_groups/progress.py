"""From what a member has just told to where it stands: epoch, target, reconciliation (spec 6.3 steps 5 to 8).

Heartbeats of the consumer protocol and JoinGroup requests of classic members both go this way.

In Kafka the common part of `consumerGroupHeartbeat` and `classicGroupJoinToConsumerGroup`.
"""

from collections.abc import Collection

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups import states, storing
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import (
    ConsumerMember,
    Goal,
    Profile,
    Standing,
    observe_member_epoch,
    reconcile,
)
from kafka_coordinator.coordinator.consumer_groups.sessions import cancel_timers, refresh_hash, revocation_timer
from kafka_coordinator.coordinator.consumer_groups.storing import Target
from kafka_coordinator.coordinator.consumer_groups.uniform_balance import voted
from kafka_coordinator.coordinator.core import Core
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Transition
from protocols.load import quickly_made
from protocols.state_machine import ALWAYS

_transition = quickly_made(Transition)

Owned = Collection[Partition] | None


def seat(
    core: Core, group: ConsumerGroup, member_id: str, old: ConsumerMember | None, profile: Profile, out: Outbox
) -> ConsumerMember:
    """The member of this id, taken in where it is new; ``old`` is the static member whose place it takes."""
    member = group.members.get(member_id)
    if old is not None:
        return _replace(core, group, old, member_id, out)
    if member is None:
        member = ConsumerMember(member_id, Profile(instance_id=profile.instance_id, client_id=profile.client_id))
        group.put(member)
        _step(member, states.ABSENT, states.NEW, ALWAYS, out)
    return member


def _replace(core: Core, group: ConsumerGroup, old: ConsumerMember, member_id: str, out: Outbox) -> ConsumerMember:
    """A static member is back, maybe with another id: it inherits all, and begins at epoch 0. The timers of its last
    life run on, and find it if it has kept its id."""
    target = group.target.get(old.id, ())
    resolved = dict(group.resolved)
    _step(old, old.standing.state, states.LEFT, ALWAYS, out)
    storing.erase_member(core, group, old.id)
    group.remove(old)
    member = ConsumerMember(member_id, old.profile, old.standing._replace(epoch=0, previous_epoch=0))
    if member_id == old.id:
        member.must_rejoin, member.revoking_at = old.must_rejoin, old.revoking_at
    else:
        cancel_timers(group.id, old.id, out)
    group.put(member)
    for regex, each in resolved.items():
        if regex not in group.resolved:
            group.resolve(regex, each)
    group.target[member_id] = target
    group.balance = None
    storing.store_profile(core, group, member)
    storing.store_target(core, group, member_id)
    storing.store_standing(core, group, member)
    _step(member, states.ABSENT, states.TAKEN_OVER, states.member_guard(member.standing.state), out)
    observe_member_epoch(group.id, member, out)
    return member


def raise_epoch(
    core: Core, group: ConsumerGroup, member: ConsumerMember, profile: Profile, bumped: bool, out: Outbox
) -> bool:
    """Take over what the member has told, and raise the epoch if that or the topics' metadata ask for it; returns
    whether subscriptions were looked at anew. ``bumped``: whether the epoch must go up in any case."""
    before = member.profile
    named_others = profile.topics != before.topics
    version, assignors = core.settings.version, core.settings.assignors
    preferred = group.preferred_assignor() or assignors[0]
    if profile != before:
        group.set_profile(member, profile)
        if version.rejoining_renames_instance and before.instance_id != profile.instance_id:
            group.forget_instance(before.instance_id, member.id)
        storing.store_profile(core, group, member)
        if before.regex and before.regex != profile.regex and before.regex not in group.resolved:
            storing.store_pattern(core, group, before.regex)
    if version.assignor_change_raises_epoch and group.assignors and profile.classic is None:
        # Of names with equal counts this vote may come first, and then its member raises the epoch again and again.
        bumped = bumped or (voted(group.assignors, profile.assignor) or assignors[0]) != preferred
    if not (bumped or named_others or group.stale):
        return False
    changed = refresh_hash(core, group)
    if bumped or named_others or changed:
        words, of_topics = _why(profile, bumped or named_others)
        storing.bump(
            core, group, profile.client_id if bumped or named_others else None, words, out, of_topics=of_topics
        )
    group.stale = False
    return True


def _why(profile: Profile, by_member: bool) -> tuple[str, bool]:
    if by_member:
        return f"{profile.client_id} joined or subscribes to other topics", False
    return "a subscribed topic has changed", True


def move(
    core: Core,
    group: ConsumerGroup,
    member: ConsumerMember,
    owned: Owned,
    target: Target,
    now: Time,
    out: Outbox,
    cut: bool,
) -> bool:
    """Reconcile the member towards this target; whether it stands elsewhere now. ``cut``: whether its subscription has
    changed."""
    before, version = member.standing, core.settings.version
    cut = cut and version.cuts_to_subscription
    if before.state == states.M_STABLE and before.epoch == group.target_epoch and not cut:
        return False
    named = _subscribed(group, member.profile) if version.cuts_to_subscription else ()
    topics = core.partition_counts.keys() & named
    goal = Goal(group.target_epoch, frozenset(target), owned, group.free, version, topics, bool(named), cut)
    after = reconcile(before, goal)
    if after == before:
        return False
    stand(core, group, member, after, out)
    if member.profile.classic is None:
        timer = revocation_timer(group.id, member.id)
        if after.state == states.UNREVOKED:
            member.revoking_at = after.epoch
            out.set_timer(timer, now + member.profile.rebalance_timeout_ms)
        else:
            out.cancel_timer(timer)
    return True


def _subscribed(group: ConsumerGroup, profile: Profile) -> tuple[str, ...]:
    """The topics to which a member subscribes, by name and by pattern; an unresolved one matches none."""
    resolved = group.resolved.get(profile.regex) if profile.regex else None
    return (*profile.topics, *resolved.topics) if resolved else profile.topics


def stand(core: Core, group: ConsumerGroup, member: ConsumerMember, after: Standing, out: Outbox) -> None:
    before = member.standing
    _step(member, before.state, states.RECONCILED, states.member_guard(after.state), out)
    group.set_standing(member, after)
    if after.epoch != before.epoch:
        observe_member_epoch(group.id, member, out)
    storing.store_standing(core, group, member)


def observe(core: Core, group: ConsumerGroup, member: ConsumerMember, event: str, out: Outbox) -> None:
    """The group has taken a step: its state, the member's grant and the end of the rebalance follow from it."""
    group.settle(event, out)
    storing.observe_grant(core, group, member, out)
    storing.observe_end(group, out)


def _step(member: ConsumerMember, before: str, event: str, guard: str, out: Outbox) -> None:
    after = states.MEMBER.next_state(before, event, guard)
    out.observe(_transition((states.MEMBER.name, member.called, before, event, after)))
