"""Records that the user's code cannot handle, whoever is given them: each attempt throws.

Where a client tries nothing again itself (Kafka), the user's loop tries such a record in place: it stands still on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Generic, NamedTuple, Self, TypeAlias, TypeVar

from protocols.engine.nodes import TICK, Time
from protocols.load import Production, Reading

Q = TypeVar("Q")
"""How a system names its queues."""


class PoisonRecord(NamedTuple):
    """The record with this offset of a queue. Times in milliseconds."""

    offset: int
    attempts: int | None
    """So often the user's code tries it, then it skips the record; None: it tries for ever."""
    pause: Time
    """Between attempts, where the user's code itself tries again."""

    def lasts(self, handle: Time) -> Time | None:
        """How long a loop stands still on it, each attempt taking ``handle``; None: for ever."""
        return None if self.attempts is None else self.attempts * handle + (self.attempts - 1) * self.pause

    @property
    def skipped(self) -> str:
        """What becomes of it in a loop that does not try for ever."""
        return f"skipped after {self.attempts} attempt{'' if self.attempts == 1 else 's'}"


PoisonRecords: TypeAlias = Mapping[Q, tuple[PoisonRecord, ...]]
"""Queue to its poison records in the order of their offsets."""


@dataclass(frozen=True, slots=True)
class StuckOn(Generic[Q]):
    """A loop stands still on this record. ``until``: when it skips it, None: not in sight; ``left``: for how long it
    would try on, while its code is stopped."""

    queue: Q
    record: PoisonRecord
    until: Time | None
    left: Time | None = None

    def held(self, now: Time) -> Self:
        """The code itself is stopped now: attempts are made later by as much."""
        return self if self.until is None else replace(self, until=None, left=self.until - now)

    def released(self, now: Time) -> Self:
        """The code goes on with its attempts."""
        return self if self.left is None else replace(self, until=now + self.left, left=None)


def poison_ahead(poison: PoisonRecords[Q], queue: Q, position: int) -> PoisonRecord | None:
    """The first poison record of the queue at this offset or behind it."""
    return next((each for each in poison.get(queue, ()) if each.offset >= position), None)


def with_poison(poison: PoisonRecords[Q], queue: Q, record: PoisonRecord) -> dict[Q, tuple[PoisonRecord, ...]]:
    """One more poison record, behind all others of its queue."""
    return {**poison, queue: (*poison.get(queue, ()), record)}


def not_beyond(poison: PoisonRecords[Q], queue: Q, start: int, end: int) -> int:
    """How far a queue that was read from ``start`` has been read, if it would be ``end`` without poison."""
    record = poison_ahead(poison, queue, start)
    return end if record is None else min(end, record.offset)


def moved_on(poison: PoisonRecords[Q], queue: Q, reading: Reading, now: Time, production: Production) -> Reading:
    """The reading counted from where it has come to now, which is not beyond poison."""
    after = reading.moved_on(now, production)
    if queue not in poison:
        return after
    return after._replace(start=not_beyond(poison, queue, reading.start, after.start))


def next_reached(poison: PoisonRecords[Q], readings: Mapping[Q, Reading], now: Time) -> Time | None:
    """When a loop that reads so comes to a poison record next, ``now`` at the earliest; None: it does not. All records
    before one are there: it was written after them. Those that its threads are handed together with it come first."""
    due = [
        max(
            now,
            ceil((reading.since + ceil((record.offset - reading.start) / reading.at_once) * reading.turn) / TICK)
            * TICK,
        )
        for queue, reading in readings.items()
        if (record := poison_ahead(poison, queue, reading.start)) is not None
    ]
    return min(due, default=None)


def reached(poison: PoisonRecords[Q], positions: Mapping[Q, int]) -> tuple[Q, PoisonRecord] | None:
    """The first queue whose next record to handle is poison, with that record."""
    for queue, position in positions.items():
        record = poison_ahead(poison, queue, position)
        if record is not None and record.offset == position:
            return queue, record
    return None
