"""Groups of the consumer protocol as a log has them, and what happens when a broker takes them over or loses them
(spec 1.4).

Everything that members have agreed on is in the log: unlike a classic group, one that is on its way goes on from where
it was. Only timers begin anew.

In Kafka `GroupMetadataManager.replay`, `onLoaded` and `onUnloaded`.
"""

from collections.abc import Mapping

from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember, Profile, observe_member_epoch
from kafka_coordinator.coordinator.consumer_groups.reconciliation import JOINING
from kafka_coordinator.coordinator.consumer_groups.sessions import (
    cancel_timers,
    resolve_timer,
    restart_session,
    revocation_timer,
)
from kafka_coordinator.coordinator.consumer_groups.storing import (
    CurrentKey,
    EpochKey,
    MemberKey,
    PatternKey,
    TargetEpochKey,
    TargetKey,
    granted_now,
)
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.log import Key, Value
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Transition


def replayed(core: Core, partition: int, latest: Mapping[Key, Value]) -> dict[str, ConsumerGroup]:
    """The groups of the consumer protocol among the newest records of a log, without their offsets."""
    groups = {key.group: ConsumerGroup(key.group, partition) for key in latest if isinstance(key, EpochKey)}
    for key, value in latest.items():
        group = groups.get(key.group)
        if group is None:
            continue
        if isinstance(key, EpochKey):
            group.epoch, group.metadata_hash = value
        elif isinstance(key, TargetEpochKey):
            group.target_epoch = value
        elif isinstance(key, TargetKey):
            group.target[key.member_id] = value
        elif isinstance(key, MemberKey):
            profile: Profile = value
            standing = latest.get(CurrentKey(key.group, key.member_id), JOINING)
            group.put(ConsumerMember(key.member_id, profile, standing))
    for key, value in latest.items():
        if isinstance(key, PatternKey) and key.group in groups:
            groups[key.group].resolve(key.regex, value._replace(image=core.image))
    return groups


def take_over(core: Core, group: ConsumerGroup, now: Time, out: Outbox) -> None:
    """This broker coordinates the group from now on: sessions begin anew, and so does the time to revoke."""
    core.consumer_groups[group.id] = group
    for member in group.members.values():
        state = member.standing.state
        after = states.MEMBER.next_state(states.ABSENT, states.LOADED, states.member_guard(state))
        out.observe(Transition(states.MEMBER.name, member.called, states.ABSENT, states.LOADED, after))
        observe_member_epoch(group.id, member, out)
        restart_session(core, group, member, now, out)
        if state == states.UNREVOKED and member.profile.classic is None:
            member.revoking_at = member.standing.epoch
            out.set_timer(revocation_timer(group.id, member.id), now + member.profile.rebalance_timeout_ms)
    group.settle(states.LOADED, out)
    group.granted = granted_now(core, group)
    if group.derived_state() in (states.STABLE, states.EMPTY):
        group.ended_epoch = group.epoch


def resign(core: Core, partition: int, out: Outbox) -> None:
    """Another broker leads the partition: its groups are dead here."""
    for group in [
        consumer_group for consumer_group in core.consumer_groups.values() if consumer_group.partition == partition
    ]:
        group.end(states.UNLOADED, out)
        for member_id in group.members:
            cancel_timers(group, member_id, out)
        out.cancel_timer(resolve_timer(group.id))
        del core.consumer_groups[group.id]
