"""How far a sweep is, on standard error: parts and rows done, rows per second, time left."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from compare.comparison.limits import about
from compare.sweeping.folder import Finished
from compare.sweeping.parts import Part

QUIET_S = 10.0
"""Where standard error is no terminal, seconds between two lines at least."""


class Rate:
    """What is done since the beginning, and how long the rest takes at that pace."""

    def __init__(self, parts: Sequence[Part], now: float) -> None:
        self._parts, self._work = len(parts), sum(part.work for part in parts)
        self._began = now
        self._before: tuple[int, float] | None = None
        """Rows and work of the parts that were there at the beginning."""

    def told(self, finished: Finished, now: float) -> str:
        """One line about it."""
        rows = sum(each["rows"] for each in finished.records.values())
        work = sum(part.work for part in finished.records)
        if self._before is None:
            self._before = rows, work
        line = f"{len(finished.records)} of {self._parts} parts, {rows:,} rows"
        seconds, new = now - self._began, work - self._before[1]
        if new <= 0 or seconds <= 0:
            return line
        left = (self._work - work) * seconds / new
        return f"{line}, {(rows - self._before[0]) / seconds:,.0f} rows/s, {about(left)} left"


@contextmanager
def sweep_progress(parts: Sequence[Part]) -> Iterator[Callable[[Finished], None]]:
    """On standard error: where it is a terminal, a line that changes; else one line now and then."""
    rate = Rate(parts, time.monotonic())
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status("Spark starts") as status:
            yield lambda finished: status.update(Text(rate.told(finished, time.monotonic())))
        return
    last = time.monotonic()

    def tell_now_and_then(finished: Finished) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= QUIET_S:
            last = now
            click.echo(rate.told(finished, now), err=True)

    yield tell_now_and_then
