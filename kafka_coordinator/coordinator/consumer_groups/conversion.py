"""Groups on their way between the two protocols: upgrade and downgrade, and empty groups that are replaced (spec 6.9).

The defect of Kafka 4.1.0 is in here: a classic group that has no protocol yet, because its first PreparingRebalance
(since it was empty) is under way, cannot be upgraded; its parked requests are answered all the same, and the heartbeat
gets UNKNOWN_SERVER_ERROR (`_members_of`).

In Kafka `GroupMetadataManager.convertToConsumerGroup`, `convertToClassicGroup`, `maybeDeleteEmptyClassicGroup` and
`validateOnlineUpgrade`, `validateOnlineDowngradeWithFencedMembers`; `ConsumerGroup.fromClassicGroup` and
`ClassicGroup.fromConsumerGroup`.
"""

from collections.abc import Collection, Mapping
from typing import Final

from kafka_coordinator import messages
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator import states as classic_states
from kafka_coordinator.coordinator.consumer_groups import sessions, states
from kafka_coordinator.coordinator.consumer_groups.checks import Refused
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import (
    ClassicPart,
    ConsumerMember,
    Profile,
    Standing,
    observe_member_epoch,
)
from kafka_coordinator.coordinator.consumer_groups.storing import erase_group, store_whole
from kafka_coordinator.coordinator.consumer_groups.uniform_balance import timeline_order
from kafka_coordinator.coordinator.core import Core, create_group, end_group, store_group
from kafka_coordinator.coordinator.group import Group, Member
from kafka_coordinator.coordinator.rebalance import Cause, observe_removed, prepare, sync_timer
from kafka_coordinator.coordinator.rebalance import restart_session as restart_classic_session
from kafka_coordinator.coordinator.refusals import NO_MEMBER, join_refused, sync_refused
from kafka_coordinator.errors import GROUP_ID_NOT_FOUND, REBALANCE_IN_PROGRESS, UNKNOWN_SERVER_ERROR
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Transition
from protocols.state_machine import ALWAYS

UPGRADES = ("bidirectional", "upgrade")
DOWNGRADES = ("bidirectional", "downgrade")

_MALFORMED: Final = "the embedded consumer protocol is malformed"


def group_for(core: Core, request: messages.ConsumerGroupHeartbeat, now: Time, out: Outbox) -> ConsumerGroup:
    """The group that a heartbeat is about. One that is made or converted for it is only kept by `install`; `Refused`
    where there is none and the heartbeat does not join, or where a classic group may not be converted."""
    group = core.consumer_groups.get(request.group)
    if group is not None:
        return group
    if request.member_epoch != messages.JOINS or request.group in core.share_groups:
        text = "Group {} is not a consumer group." if core.is_group(request.group) else "Consumer group {} not found."
        raise Refused(GROUP_ID_NOT_FOUND, text.format(request.group))
    classic = core.groups.get(request.group)
    consumer_group = ConsumerGroup(request.group, core.partition_of(request.group))
    if core.settings.version.groups_begin_at_one:
        consumer_group.epoch = consumer_group.target_epoch = consumer_group.ended_epoch = 1
    if classic is not None and classic.state != classic_states.EMPTY:
        _check_upgrade(core, classic)
        _answer_parked(core, classic, out)
        consumer_group.epoch = consumer_group.target_epoch = consumer_group.ended_epoch = classic.generation
        for member, owned in _members_of(core, classic):
            consumer_group.put(member)
            consumer_group.target[member.id] = owned
        sessions.refresh_hash(core, consumer_group)
    return consumer_group


def check_owned(core: Core, group: ConsumerGroup, known: ConsumerMember | None, told: Profile) -> None:
    """`Refused` where the target that a conversion asks for cannot be computed: `uniform` fails where a member owns a
    partition that a topic of its subscription does not have, as a leader may have given it. ``known``: the member whose
    place the newcomer takes; ``told``: what it says. One that changes nothing asks for no target."""
    before, default = known.profile if known is not None else Profile(), core.settings.assignors[0]
    changes_assignor = core.settings.version.assignor_change_raises_epoch and (told.assignor or default) != default
    if (told.assignor or default) != "uniform" or not (told.topics != before.topics or changes_assignor):
        return
    counts = core.partition_counts
    for member in group.members.values():
        topics = told.topics if member is known else member.profile.topics
        if any(topic in topics and number >= counts.get(topic, 0) for topic, number in group.target[member.id]):
            raise Refused(UNKNOWN_SERVER_ERROR)


def install(core: Core, group: ConsumerGroup, now: Time, out: Outbox) -> None:
    """Keep a group that `group_for` has made; a classic group of this id ends."""
    if group.id in core.consumer_groups:
        return
    classic = core.groups.get(group.id)
    core.consumer_groups[group.id] = group
    if group.epoch and not group.members:
        store_whole(core, group)
    if group.id in core.forgotten:
        group.offsets = core.forgotten.pop(group.id).offsets
    if classic is None:
        return
    group.offsets, group.granted = classic.offsets, classic.granted
    for member in classic.members.values():
        out.cancel_timer(member.timer)
    is_empty = classic.state == classic_states.EMPTY
    end_group(core, classic, classic_states.REPLACED if is_empty else classic_states.UPGRADED, now, out)
    # The timer of its rebalance runs on: it counts if the group is a classic one again by then.
    out.cancel_timer(sync_timer(classic))
    if group.members:
        # That of the coordinator's map, into which each was put once, is the order in the log and that in which
        # sessions begin, and end where they end at the same time.
        group.converted = tuple(timeline_order(list(group.members), len(group.members) - 1))
        store_whole(core, group)
        for each in (group.members[member_id] for member_id in group.converted):
            after = states.MEMBER.next_state(states.ABSENT, states.UPGRADED, ALWAYS)
            out.observe(Transition(states.MEMBER.name, each.called, states.ABSENT, states.UPGRADED, after))
            observe_member_epoch(group.id, each, out)
            sessions.restart_session(core, group, each, now, out)
        group.settle(states.UPGRADED, out)


def _check_upgrade(core: Core, classic: Group) -> None:
    settings = core.settings
    if settings.group_consumer_migration_policy not in UPGRADES:
        raise _not_upgraded(classic.id, "online upgrade is disabled")
    if classic.protocol_type != messages.CONSUMER_PROTOCOL_TYPE:
        raise _not_upgraded(classic.id, "the group does not use the consumer embedded protocol")
    if len(classic.members) > settings.group_consumer_max_size:
        raise _not_upgraded(classic.id, "the group size exceeds the consumer group maximum size")


def _not_upgraded(group_id: str, why: str) -> Refused:
    return Refused(GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {group_id} to consumer group because {why}.")


def _answer_parked(core: Core, classic: Group, out: Outbox) -> None:
    """Whoever waits for a generation must come again; so it is even where the conversion fails afterwards."""
    for member in classic.ordered():
        if member.join is not None:
            refused = join_refused(member.join.correlation, REBALANCE_IN_PROGRESS, member.id)
            core.answer(member.join, refused, out)
            member.join = None
            classic.parked_joins -= 1
        if member.sync is not None:
            core.answer(member.sync, sync_refused(member.sync.correlation, REBALANCE_IN_PROGRESS), out)
            member.sync = None


def _members_of(core: Core, classic: Group) -> list[tuple[ConsumerMember, tuple[Partition, ...]]]:
    """The members as they will be, each with what it owns; `Refused` where an assignment cannot be read, and, as the
    released broker has it, where the group has not chosen a protocol yet, or a member that joins now lacks it."""
    members = []
    for member in classic.ordered():
        if classic.protocol is None or classic.protocol not in (name for name, _ in member.protocols):
            raise Refused(UNKNOWN_SERVER_ERROR)
        metadata = member.metadata(classic.protocol)
        if not isinstance(metadata, messages.ConsumerMetadata):
            raise _not_upgraded(classic.id, _MALFORMED)
        owned = _owned(core, classic.id, member.assignment)
        profile = Profile(
            member.instance_id,
            metadata.rack or None,
            member.client_id,
            member.host,
            tuple(sorted(set(metadata.topics))),
            "",
            member.rebalance_timeout_ms,
            None,
            ClassicPart(member.session_timeout_ms, member.protocols),
        )
        generation, had = classic.generation, frozenset(owned)
        since = ((generation, had),) if had and core.settings.version.partition_epochs else ()
        standing = Standing(generation, generation, states.M_STABLE, had, since=since)
        members.append((ConsumerMember(member.id, profile, standing), owned))
    return members


def _owned(core: Core, group_id: str, assignment: messages.Opaque) -> tuple[Partition, ...]:
    """The partitions of an assignment whose topics there are; none where nothing was ever assigned."""
    if not assignment:
        return ()
    if not isinstance(assignment, tuple):
        raise _not_upgraded(group_id, _MALFORMED)
    return tuple([partition for partition in assignment if partition[0] in core.partition_counts])


def may_downgrade(core: Core, group: ConsumerGroup, gone: Collection[str], joining: int = 0) -> bool:
    """Whether without these members, and with so many classic ones that join, the group becomes a classic one: only
    classic members are left, and some are."""
    left = len(group.members) - len(gone) + joining
    leaving = sum(group.members[name].profile.classic is not None for name in gone)
    return (
        left > 0
        and group.spoken_classic - leaving + joining == left
        and core.settings.group_consumer_migration_policy in DOWNGRADES
        and left <= core.settings.group_max_size
    )


def check_targets(core: Core, group: ConsumerGroup, gone: Collection[str] = ()) -> None:
    """`Refused` where the group is to become a classic one without these members, and the released broker fails because
    another one has no target yet."""
    lacks_target = any(each not in group.target for each in group.members if each not in gone)
    if lacks_target and not core.settings.version.downgrades_without_target:
        raise Refused(UNKNOWN_SERVER_ERROR)


def downgrade(
    core: Core, group: ConsumerGroup, gone: Collection[str], by: str | None, words: str, now: Time, out: Outbox
) -> None:
    """The group becomes a classic one without these members, and its members join anew."""
    names = [group.members[name].profile.client_id for name in gone]
    classic = become_classic(core, group, gone, group.epoch, group.target, now, out)
    observe_removed(core, classic, names, out)
    prepare(core, classic, Cause(classic_states.DOWNGRADED, ALWAYS, by, words), now, out)


def become_classic(
    core: Core,
    group: ConsumerGroup,
    gone: Collection[str],
    generation: int,
    targets: Mapping[str, tuple[Partition, ...]],
    now: Time,
    out: Outbox,
    joining: str | None = None,
) -> Group:
    """The group is a classic one from now on, stable, with these targets as assignments. ``joining``: the member whose
    request it is; the others come in the order in which the coordinator's map lists them."""
    listed = timeline_order(list(group.members), group.most_members)
    left = [group.members[each] for each in sorted(listed, key=lambda each: each == joining) if each not in gone]
    end_consumer_group(core, group, states.DOWNGRADED, out)
    classic = Group(group.id, group.partition)
    classic.generation = generation
    classic.converted = tuple(group.members)
    classic.transition(classic_states.CONVERTED, ALWAYS, now, out)
    for member in left:
        profile, assigned = member.profile, targets.get(member.id, ())
        assert profile.classic is not None
        made = Member(
            group.id,
            member.id,
            profile.instance_id,
            profile.client_id,
            profile.host,
            profile.classic.session_timeout_ms,
            profile.rebalance_timeout_ms,
            profile.classic.protocols,
            tuple(sorted(partition for partition in assigned if partition[0] in core.partition_counts)),
        )
        classic.add(made, messages.CONSUMER_PROTOCOL_TYPE)
    for made in classic.ordered():
        restart_classic_session(made, now, out)
    classic.protocol = classic.voted_protocol()
    classic.subscribed = classic.find_subscribed()
    classic.offsets = group.offsets
    classic.granted = group.granted
    core.groups[group.id] = classic
    store_group(core, classic)
    return classic


def end_consumer_group(core: Core, group: ConsumerGroup, event: str, out: Outbox) -> None:
    """The group of the consumer protocol ends here, but for its offsets."""
    group.end(event, out)
    # Timers of classic members to join again and to sync run on: they count if the group comes back in their time.
    out.cancel_timer(sessions.resolve_timer(group.id))
    erase_group(core, group)
    del core.consumer_groups[group.id]


def replace_empty(core: Core, group: ConsumerGroup, now: Time, request: messages.JoinGroup, out: Outbox) -> None:
    """A classic client asks for a group of this id, and the one that there is has no members: it makes room for an
    empty classic one, which has its offsets. A request that is refused before anybody looks for its group changes
    nothing. One that names a member finds no group then, and none is made for it."""
    settings = core.settings
    if not settings.group_min_session_timeout_ms <= request.session_timeout_ms <= settings.group_max_session_timeout_ms:
        return
    if request.member_id != NO_MEMBER:
        _forget(core, group, out)
        return
    end_consumer_group(core, group, states.REPLACED_BY_CLASSIC, out)
    made = create_group(core, group.id, now, out)
    made.offsets = group.offsets
    store_group(core, made)


def _forget(core: Core, group: ConsumerGroup, out: Outbox) -> None:
    """Only who has no member id yet can make a group, but the coordinator has made room already, and has written
    nothing of it: its log still has the group."""
    forgotten = group.copy()
    forgotten.forgotten_at = core.log(group.partition).end
    group.end(states.REPLACED_BY_CLASSIC, out)
    del core.consumer_groups[group.id]
    core.forgotten[group.id] = forgotten
