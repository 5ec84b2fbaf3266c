"""What is due at which time of a real clock, and the event loop's one timer that tells when the first of it is."""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Generic, TypeVar

from protocols.engine.nodes import TICK, Time

T = TypeVar("T")

EARLY = 1.0
"""Milliseconds: the event loop may wake us so much too soon."""


class Alarms(Generic[T]):
    """Entries by their due times, in milliseconds since this was made; ``ring`` is called when the first is due.

    Equal times are given in the order in which they were added. To be made inside a running event loop.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._loop, self._ring = asyncio.get_running_loop(), ring
        self._began = self._loop.time()
        self._heap: list[tuple[Time, int, T]] = []
        self._added = 0
        self._handle: asyncio.TimerHandle | None = None
        self._now: Time = 0.0

    def now(self) -> Time:
        """The time now, in whole ticks; it never goes back."""
        self._now = max(self._now, (self._loop.time() - self._began) * 1000 // TICK * TICK)
        return self._now

    def add(self, due: Time, entry: T) -> None:
        """This is due then (at once, where that is past)."""
        self._added += 1
        heappush(self._heap, (due, self._added, entry))
        self.set()

    def pop(self) -> tuple[Time, T] | None:
        """The first entry that is due, with its time; None where none is."""
        if not self._heap or self._heap[0][0] > self.now() + EARLY:
            return None
        due, _, entry = heappop(self._heap)
        self._now = max(self._now, due)
        return due, entry

    def set(self) -> None:
        """Be called when the first entry is due."""
        if not self._heap:
            return
        due = self._began + self._heap[0][0] / 1000
        if self._handle is not None:
            if self._handle.when() <= due:
                return
            self._handle.cancel()
        self._handle = self._loop.call_at(due, self._called)

    def cancel(self) -> None:
        """Nothing is due any more."""
        self._heap.clear()
        if self._handle is not None:
            self._handle.cancel()

    def _called(self) -> None:
        self._handle = None
        self._ring()
        self.set()
