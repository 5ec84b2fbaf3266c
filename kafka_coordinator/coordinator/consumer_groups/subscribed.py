"""The topics to which a group subscribes, as a broker knows them. What follows from them alone is computed once, and
not again before the broker learns other topics."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.assignors.translation import topic_id
from kafka_coordinator.assignors.uniform import id_hash
from protocols.java import entry_order, size_for_set_of, string_entry_order, string_hash

_AT_ONCE = 2_000
"""Names until others may have their turn."""


@lru_cache(maxsize=1 << 12)
def _id_of(topic: str, given: int | None) -> int:
    return topic_id(topic, given)


class SubscribedTopics:
    """``named``: all topics of the subscription, in Java's order; ``counts``: those that there are, with the numbers of
    their partitions; ``ids``: their 128-bit ids. Nothing of it changes."""

    __slots__ = ("_order", "_partitions", "counts", "hash", "ids", "named")

    def __init__(
        self, named: tuple[str, ...], counts: Mapping[str, int], ids: Mapping[str, int], racks: Mapping[str, object]
    ) -> None:
        self.named = named
        self.counts = {topic: counts[topic] for topic in named if topic in counts}
        self.ids = {topic: _id_of(topic, ids.get(topic)) for topic in self.counts}
        lines = [f"{topic!r} {count} {self.ids[topic]:x} {racks.get(topic)}" for topic, count in self.counts.items()]
        text = "\n".join(lines).encode("utf-8", "surrogatepass")
        self.hash = hashlib.md5(text, usedforsecurity=False).hexdigest() if lines else ""
        """Of all on which the group's metadata hash depends: the topics' ids, partitions and racks."""
        self._order: list[str] | None = None
        self._partitions: list[Partition] | None = None

    def in_order(self) -> Sequence[str]:
        """The order in which the assignor walks the topics: a HashSet of the ids, made from one of all names, of which
        those without an id drop out."""
        if self._order is None:
            size = size_for_set_of(len(self.named))
            by_id = {self.ids[topic]: topic for topic in string_entry_order(self.named, size) if topic in self.ids}
            self._order = [by_id[each] for each in entry_order(list(by_id), id_hash, size)]
        return self._order

    def partitions(self) -> Sequence[Partition]:
        """All partitions, topics in this order."""
        if self._partitions is None:
            counts = self.counts
            self._partitions = [(topic, number) for topic in self.in_order() for number in range(counts[topic])]
        return self._partitions


def hash_names(names: Sequence[str]) -> Iterator[None]:
    """Java's hash codes of so many names take long, and are remembered: others may have their turn in between."""
    for start in range(0, len(names), _AT_ONCE):
        for name in names[start : start + _AT_ONCE]:
            string_hash(name)
        yield
