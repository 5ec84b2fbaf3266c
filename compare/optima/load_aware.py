"""The door to `protocols.load_aware` for groups: queues with rates and lag in, an allocation with its proof out.

For one who asks where such an allocation can be used: RocketMQ's clients can run a strategy of one's own (topic by
topic), Kafka's classic protocol an assignor of the client, and a controller can hand out lists that consumers
`assign()` themselves. Under Kafka's consumer protocol the broker's assignors choose, and they see neither rate nor lag.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import isfinite, log, sqrt
from statistics import fmean

from compare.formatting import several
from protocols import Allocation, Group, GroupError, Queue, sort_queues
from protocols.load_aware import Problem, Shared, share_out
from protocols.load_aware.problem import NOBODY
from protocols.load_aware.search import STEPS

MILLIONTHS = 1_000_000
"""Of a second of a member's time, per second: the unit in which needs and capacities are whole."""

CHANGED = 0.35
"""Of the higher of two rates: more than that apart they are of different times, less is noise."""

SURE = 4.0
"""Standard deviations by which a change is more than chance, of many places that are looked at."""

PARTS = 6
"""Of all periods, whose means say how far a rate is off: one period of a slow queue says more of chance."""

P95 = 1.645
"""Standard deviations below which a normally distributed number stays for 95 % of the time."""


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """What a queue brings. ``rate``: records per second on average; ``p95``: the rate that it stays below for 95 % of
    the time (the average where it is not known); ``lag``: records that wait; ``handle_s``: seconds of a member's time
    for a record (1: capacities are records per second)."""

    rate: float
    p95: float | None = None
    lag: int = 0
    handle_s: float = 1.0

    @classmethod
    def measured(
        cls, rates: Sequence[float], lag: int = 0, handle_s: float = 1.0, period_s: float = 1.0
    ) -> "QueueLoad":
        """From the ``rates`` of equal periods of ``period_s`` seconds, the oldest first: their mean since the queue's
        rate last changed by more than `CHANGED`, because what was before says nothing of what comes. How far the rate
        is off its mean between changes gives ``p95``, where enough periods tell; the shorter the time since the last
        change, the farther may the mean be off, too. Raises `GroupError` for rates that cannot be."""
        if not rates or not all(isfinite(rate) and rate >= 0 for rate in rates):
            raise GroupError(f"a queue has the measured rates {list(rates)!r}, expected one or more, of 0 or more")
        if not isfinite(period_s) or period_s <= 0:
            raise GroupError(f"period_s is {period_s!r}, expected a number above 0")
        stretches = list(_unchanged([rate * period_s for rate in rates]))
        length = max(1, len(rates) // PARTS)
        off, free = 0.0, 0
        for stretch in stretches:
            ends = range(len(stretch), length - 1, -length)
            parts = [fmean(stretch[end - length : end]) for end in ends]
            if parts and fmean(parts):
                off += sum((part / fmean(parts) - 1) ** 2 for part in parts)
                free += len(parts) - 1
        mean = fmean(stretches[0]) / period_s
        # Of a forecast: the variance of a part, and that of the mean of all parts since the change.
        wider = 1 + length / len(stretches[0])
        return cls(mean, mean * (1 + P95 * sqrt(off / free * wider)) if free else None, lag, handle_s)

    @property
    def spread(self) -> float:
        """The standard deviation of the rate, if it is normally distributed; 0 where ``p95`` is not known."""
        return 0.0 if self.p95 is None else max(0.0, self.p95 - self.rate) / P95

    def need(self, drain_s: float) -> Fraction:
        """Seconds of a member's time per second, so that the lag is gone after ``drain_s`` even at the high rate."""
        rate = self.rate if self.p95 is None else max(self.p95, self.rate)
        return Fraction(self.handle_s) * (Fraction(rate) + Fraction(self.lag) / Fraction(drain_s))


def _unchanged(records: Sequence[float]) -> Iterator[Sequence[float]]:
    """The stretches of equal periods between changes of the rate, the last one first, by the records of each period."""
    stretches = [records]
    while stretches:
        stretch = stretches.pop()
        if place := _change(stretch):
            stretches += (stretch[:place], stretch[place:])
        else:
            yield stretch


def _change(records: Sequence[float]) -> int:
    """The period in which the rate changed; 0: in none. The rates before and after differ by more than `CHANGED`,
    beyond chance by `SURE`, where chance is that of counts (Poisson's law); of all such places it is the surest one."""
    sums = [0.0, *accumulate(records)]
    surest, place = SURE**2, 0
    for since in range(1, len(records)):
        before, after, later = sums[since], sums[-1] - sums[since], len(records) - since
        (low, few, slow), (high, many, fast) = sorted([(before / since, before, since), (after / later, after, later)])
        if low < (1 - CHANGED) * high:
            # Beside rates that differ by just `CHANGED`: twice the logarithm of the likelihood ratio (Wilks 1938).
            fewer = (few + many) * (1 - CHANGED) * slow / ((1 - CHANGED) * slow + fast)
            sure = 2 * ((few * log(few / fewer) if few else 0.0) + many * log(many / (few + many - fewer)))
            if sure > surest:
                surest, place = sure, since
    return place


@dataclass(frozen=True, slots=True)
class LoadAware:
    """An allocation by load (`load_aware`) and how good it is.

    ``drains``: whether every queue drains within the limit: True; False where it is proven that no allocation does
    that; None where none was found, or no capacity is given. ``cost``: the sum of the costs of what is ``moved`` (queue
    and new owner, sorted by queue); ``newly_owned`` get their first owner, or their owner is gone.
    ``utilisation``: member to what its queues need over its capacity (over the mean of all needs, where no capacity is
    given), ``highest`` the largest of these. ``drain_s``: member to the seconds until nothing of its lag waits, at the
    average rates: None where that is never, or no capacity is given.

    No allocation that meets the first aim costs less than ``cost_at_least``; ``leaving`` says what each member must
    give up of it. None of these that costs no more has a lower largest utilisation than ``highest_at_least``.
    ``proven``: cost and highest are the best ones. ``limited``: capacities are given. ``problem`` and ``shared`` hold
    the proof in numbers (`protocols.load_aware`); members have the numbers of the group, queues those of ``queues``.
    """

    allocation: Allocation
    drains: bool | None
    cost: int
    moved: tuple[tuple[Queue, str], ...]
    newly_owned: tuple[tuple[Queue, str], ...]
    utilisation: Mapping[str, float]
    highest: float | None
    drain_s: Mapping[str, float | None]
    cost_at_least: int
    leaving: Mapping[str, int]
    highest_at_least: float | None
    proven: bool
    limited: bool
    queues: tuple[Queue, ...]
    problem: Problem
    shared: Shared

    def proof(self) -> str:
        """What is proven of the moves, in a sentence."""
        level = float(self.shared.level)
        reach = (
            f"a largest load of {level * len(self.allocation):.3g} times the mean or less"
            if not self.limited
            else f"a largest utilisation of {level:.0%} or less"
        )
        if self.proven:
            return f"Proven: no fewer moves lead to {reach}, and no others so many lead to less."
        if self.cost_at_least == self.cost:
            return f"Proven: no fewer moves lead to {reach}."
        return f"Proven: at least {several(self.cost_at_least, 'move')} would be needed for {reach}."


def load_aware(
    group: Group,
    today: Mapping[str, Iterable[Queue]] | None,
    loads: Mapping[Queue, QueueLoad],
    *,
    capacity: float | Mapping[str, float] | None = None,
    move_cost: Mapping[Queue, int] | None = None,
    drain_s: float = 300.0,
    hysteresis: float = 0.1,
    steps: int = STEPS,
) -> LoadAware:
    """The group's queues by load: all drain within ``drain_s``, fewest moves, least largest utilisation, in that order.

    ``today``: member to queues; whoever is gone, or does not subscribe, does not count; of several owners the first
    does. ``loads``: for every queue of a subscribed topic. ``capacity``: seconds of work per second that a member can
    do (its threads; or records per second where ``handle_s`` is 1), for all or by id; None: not known, all can do the
    same. ``move_cost``: whole numbers above 0; 1 where left out. ``hysteresis``: 0 to below 1, the part of a capacity
    that is noise: moves lead that far below the limit, and without a limit that is met the largest utilisation may be
    so much above the least. ``steps``: see `protocols.load_aware.search`. Raises `GroupError` for what is missing or
    cannot be.
    """
    if not 0 <= hysteresis < 1:
        raise GroupError(f"hysteresis is {hysteresis!r}, expected 0 or more and less than 1")
    queues, problem = numbered(group, today, loads, capacity, move_cost, drain_s)
    shared = share_out(problem, hysteresis=Fraction(hysteresis), limited=capacity is not None, steps=steps)
    return _record(group, queues, loads, problem, shared, None if capacity is None else problem.capacity)


def numbered(
    group: Group,
    today: Mapping[str, Iterable[Queue]] | None,
    loads: Mapping[Queue, QueueLoad],
    capacity: float | Mapping[str, float] | None,
    move_cost: Mapping[Queue, int] | None,
    drain_s: float,
) -> tuple[tuple[Queue, ...], Problem]:
    """The queues that somebody may own, and the problem in which they have the numbers of their places."""
    if not isfinite(drain_s) or drain_s <= 0:
        raise GroupError(f"drain_s is {drain_s!r}, expected a number above 0")
    subscribers = {topic: tuple(members) for topic, members in group.subscribers().items() if members}
    queues = tuple(queue for queue in group.queues if queue.topic in subscribers)
    needs = [_need(queue, loads, drain_s) for queue in queues]
    return queues, Problem(
        need=needs,
        takers=[subscribers[queue.topic] for queue in queues],
        capacity=_capacities(group, capacity) or [max(sum(needs), 1)] * len(group.members),
        owner=_owners(group, queues, subscribers, today or {}),
        cost=[_whole_cost(queue, (move_cost or {}).get(queue, 1)) for queue in queues],
    )


def _need(queue: Queue, loads: Mapping[Queue, QueueLoad], drain_s: float) -> int:
    load = loads.get(queue)
    if load is None:
        raise GroupError(f"{queue} has no load: expected one for every queue of a subscribed topic")
    numbers = (load.rate, load.lag, load.handle_s, load.rate if load.p95 is None else load.p95)
    if not all(isfinite(number) and number >= 0 for number in numbers):
        raise GroupError(f"{queue} has the load {load!r}, expected numbers of 0 or more")
    return round(load.need(drain_s) * MILLIONTHS)


def _capacities(group: Group, capacity: float | Mapping[str, float] | None) -> list[int] | None:
    if capacity is None:
        return None
    found = []
    for member in group.members:
        given = capacity.get(member.id) if isinstance(capacity, Mapping) else capacity
        if given is None or not isfinite(given) or given * MILLIONTHS < 1:
            raise GroupError(f"member {member.id!r} has the capacity {given!r}, expected a number above 0")
        found.append(round(given * MILLIONTHS))
    return found


def _whole_cost(queue: Queue, cost: object) -> int:
    if not isinstance(cost, int) or isinstance(cost, bool) or cost < 1:
        raise GroupError(f"{queue} costs {cost!r} to move, expected a whole number of 1 or more")
    return cost


def _owners(
    group: Group,
    queues: tuple[Queue, ...],
    subscribers: Mapping[str, tuple[int, ...]],
    today: Mapping[str, Iterable[Queue]],
) -> list[int]:
    owner: dict[Queue, int] = {}
    for number, member in enumerate(group.members):
        for queue in today.get(member.id, ()):
            if number in subscribers.get(queue.topic, ()):
                owner.setdefault(queue, number)
    return [owner.get(queue, NOBODY) for queue in queues]


def _record(
    group: Group,
    queues: tuple[Queue, ...],
    loads: Mapping[Queue, QueueLoad],
    problem: Problem,
    shared: Shared,
    capacities: Sequence[int] | None,
) -> LoadAware:
    ids = [member.id for member in group.members]
    owned: dict[str, list[Queue]] = {id: [] for id in ids}
    for queue, member in zip(queues, shared.at, strict=True):
        owned[ids[member]].append(queue)
    new_owner = {
        queue: (owner, ids[member])
        for queue, owner, member in zip(queues, problem.owner, shared.at, strict=True)
        if owner != member
    }
    gained = [(queue, *new_owner[queue]) for queue in sort_queues(new_owner)]
    # Without capacities utilisation is in parts of the mean of all members.
    unit = 1 if capacities else len(ids)
    highest = shared.utilisation * unit if ids else None
    at_least = highest if shared.searched or highest is None else shared.utilisation_at_least * unit
    bound_met = shared.cost_at_least == shared.cost and shared.utilisation_at_least == shared.utilisation
    return LoadAware(
        allocation=Allocation(group, owned),
        drains=shared.within,
        cost=shared.cost,
        moved=tuple((queue, member) for queue, owner, member in gained if owner != NOBODY),
        newly_owned=tuple((queue, member) for queue, owner, member in gained if owner == NOBODY),
        utilisation={
            id: float(Fraction(load, capacity) * unit)
            for id, load, capacity in zip(ids, problem.loads(shared.at), problem.capacity, strict=True)
        },
        highest=None if highest is None else float(highest),
        drain_s={
            id: None
            if capacities is None
            else drain_time([loads[queue] for queue in owned[id]], Fraction(capacities[number], MILLIONTHS))
            for number, id in enumerate(ids)
        },
        cost_at_least=shared.cost if shared.searched else shared.cost_at_least,
        leaving={ids[member]: cost for member, cost in shared.leaving.items()},
        highest_at_least=None if at_least is None else float(at_least),
        proven=shared.searched or bound_met,
        limited=capacities is not None,
        queues=queues,
        problem=problem,
        shared=shared,
    )


def drain_time(loads: Iterable[QueueLoad], capacity: Fraction) -> float | None:
    """Seconds until nothing waits of these queues, which share a member of so much capacity; None: that is never."""
    waiting, spare = Fraction(0), capacity
    for load in loads:
        waiting += Fraction(load.handle_s) * load.lag
        spare -= Fraction(load.handle_s) * Fraction(load.rate)
    if not waiting:
        return 0.0
    return float(waiting / spare) if spare > 0 else None
