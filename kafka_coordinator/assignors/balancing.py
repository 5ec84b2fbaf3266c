"""What the sticky assignors know of the members' subscriptions and the topics behind them (spec 5.2, 5.5).

Topics and their subscribers in the order in which the general sticky path deals them (spec 5.7, "P-order").

Members of a sticky group by load, then id ("C-order", spec 5.7), as integers that compare in that order.

Which partitions moved between whom while the sticky assignors balance (spec 5.7, "movement memory").

Moving a partition of a topic from A to B after another one of it went from B to A would be two moves too many:
the earlier one goes back instead.

In Kafka `AbstractStickyAssignor.PartitionMovements`.

Moving partitions between members until no move makes a pair of them more even (spec 5.7, BALANCE and BALANCED).

The released client asks before every partition whether the whole group is balanced. If it is, no partition would
move anyway, but for one oddity: a former owner may be given back a partition of a topic it no longer subscribes to.
So the question is answered only where the move at hand does not answer it by itself.

In Kafka `AbstractStickyAssignor.GeneralAssignmentBuilder` (`balance`, `performReassignments`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeAlias

from kafka_coordinator.assignors.inputs import AssignorError, GroupMetadata, Subscription
from protocols.java import grown_size, sorted_as_java, spread, topic_partition_hash


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """``spans``: every topic that has partitions and a subscriber, by name, to its partition numbers.

    ``kinds``: each list of topics that occurs to the positions of the members who list exactly these, in this
    order. Groups have few kinds, so what depends on a subscription is worked out once a kind.
    """

    spans: dict[str, range]
    kinds: dict[tuple[str, ...], list[int]]

    @classmethod
    def of(cls, group: GroupMetadata) -> "Subscriptions":
        kinds: dict[tuple[str, ...], list[int]] = {}
        last, positions = None, list[int]()
        for position, member in enumerate(group.members):
            # Members mostly share one tuple, which is hashed once.
            if member.topics is not last:
                last = member.topics
                positions = kinds.setdefault(last, [])
            positions.append(position)
        subscribed = set().union(*kinds)
        numbers: dict[str, range] = {}
        total = 0
        for topic, count in group.topics.items():
            if count and topic in subscribed:
                numbers[topic] = range(total, total + count)
            total += count
        return cls({topic: numbers[topic] for topic in sorted_as_java(numbers)}, kinds)

    @property
    def are_equal(self) -> bool:
        """Whether the released assignor takes the subscriptions for equal.

        The first member with a topic sets the reference. Members before it, who list nothing, are overlooked
        (spec 8, no. 9); those after it must list as many topics, all of them in the reference.
        """
        reference = next(filter(None, self.kinds), None)
        if reference is None:
            return True
        topics, first = set(reference), self.kinds[reference][0]
        return all(
            positions[-1] <= first or (len(kind) == len(topics) and topics.issuperset(kind))
            for kind, positions in self.kinds.items()
        )


def order_by_id(members: tuple[Subscription, ...]) -> list[int]:
    """Positions of the members in the order of their ids."""
    position_of = {member.member_id: position for position, member in enumerate(members)}
    return [position_of[id] for id in sorted_as_java(position_of)]


@dataclass(frozen=True, slots=True)
class Topic:
    """``span``: its partition numbers; ``subscribers``: members in the order of their ids.

    Topics with the same subscribers share one list.
    """

    name: str
    span: range
    subscribers: list[int]


Run: TypeAlias = tuple[Topic, Sequence[int]]
"""A topic and some of its partitions, ascending."""


def dealing_order(subscriptions: Subscriptions, rank_of: Sequence[int]) -> list[Topic]:
    """Topics with the fewest subscribers first, then by name; ``rank_of``: a member's position to its number."""
    kinds_of: dict[str, list[int]] = {topic: [] for topic in subscriptions.spans}
    ranks: list[list[int]] = []
    for number, (topics, positions) in enumerate(subscriptions.kinds.items()):
        ranks.append([rank_of[position] for position in positions])
        for topic in topics:
            if topic in kinds_of:
                kinds_of[topic].append(number)
    found: dict[tuple[int, ...], list[int]] = {}
    topics_found: list[Topic] = []
    for name, span in subscriptions.spans.items():
        kinds = tuple(kinds_of[name])
        if kinds not in found:
            found[kinds] = sorted(rank for kind in kinds for rank in ranks[kind])
        topics_found.append(Topic(name, span, found[kinds]))
    return sorted(topics_found, key=lambda topic: len(topic.subscribers))


class Loads:
    """Loads of the members 0, 1, ... whose numbers follow the order of their ids.

    ``key[m]`` is m's load shifted left by ``shift``, plus m: the least key belongs to the first in C-order.
    """

    __slots__ = ("key", "mask", "one", "shift")

    def __init__(self, sizes: Sequence[int]) -> None:
        self.shift = len(sizes).bit_length()
        self.mask = (1 << self.shift) - 1
        self.one = 1 << self.shift
        self.key = [size << self.shift | member for member, size in enumerate(sizes)]

    def of(self, member: int) -> int:
        return self.key[member] >> self.shift

    def spread_of(self, members: Iterable[int]) -> int:
        """Largest minus smallest load of these members; 0 where there are none."""
        keys = [self.key[member] for member in members]
        return (max(keys) >> self.shift) - (min(keys) >> self.shift) if keys else 0

    def imbalance(self, members: Iterable[int]) -> int:
        """Sum over all pairs of these members of the difference of their loads."""
        ascending = sorted(self.key[member] >> self.shift for member in members)
        highest = len(ascending) - 1
        return sum(load * (2 * place - highest) for place, load in enumerate(ascending))


class Movements:
    """Net movements of one run: partition to (source, destination), members as numbers."""

    def __init__(self) -> None:
        self._net: dict[int, tuple[int, int]] = {}
        self._by_pair: dict[tuple[str, int, int], _EntrySet] = {}

    def to_move(self, topic: str, partition: int, owner: int, target: int) -> int:
        """The partition that moves to ``target`` where ``partition`` of ``owner`` was meant to."""
        source = self._net[partition][0] if partition in self._net else owner
        opposite = self._by_pair.get((topic, target, source))
        return partition if opposite is None else opposite.first()

    def record(self, topic: str, span: range, partition: int, owner: int, target: int) -> None:
        """Remember that ``partition`` of ``topic`` (its partitions are ``span``) went from owner to target."""
        source = owner
        if partition in self._net:
            pair = self._net.pop(partition)
            moved = self._by_pair[topic, *pair]
            moved.remove(partition)
            if not moved.entries:
                del self._by_pair[topic, *pair]
            source = pair[0]
            if source == target:
                return
        self._net[partition] = source, target
        key = topic, source, target
        if key not in self._by_pair:
            self._by_pair[key] = _EntrySet(topic, span)
        self._by_pair[key].add(partition)


class _EntrySet:
    """A java.util.HashSet of a topic's partitions, as far as its iteration order goes (spec 5.1)."""

    __slots__ = ("_size", "_span", "_topic", "entries")

    def __init__(self, topic: str, span: range) -> None:
        self._topic, self._span, self._size = topic, span, 16
        self.entries: dict[int, None] = {}

    def add(self, partition: int) -> None:
        self.entries[partition] = None
        self._size = grown_size(len(self.entries), self._size)

    def remove(self, partition: int) -> None:
        del self.entries[partition]

    def first(self) -> int:
        """The entry in the lowest bin; within a bin the one that has been there longest."""
        return min(self.entries, key=self._bin)

    def _bin(self, partition: int) -> int:
        return spread(topic_partition_hash(self._topic, partition - self._span.start)) & self._size - 1


class Balancing:
    """The state of one run. Members are numbers in the order of their ids.

    ``topics``: those with two subscribers or more. ``owned``: per member an ordered set of partitions; ``owner``:
    partition to member; ``most``: how many partitions each member could own; ``former``: partition to its owner
    in an earlier generation; ``taking_part``: the members that are balanced.
    """

    def __init__(
        self,
        topics: list[Topic],
        owned: list[dict[int, None]],
        owner: list[int],
        loads: Loads,
        most: list[int],
        former: dict[int, int],
        taking_part: list[int],
    ) -> None:
        self._topics, self._owned, self._owner, self._loads = topics, owned, owner, loads
        self._most, self._former, self._taking_part = most, former, taking_part
        self._absent = set(former.values()).difference(taking_part)
        self._movements = Movements()
        self._odd = {
            topic.name
            for topic in topics
            if former and not {former[each] for each in topic.span if each in former}.issubset(topic.subscribers)
        }

    def balance(self, runs: list[Run]) -> bool:
        """Pass over these partitions until nothing moves. Returns whether anything did.

        Raises `AssignorError` as the released client fails where a former owner takes no part.
        """
        moved = False
        while self._pass(runs):
            moved = True
        return moved

    def _pass(self, runs: list[Run]) -> bool:
        key, shift, mask = self._loads.key, self._loads.shift, self._loads.mask
        if self._loads.spread_of(self._taking_part) <= 1:
            return False
        moved = False
        for topic, partitions in runs:
            lightest = min(map(key.__getitem__, topic.subscribers)) >> shift
            if self._heaviest(partitions) - lightest <= 1 and topic.name not in self._odd:
                continue
            subscribers = set(topic.subscribers)
            # Entries whose load is out of date are dropped when they come up.
            heap = sorted(key[member] for member in subscribers)
            for partition in partitions:
                while key[heap[0] & mask] != heap[0]:
                    heappop(heap)
                load = key[self._owner[partition]] >> shift
                first = heap[0] & mask
                first_has_room = load > (heap[0] >> shift) + 1
                target = self._former.get(partition, first)
                if target in self._absent:
                    if self._is_balanced():
                        return moved
                    raise AssignorError("NullPointerException")
                if load <= (key[target] >> shift) + 1:
                    if not first_has_room:
                        continue
                    target = first
                shows_imbalance = first_has_room and key[first] >> shift != self._most[first]
                if not shows_imbalance and self._is_balanced():
                    return moved
                for member in self._move(topic, partition, target):
                    if member in subscribers:
                        heappush(heap, key[member])
                moved = True
        return moved

    def _move(self, topic: Topic, partition: int, target: int) -> tuple[int, int]:
        """Move the partition, or one that came the opposite way, to ``target``. Returns whose loads changed."""
        partition = self._movements.to_move(topic.name, partition, self._owner[partition], target)
        source = self._owner[partition]
        self._movements.record(topic.name, topic.span, partition, source, target)
        del self._owned[source][partition]
        self._owned[target][partition] = None
        self._owner[partition] = target
        self._loads.key[source] -= self._loads.one
        self._loads.key[target] += self._loads.one
        return source, target

    def _heaviest(self, partitions: Sequence[int]) -> int:
        """The largest load of these partitions' owners."""
        key, owner = self._loads.key, self._owner
        if isinstance(partitions, range):
            owners = set(owner[partitions.start : partitions.stop])
        else:
            owners = {owner[partition] for partition in partitions}
        return max(map(key.__getitem__, owners)) >> self._loads.shift

    def _is_balanced(self) -> bool:
        """BALANCED: loads differ by one at most, or nobody could take a partition from an owner with two more.

        A member whose load is the number of partitions it could own is not asked, whatever it owns.
        """
        if self._loads.spread_of(self._taking_part) <= 1:
            return True
        for topic in self._topics:
            askers = [load for member in topic.subscribers if (load := self._loads.of(member)) != self._most[member]]
            if askers and self._heaviest(topic.span) > min(askers) + 1:
                return False
        return True
