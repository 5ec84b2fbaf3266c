"""The uniform assignor for members with different subscriptions (spec 5.10 "Heterogeneous").

First everybody keeps what it may keep, then unowned partitions fill up the smallest members topic by topic, then
partitions go from large members to small ones, topic by topic, until no topic moves anything.

In Kafka `UniformHeterogeneousAssignmentBuilder`.
"""

from collections.abc import Sequence
from typing import TypeAlias

from kafka_coordinator.assignors.inputs import Assignment, AssignorError, GroupMetadata

Given: TypeAlias = list[dict[int, None]]
"""Of each member the partitions that it is given, in this order, in which its topics come to stand in the target."""

_MAX_ROUNDS = 16
_SIGN = 1 << 63


def uniform_heterogeneous(group: GroupMetadata) -> Assignment:
    """Even out the members as far as their subscriptions allow, moving little.

    Claims must be disjoint. Raises `AssignorError` where one names a partition that a topic which its member
    subscribes to does not have, as the released assignor fails there.
    """
    members = group.members
    first = group.first_numbers()
    owner = [-1] * sum(group.topics.values())
    sizes = [0] * len(members)
    subscribers: dict[str, list[int]] = {}
    for position, member in enumerate(members):
        for topic in member.topics:
            subscribers.setdefault(topic, []).append(position)
        wanted = set(member.topics)
        for topic, partition in member.claims:
            if topic in wanted:
                if partition >= group.topics[topic]:
                    raise AssignorError("ArrayIndexOutOfBoundsException", f"{topic} has no partition {partition}")
                owner[first[topic] + partition] = position
    for position in owner:
        if position >= 0:
            sizes[position] += 1

    topics = _in_order(group, subscribers)
    numbers = {topic: range(first[topic], first[topic] + group.topics[topic]) for topic in topics}
    kept = list(owner)
    given: Given = [{} for _ in members]
    for topic in topics:
        _fill(numbers[topic], subscribers[topic], owner, sizes, given)
    shared = [(numbers[topic], subscribers[topic]) for topic in topics if len(subscribers[topic]) > 1]
    _balance(shared, owner, sizes, given)

    owned: list[list[int]] = [[] for _ in members]
    for number, position in enumerate(kept):
        if position >= 0 and owner[number] == position and number not in given[position]:
            owned[position].append(number)
    return Assignment([[*mine, *new] for mine, new in zip(owned, given, strict=True)])


def _in_order(group: GroupMetadata, subscribers: dict[str, list[int]]) -> list[str]:
    """Topics with many partitions per subscriber first, then those with few subscribers, then by signed id."""

    def key(topic: str) -> tuple[float, int, int, int]:
        high, low = divmod(group.topic_ids[topic], 1 << 64)
        count = len(subscribers[topic])
        return -group.topics[topic] / count, count, high ^ _SIGN, low ^ _SIGN

    return sorted(subscribers, key=key)


class _LowSide:
    """Hands out members, smallest first: all of one size in turn, then these and the ones of the next size."""

    def __init__(self, ranked: Sequence[int], sizes: list[int]) -> None:
        self._ranked, self._sizes = ranked, sizes
        self.level = sizes[ranked[0]] - 1
        self._end = self._next = 0

    def next(self) -> int:
        if self._next == self._end:
            self.level += 1
            while self._end < len(self._ranked) and self._sizes[self._ranked[self._end]] == self.level:
                self._end += 1
            self._next = 0
        self._next += 1
        return self._ranked[self._next - 1]


class _HighSide:
    """Hands out members, largest first: the mirror of `_LowSide`, but members can be excluded."""

    def __init__(self, ranked: list[int], sizes: list[int]) -> None:
        self._ranked, self._sizes = ranked, sizes
        self.level = sizes[ranked[-1]] + 1
        self._start = self._end = len(ranked)
        self._next = len(ranked) - 1

    def next(self) -> int | None:
        ranked, sizes = self._ranked, self._sizes
        if self._next < self._start:
            if self._start == self._end and self._start > 0:
                # Nobody of the larger ones has anything to give: go straight to the next size that somebody has.
                self.level = sizes[ranked[self._start - 1]]
            else:
                self.level -= 1
            while self._start > 0 and sizes[ranked[self._start - 1]] == self.level:
                self._start -= 1
            self._next = self._end - 1
        if self._next < self._start:
            return None
        self._next -= 1
        return ranked[self._next + 1]

    def exclude_last(self) -> None:
        """Take the member handed out last out of the running."""
        self._end -= 1
        last, end = self._next + 1, self._end
        self._ranked[last], self._ranked[end] = self._ranked[end], self._ranked[last]


def _ranked(positions: Sequence[int], sizes: list[int]) -> list[int]:
    return sorted(positions, key=sizes.__getitem__)


def _fill(numbers: range, positions: Sequence[int], owner: list[int], sizes: list[int], given: Given) -> None:
    unowned = [number for number in numbers if owner[number] < 0]
    if not unowned:
        return
    low = _LowSide(_ranked(positions, sizes), sizes)
    for number in unowned:
        position = low.next()
        owner[number] = position
        given[position][number] = None
        sizes[position] += 1


def _balance(topics: Sequence[tuple[range, list[int]]], owner: list[int], sizes: list[int], given: Given) -> None:
    last_mover = 0
    for round_number in range(_MAX_ROUNDS):
        for index, (numbers, positions) in enumerate(topics):
            if round_number and index == last_mover:
                return
            if _balance_topic(numbers, positions, owner, sizes, given):
                last_mover = index


def _balance_topic(numbers: range, positions: Sequence[int], owner: list[int], sizes: list[int], given: Given) -> bool:
    """Move partitions of one topic from its largest subscribers to its smallest; whether any moved."""
    of_topic = [sizes[position] for position in positions]
    if max(of_topic) - min(of_topic) <= 1:
        return False
    ranked = _ranked(positions, sizes)
    left: dict[int, list[int]] = {}
    for number in numbers:
        left.setdefault(owner[number], []).append(number)
    low, high = _LowSide(ranked, sizes), _HighSide(ranked, sizes)
    moved = False
    while high.level - low.level > 1:
        giver = high.next()
        while giver is not None and not left.get(giver):
            high.exclude_last()
            giver = high.next()
        if giver is None:
            break
        taker = low.next()
        if high.level - low.level <= 1:
            break
        number = left[giver].pop()
        owner[number] = taker
        given[giver].pop(number, None)
        given[taker][number] = None
        sizes[giver] -= 1
        sizes[taker] += 1
        moved = True
    return moved
