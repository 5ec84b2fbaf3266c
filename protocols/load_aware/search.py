"""The best assignment of a small problem, branch by branch: nothing is left out that could be better.

Queues are handed out heaviest first. A branch ends where prices (see `bounds`) say that what is left must cost more
than the best assignment so far, or as much while some member is as busy already; where what is left does not fit; and
where a member is tried that differs from one tried before by its number alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from protocols.load_aware.bounds import Prices
from protocols.load_aware.problem import NOBODY, Problem

STEPS = 100_000
"""Branches that a search looks at: about a second's work."""


@dataclass(frozen=True, slots=True)
class Found:
    """``at``: of each queue its member, None where nothing better was found. ``complete``: there is nothing better."""

    at: tuple[int, ...] | None
    complete: bool


@dataclass(slots=True)
class _Branches:
    """Utilisations are the floats nearest to them: equal ones are equal.

    ``order``: queues in the order in which they are handed out; ``rest``: what all from each place on need; ``dues``:
    what they pay at least by the prices, in which a unit of cost has the price `_PART`; ``value``: what the room that
    is ``free`` is worth.
    """

    problem: Problem
    room: Sequence[int]
    order: Sequence[int]
    rest: Sequence[int]
    dues: Sequence[int]
    price: Sequence[int]
    alike: Sequence[int]
    load: list[int]
    at: list[int]
    best_cost: int
    best_level: float
    floor: float
    steps: int
    free: int
    value: int
    best: tuple[int, ...] | None = None

    def go_on(self, place: int, cost: int, level: float) -> bool:
        """Try everything for the queues from this place on; False where the budget is spent or nothing can be
        better any more."""
        if place == len(self.order):
            self.best, self.best_cost, self.best_level = tuple(self.at), cost, level
            return bool(cost) or level > self.floor
        problem, queue = self.problem, self.order[place]
        need = problem.need[queue]
        tried: set[tuple[int, int, int, int]] = set()
        for busy, costs, member in self._choices(queue):
            total = cost + costs
            above = max(level, busy)
            if total > self.best_cost or (total == self.best_cost and above >= self.best_level):
                continue
            key = (self.alike[member], self.load[member], problem.capacity[member], costs)
            if key in tried:
                continue
            tried.add(key)
            self.steps -= 1
            if self.steps < 0:
                return False
            self.load[member] += need
            self.free -= need
            self.value -= need * self.price[member]
            # By the prices, what is left pays so much more than what is free is worth.
            owed = self.dues[place + 1] - self.value
            total_least = total - (-owed // _PART) if owed > 0 else total
            goes_on = True
            if self.rest[place + 1] <= self.free and (total_least, max(above, self.floor)) < (
                self.best_cost,
                self.best_level,
            ):
                self.at[queue] = member
                goes_on = self.go_on(place + 1, total, above)
            self.load[member] -= need
            self.free += need
            self.value += need * self.price[member]
            if not goes_on:
                return False
        return True

    def _choices(self, queue: int) -> list[tuple[float, int, int]]:
        """The members that may take the queue and have room, the cheapest and then the least busy first."""
        problem, need = self.problem, self.problem.need[queue]
        fitting = [member for member in problem.takers[queue] if self.load[member] + need <= self.room[member]]
        found = [
            ((self.load[member] + need) / problem.capacity[member], problem.moving(queue, member), member)
            for member in fitting
        ]
        return sorted(found, key=lambda choice: (choice[1], choice[0], choice[2]))


_PART = 1 << 40


def search(
    problem: Problem,
    level: Fraction,
    prices: Prices,
    at: Sequence[int] | None,
    floor: Fraction = Fraction(0),
    steps: int = STEPS,
) -> Found:
    """The assignment of least cost, and of these one of least utilisation, in which no utilisation is above ``level``.

    ``at``: one that is known, which is to be undercut; None: none is. ``prices``: any that hold, best ones prune most.
    ``floor``: no utilisation is below. With ``steps`` of 0 nothing is looked at.
    """
    order = problem.heaviest_first
    room = problem.room(level)
    rest, dues = [0], [0]
    price = [0] * len(room)
    if prices.of_cost:
        for member, value in prices.of_member.items():
            price[member] = value * _PART // prices.of_cost
    for queue in reversed(order):
        need = problem.need[queue]
        rest.append(rest[-1] + need)
        dues.append(
            dues[-1]
            + min(need * price[member] + problem.moving(queue, member) * _PART for member in problem.takers[queue])
        )
    unlimited = sum(problem.cost) + 1
    branches = _Branches(
        problem,
        room,
        order,
        rest[::-1],
        dues[::-1],
        price,
        _alike(problem),
        [0] * len(room),
        [NOBODY] * len(order),
        unlimited if at is None else problem.cost_of(at),
        float(level + 1 if at is None else problem.utilisation(at)),
        float(floor),
        steps,
        sum(room),
        sum(map(int.__mul__, room, price)),
    )
    if len(order) > DEEPEST:
        return Found(None, complete=False)
    ended = branches.go_on(0, 0, 0.0)
    certain = branches.best is not None and not branches.best_cost and branches.best_level <= branches.floor
    return Found(branches.best, ended or (certain and branches.steps >= 0))


DEEPEST = 400
"""Queues up to which branches are looked at: a branch is as deep as there are queues."""


def _alike(problem: Problem) -> list[int]:
    """Members with the same number own nothing and may take the same queues."""
    takes: list[list[int]] = [[] for _ in problem.capacity]
    for queue, takers in enumerate(problem.takers):
        for member in takers:
            takes[member].append(queue)
    numbers: dict[tuple[object, ...], int] = {}
    keys = [(tuple(takes[member]), member if owned else NOBODY) for member, owned in enumerate(problem.owned)]
    return [numbers.setdefault(key, len(numbers)) for key in keys]
