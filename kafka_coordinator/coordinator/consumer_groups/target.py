"""The target assignment: who shall own what once everybody has reconciled (spec 5.10, 5.11, 6.3 step 7).

In Kafka `TargetAssignmentBuilder`.
"""

from collections.abc import Iterable
from functools import lru_cache

from kafka_coordinator.assignors.inputs import Assignment, AssignorError, GroupMetadata, Partition, Subscription
from kafka_coordinator.assignors.server_side import SERVER_ASSIGNORS
from kafka_coordinator.assignors.uniform_homogeneous import id_hash
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.consumer_groups.orders import member_order, voted
from kafka_coordinator.coordinator.consumer_groups.storing import store_target, store_target_epoch
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.translation import topic_id
from protocols.java import entry_order, sorted_as_java


def compute_target(core: Core, group: ConsumerGroup, caller: ConsumerMember, is_new: bool) -> None:
    """Compute the target for the group's epoch and store what has changed in it.

    ``caller``: the member whose request it is; ``is_new``: whether it joins with this request. Raises `AssignorError`
    where an assignor of the user's own cannot, or answers with something else.
    """
    name = voted(group.assignors, caller.profile.assignor) or core.settings.assignors[0]
    metadata = _input(core, group, member_order(group.members, group.most_members, caller.id if is_new else None))
    answer = SERVER_ASSIGNORS[name](metadata, group.homogeneous())
    _check(name, answer, metadata)
    partitions = [(topic, number) for topic, count in metadata.topics.items() for number in range(count)]
    for member, numbers in zip(metadata.members, answer.owned, strict=True):
        _take(core, group, member.member_id, [partitions[number] for number in numbers])
    group.target_epoch = group.epoch
    store_target_epoch(core, group)


def _take(core: Core, group: ConsumerGroup, member_id: str, given: list[Partition]) -> None:
    """The member's target from now on; what it keeps stays in its order."""
    before = group.target.get(member_id)
    if before is not None and len(before) == len(given) and set(before) == set(given):
        return
    wanted = set(given)
    kept = [partition for partition in before or () if partition in wanted]
    had = set(kept)
    group.target[member_id] = (*kept, *[partition for partition in given if partition not in had])
    store_target(core, group, member_id)


def _input(core: Core, group: ConsumerGroup, in_order: list[str]) -> GroupMetadata:
    counts = core.partition_counts
    topics = {topic: counts[topic] for topic in sorted_as_java(group.subscribed()) if topic in counts}
    ids = {topic: _id_of(topic, core.topic_ids.get(topic)) for topic in topics}
    members = tuple([_member(group, group.members[member_id], topics, ids) for member_id in in_order])
    return GroupMetadata(topics, members, core.racks, ids)


@lru_cache(maxsize=1 << 12)
def _id_of(topic: str, given: int | None) -> int:
    return topic_id(topic, given)


def _member(group: ConsumerGroup, member: ConsumerMember, topics: dict[str, int], ids: dict[str, int]) -> Subscription:
    profile = member.profile
    named: Iterable[str] = profile.topics
    if profile.regex:
        resolved = group.resolved.get(profile.regex)
        named = sorted_as_java({*named, *(resolved.topics if resolved else ())})
    claims: dict[str, list[int]] = {}
    for topic, number in group.target.get(member.id, ()):
        if topic in ids:
            claims.setdefault(topic, []).append(number)
    return Subscription(
        member.id,
        tuple([topic for topic in named if topic in topics]),
        profile.instance_id,
        profile.rack,
        _iterated(claims, ids),
    )


def _iterated(claims: dict[str, list[int]], ids: dict[str, int]) -> tuple[Partition, ...]:
    """A target in the order in which Java's map of sets lists it."""
    if len(claims) > 1:
        in_order = entry_order(list(claims), lambda topic: id_hash(ids[topic]))
        claims = {topic: claims[topic] for topic in in_order}
    return tuple(
        [(topic, number) for topic, numbers in claims.items() for number in entry_order(numbers, lambda each: each)]
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
