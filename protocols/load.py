"""Production and consumption as functions of time: the end of a queue, the position of a reader. No record is ever an
object."""

from math import ceil, floor
from typing import NamedTuple

from protocols.engine.nodes import TICK, Time
from protocols.quick_records import quickly_made


class Production(NamedTuple):
    """A producer writes ``per_second`` records to a queue, evenly, from ``since`` on; it held ``before`` until then."""

    per_second: float
    since: Time = 0.0
    before: int = 0
    bursts: tuple[tuple[Time, int], ...] = ()
    """When so many records come at once beside those, in the order of time."""
    pauses: tuple[tuple[Time, Time], ...] = ()
    """From when to when nothing comes evenly, in the order of time; afterwards production begins anew."""

    def end_offset(self, now: Time) -> int:
        """Offset of the next record to be written."""
        per_second, since, end, _, pauses = self
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
