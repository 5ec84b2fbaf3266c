"""Queues and members as numbers: what each queue needs, who may take it, who has it, what each member can do."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

NOBODY = -1
"""In place of a member: the queue has no owner who may keep it."""


@dataclass(frozen=True)
class Problem:
    """Queues 0..Q-1 and members 0..M-1. All numbers are whole.

    ``need``: of each queue, 0 or more, in the unit of ``capacity`` (each above 0). ``takers``: of each queue the
    members that may own it, ascending, at least one. ``owner``: of each queue one of its takers, or `NOBODY`.
    ``cost``: of each queue what it costs to take it from its owner, 1 or more; the first owner of a queue is free.
    """

    need: Sequence[int]
    takers: Sequence[tuple[int, ...]]
    capacity: Sequence[int]
    owner: Sequence[int]
    cost: Sequence[int]

    def moving(self, queue: int, member: int) -> int:
        """What it costs to give the queue to the member."""
        owner = self.owner[queue]
        return 0 if owner in (member, NOBODY) else self.cost[queue]

    def cost_of(self, at: Sequence[int]) -> int:
        """What the assignment costs, which gives queue n to member ``at[n]``."""
        return sum(map(self.moving, range(len(at)), at))

    def loads(self, at: Sequence[int]) -> list[int]:
        """What the members' queues need in this assignment; queues of `NOBODY` count nowhere."""
        loads = [0] * len(self.capacity)
        for need, member in zip(self.need, at, strict=True):
            if member != NOBODY:
                loads[member] += need
        return loads

    def utilisation(self, at: Sequence[int]) -> Fraction:
        """The largest of all members."""
        return max(
            (Fraction(load, capacity) for load, capacity in zip(self.loads(at), self.capacity, strict=True)),
            default=Fraction(0),
        )

    def room(self, level: Fraction) -> list[int]:
        """What members can take up to this utilisation."""
        return [level.numerator * capacity // level.denominator for capacity in self.capacity]

    @cached_property
    def kinds(self) -> list[tuple[int, ...]]:
        """The different takers, in the order of their first queues."""
        return list(dict.fromkeys(self.takers))

    @cached_property
    def kind_of(self) -> list[int]:
        """Of each queue the place of its takers in `kinds`."""
        place = {takers: number for number, takers in enumerate(self.kinds)}
        return [place[takers] for takers in self.takers]

    @cached_property
    def takers_of(self) -> list[frozenset[int]]:
        """`takers`, to ask whether a member is among them."""
        sets = [frozenset(takers) for takers in self.kinds]
        return [sets[kind] for kind in self.kind_of]

    @cached_property
    def owned(self) -> list[list[int]]:
        """Of each member the queues that it owns today."""
        owned: list[list[int]] = [[] for _ in self.capacity]
        for queue, member in enumerate(self.owner):
            if member != NOBODY:
                owned[member].append(queue)
        return owned

    @cached_property
    def heaviest_first(self) -> list[int]:
        """Queues by what they need; of equal ones those with fewer takers first."""
        return sorted(range(len(self.need)), key=lambda queue: (-self.need[queue], len(self.takers[queue]), queue))
