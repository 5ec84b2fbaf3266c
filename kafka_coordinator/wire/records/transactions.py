"""What a partition knows of transactions: which are open, which were aborted, and who is about to begin one
(spec 12.4, 12.7).

In Kafka the transactional part of `ProducerStateManager`, `TransactionIndex`, `VerificationStateEntry`.
"""

from bisect import bisect_left
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple

_MOST_ASKING: Final = 1_000
"""Producers that have asked and written nothing yet: a client may ask with ever new ids."""


class Aborted(NamedTuple):
    """An aborted transaction: offsets of its first record and of its marker; ``stable``: the last stable offset after
    it."""

    producer_id: int
    first: int
    last: int
    stable: int


@dataclass(slots=True)
class _First:
    """A producer that has asked to write its transaction's first batch: the least sequence number with which it has
    asked in this epoch."""

    epoch: int
    sequence: int
    bumps: bool


class PartitionTransactions:
    """Of one partition; offsets are the log's."""

    __slots__ = ("_firsts", "aborted", "open")

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        """Producer id to the offset of its transaction's first record; oldest first."""
        self.aborted: list[Aborted] = []
        """In the order of their markers."""
        self._firsts: dict[int, _First] = {}

    def first_open(self, end: int) -> int:
        """Where the oldest open transaction begins; ``end`` where there is none."""
        return next(iter(self.open.values()), end)

    def asks(self, producer_id: int, epoch: int, sequence: int, *, bumps: bool) -> None:
        """The producer wants to write the first batch of a transaction; others are asked whether it may."""
        known = self._firsts.setdefault(producer_id, _First(epoch, sequence, bumps))
        if len(self._firsts) > _MOST_ASKING:
            del self._firsts[next(iter(self._firsts))]
        if epoch > known.epoch:
            known.epoch, known.sequence = epoch, sequence
        elif epoch == known.epoch:
            known.sequence = min(known.sequence, sequence)

    def is_early(self, producer_id: int, sequence: int, *, is_known: bool) -> bool:
        """Whether a batch before this one is still to come. ``is_known``: the log has records or markers of the
        producer."""
        first = self._firsts.get(producer_id)
        if first is None:
            return False
        return sequence > first.sequence or (first.bumps and sequence != 0 and not is_known)

    def wrote(self, producer_id: int, offset: int) -> None:
        """A transaction's batch has been taken."""
        self.open.setdefault(producer_id, offset)
        self._firsts.pop(producer_id, None)

    def ended(self, producer_id: int, offset: int, end: int, *, commits: bool) -> None:
        """A marker has been taken at this offset."""
        self._firsts.pop(producer_id, None)
        began = self.open.pop(producer_id, None)
        if began is not None and not commits:
            self.aborted.append(Aborted(producer_id, began, offset, self.first_open(end)))

    def aborted_within(self, start: int, end: int) -> list[Aborted]:
        """Aborted transactions with records from offset ``start`` to before ``end``."""
        found = []
        for each in self.aborted[bisect_left(self.aborted, start, key=attrgetter("last")) :]:
            if each.first < end:
                found.append(each)
            if each.stable >= end:
                break
        return found

    def forget(self, start: int) -> None:
        """Records before this offset are gone."""
        gone = bisect_left(self.aborted, start, key=attrgetter("last"))
        if gone:
            del self.aborted[:gone]
