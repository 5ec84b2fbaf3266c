"""Counts of things that members name; what is counted down to nothing is forgotten.

Orders in which the coordinator's maps list their keys: some of its answers depend on them (spec 5.1, 5.10).

The coordinator keeps its state in hash maps of its own, which remember earlier versions of themselves; what it computes
goes through Java's HashMap.

In Kafka `TimelineHashMap` and `BaseHashTable`.

The `uniform` target of a group whose members all subscribe alike, kept from one computation to the next.

The released coordinator computes the target anew at every join and leave, over all members and partitions. Here the
members stay in the assignor's order with the sizes of their targets, so that one that joins or leaves costs a walk
over the sizes and the partitions that move. The answers are those of `uniform_homogeneous` (spec 5.10).
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.assignors.uniform import id_hash
from kafka_coordinator.coordinator.consumer_groups.subscribed import SubscribedTopics
from protocols.java import entry_order, grown_size, number_entry_order, spread, string_hash

T = TypeVar("T")

Counts: TypeAlias = dict[T, int]


def count(counts: dict[T, int], what: T, by: int) -> None:
    left = counts.get(what, 0) + by
    if left:
        counts[what] = left
    else:
        del counts[what]


_MULTIPLIER: Final = -7046029254386353131
_LOAD_FACTOR: Final = 0.75
_LEAST_SIZE: Final = 2


def timeline_order(keys: Sequence[str], most: int) -> list[str]:
    """The order of a `TimelineHashMap` into which the keys were put in this order, and which has had ``most`` at once:
    slots ascending, within a slot the newest first."""
    shift = timeline_shift(most)
    newest_first = list(reversed(keys))
    newest_first.sort(key=lambda key: slot(key, shift))
    return newest_first


def timeline_shift(most: int) -> int:
    """By how many bits a hash is shifted to become a slot, in a `TimelineHashMap` that has had ``most`` keys at once.
    As Kafka has it, the load factor is applied to the entries, and a key that is put again counts as one more."""
    size = _LEAST_SIZE
    while (most + 1) * _LOAD_FACTOR > size:
        size *= 2
    return 65 - size.bit_length()


def slot(key: str, shift: int) -> int:
    code = string_hash(key)
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return (signed * _MULTIPLIER & (1 << 64) - 1) >> shift


def iterated(target: Iterable[Partition], ids: Mapping[str, int]) -> list[Partition]:
    """A target assignment in the order in which Java's map of sets lists it; topics without an id are left out."""
    numbers: dict[str, list[int]] = {}
    for topic, number in target:
        if topic in ids:
            numbers.setdefault(topic, []).append(number)
    topics = entry_order(list(numbers), lambda topic: id_hash(ids[topic])) if len(numbers) > 1 else list(numbers)
    return [(topic, number) for topic in topics for number in number_entry_order(numbers[topic])]


class IteratedTargets:
    """The targets of a group's members as an assignor sees them (`iterated`), without partitions that are gone; of a
    target that stays the same from one computation to the next the answer is kept. ``counts``: topic to its partitions;
    ``ids``: their ids; both must stay what they are."""

    __slots__ = ("_known", "counts", "ids")

    def __init__(self, counts: Mapping[str, int], ids: Mapping[str, int]) -> None:
        self.counts, self.ids = counts, ids
        self._known: dict[str, tuple[tuple[Partition, ...], tuple[Partition, ...]]] = {}

    def of(self, member_id: str, target: tuple[Partition, ...]) -> tuple[Partition, ...]:
        known = self._known.get(member_id)
        if known is None or known[0] is not target:
            there = [partition for partition in target if partition[1] < self.counts.get(partition[0], 0)]
            known = self._known[member_id] = target, tuple(iterated(there, self.ids))
        return known[1]

    def keep(self, member_ids: Sequence[str]) -> None:
        if len(self._known) > 2 * len(member_ids):
            self._known = {member_id: self._known[member_id] for member_id in member_ids if member_id in self._known}


def member_order(members: Iterable[str], most: int, newcomer: str | None) -> list[str]:
    """The order in which an assignor sees the members: a HashMap of them, filled from the coordinator's own map, and
    then with the one that is new."""
    known = [member_id for member_id in members if member_id != newcomer]
    put = timeline_order(known, most)
    if newcomer is not None:
        put.append(newcomer)
    mask = grown_size(len(put)) - 1
    return sorted(put, key=lambda member_id: spread(string_hash(member_id)) & mask)


def preferred(counts: Counts[str]) -> str | None:
    """The name with the highest count, among equals the first in the coordinator's own map; None: there is none."""
    if len(counts) < 2:  # as nearly always, and asked for at every heartbeat that changes anything
        return next(iter(counts), None)
    return max(timeline_order(list(counts), len(counts)), key=counts.__getitem__, default=None)


def voted(counts: Counts[str], of_caller: str | None) -> str | None:
    """The same where a target is computed. There the counts are copied to a HashMap, and the vote of the member whose
    request it is (``of_caller``) is taken out and put in again: if nobody else has given it, it comes first in its bin.
    """
    if len(counts) < 2:
        return next(iter(counts), None)
    alone = of_caller is not None and counts.get(of_caller) == 1
    others = [name for name in timeline_order(list(counts), len(counts)) if not (alone and name == of_caller)]
    put = [of_caller, *others] if alone and of_caller is not None else others
    size = 1 << max(int(len(counts) / _LOAD_FACTOR + 1) - 1, 0).bit_length()
    in_order = sorted(put, key=lambda name: spread(string_hash(name)) & size - 1)
    return max(in_order, key=counts.__getitem__, default=None)


_LAST: Final = 1 << 64
"""In place of a slot: behind all others of its bin."""

Key = tuple[int, int, int, str]
"""Bin, slot in the coordinator's own map, newest first, member id: the assignor's order."""


class UniformBalance:
    """``topics``: those to which everybody subscribes; ``targets``: member id to its target, in the order in which the
    members came."""

    def __init__(self, topics: SubscribedTopics, targets: Mapping[str, tuple[Partition, ...]]) -> None:
        self.topics = topics
        self._place = {topic: place for place, topic in enumerate(topics.in_order())}
        self._total = len(topics.partitions())
        self._numbers = {member_id: number for number, member_id in enumerate(targets)}
        self._next = len(targets)
        self._sizes_of = {member_id: len(target) for member_id, target in targets.items()}
        self._keys: list[Key] = []
        self._sizes: list[int] = []
        self._mask = self._shift = -1
        self._newcomer: str | None = None
        self._unowned = set(topics.partitions())
        for target in targets.values():
            self._unowned.difference_update(target)

    def add(self, member_id: str) -> None:
        self._numbers[member_id] = self._next
        self._next += 1
        self._sizes_of[member_id] = 0
        if self._mask >= 0:
            self._insert(member_id)

    def remove(self, member_id: str, target: tuple[Partition, ...]) -> None:
        if self._mask >= 0:
            self._take_out(member_id)
        del self._numbers[member_id], self._sizes_of[member_id]
        self._unowned.update(target)

    def compute(
        self, targets: Mapping[str, tuple[Partition, ...]], most: int, newcomer: str | None
    ) -> dict[str, list[Partition]]:
        """The targets that change: member id to what it shall have, what it keeps first. ``most``: the most members
        that there have been at once; ``newcomer``: the member that joins with the request, if one does."""
        self._order(most, newcomer)
        over, under = self._walk()
        changed: dict[str, list[Partition]] = {}
        places = self._place
        if len(self._unowned) == self._total:
            left = list(self.topics.partitions())
        else:
            left = sorted(self._unowned, key=lambda each: (places[each[0]], each[1]))
        for position, room in over:
            member_id = self._keys[position][3]
            kept = iterated(targets[member_id], self.topics.ids)
            left += kept[room:]
            changed[member_id] = kept[:room]
            self._resize(position, room)
        start = 0
        for position, room in under:
            member_id = self._keys[position][3]
            given = left[start : start + room]
            start += room
            changed[member_id] = [*targets.get(member_id, ()), *given]
            self._resize(position, len(changed[member_id]))
        self._unowned = set(left[start:])
        return changed

    def _walk(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Positions of members that have too much, with what they may keep; and of those that get something, with how
        much."""
        count = len(self._sizes)
        share, surplus = divmod(self._total, count)
        over: list[tuple[int, int]] = []
        under: list[tuple[int, int]] = []
        for position, size in enumerate(self._sizes):
            if surplus <= 0:
                if size != share:
                    (over if size > share else under).append((position, share if size > share else share - size))
            elif size > share:
                if size > share + 1:
                    over.append((position, share + 1))
                surplus -= 1
            elif count - position > surplus:
                if size < share:
                    under.append((position, share - size))
            else:
                under.append((position, share + 1 - size))
                surplus -= 1
        return over, under

    def _order(self, most: int, newcomer: str | None) -> None:
        """Bring the members into the assignor's order; tables that grow change it for all."""
        mask, shift = grown_size(len(self._numbers)) - 1, timeline_shift(most)
        if (mask, shift) != (self._mask, self._shift):
            self._mask, self._shift, self._newcomer = mask, shift, newcomer
            in_order = sorted((self._key(member_id), self._sizes_of[member_id]) for member_id in self._numbers)
            self._keys = [key for key, _ in in_order]
            self._sizes = [size for _, size in in_order]
        elif self._newcomer != newcomer:
            moving = [each for each in (self._newcomer, newcomer) if each in self._numbers]
            for member_id in moving:
                self._take_out(member_id)
            self._newcomer = newcomer
            for member_id in moving:
                self._insert(member_id)

    def _key(self, member_id: str) -> Key:
        code = string_hash(member_id)
        place = _LAST if member_id == self._newcomer else slot(member_id, self._shift)
        return spread(code) & self._mask, place, -self._numbers[member_id], member_id

    def _insert(self, member_id: str) -> None:
        key = self._key(member_id)
        position = bisect_left(self._keys, key)
        self._keys.insert(position, key)
        self._sizes.insert(position, self._sizes_of[member_id])

    def _take_out(self, member_id: str) -> None:
        position = bisect_left(self._keys, self._key(member_id))
        assert self._keys[position][3] == member_id, f"{member_id} is not where it should be"
        del self._keys[position], self._sizes[position]

    def _resize(self, position: int, size: int) -> None:
        self._sizes[position] = self._sizes_of[self._keys[position][3]] = size
