"""The general sticky path where members keep partitions that do not exist (spec 5.7, "vanished partitions").

Such a partition counts as one of the member's. It also stops the released assignor's search for partitions without
an owner, so that all later ones count as free and get a second owner, maybe the same member once more. From then on
a member's list and the table of owners tell different things. Both are kept here, and every question is put to the
one that the released assignor asks: so this is slower than `balancing`, which needs the table alone.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from kafka_coordinator.assignors.balancing import Loads, Movements, Run, Topic
from kafka_coordinator.assignors.inputs import AssignorError, Partition

Stray = tuple[str, int, int]
"""Topic, number within the topic, number as a partition of the group."""


def kept_strays(strays: Mapping[Partition, int], owned: Sequence[Sequence[int]]) -> list[Stray]:
    kept = set().union(*owned).intersection(strays.values())
    return [(topic, number, stray) for (topic, number), stray in strays.items() if stray in kept]


def free_runs(topics: Sequence[Topic], kept: Sequence[Stray], unowned: Callable[[Topic], Run]) -> list[Run]:
    """What counts as free: up to the first stray what nobody owns, after it everything.

    ``topics`` are in the order in which they are dealt. ``unowned`` finds the partitions of a topic that nobody owns.
    """
    place = {topic.name: at for at, topic in enumerate(topics)}
    halt, number = min((place[topic], number) for topic, number, _ in kept)
    # A number below 0 comes before all partitions of its topic, one that is too high after them.
    whole_from = halt if number < 0 else halt + 1
    return [unowned(topic) if at < whole_from else (topic, topic.span) for at, topic in enumerate(topics)]


def taking_part(
    shared: Sequence[Topic], kept: Sequence[Stray], owned: Sequence[list[int]], most: list[int]
) -> list[int]:
    """All members but those who have no fewer partitions than they can own, none of them of a shared topic."""
    names = {topic.name for topic in shared}
    movable = {stray for topic, _, stray in kept if topic in names}.union(*(topic.span for topic in shared))
    return [member for member, own in enumerate(owned) if len(own) < most[member] or not movable.isdisjoint(own)]


class DoublyOwnedBalancing:
    """As `balancing.Balancing`, for members whose lists hold strays and partitions of which another one is the owner.

    ``owned``: per member its list, in which a partition may stand twice; ``turn``: each member's place in the order
    in which the released assignor goes through the members; ``racks``: the rack of each member and the racks of
    partitions, where racks count.
    """

    def __init__(
        self,
        topics: Sequence[Topic],
        owned: list[list[int]],
        owner: list[int],
        loads: Loads,
        most: list[int],
        former: Mapping[int, int],
        taking_part: Sequence[int],
        turn: Sequence[int],
        racks: tuple[Sequence[str | None], Mapping[int, tuple[str, ...]]] | None,
    ) -> None:
        self._topics, self._owned, self._owner, self._loads = topics, owned, owner, loads
        self._most, self._former, self._turn, self._racks = most, former, turn, racks
        self._taking_part = taking_part
        self._absent = set(range(len(owned))).difference(taking_part)
        self._movements = Movements()
        self._holders: dict[int, Counter[int]] = {partition: Counter() for topic in topics for partition in topic.span}
        for member in taking_part:
            for partition in owned[member]:
                if partition in self._holders:
                    self._holders[partition][member] += 1
        self._imbalance: tuple[int, int] | None = None

    def balance(self, runs: list[Run]) -> bool:
        """Pass over these partitions until nothing moves. Returns whether anything did.

        Raises `AssignorError` as the released client fails where it asks for the load of a member that takes no part.
        """
        moved = False
        while self._pass(runs):
            moved = True
        return moved

    def _pass(self, runs: list[Run]) -> bool:
        moved = False
        balanced = self._is_balanced()
        for topic, partitions in runs:
            for partition in partitions:
                if balanced:
                    return moved
                target = self._target(topic, partition)
                if target is not None:
                    self._move(topic, partition, target)
                    moved = True
                    balanced = self._is_balanced()
        return moved

    def _target(self, topic: Topic, partition: int) -> int | None:
        """Where the partition has to go: to its former owner, or to the least loaded subscriber; None: it stays."""
        load = self._loads.of(self._owner[partition])
        before = self._former.get(partition)
        if before is not None:
            if before in self._absent:
                raise AssignorError("NullPointerException")
            if load > self._loads.of(before) + 1:
                return before
        present = [member for member in topic.subscribers if member not in self._absent]
        first = min(present, key=self._loads.key.__getitem__)
        has_room = load > self._loads.of(first) + 1
        if len(present) < len(topic.subscribers):
            self._ask_in_turn(topic, partition, load)
        return first if has_room else None

    def _ask_in_turn(self, topic: Topic, partition: int, load: int) -> None:
        """Fail where a member that takes no part is asked before one with room: first of those beside the replicas,
        where the owner is beside them too, then of all."""
        in_turn = sorted(topic.subscribers, key=self._turn.__getitem__)
        asked = [in_turn]
        if self._racks is not None:
            rack_of, racks = self._racks[0], self._racks[1][partition]
            if rack_of[self._owner[partition]] in racks:
                asked.insert(0, [member for member in in_turn if rack_of[member] in racks])
        for members in asked:
            for member in members:
                if member in self._absent:
                    raise AssignorError("NullPointerException")
                if load > self._loads.of(member) + 1:
                    return

    def _move(self, topic: Topic, partition: int, target: int) -> None:
        """Move the partition, or one that came the opposite way, to ``target``."""
        partition = self._movements.to_move(topic.name, partition, self._owner[partition], target)
        source = self._owner[partition]
        self._movements.record(topic.name, topic.span, partition, source, target)
        self._owned[source].remove(partition)
        self._owned[target].append(partition)
        self._owner[partition] = target
        holders = self._holders[partition]
        holders[target] += 1
        holders[source] -= 1
        if not holders[source]:
            del holders[source]
        self._loads.key[source] -= self._loads.one
        self._loads.key[target] += self._loads.one

    def _is_balanced(self) -> bool:
        """BALANCED: loads differ by one at most, or nobody could take a partition from an owner with two more.

        A partition's owner is here the last one, in turn, whose list holds it. A member whose load is the number of
        partitions it could own is not asked, nor is one for a partition that its list holds.
        """
        if self._loads.spread_of(self._taking_part) <= 1:
            return True
        if self._imbalance is not None and self._shows_imbalance(*self._imbalance):
            return False
        self._imbalance = next(filter(None, map(self._imbalance_in, self._topics)), None)
        return self._imbalance is None

    def _imbalance_in(self, topic: Topic) -> tuple[int, int] | None:
        """A member and a partition of the topic that it could take from an owner with two more."""
        load_of = self._loads.of
        asked = [member for member in topic.subscribers if member not in self._absent]
        asked = [member for member in asked if load_of(member) != self._most[member]]
        if not asked:
            return None
        least = min(map(load_of, asked))
        rich = [partition for partition in topic.span if load_of(self._last_holder(partition)) > least + 1]
        return next(
            ((member, partition) for partition in rich for member in asked if self._shows_imbalance(member, partition)),
            None,
        )

    def _shows_imbalance(self, member: int, partition: int) -> bool:
        load = self._loads.of(member)
        if load == self._most[member] or member in self._holders[partition]:
            return False
        return self._loads.of(self._last_holder(partition)) > load + 1

    def _last_holder(self, partition: int) -> int:
        holders = self._holders[partition]
        return next(iter(holders)) if len(holders) == 1 else max(holders, key=self._turn.__getitem__)
