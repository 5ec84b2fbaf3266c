"""Orders in which the coordinator's maps list their keys: some of its answers depend on them (spec 5.1, 5.10).

The coordinator keeps its state in hash maps of its own, which remember earlier versions of themselves; what it computes
goes through Java's HashMap.

In Kafka `TimelineHashMap` and `BaseHashTable`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from kafka_coordinator.coordinator.consumer_groups.counting import Counts
from protocols.java import grown_size, spread, string_hash

_MULTIPLIER: Final = -7046029254386353131
_LOAD_FACTOR: Final = 0.75
_LEAST_SIZE: Final = 2


def timeline_order(keys: Sequence[str], most: int) -> list[str]:
    """The order of a `TimelineHashMap` into which the keys were put in this order, and which has had ``most`` at once:
    slots ascending, within a slot the newest first."""
    size = _LEAST_SIZE
    # As Kafka has it: the factor is applied to the entries, and a key that is put again counts as one more.
    while (most + 1) * _LOAD_FACTOR > size:
        size *= 2
    shift = 65 - size.bit_length()
    newest_first = list(reversed(keys))
    newest_first.sort(key=lambda key: _slot(key, shift))
    return newest_first


def _slot(key: str, shift: int) -> int:
    code = string_hash(key)
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return (signed * _MULTIPLIER & (1 << 64) - 1) >> shift


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
