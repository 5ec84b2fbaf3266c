"""The target assignment of a share group: which partitions each member may fetch (spec share 2.3, 3).

In Kafka `TargetAssignmentBuilder.ShareTargetAssignmentBuilder`.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from kafka_coordinator.assignors import simple
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.assignors.translation import topic_id
from kafka_coordinator.coordinator.consumer_groups.member import in_order
from kafka_coordinator.coordinator.consumer_groups.uniform_balance import iterated, member_order
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.share_groups.group import (
    NO_TARGET,
    NOTHING,
    ShareGroup,
    ShareMember,
    Target,
    topics_of,
)
from kafka_coordinator.coordinator.share_groups.initializing import is_pending
from kafka_coordinator.errors import NONE
from protocols.java import entry_order, size_for_set_of, string_entry_order

Targets = Mapping[str, Target]


def targets(
    core: Core, group: ShareGroup, members: Mapping[str, ShareMember], newcomer: str | None, homogeneous: bool
) -> Targets:
    """The target of each of these members, in the order in which it is kept. ``newcomer``: who joins now."""
    foreseen, core.foreseen_shares = core.foreseen_shares, None
    if foreseen is not None and foreseen[0] == _inputs(core, group, members, newcomer):
        return foreseen[1]
    return simple.finished(_in_steps(core, group, members, newcomer, homogeneous))


def _inputs(
    core: Core, group: ShareGroup, members: Mapping[str, ShareMember], newcomer: str | None
) -> tuple[object, ...]:
    """All that the targets of a group follow from."""
    topics = tuple([member.topics for member in members.values()])
    had = tuple([group.target.get(member_id, NO_TARGET) for member_id in members])
    return core.topics, core.topic_ids, group.kept, group.most_members, newcomer, tuple(members), topics, had


def _in_steps(
    core: Core, group: ShareGroup, members: Mapping[str, ShareMember], newcomer: str | None, homogeneous: bool
) -> Generator[None, None, Targets]:
    asked = _asked(core, group, members, newcomer, homogeneous)
    yield
    wishes = core.settings.version.simple_has_wishes
    shares = yield from simple.in_steps(asked, wishes=wishes)
    subscribed = set(asked.assignable)
    dealt = dict.fromkeys(members, NO_TARGET)
    for member, share in zip(asked.members, shares or (), strict=False):
        # What changes is a copy of what was: a topic stays in it, though its partitions go.
        had = group.target.get(member.member_id, NO_TARGET).topics if wishes else frozenset[str]()
        kept = had.intersection(member.topics) if homogeneous else had.difference(subscribed.difference(member.topics))
        dealt[member.member_id] = Target(tuple(share), kept.union([topic for topic, _ in share]))
    return dealt


def foresee(core: Core, group_id: str, member_id: str, told: Sequence[str] | None) -> Iterator[None]:
    """A heartbeat of this member, which tells these topics, is about to come. Where it deals many partitions, the
    answer is computed in steps before; it counts if the group is then as it is now."""
    known = core.share_groups.get(group_id)
    if (known is None and core.is_group(group_id)) or core.refusal(group_id) != NONE:
        return
    group = known or ShareGroup(group_id, core.partition_of(group_id))
    if max(len(group.by_name), len(told or ())) <= _AT_ONCE:
        return
    member = group.members.get(member_id, ShareMember(member_id))
    topics = topics_of(member, told)
    changes = topics != member.topics
    if not changes and group.epoch <= group.target_epoch and not is_pending(core, group):
        return
    yield
    after = group.copy() if changes else group
    if changes:
        after.put(member._replace(topics=topics))
        yield
    for start in range(0, len(topics), _AT_ONCE):
        for topic in topics[start : start + _AT_ONCE]:
            core.id_hashes[topic]
        yield
    newcomer = None if member_id in group.members else member_id
    inputs = _inputs(core, group, after.members, newcomer)
    dealt = yield from _in_steps(core, group, after.members, newcomer, after.homogeneous())
    yield
    in_order(frozenset(dealt[member_id].partitions))  # remembered
    yield
    core.foreseen_shares = inputs, dealt


def _asked(
    core: Core, group: ShareGroup, members: Mapping[str, ShareMember], newcomer: str | None, homogeneous: bool
) -> simple.ShareGroup:
    """What the assignor is asked."""
    counts, initialized = core.partition_counts, (group.kept or NOTHING).initialized
    order = member_order(members, max(group.most_members, len(members)) if newcomer else group.most_members, newcomer)
    wishes = core.settings.version.simple_has_wishes
    if not homogeneous and not wishes:
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
    assignable = {
        topic: sorted([number for number in initialized.get(topic, ()) if number < counts[topic]])
        for topic in {topic for member in asked for topic in member.topics}
    }
    holders = () if wishes else _holders(core, asked)
    return simple.ShareGroup(tuple(asked), assignable, core.id_hashes, homogeneous, holders)


def _holders(core: Core, members: Sequence[simple.ShareMember]) -> list[tuple[Partition, list[int]]]:
    """As `simple.ShareGroup.holders`."""
    ids = {topic: topic_id(topic, core.topic_ids.get(topic)) for topic in core.partition_counts}
    holders: dict[Partition, list[int]] = {}
    for position, member in enumerate(members):
        for partition in iterated(member.target, ids):
            holders.setdefault(partition, []).append(position)
    hashes = core.id_hashes
    in_order = entry_order(list(holders), lambda each: 31 * hashes[each[0]] + each[1] & 0xFFFFFFFF)
    return [(partition, holders[partition]) for partition in in_order]


_AT_ONCE: Final = 1_000
"""Topics until others may have their turn."""


@lru_cache(maxsize=64)
def in_set(topics: tuple[str, ...]) -> Sequence[str]:
    """In the order of Java's set of them."""
    return string_entry_order(topics, size_for_set_of(len(topics)))
