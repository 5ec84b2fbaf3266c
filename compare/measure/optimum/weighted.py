"""Weighted loads: a good allocation, heaviest queues first (Graham 1969), then improved by single moves and swaps.

The least maximum with weights is NP-hard even for two members, so this is no optimum; `bound` says how far from one it
can be. Several starts compete. Three are fresh: to whichever subscriber has least; the same within the blocks of the
fairest loads with weights that could be split; topics with the fewest subscribers first. In the last, members keep of
today's queues what fits under their share of such loads; it is taken unless a fresh one lowers the maximum noticeably
(`WORTH_MOVING`).
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heapreplace

from compare.measure.optimum.dealing import deal
from compare.measure.optimum.improvement import Sharing, improve
from compare.measure.optimum.kinds import blocks_of
from compare.measure.optimum.problem import Bundle, Problem
from compare.measure.optimum.semi_matching import Level
from protocols import Queue

WORTH_MOVING = 100
"""One part in so many of the maximum: lags and rates are not known better, so no queue moves for less."""


def good_allocation(
    topics: Mapping[str, Sequence[Queue]],
    problem: Problem,
    levels: Sequence[Level],
    weight: Mapping[Queue, int],
    owners: Mapping[Queue, tuple[int, ...]],
) -> dict[int, list[Queue]]:
    """Member (position) to its queues of ``topics``; ``weight`` in units, above 0.

    ``problem`` and ``levels`` are those of weights that can be split unit by unit; ``owners``: queue to the positions
    of those who own it today and subscribe to its topic.
    """
    share = {
        member: level.level + 1
        for level in levels
        for each in sorted(level.classes)
        for member in problem.classes[each]
    }
    everybody = _takers(problem, ((bundle, bundle.classes) for bundle in problem.bundles))
    by_block = _takers(problem, (each for block in blocks_of(problem.bundles, levels) for each in block))
    queues = sorted((queue for topic in everybody for queue in topics[topic]), key=lambda queue: -weight[queue])
    rarest = sorted(queues, key=lambda queue: len(everybody[queue.topic]))
    starts = []
    for order, takers in ((queues, everybody), (queues, by_block), (rarest, everybody)):
        fresh = Sharing(share, weight, takers)
        heaviest_first(fresh, order)
        fresh.takers = everybody
        starts.append(fresh)
    if owners:
        kept = Sharing(share, weight, everybody)
        heaviest_first(kept, _released(kept, queues, owners, share))
        starts.append(kept)
    for start in starts:
        improve(start)
    best = min(starts, key=Sharing.highest)
    if owners and (kept.highest() - best.highest()) * WORTH_MOVING <= best.highest():
        best = kept
    return _with_owners_kept(best, owners)


def _takers(problem: Problem, bundles: Iterable[tuple[Bundle, frozenset[int]]]) -> dict[str, frozenset[int]]:
    """Topic to the members of the classes named beside its bundle; one object for topics with the same."""
    found: dict[frozenset[int], frozenset[int]] = {}
    takers: dict[str, frozenset[int]] = {}
    for bundle, classes in bundles:
        if classes not in found:
            found[classes] = frozenset(member for each in classes for member in problem.classes[each])
        takers |= dict.fromkeys(bundle.topics, found[classes])
    return takers


def heaviest_first(sharing: Sharing, queues: Iterable[Queue]) -> None:
    """Give each queue, in this order, to the taker who has least (and fewest queues, if several have)."""
    heaps: dict[frozenset[int], list[tuple[int, int, int]]] = {}
    for queue in queues:
        takers = sharing.takers[queue.topic]
        heap = heaps.get(takers)
        if heap is None:
            heap = heaps[takers] = [sharing.standing(member) for member in takers]
            heapify(heap)
        # Entries are as old as the last look at them; loads only grow.
        while heap[0] != (now := sharing.standing(heap[0][2])):
            heapreplace(heap, now)
        sharing.give(queue, heap[0][2])


def _released(
    sharing: Sharing, queues: Sequence[Queue], owners: Mapping[Queue, tuple[int, ...]], share: Mapping[int, int]
) -> list[Queue]:
    """Let members keep what fits under the share, heaviest first, and at least one queue; the others, in this order."""
    rest = []
    for queue in queues:
        for owner in owners.get(queue, ()):
            if owner in sharing.takers[queue.topic] and (
                sharing.load[owner] + sharing.weight[queue] <= share[owner] or not sharing.owned[owner]
            ):
                sharing.give(queue, owner)
                break
        else:
            rest.append(queue)
    return rest


def _with_owners_kept(sharing: Sharing, owners: Mapping[Queue, tuple[int, ...]]) -> dict[int, list[Queue]]:
    """The same loads; among queues of one weight and the same takers, members get those that they own today."""
    alike: dict[tuple[frozenset[int], int], dict[int, list[Queue]]] = {}
    for member, queues in sharing.owned.items():
        for queue in queues:
            shares = alike.setdefault((sharing.takers[queue.topic], sharing.weight[queue]), {})
            shares.setdefault(member, []).append(queue)
    owned: dict[int, list[Queue]] = {member: [] for member in sharing.owned}
    for shares in alike.values():
        quotas = {member: len(queues) for member, queues in shares.items()}
        for member, queues in deal((queue for each in shares.values() for queue in each), quotas, owners).items():
            owned[member] += queues
    return owned
