"""The assignor of share groups, `simple`: several members may have one partition (spec share 3, since 4.2 share 3.4).

4.1 picks partitions by the hash of member ids and keeps the rest; since 4.2 members and partitions have wishes: a
partition wants `sharing` members, a member an even part of these places.

In Kafka `org.apache.kafka.coordinator.group.assignor.SimpleAssignor`.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import TypeVar

from kafka_coordinator.assignors.inputs import AssignorError, Partition
from protocols.java import entry_order, grown_size, number_entry_order, spread, string_hash

P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ShareMember:
    """``topics`` in the order in which the assignor walks them, ``target`` its partitions until now."""

    member_id: str
    topics: tuple[str, ...]
    target: tuple[Partition, ...] = ()


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """``members`` in the order of the members' map. ``assignable``: each known topic to those of its partitions that
    are initialized, ascending. ``hashes``: of the topics' ids (`IdHashes`). ``holders``: each partition that somebody
    has to the members (their positions), in the order of the assignor's own map; only 4.1 looks at it.
    ``homogeneous``: the group's subscription type."""

    members: tuple[ShareMember, ...]
    assignable: Mapping[str, Sequence[int]]
    hashes: Mapping[str, int]
    homogeneous: bool
    holders: Sequence[tuple[Partition, Sequence[int]]] = ()


Shared = list[list[Partition]]
"""The partitions of each member, in the order of `ShareGroup.members`."""


def simple(group: ShareGroup, *, wishes: bool) -> Shared | None:
    """As `in_steps`, at once."""
    return finished(in_steps(group, wishes=wishes))


def in_steps(group: ShareGroup, *, wishes: bool) -> Generator[None, None, Shared | None]:
    """Each member's partitions; None: an answer without members. ``wishes``: as 4.2 and later do it. Others may have
    their turn between the steps.

    Raises `AssignorError` where a topic does not exist, and where Kafka's own code fails.
    """
    for member in group.members:
        for topic in member.topics:
            if topic not in group.assignable:
                raise AssignorError("PartitionAssignorException", f"members subscribe to unknown topic {topic!r}")
    if not group.members or (group.homogeneous and not group.members[0].topics):
        return None
    if wishes:
        return (yield from _homogeneous(group)) if group.homogeneous else _by_topic(group)
    return _hashed(group) if group.homogeneous else _hashed_by_topic(group)


def finished(steps: Generator[None, None, T]) -> T:
    """What all the steps come to."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found


def _partitions(group: ShareGroup, topics: Iterable[str]) -> list[Partition]:
    return [(topic, number) for topic in topics for number in group.assignable[topic]]


# Since 4.2.


def _homogeneous(group: ShareGroup) -> Generator[None, None, Shared]:
    topics, hashes = group.members[0].topics, group.hashes
    there, held = set(topics), list[list[Partition]]()
    for member in group.members:
        held.append([partition for partition in _in_id_order(member.target, hashes) if partition[0] in there])
        yield

    def codes(partitions: Iterable[Partition]) -> list[int]:
        return [31 * hashes[topic] + number & 0xFFFFFFFF for topic, number in partitions]

    return (yield from _fulfilled(_partitions(group, topics), held, range(len(group.members)), codes))


def _in_id_order(target: Iterable[Partition], hashes: Mapping[str, int]) -> list[Partition]:
    """As a map of topic ids to sets of numbers has them."""
    numbers: dict[str, list[int]] = {}
    for topic, number in target:
        if topic in numbers:
            numbers[topic].append(number)
        else:
            numbers[topic] = [number]
    topics = entry_order(list(numbers), hashes.__getitem__)
    return [(topic, number) for topic in topics for number in number_entry_order(numbers[topic])]


def _by_topic(group: ShareGroup) -> Shared:
    subscribed = dict.fromkeys(topic for member in group.members for topic in member.topics)
    # Topics to which nobody subscribes are not looked at: who had them keeps them.
    shares = [[partition for partition in member.target if partition[0] not in subscribed] for member in group.members]
    held: dict[str, dict[int, list[int]]] = {topic: {} for topic in subscribed}
    wanting: dict[str, dict[int, None]] = {topic: {} for topic in subscribed}
    for position, member in enumerate(group.members):
        for topic, number in member.target:
            if topic in held:
                held[topic].setdefault(position, []).append(number)
        for topic in member.topics:
            wanting[topic][position] = None
    for topic in subscribed:
        concerned = sorted({**held[topic], **wanting[topic]})
        numbers_held = [number_entry_order(held[topic].get(position, ())) for position in concerned]
        places = [place for place, position in enumerate(concerned) if position in wanting[topic]]
        dealt = finished(_fulfilled(group.assignable[topic], numbers_held, places, list))
        for position, numbers in zip(concerned, dealt, strict=True):
            shares[position] += [(topic, number) for number in numbers]
    return shares


def _fulfilled(
    partitions: Sequence[P],
    held: Sequence[Sequence[P]],
    wanting: Sequence[int],
    hash_codes: Callable[[Sequence[P]], list[int]],
) -> Generator[None, None, list[list[P]]]:
    """Too many partitions are given up, then too many members, then what is missing is dealt.

    ``held``: what each member has, partitions that are gone included. ``wanting``: the positions of those that may
    have partitions; the others give up all.
    """
    sharing = -(-len(wanting) // len(partitions)) if partitions else 0
    even = sharing * len(partitions) / len(wanting)
    wishes = [0] * len(held)
    for number, position in enumerate(wanting):
        wishes[position] = ceil(even * (number + 1)) - ceil(even * number)

    def in_bins(keys: Sequence[P], bins: int) -> list[P]:
        places = [spread(code) & bins - 1 for code in hash_codes(keys)]
        return [keys[at] for at in sorted(range(len(keys)), key=places.__getitem__)]

    shares = [dict.fromkeys(partitions) for partitions in held]
    # A partition that everybody gives up stays in the map: it is dealt again, although it may be gone.
    members = dict.fromkeys(chain.from_iterable(held), 0)
    asked = len(members) if partitions and partitions[-1] in members else -1
    members |= dict.fromkeys(partitions, 0)
    yield
    for share, wish in zip(shares, wishes, strict=True):
        if len(share) > wish:
            for partition in in_bins(list(share), grown_size(len(share)))[: len(share) - wish]:
                del share[partition]
            yield
    for partition in chain.from_iterable(shares):
        members[partition] += 1
    _give_up(members, shares, sharing)
    yield
    lacking = [partition for partition in reversed(members) if members[partition] < sharing]
    # `computeIfAbsent` puts an entry before those of its bin.
    bins = _bins(len(members) if asked >= 0 else len(members) - 1, len(partitions))
    order = in_bins(lacking, bins)
    yield
    _deal_rest(order, members, shares, wishes, sharing)
    yield
    return [list(share) for share in shares]


def _give_up(members: dict[P, int], shares: Sequence[dict[P, None]], sharing: int) -> None:
    """Of a partition that too many have the first ones lose it."""
    above = {partition: count - sharing for partition, count in members.items() if count > sharing}
    for share in shares if above else ():
        for partition in [partition for partition in share if above.get(partition)]:
            above[partition] -= 1
            members[partition] -= 1
            del share[partition]


def _bins(before: int, expected: int) -> int:
    """Bins of a HashMap that is made for ``expected`` keys and one more, after `computeIfAbsent` of each: the table
    grows at the beginning of a call, also of one for a key that is there. ``before``: keys at the last call."""
    bins = 1 << int((expected + 1) / 0.75).bit_length()
    while before > bins * 3 // 4:
        bins *= 2
    return bins


def _deal_rest(
    order: Sequence[P],
    members: dict[P, int],
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
        dealt = False
        while members[partition] < sharing:
            position = next(ring, None)
            if position is None:
                if not progress:
                    progress = dealt
                    break
                if not unfilled:
                    raise AssignorError("NoSuchElementException", "no member is left that wants a partition")
                ring, progress = iter(list(unfilled)), False
                continue
            share = shares[position]
            if partition not in share:
                members[partition] += 1
                share[partition] = None
                progress = dealt = True
                if len(share) >= wishes[position]:
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
