"""The core of `watch`: which cluster is due (at even intervals, and later and later while it does not answer), what its
polls gave, what changed. It is told the time and does no I/O.

A live address is a cluster, and so is a folder; single files together are one, because several files tell of one group.
``NAME=ADDRESS`` and ``NAME=FOLDER`` give a cluster its name; before a file it is the group's, as in the audit.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import floor
from pathlib import Path
from typing import Protocol

from compare.auditing.baseline import Change
from compare.reading import kafka_live, rocketmq_live
from compare.reading.gather import Gathered
from compare.reading.kafka_live.observe import servers
from compare.reading.kafka_live.settings import MISSING_EXTRA
from compare.reading.observed import Skipped
from compare.reading.rocketmq_live.client import name_servers
from compare.watching.changes import ChangeLog, SeenGroup, StateReader
from protocols import UserError

LONGEST_BACK_OFF_S = 300.0
"""Seconds between two attempts at most, unless the interval itself is longer."""


@dataclass(slots=True)
class Schedule:
    """``start``, ``next_at``: seconds. ``failures``: attempts in a row that gave nothing; ``attempts``: all."""

    every_s: float
    start: float
    next_at: float
    failures: int = 0
    attempts: int = 0

    @classmethod
    def beginning(cls, every_s: float, now: float) -> "Schedule":
        """The first poll is due now."""
        return cls(every_s, now, now)

    def succeeded(self, now: float) -> None:
        """The next poll is at the next multiple of the interval since the start, so that times do not drift."""
        self.failures = 0
        self.attempts += 1
        self.next_at = self.start + (floor((now - self.start) / self.every_s) + 1) * self.every_s

    def failed(self, now: float) -> None:
        """Wait one interval, then twice, four times as long, up to `LONGEST_BACK_OFF_S`."""
        longest = max(self.every_s, LONGEST_BACK_OFF_S)
        wait_s = min(self.every_s * 2.0 ** min(self.failures, 60), longest)
        self.failures += 1
        self.attempts += 1
        self.next_at = now + wait_s


FILES = "files"
"""Name of the cluster that single files make."""

_LIVE = (kafka_live.SCHEME, rocketmq_live.SCHEME)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Source:
    """A cluster: its ``name`` (letters, digits, ``.``, ``_``, ``-``), and the audit's ``arguments`` that tell of it."""

    name: str
    arguments: tuple[str, ...]


def sources_of(arguments: Sequence[str]) -> list[Source]:
    """The clusters in the order given; `UserError` for what cannot be watched, and for two clusters of one name."""
    found: dict[str, list[str]] = {}
    for argument in dict.fromkeys(arguments):
        if argument == "-":
            raise UserError("-: standard input can be read only once, expected files, folders or live addresses")
        name, source = _named(argument)
        if name in found and name != FILES:
            raise UserError(f"{source}: the cluster {name} is watched already, expected another NAME={source}")
        found.setdefault(name, []).append(source)
    return [Source(name, tuple(of_name)) for name, of_name in found.items()]


def _named(argument: str) -> tuple[str, str]:
    given, separator, rest = argument.partition("=")
    named = bool(separator) and not os.path.exists(argument) and not argument.startswith(_LIVE)
    source = rest if named and (rest.startswith(_LIVE) or os.path.isdir(rest)) else argument
    if source.startswith(_LIVE):
        _check_address(source)
        derived = kafka_live.shown(source).replace("://", "-").rstrip("/")
    elif os.path.isdir(source):
        derived = Path(source).resolve().name or "root"
    else:
        path = rest if named else argument
        if not os.path.exists(path):
            raise UserError(f"{path}: there is no such file, expected a file, a folder, kafka:// or rocketmq://")
        return FILES, argument
    if source is argument:
        return _OTHER.sub("-", derived).strip("-")[:100] or "cluster", source
    if not _NAME.fullmatch(given):
        raise UserError(f"{argument}: expected a cluster name of letters, digits, '.', '_' and '-' before =")
    return given, source


def _check_address(address: str) -> None:
    """`UserError` now for what no later poll could mend."""
    if address.startswith(rocketmq_live.SCHEME):
        name_servers(address)
        return
    servers(address)
    if find_spec("confluent_kafka") is None:
        raise UserError(MISSING_EXTRA)


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
        states = self._readers[name].take(gathered.groups)
        whole = not any(each.hides_groups for each in gathered.skipped)
        groups, changed = self._logs[name].take(states, now, whole)
        return Poll(
            name, self._numbers[name], now, now - began, self._every_s, groups, changed, gathered.skipped, before
        )

    def _is_waiting(self, source: Source) -> bool:
        return source.name not in self._reading and not self._is_done(source)

    def _is_done(self, source: Source) -> bool:
        return self._polls is not None and self._schedules[source.name].attempts >= self._polls

    def _next_at(self, source: Source) -> float:
        return self._schedules[source.name].next_at
