"""Giving partitions that nobody owns to their topics' least loaded subscribers (spec 5.7, step 4)."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heapreplace
from itertools import groupby

from kafka_coordinator.assignors.loads import Loads
from kafka_coordinator.assignors.topics import Run


def deal(
    runs: Iterable[Run],
    loads: Loads,
    owned: list[list[int]],
    owner: list[int],
    beside: tuple[Sequence[str | None], Mapping[int, tuple[str, ...]]] | None = None,
) -> list[Run]:
    """Give every partition to the subscriber that is first in C-order; returns those that nobody may have.

    With ``beside`` (the rack per member; replica racks per partition) only members without a rack, or on one of
    the partition's, may have it. Updates ``loads``, ``owned`` and ``owner``.
    """
    key, mask, one = loads.key, loads.mask, loads.one
    left: list[Run] = []
    heaps: dict[tuple[str, ...] | None, list[int]] = {}
    subscribers: list[int] = []
    for topic, partitions in runs:
        if topic.subscribers is not subscribers:
            heaps.clear()
            subscribers = topic.subscribers
        parts: Iterable[tuple[tuple[str, ...] | None, Iterable[int]]] = [(None, partitions)]
        if beside is not None:
            parts = groupby(partitions, key=beside[1].__getitem__)
        for racks, part in parts:
            heap = heaps.get(racks)
            if heap is None:
                able = subscribers
                if racks is not None and beside is not None:
                    able = [member for member in able if beside[0][member] is None or beside[0][member] in racks]
                heap = heaps[racks] = list(map(key.__getitem__, able))
                heapify(heap)
            if not heap:
                left.append((topic, list(part)))
                continue
            for partition in part:
                entry = heap[0]
                member = entry & mask
                while key[member] != entry:
                    # Another topic's or rack's heap has loaded this member since.
                    heapreplace(heap, key[member])
                    entry = heap[0]
                    member = entry & mask
                entry += one
                heapreplace(heap, entry)
                key[member] = entry
                owned[member].append(partition)
                owner[partition] = member
    return left
