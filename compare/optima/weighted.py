"""Weighted loads: a good allocation, heaviest queues first (Graham 1969), then improved by single moves and swaps, and
what some member must carry at least, whoever gets what. Weights are whole units, so that nothing is rounded.

The least maximum with weights is NP-hard even for two members, so this is no optimum; `bound` says how far from one it
can be. Several starts compete. Three are fresh: to whichever subscriber has least; the same within the blocks of the
fairest loads with weights that could be split; topics with the fewest subscribers first. In the last, members keep of
today's queues what fits under their share of such loads; it is taken unless a fresh one lowers the maximum noticeably
(`WORTH_MOVING`).

Moves and swaps are those of `protocols.load_aware.drafts`. Only the aims differ: here loads are evened out as far as
moves and swaps can, and moves come second; `load_aware` spares every move that brings less than its hysteresis.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from math import gcd, isfinite, lcm
from numbers import Integral

from compare.optima.certificate import Bound
from compare.optima.moves import deal
from compare.optima.semi_matching import Level, Problem, blocks_of
from protocols import Group, GroupError, Queue
from protocols.load_aware.drafts import Draft, fresh
from protocols.load_aware.problem import NOBODY
from protocols.load_aware.problem import Problem as Needs


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


WORTH_MOVING = 100
"""One part in so many of the maximum: lags and rates are not known better, so no queue moves for less."""


def good_allocation(
    group: Group,
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
    queues = [queue for each in topics.values() for queue in each]
    needs = equal_members(group, queues, weight)
    within_blocks = {
        topic: tuple(sorted(member for each in classes for member in problem.classes[each]))
        for block in blocks_of(problem.bundles, levels)
        for bundle, classes in block
        for topic in bundle.topics
    }
    rarest = Draft(needs, [NOBODY] * len(queues))
    rarest.place(sorted(needs.heaviest_first, key=lambda number: len(needs.takers[number])))
    by_block = fresh(replace(needs, takers=[within_blocks[queue.topic] for queue in queues]))
    starts = [fresh(needs), Draft(needs, by_block.at), rarest]
    if owners:
        kept = _kept(needs, [owners.get(queue, ()) for queue in queues], _shares(problem, levels))
        starts.append(kept)
    for start in starts:
        start.even()
    best = min(starts, key=_highest)
    if owners and (_highest(kept) - _highest(best)) * WORTH_MOVING <= _highest(best):
        best = kept
    return _with_owners_kept(best, queues, owners)


def equal_members(group: Group, queues: Sequence[Queue], weight: Mapping[Queue, int]) -> Needs:
    """These queues, owned by nobody, before members of whom each could take all of them."""
    subscribers = {topic: tuple(members) for topic, members in group.subscribers().items()}
    needs = [weight[queue] for queue in queues]
    return Needs(
        need=needs,
        takers=[subscribers[queue.topic] for queue in queues],
        capacity=[max(1, sum(needs))] * len(group.members),
        owner=[NOBODY] * len(queues),
        cost=[1] * len(queues),
    )


def _shares(problem: Problem, levels: Sequence[Level]) -> dict[int, int]:
    """Member to the most that it has where weights can be split."""
    return {
        member: level.level + 1
        for level in levels
        for each in sorted(level.classes)
        for member in problem.classes[each]
    }


def _kept(needs: Needs, owners: Sequence[tuple[int, ...]], share: Mapping[int, int]) -> Draft:
    """Members keep what fits under their share, heaviest first, and at least one queue; the rest goes where it is
    least felt."""
    draft = Draft(needs, [NOBODY] * len(owners))
    rest = []
    for number in needs.heaviest_first:
        for owner in owners[number]:
            if draft.load[owner] + needs.need[number] <= share[owner] or not draft.queues[owner]:
                draft.give(number, owner)
                break
        else:
            rest.append(number)
    draft.place(rest)
    return draft


def _highest(draft: Draft) -> int:
    return max(draft.load)


def _with_owners_kept(
    draft: Draft, queues: Sequence[Queue], owners: Mapping[Queue, tuple[int, ...]]
) -> dict[int, list[Queue]]:
    """The same loads; among queues of one weight and the same takers, members get those that they own today."""
    alike: dict[tuple[int, int], dict[int, list[Queue]]] = {}
    for member, numbers in enumerate(draft.queues):
        for number in sorted(numbers):
            shares = alike.setdefault((draft.problem.kind_of[number], draft.problem.need[number]), {})
            shares.setdefault(member, []).append(queues[number])
    owned: dict[int, list[Queue]] = {member: [] for member in range(len(draft.queues))}
    for shares in alike.values():
        quotas = {member: len(given) for member, given in shares.items()}
        for member, given in deal((queue for share in shares.values() for queue in share), quotas, owners).items():
            owned[member] += given
    return owned
