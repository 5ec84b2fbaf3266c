"""The core of `watch`: which cluster is due, what its polls gave, what changed. It is told the time and does no I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from compare.auditing.baseline import Change
from compare.reading.gather import Gathered
from compare.reading.observed import Skipped
from compare.watching.changes import ChangeLog, SeenGroup
from compare.watching.schedule import Schedule
from compare.watching.sources import Source
from compare.watching.states import StateReader


@dataclass(frozen=True, slots=True)
class Poll:
    """What one poll of a cluster found. ``at``: seconds since 1970 at which it was read; ``took_s``: how long reading
    took; ``number`` counts the cluster's polls from 1. ``after_failures``: attempts before this one that gave nothing.
    ``groups`` come worst first."""

    cluster: str
    number: int
    at: float
    took_s: float
    every_s: float
    groups: Sequence[SeenGroup]
    changes: Sequence[Change]
    skipped: Sequence[Skipped]
    after_failures: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A poll that gave nothing; the next attempt is at ``next_at``."""

    cluster: str
    at: float
    why: str
    failures: int
    next_at: float


class Listener(Protocol):
    """Is told everything that happens, in order."""

    def polled(self, poll: Poll) -> None:
        """A cluster has been read."""

    def failed(self, failure: Failure) -> None:
        """A cluster could not be read."""


class Watch:
    """All clusters that are watched; ``polls``: attempts per cluster after which the watching ends, None: never."""

    def __init__(self, sources: Sequence[Source], every_s: float, now: float, polls: int | None = None) -> None:
        self.sources = tuple(sources)
        self._every_s, self._polls = every_s, polls
        self._schedules = {source.name: Schedule.beginning(every_s, now) for source in sources}
        self._readers = {source.name: StateReader() for source in sources}
        self._logs = {source.name: ChangeLog() for source in sources}
        self._numbers = dict.fromkeys(self._schedules, 0)
        self._reading: set[str] = set()

    def due(self, now: float) -> list[Source]:
        """The clusters to read now; they count as being read from then on."""
        found = [source for source in self.sources if self._is_waiting(source) and self._next_at(source) <= now]
        self._reading.update(source.name for source in found)
        return found

    def next_due(self) -> float | None:
        """When the next cluster is due, None while all are being read or finished."""
        return min((self._next_at(source) for source in self.sources if self._is_waiting(source)), default=None)

    @property
    def is_finished(self) -> bool:
        """Whether every cluster has had its polls."""
        return not self._reading and all(self._is_done(source) for source in self.sources)

    @property
    def found_anything(self) -> bool:
        """Whether any poll of any cluster succeeded."""
        return any(self._numbers.values())

    def took(self, source: Source, began: float, now: float, gathered: Gathered) -> Poll | Failure:
        """What was read of a cluster between ``began`` and ``now``."""
        name = source.name
        schedule = self._schedules[name]
        self._reading.discard(name)
        if not gathered.was_read:
            schedule.failed(now)
            why = gathered.skipped[0].why if gathered.skipped else "there is nothing to read"
            return Failure(name, now, why, schedule.failures, schedule.next_at)
        before = schedule.failures
        schedule.succeeded(now)
        self._numbers[name] += 1
        groups, changed = self._logs[name].take(self._readers[name].take(gathered.groups), now)
        return Poll(
            name, self._numbers[name], now, now - began, self._every_s, groups, changed, gathered.skipped, before
        )

    def _is_waiting(self, source: Source) -> bool:
        return source.name not in self._reading and not self._is_done(source)

    def _is_done(self, source: Source) -> bool:
        return self._polls is not None and self._schedules[source.name].attempts >= self._polls

    def _next_at(self, source: Source) -> float:
        return self._schedules[source.name].next_at
