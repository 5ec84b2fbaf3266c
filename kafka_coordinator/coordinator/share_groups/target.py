"""The target assignment of a share group: which partitions each member may fetch (spec share 2.3, 3).

In Kafka `TargetAssignmentBuilder.ShareTargetAssignmentBuilder`.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from kafka_coordinator.assignors import simple
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.assignors.translation import topic_id
from kafka_coordinator.assignors.uniform import id_hash
from kafka_coordinator.coordinator.consumer_groups.uniform_balance import iterated, member_order
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.share_groups.group import NO_TARGET, NOTHING, ShareGroup, ShareMember, Target
from protocols.java import entry_order, size_for_set_of, string_entry_order

Targets = Mapping[str, Target]


def targets(
    core: Core, group: ShareGroup, members: Mapping[str, ShareMember], newcomer: str | None, homogeneous: bool
) -> Targets:
    """The target of each of these members, in the order in which it is kept. ``newcomer``: who joins now."""
    counts, initialized = core.partition_counts, (group.kept or NOTHING).initialized
    topics = {topic: topic_id(topic, core.topic_ids.get(topic)) for topic in counts}
    assignable = {
        topic: sorted([number for number in initialized[topic] if number < count]) if topic in initialized else []
        for topic, count in counts.items()
    }
    order = member_order(members, max(group.most_members, len(members)) if newcomer else group.most_members, newcomer)
    if not homogeneous and not core.settings.version.simple_has_wishes:
        # Those without a topic are not in the assignor's map, but what they have counts as held.
        placed = [each for each in order if any(topic in counts for topic in members[each].topics)]
        order = [*string_entry_order(placed), *[each for each in order if each not in placed]]
    asked = [
        simple.ShareMember(
            member_id,
            tuple([topic for topic in in_set(members[member_id].topics) if topic in counts]),
            group.target.get(member_id, NO_TARGET).partitions,
        )
        for member_id in order
    ]
    wishes = core.settings.version.simple_has_wishes
    holders = () if wishes else _holders(asked, topics)
    shares = simple.simple(simple.ShareGroup(tuple(asked), assignable, topics, homogeneous, holders), wishes=wishes)
    subscribed = {topic for member in asked for topic in member.topics}
    dealt = dict.fromkeys(members, NO_TARGET)
    for member, share in zip(asked, shares or (), strict=False):
        # What changes is a copy of what was: a topic stays in it, though its partitions go.
        had = group.target.get(member.member_id, NO_TARGET).topics if wishes else frozenset[str]()
        kept = had.intersection(member.topics) if homogeneous else had.difference(subscribed.difference(member.topics))
        dealt[member.member_id] = Target(tuple(share), kept.union([topic for topic, _ in share]))
    return dealt


def _holders(members: Sequence[simple.ShareMember], ids: Mapping[str, int]) -> list[tuple[Partition, list[int]]]:
    """As `simple.ShareGroup.holders`."""
    holders: dict[Partition, list[int]] = {}
    for position, member in enumerate(members):
        for partition in iterated(member.target, ids):
            holders.setdefault(partition, []).append(position)
    in_order = entry_order(list(holders), lambda each: 31 * id_hash(ids[each[0]]) + each[1] & 0xFFFFFFFF)
    return [(partition, holders[partition]) for partition in in_order]


@lru_cache(maxsize=64)
def in_set(topics: tuple[str, ...]) -> Sequence[str]:
    """In the order of Java's set of them."""
    return string_entry_order(topics, size_for_set_of(len(topics)))
