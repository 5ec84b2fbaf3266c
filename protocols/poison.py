"""Records that the user's code cannot handle, whoever is given them: each attempt throws."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from protocols.engine.nodes import Time

Q = TypeVar("Q")


class PoisonRecord(NamedTuple):
    """The record with this offset of a queue. Times in milliseconds."""

    offset: int
    attempts: int | None
    """So often the user's code tries it, then it skips the record; None: it tries for ever."""
    pause: Time
    """Between attempts, where the user's code itself tries again."""

    def lasts(self, handle: Time) -> Time | None:
        """How long a loop that tries the record in place stands still on it, each attempt taking ``handle``; None: for
        ever."""
        return None if self.attempts is None else self.attempts * handle + (self.attempts - 1) * self.pause



PoisonRecords = Mapping[Q, tuple[PoisonRecord, ...]]
"""Queue to its poison records in the order of their offsets."""


def poison_ahead(poison: PoisonRecords[Q], queue: Q, position: int) -> PoisonRecord | None:
    """The first poison record of the queue at this offset or behind it."""
    return next((each for each in poison.get(queue, ()) if each.offset >= position), None)


def with_poison(poison: PoisonRecords[Q], queue: Q, record: PoisonRecord) -> dict[Q, tuple[PoisonRecord, ...]]:
    """One more poison record, behind all others of its queue."""
    return {**poison, queue: (*poison.get(queue, ()), record)}
