"""A broker becomes the coordinator of groups, or ceases to be (spec 1.4).

Only what is in the log comes over: the last completed generation and the offsets. A rebalance that was under way, ids
that were handed out, parked requests and timers are lost.

In Kafka `GroupCoordinatorService.onElection` and `onResignation`, `GroupMetadataManager.onLoaded` and `onUnloaded`.
"""

from collections.abc import Mapping

from kafka_coordinator.coordinator import states, transactional_offsets
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.sessions import cancel_timers
from kafka_coordinator.coordinator.consumer_groups.storing import replayed
from kafka_coordinator.coordinator.consumer_groups.storing import resign as resign_consumer_groups
from kafka_coordinator.coordinator.consumer_groups.storing import take_over as take_over_group
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.describe import expiry_timer, start_expiry
from kafka_coordinator.coordinator.group import Group, Member, session_timer
from kafka_coordinator.coordinator.log import CommittedOffset, GroupKey, GroupValue, Key, OffsetKey, Value
from kafka_coordinator.coordinator.rebalance import Cause, join_timer, prepare, restart_session, sync_timer
from kafka_coordinator.coordinator.refusals import join_refused, sync_refused
from kafka_coordinator.coordinator.share_groups import storing as share_groups
from kafka_coordinator.errors import NOT_COORDINATOR
from protocols.engine.nodes import Outbox, Time
from protocols.state_machine import ALWAYS


def lead(core: Core, leaders: tuple[str, ...], now: Time, out: Outbox) -> None:
    before, core.leaders = core.leaders, leaders
    if len(before) != len(leaders):
        raise ValueError(f"{len(leaders)} leaders for the {len(before)} partitions of __consumer_offsets")
    for partition, (old, new) in enumerate(zip(before, leaders, strict=True)):
        if old == new:
            continue
        if old == core.name:
            resign(core, partition, now, out)
        if new == core.name:
            take_over(core, partition, now, out)


def take_over(core: Core, partition: int, now: Time, out: Outbox) -> None:
    """Begin to read the log of a partition; an empty one is read at once."""
    if core.storage.partitions[partition].records:
        core.loading[partition] = None
        out.set_timer(load_timer(partition), now + core.settings.load_ms)
    else:
        loaded(core, partition, now, out)


def loaded(core: Core, partition: int, now: Time, out: Outbox) -> None:
    """The log has been read: its groups are served from now on."""
    core.loading.pop(partition, None)
    start_expiry(core, partition, now, out)
    latest = core.storage.partitions[partition].latest()
    classic, others = _replayed(core, partition, latest)
    for other in others:
        take_over_group(core, other, now, out)
    share_groups.take_over(core, partition, latest, now, out)
    for group in classic:
        core.groups[group.id] = group
        guard = states.WITH_MEMBERS if group.members else states.WITHOUT_MEMBERS
        since = group.since
        group.transition(states.LOADED, guard, now, out)
        group.since = since
        for member in group.ordered():
            restart_session(member, now, out)
        if len(group.members) > core.settings.group_max_size:
            cause = Cause(states.TOO_LARGE, ALWAYS, None, "more members than group.max.size")
            prepare(core, group, cause, now, out)
    transactional_offsets.replay(core, partition, latest, now, out)


def resign(core: Core, partition: int, now: Time, out: Outbox) -> None:
    """Another broker leads the partition: its groups are dead here, who waits is sent away."""
    core.loading.pop(partition, None)
    core.commits = [each for each in core.commits if each.partition != partition]
    out.cancel_timer(load_timer(partition))
    out.cancel_timer(expiry_timer(partition))
    for group in [each for each in core.groups.values() if each.partition == partition]:
        group.transition(states.UNLOADED, ALWAYS, now, out)
        out.cancel_timer(join_timer(group))
        out.cancel_timer(sync_timer(group))
        for member_id in group.pending_join:
            out.cancel_timer(session_timer(group.id, member_id))
        for member_id in (*group.members, *group.converted):
            cancel_timers(group.id, member_id, out)
        for member in group.ordered():
            if member.join is not None:
                core.answer(member.join, join_refused(member.join.correlation, NOT_COORDINATOR, member.id), out)
            if member.sync is not None:
                core.answer(member.sync, sync_refused(member.sync.correlation, NOT_COORDINATOR), out)
        del core.groups[group.id]
    for other in [each for each in core.consumer_groups.values() if each.partition == partition]:
        out.cancel_timer(join_timer(other))
    resign_consumer_groups(core, partition, out)
    share_groups.resign(core, partition, out)
    transactional_offsets.resign(core, partition)


def load_timer(partition: int) -> tuple[str, int]:
    return "load", partition


def _replayed(core: Core, partition: int, latest: Mapping[Key, Value]) -> tuple[list[Group], list[ConsumerGroup]]:
    """The groups as the log of a partition has them: the classic ones, and those of the consumer protocol."""
    groups: dict[str, Group] = {}
    others = replayed(core, partition, latest)
    for key, value in latest.items():
        # An emptied group that was forgotten without a tombstone, and has become a classic one.
        if isinstance(key, GroupKey) and isinstance(value, GroupValue):
            others.pop(key.group, None)
    for key, value in latest.items():
        if isinstance(key, OffsetKey) and isinstance(value, CommittedOffset):
            if key.group in others:
                others[key.group].offsets[key.topic, key.number] = value
            else:
                group = groups.setdefault(key.group, Group(key.group, partition))
                group.offsets[key.topic, key.number] = value
        elif isinstance(key, GroupKey) and isinstance(value, GroupValue):
            _restore(core, groups.setdefault(key.group, Group(key.group, partition)), value)
    return list(groups.values()), list(others.values())


def _restore(core: Core, group: Group, value: GroupValue) -> None:
    for stored in value.members:
        member = Member(
            group.id,
            stored.member_id,
            stored.instance_id,
            stored.client_id,
            stored.host,
            stored.session_timeout_ms,
            stored.rebalance_timeout_ms,
            ((value.protocol or "", stored.subscription),),
            stored.assignment,
        )
        group.add(member, value.protocol_type or "")
        queues = core.queues_of(stored.assignment)
        if queues:
            group.granted[member.client_id] = queues
    group.generation = value.generation
    group.protocol_type = value.protocol_type
    group.protocol = value.protocol
    group.leader = value.leader
    group.since = value.since
    group.subscribed = group.find_subscribed()
