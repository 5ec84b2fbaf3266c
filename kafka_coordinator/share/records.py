"""What a share-partition knows of its records: their states, in batches that are tracked together (spec share 4.1).

A batch is one entry as long as all its records have the same state. Whoever touches a part of it splits it for good;
each offset then has an entry of its own, with a lock that ends at the same moment.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from protocols.node_state import NodeState


class State(StrEnum):
    """The state of a record, with Kafka's words."""

    AVAILABLE = "AVAILABLE"
    ACQUIRED = "ACQUIRED"
    ACKNOWLEDGED = "ACKNOWLEDGED"
    ARCHIVING = "ARCHIVING"
    ARCHIVED = "ARCHIVED"

    @property
    def number(self) -> int:
        """As it is persisted."""
        return _NUMBERS[self]

    @property
    def final(self) -> bool:
        return self in (State.ACKNOWLEDGED, State.ARCHIVED)


_NUMBERS = {State.AVAILABLE: 0, State.ACQUIRED: 1, State.ACKNOWLEDGED: 2, State.ARCHIVING: 3, State.ARCHIVED: 4}


class Persisted(NamedTuple):
    """Records of one state as the persister keeps them, both ends included."""

    first: int
    last: int
    state: State
    deliveries: int


class Lock(NamedTuple):
    """A lock on acquired records: when it ends (ms), the number of its creation, and what it locks, for whom."""

    due: int
    number: int
    first: int
    last: int
    member: str


class Known(NamedTuple):
    """What is known of a record before a write that may fail."""

    state: State
    deliveries: int
    owner: str | None


@dataclass(slots=True)
class Entry(NodeState):
    """One record, or all records of a batch. ``deliveries`` counts from 1; ``before``: what holds again should the
    write that is under way fail."""

    state: State
    deliveries: int
    owner: str | None = None
    lock: Lock | None = None
    before: Known | None = None

    @property
    def free(self) -> bool:
        """Whether somebody may acquire it."""
        return self.state is State.AVAILABLE and self.before is None

    def twin(self) -> "Entry":
        """The same for one offset of the batch, without the lock."""
        return Entry(self.state, self.deliveries, self.owner, None, self.before)


class Piece(NamedTuple):
    """The offsets that an entry stands for."""

    first: int
    last: int
    entry: Entry

    @property
    def size(self) -> int:
        return self.last - self.first + 1


@dataclass(slots=True)
class Batch(NodeState):
    """Offsets ``first`` to ``last``, with one entry for all or, once it is ``split``, one for each."""

    first: int
    last: int
    entries: list[Entry]
    split: bool = False

    def pieces(self, first: int | None = None, last: int | None = None) -> Iterator[Piece]:
        """The entries in order of offset; of a batch that is split those from ``first`` to ``last``."""
        if not self.split:
            yield Piece(self.first, self.last, self.entries[0])
            return
        low = self.first if first is None else max(first, self.first)
        high = self.last if last is None else min(last, self.last)
        for offset in range(low, high + 1):
            yield Piece(offset, offset, self.entries[offset - self.first])

    def within(self, first: int, last: int) -> bool:
        """Whether all its offsets lie from ``first`` to ``last``."""
        return first <= self.first and self.last <= last

    def entry_at(self, offset: int) -> Entry:
        return self.entries[offset - self.first if self.split else 0]


@dataclass(slots=True)
class Batches(NodeState):
    """The tracked batches, by offset; they do not overlap, and there may be gaps between them."""

    all: list[Batch] = field(default_factory=list)

    def __iter__(self) -> Iterator[Batch]:
        return iter(self.all)

    def __bool__(self) -> bool:
        return bool(self.all)

    @property
    def last_offset(self) -> int:
        return self.all[-1].last

    def add(self, batch: Batch) -> None:
        self.all.insert(self._after(batch.first), batch)

    def floor(self, offset: int) -> Batch | None:
        """The last batch that begins at the offset or before it."""
        index = self._after(offset)
        return self.all[index - 1] if index else None

    def starting(self, first: int, last: int) -> list[Batch]:
        """Batches whose first offset is one of these."""
        return self.all[bisect_left(self.all, first, key=_first) : self._after(last)]

    def drop_through(self, batch: Batch) -> None:
        """Forget the batch and those before it."""
        del self.all[: self._after(batch.first)]

    def _after(self, offset: int) -> int:
        return bisect_right(self.all, offset, key=_first)


def _first(batch: Batch) -> int:
    return batch.first
