"""Production and consumption as functions of time: the end of a queue, the position of a reader. No record is ever
an object.

The queues of one reader share its time fairly, and without waste (max-min fairness): a queue whose records come more
slowly than its equal share takes only what comes; the others share the rest equally. So a hot queue beside idle ones
gets nearly all of the time, and among many that are behind each gets as much.

Poison records are those that the user's code cannot handle, whoever is given them: each attempt throws. Where a client
tries nothing again itself (Kafka), the user's loop tries such a record in place: it stands still on it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapify, heapreplace
from math import ceil, floor
from typing import TYPE_CHECKING, Generic, NamedTuple, Self, TypeAlias, TypeVar

from protocols.engine.nodes import TICK, Time

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


D = TypeVar("D", bound="DataclassInstance")
R = TypeVar("R", bound=tuple[object, ...])


def quickly_made(kind: type[R]) -> Callable[[tuple[object, ...]], R]:
    """What makes a record of a tuple of all its fields, in order: the same as ``kind(*fields)``, twice as fast, and
    nobody checks the fields."""
    return partial(tuple.__new__, kind)


def changed(record: D, changes: Mapping[str, object]) -> D:
    """The same with these values in these fields."""
    return replace(record, **changes)


class Production(NamedTuple):
    """A producer writes ``per_second`` records to a queue, evenly, from ``since`` on; it held ``before`` until then."""

    per_second: float
    since: Time = 0.0
    before: int = 0
    bursts: tuple[tuple[Time, int], ...] = ()
    """When so many records come at once beside those, in the order of time."""
    pauses: tuple[tuple[Time, Time], ...] = ()
    """From when to when nothing comes evenly, in the order of time; afterwards production begins anew."""
    held: tuple[tuple[Time, Time], ...] = ()
    """From when to when nothing that is written can be read, in the order of time; at the end of that all comes at
    once. The last end is infinite while it is not known."""

    def end_offset(self, now: Time) -> int:
        """Offset of the next record to be written, as far as records can be read."""
        per_second, since, end, _, pauses, held = self
        for hold, again in held:
            if hold < now < again:
                now = hold
                break
        for pause, again in pauses:
            if pause < now and since < again:
                end += floor(max(pause - since, 0.0) * per_second / 1000)
                since = again
        if now > since:
            end += floor((now - since) * per_second / 1000)
        for at, count in self.bursts:
            if at > now:
                break
            end += count
        return end

    def arrival(self, offset: int) -> Time:
        """When the record with this offset, one of those that come evenly, is there: a whole multiple of `TICK`."""
        arrival = ceil((self.since + (offset + 1 - self.before) * 1000 / self.per_second) / TICK) * TICK
        while self.end_offset(arrival) <= offset:
            arrival += TICK
        return arrival


class Reading(NamedTuple):
    """A reader is at offset ``start`` of a queue at time ``since``; every ``turn`` ms it has handled ``at_once`` more.

    0 ms: it is always where the producer is.
    """

    start: int
    since: Time
    turn: Time
    at_once: int = 1

    def position(self, now: Time, production: Production) -> int:
        """Offset of the next record that the reader will handle; never before ``start``."""
        end = max(production.end_offset(now), self.start)
        if self.turn <= 0:
            return end
        return min(end, self.start + floor((now - self.since) / self.turn) * self.at_once)

    def moved_on(self, now: Time, production: Production) -> "Reading":
        """The same, counted from the position that it has reached now."""
        start, since, turn, at_once = self
        if turn <= 0:
            return _reading((max(production.end_offset(now), start), now, turn, at_once))
        position = self.position(now, production)
        if position >= production.end_offset(now):
            return Reading(position, now, turn, at_once)
        return Reading(position, since + (position - start) // at_once * turn, turn, at_once)


_reading = quickly_made(Reading)


SHORTEST_MS = 100.0
"""A share holds so long at least, unless records come at once or queues come and go: few records are no reason."""

K = TypeVar("K")

_shared_reading = quickly_made(Reading)


class Share(NamedTuple):
    """Every queue may take a record per thread each ``turn`` ms until ``until`` (None: for as long as all stays as it
    is), when one that was behind has caught up and leaves time to others: then what was handled is to be told."""

    turn: Time
    until: Time | None


def share(now: Time, handle: Time, threads: int, queues: Iterable[tuple[int, Production]]) -> Share:
    """What the queues of a reader get from now on.

    ``handle``: milliseconds, above 0, that each of the ``threads`` takes for a record. ``queues``: of each the offset
    that the reader has reached, and what is written. A queue where no more waits than the threads can begin at once
    is not behind.
    """
    behind: list[tuple[int, float]] = []
    rates: list[float] = []
    for offset, production in queues:
        waiting = production.end_offset(now) - offset
        held = production.held and production.held[-1][1] > now
        rate = 0.0 if held or production.since > now else production.per_second / 1000
        if waiting > threads:
            behind.append((waiting, rate))
        else:
            rates.append(rate)
    most = left = threads / handle
    takers = len(behind) + len(rates)
    for rate in sorted(rates):
        if rate * takers > left:
            break
        left -= rate
        takers -= 1
    each = left / takers if takers else most
    turn = round(threads / each / TICK) * TICK
    faster = threads / turn
    until = min([waiting / (faster - rate) for waiting, rate in behind if rate < faster], default=None)
    return Share(turn, None if until is None else now + ceil(max(until, SHORTEST_MS) / TICK) * TICK)


def shared_anew(
    now: Time,
    handle: Time,
    threads: int,
    readings: Mapping[K, Reading],
    production: Mapping[K, Production],
    *,
    goes_on: bool,
) -> tuple[dict[K, Reading], Time | None]:
    """What is read from now on, where each stands at its ``start``, and when to share anew (see `Share`).

    ``goes_on``: what is in hand stays in hand; else reading begins now.
    """
    if handle <= 0:
        return {key: _shared_reading((reading[0], now, 0.0, 1)) for key, reading in readings.items()}, None
    found = share(now, handle, threads, [(reading.start, production[key]) for key, reading in readings.items()])
    made = {}
    for key, reading in readings.items():
        since = now
        if goes_on and reading.turn > 0 and production[key].end_offset(now) > reading.start:
            since -= floor((now - reading.since) / reading.turn * found.turn / TICK) * TICK
        made[key] = Reading(reading.start, since, found.turn, threads)
    return made, found.until


LOOKED_AT = 4
"""So many records of each queue tell how long they wait for a hand."""


def waits_for_hands(coming: Sequence[tuple[Production, int]], handle: Time, hands: int) -> list[Time]:
    """For how long, on average, a record of each queue waits for a hand, where these have less to do than they can:
    those that come after the next one of all, `LOOKED_AT` of each queue, taken in the order in which they come.
    ``coming``: of each queue what is written, more than nothing, and the next record."""
    free = [0.0] * hands
    due = [(production.arrival(record), at, record) for at, (production, record) in enumerate(coming)]
    heapify(due)
    waited: list[list[Time]] = [[] for _ in coming]
    for number in range((1 + LOOKED_AT) * len(coming)):
        came, at, record = due[0]
        heapreplace(due, (coming[at][0].arrival(record + 1), at, record + 1))
        begun = max(came, free[0])
        heapreplace(free, begun + handle)
        if number >= len(coming):
            waited[at].append(begun - came)
    return [sum(each) / len(each) if each else 0.0 for each in waited]


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
