"""Moves that pay, for whoever is asked again and again while loads change: they save more waiting than they cause.

A queue that moves has no reader for a while, and what came meanwhile waits at its new owner. So moves are weighed by
what waits for a while to come, member by member: work, added up over the seconds that it waits. Rates are not known but
expected: what is added up is the mean over what they may be. So a member whose queues need nearly all its time is
relieved before its noise makes records wait, and where all members have too much to do little is gained by a move. A
move pays if it saves more than its price, which rises with the part of all members' time that is used: what is free
makes good for a move, and where nothing is free the next noise asks for another one. So light queues go rather than the
hot one, and a lag that is gone soon is no reason for a move.

This is no proof and no optimum, unlike `share_out`: single moves and swaps are tried for the member at which most
waits, and the one that saves most for each queue that it moves is made, until none pays.
"""

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from math import sqrt
from operator import itemgetter
from typing import NamedTuple

from protocols.load_aware.drafts import LIGHTS

NODES = ((-sqrt(3), 1 / 6), (0.0, 2 / 3), (sqrt(3), 1 / 6))
"""Standard deviations that a rate is off, and how likely that is: the Gauss-Hermite rule of three points."""

PRICE, STEEPNESS = 12.0, 2.5
"""The price of a move where all time is used, times what waits where a member stands still while a queue moves; and the
power of the used part of all time by which it is less elsewhere. Found by experiments with a horizon of a minute
(docs/load.md)."""

CHANGES = 500_000
"""So many changes are weighed at most: some seconds' work, more than groups of 1,000 queues need."""


class Work(NamedTuple):
    """What a member's queues bring: work that waits and work per second, of those that it reads at once and of those
    that move to it, and the variance of all work per second."""

    lag: float
    comes: float
    moved_lag: float
    moved: float
    variance: float


@dataclass(frozen=True, slots=True)
class Flows:
    """Queues 0..Q-1, members 0..M-1; work is in seconds of a member's time. ``comes``: work per second of each queue;
    ``spread``: the standard deviation of what it may be instead; ``lag``: work that waits; ``takers`` and ``owner`` as
    in `Problem`, all queues owned; ``capacity``: of each member seconds of work per second; ``move_s``: seconds in
    which nobody reads a queue that moves, at most ``horizon_s``: seconds for which the rates are believed."""

    comes: Sequence[float]
    spread: Sequence[float]
    lag: Sequence[float]
    takers: Sequence[tuple[int, ...]]
    owner: Sequence[int]
    capacity: Sequence[float]
    move_s: float
    horizon_s: float

    def work(self, member: int, queues: Sequence[int]) -> Work:
        """What these queues bring, if the member has them."""
        kept = [queue for queue in queues if self.owner[queue] == member]
        moved = [queue for queue in queues if self.owner[queue] != member]
        return Work(
            sum(self.lag[queue] for queue in kept),
            sum(self.comes[queue] for queue in kept),
            sum(self.lag[queue] for queue in moved),
            sum(self.comes[queue] for queue in moved),
            sum(self.spread[queue] ** 2 for queue in queues),
        )

    def waits(self, member: int, work: Work) -> float:
        """Work that waits at the member, added up over the seconds of the horizon, on average. However a member shares
        its time among its queues, it does all it can while anything waits: only the sums of its queues count."""
        if not work.variance:
            return self._waits(member, work, 0.0)
        spread = sqrt(work.variance)
        return sum(weight * self._waits(member, work, off * spread) for off, weight in NODES)

    def _waits(self, member: int, work: Work, more: float) -> float:
        """The same if so much more comes per second."""
        capacity = self.capacity[member]
        net = max(0.0, work.comes + more) - capacity
        if not (work.moved_lag or work.moved):
            return _added_up(work.lag, net, self.horizon_s)[0]
        waited, left = _added_up(work.lag, net, self.move_s)
        unread = work.moved_lag + work.moved * self.move_s
        net = max(0.0, work.comes + work.moved + more) - capacity
        later = _added_up(left + unread, net, self.horizon_s - self.move_s)[0]
        return waited + (work.moved_lag + unread) / 2 * self.move_s + later

    def waits_in_all(self, at: Sequence[int]) -> float:
        """The same of all members, where queue n is at member ``at[n]``."""
        return sum(self.waits(member, self.work(member, owned)) for member, owned in enumerate(self.queues_of(at)))

    def queues_of(self, at: Sequence[int]) -> list[list[int]]:
        """Of each member its queues, ascending."""
        owned: list[list[int]] = [[] for _ in self.capacity]
        for queue, member in enumerate(at):
            owned[member].append(queue)
        return owned

    def prices(self) -> list[float]:
        """Of each member what must be saved of `waits` by giving it a queue of another one."""
        used = min(1.0, (sum(self.comes) + sum(self.lag) / self.horizon_s) / sum(self.capacity))
        return [PRICE * used**STEEPNESS * capacity * self.move_s**2 / 2 for capacity in self.capacity]


def _added_up(left: float, net: float, seconds: float) -> tuple[float, float]:
    """Work that waits, ``left`` at first and ``net`` more each second, added up over the seconds; and what is left."""
    end = left + net * seconds
    return ((left + end) / 2 * seconds, end) if net >= 0 or end >= 0 else (left * left / (-2 * net), 0.0)


NOTHING = 1e-6

Change = tuple[int, int, int | None]
"""Queue of a member, who takes it, and what that one gives back for it (None: nothing)."""


@dataclass(slots=True)
class Moving:
    """An assignment under change. ``prices``: of each member; ``weighed``: how many changes were."""

    flows: Flows
    prices: list[float]
    at: list[int]
    queues: list[list[int]]
    work: list[Work]
    waits: list[float]
    weighed: int = 0

    @classmethod
    def of(cls, flows: Flows) -> "Moving":
        """With nothing moved."""
        queues = flows.queues_of(flows.owner)
        work = [flows.work(member, owned) for member, owned in enumerate(queues)]
        waits = [flows.waits(member, each) for member, each in enumerate(work)]
        return cls(flows, flows.prices(), list(flows.owner), queues, work, waits)

    def busy(self, member: int) -> float:
        """Parts of a member's time that its queues need, with what waits spread over the horizon."""
        work = self.work[member]
        need = work.comes + work.moved + (work.lag + work.moved_lag) / self.flows.horizon_s
        return need / self.flows.capacity[member]

    def behind(self) -> list[int]:
        """Members at which something waits."""
        return [member for member, waits in enumerate(self.waits) if waits > NOTHING]

    def changes(self, heavy: int) -> Iterator[Change]:
        """Single moves, and swaps for a queue that brings less."""
        flows = self.flows
        chosen: dict[tuple[int, ...], Sequence[int]] = {}
        for queue in self.queues[heavy]:
            takers = flows.takers[queue]
            if takers not in chosen:
                chosen[takers] = takers if len(takers) <= LIGHTS else nsmallest(LIGHTS, takers, key=self.busy)
            for light in chosen[takers]:
                if light != heavy:
                    yield queue, light, None
                    for back in self.queues[light]:
                        if flows.comes[back] < flows.comes[queue] and heavy in flows.takers[back]:
                            yield queue, light, back

    def after(self, member: int, more: int | None, less: int | None) -> float:
        """What waits at the member with one queue more, and one less."""
        flows, (lag, comes, moved_lag, moved, variance) = self.flows, self.work[member]
        for queue, sign in ((more, 1), (less, -1)):
            if queue is None:
                continue
            variance += sign * flows.spread[queue] ** 2
            if flows.owner[queue] == member:
                lag, comes = lag + sign * flows.lag[queue], comes + sign * flows.comes[queue]
            else:
                moved_lag, moved = moved_lag + sign * flows.lag[queue], moved + sign * flows.comes[queue]
        return flows.waits(member, Work(lag, comes, moved_lag, moved, max(0.0, variance)))

    def price(self, queue: int, member: int) -> float:
        """Of the queue's being at the member."""
        return 0.0 if member == self.flows.owner[queue] else self.prices[member]

    def saved(self, heavy: int, change: Change) -> float:
        """By how much less waits, less the price, for each queue of the change; of changes that do not pay nothing more
        is said than that they do not."""
        self.weighed += 1
        queue, light, back = change
        saved = self.waits[heavy] + self.waits[light] - self.price(queue, light) + self.price(queue, heavy)
        if back is not None:
            saved += self.price(back, light) - self.price(back, heavy)
        if saved > NOTHING:
            saved -= self.after(heavy, back, queue)
        if saved > NOTHING:
            saved -= self.after(light, queue, back)
        return saved if back is None else saved / 2

    def make(self, heavy: int, change: Change) -> None:
        """The change of a member's queue."""
        queue, light, back = change
        for each, before, after in ((queue, heavy, light), (back, light, heavy)):
            if each is not None:
                self.queues[before].remove(each)
                insort(self.queues[after], each)
                self.at[each] = after
        for member in (heavy, light):
            self.work[member] = self.flows.work(member, self.queues[member])
            self.waits[member] = self.flows.waits(member, self.work[member])

    def settle(self) -> None:
        """Make the best change for the member at which most waits, until none pays."""
        aside: set[int] = set()
        while waiting := [(-self.waits[member], member) for member in self.behind() if member not in aside]:
            heavy = min(waiting)[1]
            changes = islice(self.changes(heavy), CHANGES - self.weighed)
            saved, best = max(
                ((self.saved(heavy, change), change) for change in changes), key=itemgetter(0), default=(0.0, None)
            )
            if best is None or saved <= NOTHING:
                aside.add(heavy)
            else:
                self.make(heavy, best)
                aside.clear()


def pays(flows: Flows) -> tuple[int, ...]:
    """Of each queue its member after the moves that pay."""
    moving = Moving.of(flows)
    moving.settle()
    return tuple(moving.at)
