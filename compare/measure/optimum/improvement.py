"""Improving a sharing of weighted queues: the most loaded member gives a queue away or swaps one for a lighter one."""

from bisect import insort
from collections.abc import Iterable, Mapping

from protocols import Queue

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
