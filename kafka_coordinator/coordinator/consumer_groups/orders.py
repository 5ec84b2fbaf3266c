"""Orders in which the coordinator's maps list their keys: some of its answers depend on them (spec 5.1, 5.10).

The coordinator keeps its state in hash maps of its own, which remember earlier versions of themselves; what it computes
goes through Java's HashMap.

In Kafka `TimelineHashMap` and `BaseHashTable`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.assignors.uniform_homogeneous import id_hash
from kafka_coordinator.coordinator.consumer_groups.counting import Counts
from protocols.java import entry_order, grown_size, number_entry_order, spread, string_hash

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
    """The slot of a text in a `TimelineHashMap`."""
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
        """The target of this member."""
        known = self._known.get(member_id)
        if known is None or known[0] is not target:
            there = [each for each in target if each[1] < self.counts.get(each[0], 0)]
            known = self._known[member_id] = target, tuple(iterated(there, self.ids))
        return known[1]

    def keep(self, member_ids: Sequence[str]) -> None:
        """Who is not among these has left."""
        if len(self._known) > 2 * len(member_ids):
            self._known = {each: self._known[each] for each in member_ids if each in self._known}


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
    return max(timeline_order(list(counts), len(counts)), key=counts.__getitem__, default=None)


def voted(counts: Counts[str], of_caller: str | None) -> str | None:
    """The same where a target is computed. There the counts are copied to a HashMap, and the vote of the member whose
    request it is (``of_caller``) is taken out and put in again: if nobody else has given it, it comes first in its bin.
    """
    alone = of_caller is not None and counts.get(of_caller) == 1
    others = [name for name in timeline_order(list(counts), len(counts)) if not (alone and name == of_caller)]
    put = [of_caller, *others] if alone and of_caller is not None else others
    size = 1 << max(int(len(counts) / _LOAD_FACTOR + 1) - 1, 0).bit_length()
    in_order = sorted(put, key=lambda name: spread(string_hash(name)) & size - 1)
    return max(in_order, key=counts.__getitem__, default=None)
