"""The log of groups of the consumer protocol in ``__consumer_offsets`` (spec 1.3, types 3, 5 to 8 and 16): its records,
when they are written, and the groups that a broker reads from it when it takes them over (spec 1.4).

A key ends with the name of its type, so that keys of two types never compare equal. Everything that members have agreed
on is in the log: unlike a classic group, one that is on its way goes on from where it was, and only timers begin anew.

What follows from a write stands here, too: the group epoch, which goes up with whatever changes what members should own
(spec 6.1), and the facts about grants. What is granted to a member is what it is assigned, without what it must still
give up; members with one client id count as one, as in classic groups, and a rebalance ends when all members have
reached the target of the group's epoch.

In Kafka `GroupCoordinatorRecordHelpers` with its keys and values, `ConsumerGroup.createConsumerGroupRecords`, and
`GroupMetadataManager.replay`, `onLoaded` and `onUnloaded`.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups import sessions, states
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import (
    JOINING,
    ConsumerMember,
    Profile,
    in_order,
    observe_member_epoch,
)
from kafka_coordinator.coordinator.consumer_groups.uniform_balance import timeline_order
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import session_timer
from kafka_coordinator.coordinator.log import GroupKey, Key, Value
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Granted, RebalanceBegan, RebalanceEnded, Transition
from protocols.java import Queue


class EpochKey(NamedTuple):
    group: str
    kind: str = "epoch"


class EpochValue(NamedTuple):
    epoch: int
    metadata_hash: str


class MemberKey(NamedTuple):
    """Its value is the member's `Profile`."""

    group: str
    member_id: str
    kind: str = "member"


class TargetEpochKey(NamedTuple):
    """Its value is the assignment epoch and the time of the target, None where it is unknown."""

    group: str
    kind: str = "target epoch"


class TargetKey(NamedTuple):
    """Its value is a tuple of partitions, in the order in which they were given."""

    group: str
    member_id: str
    kind: str = "target"


class CurrentKey(NamedTuple):
    """Its value is the member's `Standing`."""

    group: str
    member_id: str
    kind: str = "current"


class PatternKey(NamedTuple):
    """Its value is what the pattern was resolved to, `Resolved`."""

    group: str
    regex: str
    kind: str = "pattern"


Target = tuple[Partition, ...]


def store_epoch(core: Core, group: ConsumerGroup) -> None:
    core.write(group.partition, EpochKey(group.id), EpochValue(group.epoch, group.metadata_hash))


def store_profile(core: Core, group: ConsumerGroup, member: ConsumerMember) -> None:
    core.write(group.partition, MemberKey(group.id, member.id), member.profile)


def store_standing(core: Core, group: ConsumerGroup, member: ConsumerMember) -> None:
    core.write(group.partition, CurrentKey(group.id, member.id), member.standing)


def store_target(core: Core, group: ConsumerGroup, member_id: str) -> None:
    core.write(group.partition, TargetKey(group.id, member_id), group.target[member_id])


def store_target_epoch(core: Core, group: ConsumerGroup) -> None:
    """Write for which epoch the target was computed; this comes after all the members' targets."""
    core.write(group.partition, TargetEpochKey(group.id), (group.target_epoch, group.assigned_at))


def store_pattern(core: Core, group: ConsumerGroup, regex: str) -> None:
    """Write what the pattern was resolved to, or that it is none any more."""
    core.write(group.partition, PatternKey(group.id, regex), group.resolved.get(regex))


def store_whole(core: Core, group: ConsumerGroup) -> None:
    """Write a group that was made, or converted with its members, all at once."""
    members = [group.members[member_id] for member_id in group.converted]
    for member in members:
        store_profile(core, group, member)
    store_epoch(core, group)
    for member in members:
        store_target(core, group, member.id)
    store_target_epoch(core, group)
    for member in members:
        store_standing(core, group, member)


def erase_member(core: Core, group: ConsumerGroup, member_id: str) -> None:
    for key in (CurrentKey, TargetKey, MemberKey):
        core.write(group.partition, key(group.id, member_id), None)


def erase_group(core: Core, group: ConsumerGroup) -> None:
    for member_id in group.members:
        erase_member(core, group, member_id)
    for regex in group.resolved:
        core.write(group.partition, PatternKey(group.id, regex), None)
    for key in (TargetEpochKey, EpochKey):
        core.write(group.partition, key(group.id), None)


def observe_grant(core: Core, group: ConsumerGroup, member: ConsumerMember, out: Outbox) -> None:
    """What the client id of this member has may have changed; the member may be gone."""
    name = member.profile.client_id
    queues = _granted_to(core, group, name, member)
    if queues == group.granted.get(name, ()):
        return
    group.moved = True
    if queues:
        group.granted[name] = queues
    else:
        del group.granted[name]
    out.observe(Granted(group.id, name, queues, max(member.standing.epoch, 0)))


def _granted_to(core: Core, group: ConsumerGroup, name: str, member: ConsumerMember) -> tuple[Queue, ...]:
    count = group.names.get(name, 0)
    if count == 1 and member.id in group.members:
        return core.sorted_queues(in_order(member.standing.assigned))
    partitions: set[Partition] = set()
    if count:
        for each in group.members.values():
            if each.profile.client_id == name:
                partitions |= each.standing.assigned
    return core.sorted_queues(partitions)


def observe_end(group: ConsumerGroup, out: Outbox) -> None:
    """The rebalance is over if everybody has the target of the group's epoch, or nobody is left."""
    if group.ended_epoch < group.epoch and group.derived_state() in (states.STABLE, states.EMPTY):
        group.ended_epoch = group.epoch
        changed, group.moved = group.moved, False
        out.observe(RebalanceEnded(group.id, group.epoch, changed))


def granted_now(core: Core, group: ConsumerGroup) -> dict[str, tuple[Queue, ...]]:
    """What each client id has, as a group that has just been loaded shows it."""
    found: dict[str, set[Partition]] = {}
    for member in group.members.values():
        if member.standing.assigned:
            found.setdefault(member.profile.client_id, set()).update(member.standing.assigned)
    return {name: core.sorted_queues(partitions) for name, partitions in found.items()}


def bump(
    core: Core, group: ConsumerGroup, by: str | None, words: str, out: Outbox, *, of_topics: bool | None = False
) -> None:
    """Raise the epoch by one. ``by``: client id of the member that caused it; ``words`` say why."""
    group.epoch += 1
    group.stale = False
    store_epoch(core, group)
    out.observe(RebalanceBegan(group.id, words, by, group.epoch, None, of_topics))


def replayed(core: Core, partition: int, latest: Mapping[Key, Value]) -> dict[str, ConsumerGroup]:
    """The groups of the consumer protocol among the newest records of a log, without their offsets."""
    groups = {key.group: ConsumerGroup(key.group, partition) for key in latest if isinstance(key, EpochKey)}
    for seated, member_ids in _seated(core.log(partition).history(), groups):
        for member_id in member_ids:
            profile: Profile = latest[MemberKey(seated.id, member_id)]
            standing = latest.get(CurrentKey(seated.id, member_id), JOINING)
            seated.put(ConsumerMember(member_id, profile, standing))
    for key, value in latest.items():
        group = groups.get(key.group)
        if group is None:
            continue
        if isinstance(key, EpochKey):
            group.epoch, group.metadata_hash = value
        elif isinstance(key, TargetEpochKey):
            group.target_epoch, group.assigned_at = value
        elif isinstance(key, TargetKey):
            group.target[key.member_id] = value
    for key, value in latest.items():
        if isinstance(key, PatternKey) and key.group in groups:
            # Whoever loads the group takes all topics that have come since then for new.
            image = core.image if value.image >= core.image else 0
            groups[key.group].resolve(key.regex, value._replace(image=image))
    return groups


def _seated(
    records: Iterable[tuple[Key, Value | None]], groups: Mapping[str, ConsumerGroup]
) -> list[tuple[ConsumerGroup, Iterable[str]]]:
    """The groups with the ids of their members in the order in which they came; of a group is noted how many there have
    been at once, as far as the log tells."""
    seated: dict[str, dict[str, None]] = {}
    for key, value in records:
        group = groups.get(key.group)
        if group is None:
            continue
        members = seated.setdefault(key.group, {})
        if isinstance(key, MemberKey) and value is not None:
            members[key.member_id] = None
            group.most_before = max(group.most_before, len(members))
        elif isinstance(key, MemberKey):
            members.pop(key.member_id, None)
        elif (isinstance(key, EpochKey) and value is None) or isinstance(key, GroupKey):
            # Whatever is read of a classic group of this id ends the other one.
            members.clear()
            group.most_before = 0
    return [(groups[group_id], members) for group_id, members in seated.items()]


def take_over(core: Core, group: ConsumerGroup, now: Time, out: Outbox) -> None:
    """This broker coordinates the group from now on: sessions begin anew, and so does the time to revoke."""
    core.consumer_groups[group.id] = group
    # Sessions that end at the same time end in the order in which they began: that of the coordinator's map.
    for member_id in timeline_order(list(group.members), group.most_members):
        member = group.members[member_id]
        state = member.standing.state
        after = states.MEMBER.next_state(states.ABSENT, states.LOADED, states.member_guard(state))
        out.observe(Transition(states.MEMBER.name, member.called, states.ABSENT, states.LOADED, after))
        observe_member_epoch(group.id, member, out)
        # Of classic members, too, whatever session timeout they have asked for.
        out.set_timer(session_timer(group.id, member.id), now + sessions.own_timeout_ms(core, group))
        if state == states.UNREVOKED:
            member.revoking_at = member.standing.epoch
            out.set_timer(sessions.revocation_timer(group.id, member.id), now + member.profile.rebalance_timeout_ms)
    group.settle(states.LOADED, out)
    group.granted = granted_now(core, group)
    if group.derived_state() in (states.STABLE, states.EMPTY):
        group.ended_epoch = group.epoch


def resign(core: Core, partition: int, out: Outbox) -> None:
    """Another broker leads the partition: its groups are dead here."""
    core.forgotten = {name: group for name, group in core.forgotten.items() if group.partition != partition}
    for group in [
        consumer_group for consumer_group in core.consumer_groups.values() if consumer_group.partition == partition
    ]:
        group.end(states.UNLOADED, out)
        for member_id in group.members:
            sessions.cancel_timers(group.id, member_id, out)
        out.cancel_timer(sessions.resolve_timer(group.id))
        del core.consumer_groups[group.id]
