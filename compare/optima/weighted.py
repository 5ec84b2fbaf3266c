"""Weighted loads: a good allocation, heaviest queues first (Graham 1969), then improved by single moves and swaps, and
what some member must carry at least, whoever gets what. Weights are whole units, so that nothing is rounded.

The least maximum with weights is NP-hard even for two members, so this is no optimum; `bound` says how far from one it
can be. Several starts compete. Three are fresh: to whichever subscriber has least; the same within the blocks of the
fairest loads with weights that could be split; topics with the fewest subscribers first. In the last, members keep of
today's queues what fits under their share of such loads; it is taken unless a fresh one lowers the maximum noticeably
(`WORTH_MOVING`).
"""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heapreplace
from itertools import accumulate
from math import gcd, isfinite, lcm
from numbers import Integral

from compare.optima.certificate import Bound
from compare.optima.moves import deal
from compare.optima.semi_matching import Bundle, Level, Problem, blocks_of
from protocols import Group, GroupError, Queue


@dataclass(frozen=True, slots=True)
class Units:
    """``of`` maps queues to whole units of ``size`` each; the units have no common divisor.

    ``whole``: all weights are whole numbers, and so are all sums.
    """

    of: Mapping[Queue, int]
    size: Fraction = Fraction(1)
    whole: bool = True

    def amount(self, units: int) -> float:
        """This many units in the weights' own measure: an int where all weights are whole, else the nearest float."""
        exact = units * self.size
        return int(exact) if self.whole else float(exact)


def in_units(weights: Mapping[Queue, float], queues: Iterable[Queue]) -> Units:
    """The weights of these queues in units; `GroupError` names a queue without weight or with an impossible one."""
    exact: dict[Queue, Fraction | int] = {}
    whole = True
    for queue in queues:
        weight = weights.get(queue)
        if weight is None:
            raise GroupError(f"{queue} has no weight: expected one for every queue of a subscribed topic")
        if isinstance(weight, Integral):
            exact[queue] = int(weight)
        elif isfinite(weight):
            exact[queue] = Fraction(float(weight))
            whole = False
        if exact.get(queue, -1) < 0:
            raise GroupError(f"{queue} has the weight {weight!r}, expected a number of 0 or more")
    parts = lcm(*(weight.denominator for weight in exact.values()))
    units = {queue: weight.numerator * (parts // weight.denominator) for queue, weight in exact.items()}
    common = gcd(*units.values()) or 1
    return Units({queue: number // common for queue, number in units.items()}, Fraction(common, parts), whole)


def lower_bound(group: Group, problem: Problem, levels: Sequence[Level], units: Units) -> Bound | None:
    """The best bound that the members of the first k blocks give, for any k.

    ``problem`` and ``levels`` are those of the group with weights that can be split unit by unit: their first block
    gives the best equal share that any set of members does. None without members.
    """
    members: list[str] = []
    topics: list[str] = []
    heaviest: list[int] = []
    best, found = -1, None
    for level, bundles in zip(levels, blocks_of(problem.bundles, levels), strict=True):
        members += [group.members[each].id for n in sorted(level.classes) for each in problem.classes[n]]
        added = [topic for bundle, _ in bundles for topic in bundle.topics]
        topics += added
        heaviest = sorted([*heaviest, *(units.of[queue] for topic in added for queue in group.topics[topic])])[::-1]
        for together, value in enumerate(_forced(heaviest, len(members))):
            if value > best:
                best, found = value, (tuple(members), tuple(sorted(topics)), together)
    return None if found is None else Bound(units.amount(best), *found)


def holds(bound: Bound, group: Group, weights: Mapping[Queue, float]) -> bool:
    """Whether the bound follows from its members and topics as `Bound` says, however it was found."""
    members = set(bound.members)
    outside = {topic for member in group.members if member.id not in members for topic in member.subscription}
    if not members or outside.intersection(bound.topics):
        return False
    units = in_units(weights, [queue for topic in bound.topics for queue in group.topics[topic]])
    forced = _forced(sorted(units.of.values(), reverse=True), len(members))
    return bound.together < len(forced) and bound.value <= units.amount(forced[bound.together])


def _forced(heaviest: Sequence[int], members: int) -> list[int]:
    """What some member must carry: its equal share of these weights, and, for k = 1, 2, ..., the k queues it must get.

    Of the (k - 1) * members + 1 heaviest queues somebody gets k, at the best the lightest k of them.
    """
    values = [-(-sum(heaviest) // members)]
    sums = [0, *accumulate(heaviest)]
    for together, last in enumerate(range(1, len(sums), members), 1):
        values.append(sums[last] - sums[last - together])
    return values


PAIRS = 2_000_000
"""How many swaps are looked at in all: some seconds' work. Only groups of thousands of queues need as many."""


class Sharing:
    """Who has which queues of a block, and how much that makes.

    ``weight``: queue to units, ``takers``: topic to those of the ``members`` who may take its queues.
    """

    def __init__(
        self, members: Iterable[int], weight: Mapping[Queue, int], takers: Mapping[str, frozenset[int]]
    ) -> None:
        self.weight = weight
        self.takers = takers
        self.load = dict.fromkeys(members, 0)
        self.owned: dict[int, list[Queue]] = {member: [] for member in members}

    def give(self, queue: Queue, member: int) -> None:
        """Hand a queue to a member."""
        self.owned[member].append(queue)
        self.load[member] += self.weight[queue]

    def take(self, queue: Queue, member: int) -> None:
        """Take a queue from a member."""
        self.owned[member].remove(queue)
        self.load[member] -= self.weight[queue]

    def standing(self, member: int) -> tuple[int, int, int]:
        """Load, number of queues and member: who has less comes first."""
        return self.load[member], len(self.owned[member]), member

    def highest(self) -> int:
        """The largest load."""
        return max(self.load.values())


def improve(sharing: Sharing, pairs: int = PAIRS) -> None:
    """Move and swap queues of the most loaded member as long as that leaves both sides below its load.

    A member that cannot be helped is set aside and the next one tried, until ``pairs`` swaps were looked at or only
    members at their equal share are left.
    """
    ranked = sorted((load, member) for member, load in sharing.load.items())
    share = -(-sum(sharing.load.values()) // len(ranked))
    while len(ranked) > 1 and pairs > 0 and ranked[-1][0] > share:
        heavy = ranked.pop()[1]
        for place, (_, light) in enumerate(ranked):
            exchange = _best_exchange(sharing, heavy, light)
            pairs -= len(sharing.owned[heavy]) * (len(sharing.owned[light]) + 1)
            if exchange:
                given, returned = exchange
                del ranked[place]
                sharing.take(given, heavy)
                sharing.give(given, light)
                if returned:
                    sharing.take(returned, light)
                    sharing.give(returned, heavy)
                insort(ranked, (sharing.load[light], light))
                insort(ranked, (sharing.load[heavy], heavy))
                break
            if pairs <= 0:
                break


def _best_exchange(sharing: Sharing, heavy: int, light: int) -> tuple[Queue, Queue | None] | None:
    """The queue to hand over, and the one to get back, if any, that bring the two nearest to each other."""
    distance = sharing.load[heavy] - sharing.load[light]
    weight, takers = sharing.weight, sharing.takers
    back = [(queue, weight[queue]) for queue in sharing.owned[light] if heavy in takers[queue.topic]]
    best = distance
    found: tuple[Queue, Queue | None] | None = None
    for queue in sharing.owned[heavy]:
        if light not in takers[queue.topic]:
            continue
        moved = weight[queue]
        if abs(distance - 2 * moved) < best:
            best, found = abs(distance - 2 * moved), (queue, None)
        for other, returned in back:
            if abs(distance - 2 * (moved - returned)) < best:
                best, found = abs(distance - 2 * (moved - returned)), (queue, other)
    return found


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
        for member, queues in deal((queue for share in shares.values() for queue in share), quotas, owners).items():
            owned[member] += queues
    return owned
