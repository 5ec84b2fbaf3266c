"""Moving partitions between members until no move makes a pair of them more even (spec 5.7, BALANCE and BALANCED).

The released client asks before every partition whether the whole group is balanced. If it is, no partition would
move anyway, but for one oddity: a former owner may be given back a partition of a topic it no longer subscribes to.
So the question is answered only where the move at hand does not answer it by itself.

In Kafka `AbstractStickyAssignor.GeneralAssignmentBuilder` (`balance`, `performReassignments`).
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from kafka_coordinator.assignors.inputs import AssignorError
from kafka_coordinator.assignors.loads import Loads
from kafka_coordinator.assignors.movements import Movements
from kafka_coordinator.assignors.topics import Run, Topic


class Balancing:
    """The state of one run. Members are numbers in the order of their ids.

    ``topics``: those with two subscribers or more. ``owned``: per member an ordered set of partitions; ``owner``:
    partition to member; ``most``: how many partitions each member could own; ``former``: partition to its owner
    in an earlier generation; ``taking_part``: the members that are balanced.
    """

    def __init__(
        self,
        topics: list[Topic],
        owned: list[dict[int, None]],
        owner: list[int],
        loads: Loads,
        most: list[int],
        former: dict[int, int],
        taking_part: list[int],
    ) -> None:
        self._topics, self._owned, self._owner, self._loads = topics, owned, owner, loads
        self._most, self._former, self._taking_part = most, former, taking_part
        self._absent = set(former.values()).difference(taking_part)
        self._movements = Movements()
        self._odd = {
            topic.name
            for topic in topics
            if former and not {former[each] for each in topic.span if each in former}.issubset(topic.subscribers)
        }

    def balance(self, runs: list[Run]) -> bool:
        """Pass over these partitions until nothing moves. Returns whether anything did.

        Raises `AssignorError` as the released client fails where a former owner takes no part.
        """
        moved = False
        while self._pass(runs):
            moved = True
        return moved

    def _pass(self, runs: list[Run]) -> bool:
        key, shift, mask = self._loads.key, self._loads.shift, self._loads.mask
        if self._loads.spread_of(self._taking_part) <= 1:
            return False
        moved = False
        for topic, partitions in runs:
            lightest = min(map(key.__getitem__, topic.subscribers)) >> shift
            if self._heaviest(partitions) - lightest <= 1 and topic.name not in self._odd:
                continue
            subscribers = set(topic.subscribers)
            # Entries whose load is out of date are dropped when they come up.
            heap = sorted(key[member] for member in subscribers)
            for partition in partitions:
                while key[heap[0] & mask] != heap[0]:
                    heappop(heap)
                load = key[self._owner[partition]] >> shift
                first = heap[0] & mask
                first_has_room = load > (heap[0] >> shift) + 1
                target = self._former.get(partition, first)
                if target in self._absent:
                    if self._is_balanced():
                        return moved
                    raise AssignorError("NullPointerException")
                if load <= (key[target] >> shift) + 1:
                    if not first_has_room:
                        continue
                    target = first
                shows_imbalance = first_has_room and key[first] >> shift != self._most[first]
                if not shows_imbalance and self._is_balanced():
                    return moved
                for member in self._move(topic, partition, target):
                    if member in subscribers:
                        heappush(heap, key[member])
                moved = True
        return moved

    def _move(self, topic: Topic, partition: int, target: int) -> tuple[int, int]:
        """Move the partition, or one that came the opposite way, to ``target``. Returns whose loads changed."""
        partition = self._movements.to_move(topic.name, partition, self._owner[partition], target)
        source = self._owner[partition]
        self._movements.record(topic.name, topic.span, partition, source, target)
        del self._owned[source][partition]
        self._owned[target][partition] = None
        self._owner[partition] = target
        self._loads.key[source] -= self._loads.one
        self._loads.key[target] += self._loads.one
        return source, target

    def _heaviest(self, partitions: Sequence[int]) -> int:
        """The largest load of these partitions' owners."""
        key, owner = self._loads.key, self._owner
        if isinstance(partitions, range):
            owners = set(owner[partitions.start : partitions.stop])
        else:
            owners = {owner[partition] for partition in partitions}
        return max(map(key.__getitem__, owners)) >> self._loads.shift

    def _is_balanced(self) -> bool:
        """BALANCED: loads differ by one at most, or nobody could take a partition from an owner with two more.

        A member whose load is the number of partitions it could own is not asked, whatever it owns.
        """
        if self._loads.spread_of(self._taking_part) <= 1:
            return True
        for topic in self._topics:
            askers = [load for member in topic.subscribers if (load := self._loads.of(member)) != self._most[member]]
            if askers and self._heaviest(topic.span) > min(askers) + 1:
                return False
        return True
