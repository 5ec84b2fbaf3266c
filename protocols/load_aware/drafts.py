"""Good assignments by single moves and swaps, without a promise: `bounds` says how good they are.

A draft is an assignment under change. Everything is done to its busiest member: a queue goes to another one, or is
swapped for a smaller one, so that both end below where the busiest stood. Cheap exchanges come first where cost counts.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import NamedTuple

from protocols.load_aware.problem import NOBODY, Problem

LIGHTS = 12
"""Of the takers of a queue so many are looked at, those that are least busy; and its owner."""

PAIRS = 1_000_000
"""So many exchanges are looked at for one draft: about a second's work, more than most groups need."""


class Exchange(NamedTuple):
    """``queue`` goes to ``member``, who gives ``back`` (None: nothing). Smaller tuples are better."""

    rank: tuple[float, ...]
    queue: int
    member: int
    back: int | None


class Draft:
    """``at``: of each queue its member. ``fills``: of members that can take a queue the busiest does, else the least
    busy one."""

    def __init__(self, problem: Problem, at: Sequence[int], *, fills: bool = False) -> None:
        self.problem = problem
        self.at = list(at)
        self.load = problem.loads(at)
        self.queues: list[set[int]] = [set() for _ in problem.capacity]
        for queue, member in enumerate(at):
            if member != NOBODY:
                self.queues[member].add(queue)
        self.cost = problem.cost_of(at)
        self.left = PAIRS
        self.fills = fills
        # Least busy first.
        self.ranked = sorted(map(self.standing, range(len(self.load))))

    def standing(self, member: int) -> tuple[float, int, int]:
        """Who is less busy, or as busy with fewer queues, comes first."""
        return self.busy(member), len(self.queues[member]), member

    def busy(self, member: int, more: int = 0) -> float:
        return (self.load[member] + more) / self.problem.capacity[member]

    def give(self, queue: int, member: int) -> None:
        """The queue goes to the member, from whoever has it."""
        before, need = self.at[queue], self.problem.need[queue]
        self.cost += self.problem.moving(queue, member) - (
            0 if before == NOBODY else self.problem.moving(queue, before)
        )
        if before != NOBODY:
            self._leave_rank(before)
            self.load[before] -= need
            self.queues[before].remove(queue)
            insort(self.ranked, self.standing(before))
        self._leave_rank(member)
        self.at[queue] = member
        self.load[member] += need
        self.queues[member].add(queue)
        insort(self.ranked, self.standing(member))

    def _leave_rank(self, member: int) -> None:
        del self.ranked[bisect_left(self.ranked, self.standing(member))]

    def place(self, queues: Iterable[int]) -> None:
        """Each queue, in this order, goes to the taker whom it makes least busy."""
        heaps: dict[tuple[int, ...], list[tuple[float, int]]] = {}
        equal = len(set(self.problem.capacity)) == 1
        for queue in queues:
            takers, need = tuple(self.problem.takers[queue]), self.problem.need[queue]
            if need and equal:
                among = self.problem.takers_of[queue]
                found = next(member for _, _, member in self.ranked if member in among)
            elif need:
                # Members of unequal capacity: who is least busy now is not always who will be.
                found = min(takers, key=lambda member: (self.busy(member, need), len(self.queues[member]), member))
            else:
                heap = heaps.setdefault(takers, [])
                if not heap:
                    heap += [(len(self.queues[member]), member) for member in takers]
                    heapify(heap)
                count, found = heappop(heap)
                heappush(heap, (count + 1, found))
            self.give(queue, found)

    def exchange(self, change: Exchange) -> None:
        former = self.at[change.queue]
        self.give(change.queue, change.member)
        if change.back is not None:
            self.give(change.back, former)

    def best_exchange(self, heavy: int, budget: int | None, room: Sequence[int] | None) -> Exchange | None:
        """The exchange that helps a member best; None if none does.

        With a ``room`` for each member what counts is to stay in it: the cheapest exchange per need that it takes off,
        and of those the one that wastes least. Without: how busy the busier of the two is afterwards.
        """
        problem = self.problem
        least_busy: dict[int, list[int]] = {}
        best: Exchange | None = None
        for queue in sorted(self.queues[heavy], key=lambda queue: (-problem.need[queue], queue)):
            if not problem.need[queue] or self.left <= 0:
                break
            kind = problem.kind_of[queue]
            if kind not in least_busy:
                takers = problem.takers_of[queue]
                others = (member for _, _, member in self.ranked if member in takers and member != heavy)
                least_busy[kind] = list(islice(others, LIGHTS))
            lights = least_busy[kind]
            owner = problem.owner[queue]
            if owner not in (heavy, NOBODY) and owner not in lights:
                lights = [owner, *lights]
            for light in lights:
                for change in self._exchanges(queue, heavy, light, budget, room):
                    if best is None or change[:3] < best[:3]:
                        best = change
        return best

    def _exchanges(
        self, queue: int, heavy: int, light: int, budget: int | None, room: Sequence[int] | None
    ) -> Iterator[Exchange]:
        """The allowed ones in which the queue goes from ``heavy`` to ``light``."""
        problem, load, need = self.problem, self.load, self.problem.need[queue]
        costs = problem.moving(queue, light) - problem.moving(queue, heavy)
        # The most that may be added: what the room leaves, or what makes it less busy than the other one is now.
        most = room[light] - load[light] if room is not None else self._most(heavy, light)
        backs: list[int | None] = [None] if need <= most else []
        if room is None or not backs:
            backs += [
                back
                for back in self.queues[light]
                if need - most <= problem.need[back] < need and heavy in problem.takers_of[back]
            ]
            self.left -= len(self.queues[light])
        for back in backs:
            shift = need if back is None else need - problem.need[back]
            more = costs
            if back is not None:
                more += problem.moving(back, heavy) - problem.moving(back, light)
            if budget is not None and self.cost + more > budget:
                continue
            if room is None:
                rank: tuple[float, ...] = (max(self.busy(light, shift), self.busy(heavy, -shift)), more)
            else:
                excess = load[heavy] - room[heavy]
                busy = self.busy(light, shift)
                rank = (more / min(shift, excess), abs(shift - excess), -busy if self.fills else busy)
            yield Exchange(rank, queue, light, back)

    def _most(self, heavy: int, light: int) -> int:
        """How much the other one may take so that it stays less busy than the heavy one is."""
        capacity = self.problem.capacity
        return (self.load[heavy] * capacity[light] - 1) // capacity[heavy] - self.load[light]

    def lower(self, budget: int | None = None) -> None:
        """Help the busiest member as long as an exchange makes it less busy; ``budget``: the most that all may cost."""
        while self.left > 0 and self.ranked:
            change = self.best_exchange(self.ranked[-1][-1], budget, None)
            if change is None:
                return
            self.exchange(change)

    def even(self) -> None:
        """As `lower`; members whom nothing helps are set aside, and the next busiest is helped."""
        mean = sum(self.load) / sum(self.problem.capacity)
        aside = 0
        while self.left > 0 and aside < len(self.ranked) - 1 and self.ranked[-1 - aside][0] > mean:
            change = self.best_exchange(self.ranked[-1 - aside][-1], None, None)
            if change is None:
                aside += 1
            else:
                self.exchange(change)

    def fit(self, level: Fraction) -> bool:
        """Bring every member to this utilisation or below by cheap exchanges; whether that succeeded."""
        room = self.problem.room(level)
        while self.left > 0:
            over = [member for member, load in enumerate(self.load) if load > room[member]]
            if not over:
                return True
            heavy = max(over, key=lambda member: (self.busy(member), -member))
            change = self.best_exchange(heavy, None, room) or self.best_exchange(heavy, None, None)
            if change is None:
                return False
            self.exchange(change)
        return False

    def go_home(self, level: Fraction) -> None:
        """Queues go back to their owners, the dearest first, where these have room for them at this utilisation."""
        room = self.problem.room(level)
        moved = [queue for queue, member in enumerate(self.at) if self.problem.moving(queue, member)]
        for queue in sorted(moved, key=lambda queue: (-self.problem.cost[queue], self.problem.need[queue], queue)):
            owner = self.problem.owner[queue]
            if self.load[owner] + self.problem.need[queue] <= room[owner]:
                self.give(queue, owner)


def kept(problem: Problem) -> Draft:
    """Everything stays with its owner; queues without one go where they are least felt."""
    draft = Draft(problem, problem.owner)
    draft.place(queue for queue in problem.heaviest_first if problem.owner[queue] == NOBODY)
    return draft


def fresh(problem: Problem) -> Draft:
    """As if nobody owned anything: heaviest first (Graham 1969)."""
    draft = Draft(problem, [NOBODY] * len(problem.need))
    draft.place(problem.heaviest_first)
    return draft
