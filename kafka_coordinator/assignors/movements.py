"""Which partitions moved between whom while the sticky assignors balance (spec 5.7, "movement memory").

Moving a partition of a topic from A to B after another one of it went from B to A would be two moves too many:
the earlier one goes back instead.

In Kafka `AbstractStickyAssignor.PartitionMovements`.
"""

from protocols.java import grown_size, spread, topic_partition_hash


class Movements:
    """Net movements of one run: partition to (source, destination), members as numbers."""

    def __init__(self) -> None:
        self._net: dict[int, tuple[int, int]] = {}
        self._by_pair: dict[tuple[str, int, int], _EntrySet] = {}

    def to_move(self, topic: str, partition: int, owner: int, target: int) -> int:
        """The partition that moves to ``target`` where ``partition`` of ``owner`` was meant to."""
        source = self._net[partition][0] if partition in self._net else owner
        opposite = self._by_pair.get((topic, target, source))
        return partition if opposite is None else opposite.first()

    def record(self, topic: str, span: range, partition: int, owner: int, target: int) -> None:
        """Remember that ``partition`` of ``topic`` (its partitions are ``span``) went from owner to target."""
        source = owner
        if partition in self._net:
            pair = self._net.pop(partition)
            moved = self._by_pair[topic, *pair]
            moved.remove(partition)
            if not moved.entries:
                del self._by_pair[topic, *pair]
            source = pair[0]
            if source == target:
                return
        self._net[partition] = source, target
        key = topic, source, target
        if key not in self._by_pair:
            self._by_pair[key] = _EntrySet(topic, span)
        self._by_pair[key].add(partition)


class _EntrySet:
    """A java.util.HashSet of a topic's partitions, as far as its iteration order goes (spec 5.1)."""

    __slots__ = ("_size", "_span", "_topic", "entries")

    def __init__(self, topic: str, span: range) -> None:
        self._topic, self._span, self._size = topic, span, 16
        self.entries: dict[int, None] = {}

    def add(self, partition: int) -> None:
        self.entries[partition] = None
        self._size = grown_size(len(self.entries), self._size)

    def remove(self, partition: int) -> None:
        del self.entries[partition]

    def first(self) -> int:
        """The entry in the lowest bin; within a bin the one that has been there longest."""
        return min(self.entries, key=self._bin)

    def _bin(self, partition: int) -> int:
        return spread(topic_partition_hash(self._topic, partition - self._span.start)) & self._size - 1
