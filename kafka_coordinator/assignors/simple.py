"""The assignor of share groups, `simple`: several members may have one partition (spec share 3, since 4.2 share 3.4).

4.1 picks partitions by the hash of member ids and keeps the rest; since 4.2 members and partitions have wishes: a
partition wants `sharing` members, a member an even part of these places.

In Kafka `org.apache.kafka.coordinator.group.assignor.SimpleAssignor`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import TypeVar

from kafka_coordinator.assignors.inputs import AssignorError, Partition
from kafka_coordinator.assignors.uniform import id_hash
from protocols.java import entry_order, grown_size, number_entry_order, spread, string_hash

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class ShareMember:
    """``topics`` in the order in which the assignor walks them, ``target`` its partitions until now."""

    member_id: str
    topics: tuple[str, ...]
    target: tuple[Partition, ...] = ()


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """``members`` in the order of the members' map. ``assignable``: each known topic to those of its partitions that
    are initialized, ascending. ``holders``: each partition that somebody has to the members (their positions), in the
    order of the assignor's own map; only 4.1 looks at it. ``homogeneous``: the group's subscription type."""

    members: tuple[ShareMember, ...]
    assignable: Mapping[str, Sequence[int]]
    topic_ids: Mapping[str, int]
    homogeneous: bool
    holders: Sequence[tuple[Partition, Sequence[int]]] = ()


Shared = list[list[Partition]]
"""The partitions of each member, in the order of `ShareGroup.members`."""


def simple(group: ShareGroup, *, wishes: bool) -> Shared | None:
    """Each member's partitions; None: an answer without members. ``wishes``: as 4.2 and later do it.

    Raises `AssignorError` where a topic does not exist, and where Kafka's own code fails.
    """
    for member in group.members:
        for topic in member.topics:
            if topic not in group.assignable:
                raise AssignorError("PartitionAssignorException", f"members subscribe to unknown topic {topic!r}")
    if not group.members or (group.homogeneous and not group.members[0].topics):
        return None
    if wishes:
        return _homogeneous(group) if group.homogeneous else _by_topic(group)
    return _hashed(group) if group.homogeneous else _hashed_by_topic(group)


def _partitions(group: ShareGroup, topics: Iterable[str]) -> list[Partition]:
    return [(topic, number) for topic in topics for number in group.assignable[topic]]


# Since 4.2.


def _homogeneous(group: ShareGroup) -> Shared:
    topics = group.members[0].topics
    there = set(topics)
    held = [
        [partition for partition in _in_id_order(member.target, group) if partition[0] in there]
        for member in group.members
    ]
    return _fulfilled(
        _partitions(group, topics),
        held,
        range(len(group.members)),
        lambda each: 31 * id_hash(group.topic_ids[each[0]]) + each[1] & 0xFFFFFFFF,
    )


def _in_id_order(target: Iterable[Partition], group: ShareGroup) -> list[Partition]:
    """As a map of topic ids to sets of numbers has them."""
    numbers: dict[str, list[int]] = {}
    for topic, number in target:
        numbers.setdefault(topic, []).append(number)
    topics = entry_order(list(numbers), lambda topic: id_hash(group.topic_ids.get(topic, 0)))
    return [(topic, number) for topic in topics for number in number_entry_order(numbers[topic])]


def _by_topic(group: ShareGroup) -> Shared:
    subscribed = dict.fromkeys(topic for member in group.members for topic in member.topics)
    # Topics to which nobody subscribes are not looked at: who had them keeps them.
    shares = [[partition for partition in member.target if partition[0] not in subscribed] for member in group.members]
    for topic in subscribed:
        held = [number_entry_order([number for of, number in member.target if of == topic]) for member in group.members]
        wanting = [position for position, member in enumerate(group.members) if topic in member.topics]
        dealt = _fulfilled(group.assignable[topic], held, wanting, lambda number: number)
        for share, numbers in zip(shares, dealt, strict=True):
            share += [(topic, number) for number in numbers]
    return shares


def _fulfilled(
    partitions: Sequence[P], held: Sequence[Sequence[P]], wanting: Sequence[int], hash_code: Callable[[P], int]
) -> list[list[P]]:
    """Too many partitions are given up, then too many members, then what is missing is dealt.

    ``held``: what each member has, partitions that are gone included. ``wanting``: the positions of those that may
    have partitions; the others give up all.
    """
    sharing = -(-len(wanting) // len(partitions)) if partitions else 0
    even = sharing * len(partitions) / len(wanting)
    wishes = [0] * len(held)
    for number, position in enumerate(wanting):
        wishes[position] = ceil(even * (number + 1)) - ceil(even * number)

    def in_bins(keys: Iterable[P], bins: int) -> list[P]:
        return sorted(keys, key=lambda key: spread(hash_code(key)) & bins - 1)

    shares = [dict.fromkeys(partitions) for partitions in held]
    # A partition that everybody gives up stays in the map: it is dealt again, although it may be gone.
    members: dict[P, set[int]] = {partition: set() for share in shares for partition in share}
    for share, wish in zip(shares, wishes, strict=True):
        for partition in in_bins(share, grown_size(len(share)))[: max(0, len(share) - wish)]:
            del share[partition]
    for position, share in enumerate(shares):
        for partition in share:
            members[partition].add(position)
    for partition, holders in members.items():
        if len(holders) > sharing:
            for position in sorted(holders)[: len(holders) - sharing]:
                holders.remove(position)
                del shares[position][partition]
    for partition in partitions:
        if partition not in members:
            members[partition] = set()
    # `computeIfAbsent` puts an entry before those of its bin.
    bins = _bins([*chain.from_iterable(held), *partitions], len(partitions))
    _deal_rest(in_bins(reversed(members), bins), members, shares, wishes, sharing)
    return [list(share) for share in shares]


def _bins(asked: Iterable[P], expected: int) -> int:
    """Bins of a HashMap that is made for ``expected`` keys and one more, after `computeIfAbsent` of each key in turn:
    the table grows at the beginning of a call, also of one for a key that is there."""
    bins = 1 << int((expected + 1) / 0.75).bit_length()
    keys: set[P] = set()
    for key in asked:
        if len(keys) > bins * 3 // 4:
            bins *= 2
        keys.add(key)
    return bins


def _deal_rest(
    order: Sequence[P],
    members: Mapping[P, set[int]],
    shares: Sequence[dict[P, None]],
    wishes: Sequence[int],
    sharing: int,
) -> None:
    """Partitions with too few members go round the members with too few partitions. The round goes on from partition to
    partition; another one begins where somebody was dealt something in this one, or in the partition before."""
    unfilled = [position for position, share in enumerate(shares) if len(share) < wishes[position]]
    if not unfilled:
        return
    ring, progress = iter(list(unfilled)), False
    for partition in order:
        holders = members[partition]
        dealt = False
        while len(holders) < sharing:
            position = next(ring, None)
            if position is None:
                if not progress:
                    progress = dealt
                    break
                if not unfilled:
                    raise AssignorError("NoSuchElementException", "no member is left that wants a partition")
                ring, progress = iter(list(unfilled)), False
            elif position not in holders:
                holders.add(position)
                shares[position][partition] = None
                progress = dealt = True
                if len(shares[position]) >= wishes[position]:
                    unfilled.remove(position)
        if not unfilled:
            return


# 4.1.


def _hit(member: ShareMember, partitions: Sequence[Partition]) -> Partition:
    code = string_hash(member.member_id)
    signed = code - (1 << 32) if code >= 1 << 31 else code
    # The remainder has the sign of the hash in Java; its absolute value counts.
    return partitions[abs(signed) % len(partitions)]


def _hashed(group: ShareGroup) -> Shared:
    members = group.members
    partitions = _partitions(group, members[0].topics)
    if not partitions:
        return [[] for _ in members]
    want = -(-len(partitions) // len(members))
    shares = [{_hit(member, partitions): None} for member in members]
    hit = set[Partition]().union(*shares)
    taken = set(hit)
    for partition, holders in group.holders:
        for position in holders:
            if partition[0] in members[position].topics and len(shares[position]) < want and partition not in hit:
                shares[position][partition] = None
                taken.add(partition)
    ring = list(range(len(members)))
    at = 0
    for partition in partitions:
        if partition in taken:
            continue
        while ring and len(shares[ring[at % len(ring)]]) > want:
            at %= len(ring)
            del ring[at]
        if not ring:
            raise AssignorError("PartitionAssignorException", "no member has room for a partition")
        at %= len(ring)
        shares[ring[at]][partition] = None
        at += 1
    return [list(share) for share in shares]


def _hashed_by_topic(group: ShareGroup) -> Shared:
    members = group.members
    shares: list[dict[Partition, None]] = [{} for _ in members]
    for member, share in zip(members, shares, strict=True):
        if own := _partitions(group, member.topics):
            share[_hit(member, own)] = None
    held = {partition for partition, _ in group.holders}
    hit = set[Partition]().union(*shares)
    taken = set(hit)
    for topic in dict.fromkeys(topic for member in members for topic in member.topics):
        subscribers = [position for position, member in enumerate(members) if topic in member.topics]
        rest = [each for each in _partitions(group, (topic,)) if each not in hit and each not in held]
        for number, partition in enumerate(rest):
            shares[subscribers[number % len(subscribers)]][partition] = None
            taken.add(partition)
    for partition, holders in group.holders:
        if partition not in taken:
            for position in holders:
                if partition[0] in members[position].topics and group.assignable[partition[0]]:
                    shares[position][partition] = None
    return [list(share) for share in shares]
