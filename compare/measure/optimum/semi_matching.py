"""The fairest loads: an optimal semi-matching of queues to members, at the level of bundles and classes.

A distribution of loads is fairest if no chain of moves leads from a member to one with at least two queues less; it is
then the least for every convex measure at once, and its sorted loads are the lexicographically least (Harvey, Ladner,
Lovasz, Tamir 2006). The reachable loads form the bases of a supermodular function, so the fairest fall into blocks
(Frank and Murota, "Decreasing minimization on M-convex sets"): within a block loads differ by at most one, and a
block's queues can go to no block of a lower level. The blocks are found by levelling a part of the group out; where
that does not succeed, the members that the surplus can reach must carry more than the others, and both sides are
levelled out apart.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from compare.measure.optimum.blocking import drain
from compare.measure.optimum.problem import Problem


@dataclass(frozen=True, slots=True)
class Level:
    """Classes of members who carry ``level`` or ``level + 1`` units each in every fairest distribution."""

    level: int
    classes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Fairest:
    """A fairest distribution.

    ``levels`` descending; ``load`` per class, all its members together; ``flow`` per bundle: class to its units.
    """

    levels: tuple[Level, ...]
    load: tuple[int, ...]
    flow: tuple[dict[int, int], ...]


def fairest(problem: Problem) -> Fairest:
    """A fairest distribution of the problem's units over its classes, and the levels that all of them share."""
    sizes = [len(members) for members in problem.classes]
    network = _Distribution(problem, sizes)
    found: dict[int, set[int]] = {}
    parts: list[set[int]] = [set(range(len(sizes)))] if sizes else []
    while parts:
        part = parts.pop()
        level = sum(network.load[each] for each in part) // sum(sizes[each] for each in part)
        upper = network.stuck(part, level + 1) or network.stuck(part, level)
        if upper:
            lower = part - upper
            network.keep_within(lower)
            parts += [upper, lower]
        else:
            # Parts of one level are one block: dropping the border between them claims less and allows more.
            found.setdefault(level, set()).update(part)
    return Fairest(
        tuple(Level(level, frozenset(found[level])) for level in sorted(found, reverse=True)),
        tuple(network.load),
        tuple({each - network.first: units for each, units in flow.items()} for flow in network.flow),
    )


class _Distribution:
    """Units of bundles given to classes. Nodes: bundles from 0 on, then classes from ``first`` on."""

    def __init__(self, problem: Problem, sizes: Sequence[int]) -> None:
        self.first = len(problem.bundles)
        self.sizes = sizes
        self.everything = sum(bundle.amount for bundle in problem.bundles)
        self.load = [0] * len(sizes)
        self.takers = [{each + self.first for each in bundle.classes} for bundle in problem.bundles]
        self.flow: list[dict[int, int]] = [{} for _ in problem.bundles]
        self.held: dict[int, set[int]] = {each + self.first: set() for each in range(len(sizes))}
        for n in sorted(range(self.first), key=lambda n: len(problem.bundles[n].classes)):
            self._pour(n, problem.bundles[n].amount, sorted(problem.bundles[n].classes))

    def _pour(self, bundle: int, amount: int, classes: list[int]) -> None:
        """Give a bundle to those who have least, as water fills a vessel: a good start, no more."""
        classes.sort(key=lambda each: self.load[each] // self.sizes[each])
        size = load = 0
        for count, each in enumerate(classes, 1):
            size += self.sizes[each]
            load += self.load[each]
            level = (load + amount) // size
            if count < len(classes) and level <= self.load[classes[count]] // self.sizes[classes[count]]:
                break
        for height in (level, level + 1):
            for each in classes[:count]:
                units = min(amount, height * self.sizes[each] - self.load[each])
                if units > 0:
                    self.push(bundle, each + self.first, units)
                    self.load[each] += units
                    amount -= units

    def stuck(self, part: AbstractSet[int], level: int) -> set[int] | None:
        """Move what members of the part have above the level to those below it.

        None if one of the two is gone then; else the classes that the surplus can reach: what they share cannot leave
        them, and none of them is below the level.
        """
        above = {each: self.load[each] - level * self.sizes[each] for each in sorted(part)}
        surplus = {each + self.first: units for each, units in above.items() if units > 0}
        wanted = {each + self.first: -units for each, units in above.items() if units < 0}
        if not surplus or not wanted:
            return None
        classes = {each + self.first for each in part}
        bundles = set().union(*(self.held[each] for each in classes))
        reached = drain(self, classes | bundles, surplus, wanted)
        for each, units in (*surplus.items(), *((each, -units) for each, units in wanted.items())):
            self.load[each - self.first] = level * self.sizes[each - self.first] + units
        if not reached or not any(wanted.values()):
            return None
        return {each - self.first for each in reached & classes}

    def keep_within(self, part: Iterable[int]) -> None:
        """From now on the bundles that this part holds go to no class outside of it."""
        classes = {each + self.first for each in part}
        for bundle in set().union(*(self.held[each] for each in classes)):
            self.takers[bundle] &= classes

    def onward(self, node: int, among: AbstractSet[int]) -> list[int]:
        """A bundle may go to any class that subscribes; a class may give up what it holds."""
        return sorted((self.takers[node] if node < self.first else self.held[node]) & among)

    def room(self, tail: int, head: int) -> int:
        """Bundles may give any amount, classes what they hold of the bundle."""
        return self.everything if tail < self.first else self.flow[head].get(tail, 0)

    def push(self, tail: int, head: int, amount: int) -> None:
        """Give units of a bundle to a class, or take them back."""
        if tail < self.first:
            self.flow[tail][head] = self.flow[tail].get(head, 0) + amount
            self.held[head].add(tail)
        else:
            left = self.flow[head][tail] - amount
            if left:
                self.flow[head][tail] = left
            else:
                del self.flow[head][tail]
                self.held[tail].discard(head)
