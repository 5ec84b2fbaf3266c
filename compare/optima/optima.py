"""The optimum of a group: fairest first, fewest moves second; and the fairest loads or allocation alone.

"Unfair" means little without knowing what was possible: subscriptions may force it. The fairest loads are those of
an optimal semi-matching (`semi_matching`), which are the same in every fairest allocation; among these a cheapest
flow keeps as many queues as can be kept (`moves`). Both come with a certificate that can be checked without trusting
how it was found (`certificate`).
"""

from collections.abc import Mapping, Sequence

from compare.figures.definitions import jain_of
from compare.optima.certificate import Bound, Certificate, CertifiedBlock, Optimum, changes
from compare.optima.moves import hand_out, hand_out_anyhow, owners_today
from compare.optima.semi_matching import Fairest, Problem, blocks_of, fairest
from compare.optima.weighted import Units, equal_members, good_allocation, in_units, lower_bound
from protocols import Allocation, Group, Queue
from protocols.load_aware.drafts import Draft
from protocols.load_aware.problem import NOBODY


def fairest_loads(group: Group) -> tuple[int, ...]:
    """The numbers of queues of the group's members, descending, in every fairest allocation."""
    problem = Problem.of(group)
    loads: list[int] = []
    for members, load in zip(problem.classes, fairest(problem).load, strict=True):
        even, more = divmod(load, len(members))
        loads += [even + (n < more) for n in range(len(members))]
    return tuple(sorted(loads, reverse=True))


def fairest_allocation(group: Group, today: Allocation | None = None) -> Allocation:
    """The allocation of `optimum`, counting queues, without what proves it. Moves count where there is a ``today``."""
    owners = owners_today(group, today)
    subscribed = {topic: group.topics[topic] for topic, who in group.subscribers().items() if who}
    problem = Problem.of(group)
    owned, _ = (hand_out if owners else hand_out_anyhow)(subscribed, problem, fairest(problem), owners)
    return Allocation(group, {group.members[member].id: queues for member, queues in owned.items()})


def optimum(
    group: Group, today: Allocation | None = None, weights: Mapping[Queue, float] | None = None, *, moves: bool = True
) -> Optimum:
    """The fairest reachable allocation of a group, and the fewest moves from ``today``'s to it.

    Fairest: the loads, sorted descending, are the lexicographically least, which is the least by every convex measure.
    ``today`` may be of an earlier group (members or queues since gone do not count) and need not be sound: a queue with
    several owners stays with one of them. ``weights`` (queue to its lag or rate, 0 or more, for every queue of a
    subscribed topic) make loads sums of weights; `Optimum` tells what is proven then. ``moves=False`` spares the
    search for the fewest moves. Raises `GroupError` for a weight that is missing or below 0.
    """
    owners = owners_today(group, today)
    subscribed = {topic: group.topics[topic] for topic, who in group.subscribers().items() if who}
    if weights is None:
        units = Units({queue: 1 for queues in subscribed.values() for queue in queues})
    else:
        units = in_units(weights, [queue for queues in subscribed.values() for queue in queues])
    loaded = {topic: [queue for queue in queues if units.of[queue]] for topic, queues in subscribed.items()}
    problem = Problem.of(group, {topic: sum(map(units.of.__getitem__, queues)) for topic, queues in loaded.items()})
    answer = fairest(problem)
    certificate = None
    if max(units.of.values(), default=1) <= 1:
        # Weights that are all equal, or 0, make it a question of counting.
        least = hand_out if moves and owners else hand_out_anyhow
        owned, prices = least(loaded, problem, answer, owners)
        if all(units.of.values()):
            certificate = _certificate(group, problem, answer, prices)
    else:
        owned = good_allocation(group, loaded, problem, answer.levels, units.of, owners)
    weightless = [queue for queues in subscribed.values() for queue in queues if not units.of[queue]]
    if weightless:
        _add_weightless(group, owned, weightless, units, owners)
    allocation = Allocation(group, {group.members[member].id: queues for member, queues in owned.items()})
    return _record(allocation, today, units, certificate, lower_bound(group, problem, answer.levels, units))


def _add_weightless(
    group: Group,
    owned: dict[int, list[Queue]],
    weightless: Sequence[Queue],
    units: Units,
    owners: Mapping[Queue, tuple[int, ...]],
) -> None:
    """Queues without weight stay where they are; those without owner go to whoever has fewest queues."""
    everything = [*weightless, *(queue for queues in owned.values() for queue in queues)]
    place = {queue: number for number, queue in enumerate(everything)}
    draft = Draft(equal_members(group, everything, units.of), [NOBODY] * len(everything))
    for member, queues in owned.items():
        for queue in queues:
            draft.give(place[queue], member)
    for queue in weightless:
        if queue in owners:
            draft.give(place[queue], owners[queue][0])
    draft.place(number for number, member in enumerate(draft.at) if member == NOBODY)
    owned |= {member: [everything[number] for number in sorted(numbers)] for member, numbers in enumerate(draft.queues)}


def _certificate(group: Group, problem: Problem, answer: Fairest, prices: Mapping[int, int]) -> Certificate:
    blocks = []
    for level, bundles in zip(answer.levels, blocks_of(problem.bundles, answer.levels), strict=True):
        members = sorted(member for each in level.classes for member in problem.classes[each])
        blocks.append(
            CertifiedBlock(
                level.level,
                {group.members[member].id: prices[member] for member in members},
                tuple(sorted(topic for bundle, _ in bundles for topic in bundle.topics)),
            )
        )
    return Certificate(tuple(blocks))


def _record(
    allocation: Allocation, today: Allocation | None, units: Units, certificate: Certificate | None, bound: Bound | None
) -> Optimum:
    moved, newly_owned = changes(allocation, today)
    moves = None if today is None else len(moved)
    loads = [sum(map(units.of.__getitem__, queues)) for queues in allocation.values()]
    if bound is None:
        return Optimum(allocation, None, None, None, None, moves, moved, newly_owned, None, None, certificate, None)
    # Whole weights as they are, so that the quotient is that of the fairness figures to the last bit.
    exact = [int(units.amount(load)) for load in loads] if units.whole else loads
    highest = units.amount(max(loads))
    return Optimum(
        allocation=allocation,
        max=highest,
        min=units.amount(min(loads)),
        idle_members=sum(not queues for queues in allocation.values()),
        jain=jain_of(exact),
        moves=moves,
        moved=moved,
        newly_owned=newly_owned,
        lower_bound=bound.value,
        gap=highest - bound.value,
        certificate=certificate,
        bound=bound,
    )
