"""The target assignment: who shall own what once everybody has reconciled (spec 5.10, 5.11, 6.3 step 7).

In Kafka `TargetAssignmentBuilder`.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from kafka_coordinator.assignors.inputs import Assignment, AssignorError, GroupMetadata, Partition, Subscription
from kafka_coordinator.assignors.uniform import SERVER_ASSIGNORS
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.consumer_groups.storing import store_target, store_target_epoch
from kafka_coordinator.coordinator.consumer_groups.uniform_balance import (
    IteratedTargets,
    UniformBalance,
    member_order,
    voted,
)
from kafka_coordinator.coordinator.core import Core
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.java import size_for_set_of, sorted_as_java, string_entry_order


def compute_target(
    core: Core, group: ConsumerGroup, caller: ConsumerMember, is_new: bool, alike: bool, now: Time
) -> None:
    """Compute the target for the group's epoch and store what has changed in it.

    ``caller``: the member whose request it is; ``is_new``: whether it joins with this request; ``alike``: whether all
    members are taken to subscribe alike. Raises `UserError`
    where an assignor of the user's own cannot, or answers with what is no assignment; the released broker would answer
    such a heartbeat with UNKNOWN_SERVER_ERROR, again and again.
    """
    name = voted(group.assignors, caller.profile.assignor) or core.settings.assignors[0]
    # Kafka's own map has no newcomer yet.
    newcomer, most = (caller.id, group.most_before) if is_new else (None, group.most_members)
    most -= bool(group.converted)  # each was put once (`timeline_shift`)
    if name == "uniform" and alike and group.homogeneous():
        changed = _balance(core, group).compute(group.target, most, newcomer)
    else:
        group.balance = None
        in_order = member_order(group.members, most, newcomer)
        changed = _assigned(core, group, name, in_order, alike)
    for member_id, given in changed.items():
        _take(core, group, member_id, given, is_new=name == "range")
    if len(group.target) < len(group.members):  # whoever has no target yet gets one, be it empty
        for member_id in [each for each in group.members if each not in group.target]:
            _take(core, group, member_id, [], is_new=True)
    group.target_epoch, group.assigned_at = group.epoch, now
    store_target_epoch(core, group)


def _balance(core: Core, group: ConsumerGroup) -> UniformBalance:
    """The targets as they were computed last, or made anew where topics have changed or others computed them."""
    topics = core.subscription(group.subscribed())
    known = group.balance
    if known is None or (known.topics.named, known.topics.hash) != (topics.named, topics.hash):
        counts = topics.counts
        targets = {
            member_id: tuple([each for each in group.target.get(member_id, ()) if each[1] < counts.get(each[0], 0)])
            for member_id in group.members
        }
        for member_id, target in targets.items():
            if len(target) != len(group.target.get(member_id, ())):
                group.target[member_id] = target
                store_target(core, group, member_id)
        known = group.balance = UniformBalance(topics, targets)
    return known


def _assigned(
    core: Core, group: ConsumerGroup, name: str, in_order: list[str], alike: bool
) -> dict[str, list[Partition]]:
    """What the assignor of this name gives to each member."""
    metadata = _input(core, group, in_order)
    try:
        answer = SERVER_ASSIGNORS[name](metadata, alike)
        _check(name, answer, metadata)
    except AssignorError as error:
        raise UserError(f"server-side assignor {name} for group {group.id}: {error}") from None
    partitions = _partitions(tuple(metadata.topics.items()))
    return {
        member.member_id: [partitions[number] for number in numbers]
        for member, numbers in zip(metadata.members, answer.owned, strict=True)
    }


@lru_cache(maxsize=16)
def _partitions(counts: tuple[tuple[str, int], ...]) -> list[Partition]:
    return [(topic, number) for topic, count in counts for number in range(count)]


def _take(core: Core, group: ConsumerGroup, member_id: str, given: list[Partition], *, is_new: bool) -> None:
    """The member's target from now on; what it keeps stays in its order. A topic that is new to the member comes first:
    Java's `computeIfAbsent` puts it before those that share its slot, and so `iterated` must find it. ``is_new``: it
    is another map, into which topics are put in the order of the names' HashSet, as `range` does it."""
    before = group.target.get(member_id)
    if before is not None and len(before) == len(given) and (before == tuple(given) or set(before) == set(given)):
        return
    if is_new:
        of: dict[str, list[Partition]] = {}
        for partition in given:
            of.setdefault(partition[0], []).append(partition)
        size = size_for_set_of(len(group.members[member_id].profile.topics))
        group.target[member_id] = tuple(chain.from_iterable(of[topic] for topic in string_entry_order(list(of), size)))
        store_target(core, group, member_id)
        return
    kept = list(filter(set(given).__contains__, before)) if before else []
    had, known = set(kept), {topic for topic, _ in kept}
    added = [partition for partition in given if partition[0] in known and partition not in had] if kept else []
    new = [partition for partition in given if partition[0] not in known] if kept else given
    of_new: dict[str, list[Partition]] = {}
    for partition in new:
        of_new.setdefault(partition[0], []).append(partition)
    group.target[member_id] = (*chain.from_iterable(reversed(of_new.values())), *kept, *added)
    store_target(core, group, member_id)


def _input(core: Core, group: ConsumerGroup, in_order: list[str]) -> GroupMetadata:
    subscribed = core.subscription(group.subscribed())
    topics, ids = subscribed.counts, subscribed.ids
    claims = group.iterated
    if claims is None or claims.counts != topics or claims.ids != ids:
        claims = group.iterated = IteratedTargets(topics, ids)
    members = tuple([_member(group, group.members[member_id], topics, claims) for member_id in in_order])
    claims.keep(in_order)
    return GroupMetadata(topics, members, core.racks, ids)


def _member(
    group: ConsumerGroup, member: ConsumerMember, topics: dict[str, int], claims: IteratedTargets
) -> Subscription:
    profile = member.profile
    named: Iterable[str] = profile.topics
    if profile.regex:
        resolved = group.resolved.get(profile.regex)
        named = sorted_as_java({*named, *(resolved.topics if resolved else ())})
    return Subscription(
        member.id,
        tuple([topic for topic in named if topic in topics]),
        profile.instance_id,
        profile.rack,
        claims.of(member.id, group.target.get(member.id, ())),
    )


def _check(name: str, answer: Assignment, group: GroupMetadata) -> None:
    """An assignor of the user's own may answer anything."""
    if name in ("uniform", "range"):
        return
    total = sum(group.topics.values())
    given = [number for numbers in answer.owned for number in numbers]
    if len(answer.owned) != len(group.members) or len(set(given)) != len(given):
        raise AssignorError(
            "PartitionAssignorException", f"{name} assigns a partition twice, or to nobody in the group"
        )
    if any(not 0 <= number < total for number in given):
        raise AssignorError("PartitionAssignorException", f"{name} assigns a partition that does not exist")
