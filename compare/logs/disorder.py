"""Files whose lines stand in no order of time: several logs one after another, sorted as text, or mixed by a collector.

They are read in the order of their times. A line without a time belongs to the one before it, which nobody knows where
lines were sorted or mixed. Where times are whole seconds, only the order in which lines were printed tells one of a
second from another: without it such a file is not read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from compare.logs.client_events import Setting
from compare.logs.events import Event

READ = "its lines stand in no order of time: they were read in the order of their times"
NOT_READ = "its lines were sorted or mixed and show whole seconds, so that their order is lost: give it as written"

_LATE_S = 1.0
"""Threads print a line so long after the time that it shows."""

_FEW = 3
"""So many lines out of order are of threads that stood still, not of a file that has none."""

_HOUR_S, _SHIFT_S = 3600.0, 120.0
"""A local clock is put back by an hour once a year."""

_DAY_S = 86_400.0
_LEAST_EQUAL = 8
"""Of so many lines that show the time of the one before none sorts before it as text: by chance in 1 of 256 files."""


@dataclass(slots=True)
class TextOrder:
    """Whether the lines that were seen are in the order of their text; ``equal``: how many others show the time of the
    one before them."""

    is_sorted: bool = True
    equal: int = 0
    whole_seconds: bool = True
    _last: bytes = b""
    _stamp: float | None = None

    def see(self, line: bytes, stamp: float | None) -> None:
        """The next line of the file, and its time."""
        self.is_sorted = self.is_sorted and line >= self._last
        self.whole_seconds = self.whole_seconds and (stamp is None or stamp == int(stamp))
        self.equal += stamp is not None and stamp == self._stamp and line != self._last
        self._last, self._stamp = line, stamp

    @property
    def is_lost(self) -> bool:
        """Whether lines that follow each other as their text does tell no order."""
        return self.is_sorted and self.whole_seconds and self.equal >= _LEAST_EQUAL


def in_order(events: Sequence[Event], text: TextOrder) -> list[Event] | None:
    """The events of one file and stream by time; None where they stand so, or show times of several clocks, and none
    where their order is lost."""
    stamped = [event for event in events if event.place.stamp is not None]
    late, jumps = _late(stamped)
    if text.is_lost or (text.whole_seconds and late > _FEW < jumps):
        return []
    if late <= _FEW or len({event.place.clock for event in stamped}) > 1:
        return None
    is_timed = [event.place.stamp is not None or isinstance(event, Setting) for event in events]
    kept = [event for event, timed in zip(events, is_timed, strict=True) if timed or jumps <= _FEW]
    times: dict[int, float] = {}
    last = stamped[0].place.stamp or 0.0
    for event in kept:
        last = event.place.stamp if event.place.stamp is not None else last
        times[id(event)] = last
    return sorted(kept, key=lambda event: times[id(event)])


def _late(stamped: Sequence[Event]) -> tuple[int, int]:
    """How many lines show an earlier time than one before them, and how often the time goes back."""
    latest = before = float("-inf")
    late = jumps = shifts = 0
    for event in stamped:
        stamp = event.place.stamp or 0.0
        back = before - stamp
        if event.place.clock == "day" and back > _DAY_S / 2:
            latest = stamp  # midnight
        elif back > _LATE_S:
            jumps += 1
            shifts += event.place.clock == "local" and 0 <= _HOUR_S - back <= _SHIFT_S
        late += stamp < latest - _LATE_S
        latest, before = max(latest, stamp), stamp
    return (0, 0) if jumps == shifts == 1 else (late, jumps)
