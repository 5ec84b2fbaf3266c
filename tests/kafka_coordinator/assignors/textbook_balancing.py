"""BALANCE, BALANCED and the movement memory of spec 5.7, word for word: the moving half of the textbook."""

from collections.abc import Callable

from kafka_coordinator.assignors.inputs import AssignorError, Partition
from protocols.java import string_hash, utf16_key


class Balancing:
    """BALANCE, BALANCED and the movement memory of 5.7."""

    def __init__(
        self,
        partitions: list[Partition],
        subscriptions: dict[str, tuple[str, ...]],
        most: dict[str, int],
        owned: dict[str, list[Partition]],
        owner: dict[Partition, str],
        previous: dict[Partition, str],
        beside: Callable[[str, Partition], bool],
    ) -> None:
        self.partitions, self.subscriptions, self.most = partitions, subscriptions, most
        self.owned, self.owner, self.previous = owned, owner, previous
        self.beside = beside
        self.net: dict[Partition, tuple[str, str]] = {}
        self.by_pair: dict[tuple[str, str, str], _JavaSet] = {}

    def size(self, id: str) -> int:
        if id not in self.owned:
            raise AssignorError("NullPointerException")
        return len(self.owned[id])

    def by_size(self) -> list[str]:
        return sorted(self.owned, key=lambda id: (len(self.owned[id]), utf16_key(id)))

    def balanced(self) -> bool:
        order = self.by_size()
        if self.size(order[-1]) - self.size(order[0]) <= 1:
            return True
        # Where several lists hold a partition, the last one counts.
        holder = {partition: id for id, own in self.owned.items() for partition in own}
        for id in order:
            if self.size(id) == self.most[id]:
                continue
            for partition in self.partitions:
                if (
                    partition[0] in self.subscriptions[id]
                    and partition not in self.owned[id]
                    and self.size(holder[partition]) > self.size(id) + 1
                ):
                    return False
        return True

    def balance(self, partitions: list[Partition]) -> bool:
        moved = False
        while self.one_pass(partitions):
            moved = True
        return moved

    def one_pass(self, partitions: list[Partition]) -> bool:
        moved = False
        for partition in partitions:
            if self.balanced():
                break
            holder = self.owner[partition]
            before = self.previous.get(partition)
            if before is not None and self.size(holder) > self.size(before) + 1:
                self.move(partition, before)
                moved = True
                continue
            subscribers = [id for id, topics in self.subscriptions.items() if partition[0] in topics]
            beside = [id for id in subscribers if self.beside(id, partition)]
            for asked in (beside, subscribers) if self.beside(holder, partition) else (subscribers,):
                if any(self.size(holder) > self.size(other) + 1 for other in asked):
                    self.move(partition, next(id for id in self.by_size() if id in subscribers))
                    moved = True
                    break
        return moved

    def move(self, partition: Partition, target: str) -> None:
        topic = partition[0]
        source = self.net[partition][0] if partition in self.net else self.owner[partition]
        opposite = self.by_pair.get((topic, target, source))
        if opposite:
            partition = opposite.first()
        holder = self.owner[partition]
        self.owned[holder].remove(partition)
        self.owned[target].append(partition)
        self.owner[partition] = target
        if partition in self.net:
            origin, destination = self.net.pop(partition)
            pair = self.by_pair[topic, origin, destination]
            pair.remove(partition)
            if not pair:
                del self.by_pair[topic, origin, destination]
            if origin == target:
                return
            holder = origin
        self.net[partition] = holder, target
        self.by_pair.setdefault((topic, holder, target), _JavaSet()).add(partition)


class _JavaSet:
    """A java.util.HashSet of partitions, bin by bin (spec 5.1)."""

    def __init__(self) -> None:
        self.bins: list[list[Partition]] = [[] for _ in range(16)]

    def __len__(self) -> int:
        return sum(map(len, self.bins))

    def bin(self, partition: Partition) -> list[Partition]:
        hash_code = 31 * (31 + partition[1]) + string_hash(partition[0]) & 0xFFFFFFFF
        return self.bins[(hash_code ^ hash_code >> 16) % len(self.bins)]

    def add(self, partition: Partition) -> None:
        self.bin(partition).append(partition)
        if len(self) > 0.75 * len(self.bins):
            entries = [each for bin in self.bins for each in bin]
            self.bins = [[] for _ in range(2 * len(self.bins))]
            for each in entries:
                self.bin(each).append(each)

    def remove(self, partition: Partition) -> None:
        self.bin(partition).remove(partition)

    def first(self) -> Partition:
        return next(each for bin in self.bins for each in bin)
