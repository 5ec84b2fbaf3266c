"""Virtual time, shared by all groups of a test: it passes only when somebody lets it pass.

It passes in one thread at a time, whichever thread calls. A real client may be called from several threads, so its
double may be. A call waits until no other thread is inside a call of the same test; while a callback of the user's code
runs, its thread lends its turn, so that the callback may wait for another thread that calls, too.
"""

from bisect import insort
from collections.abc import Callable
from contextlib import AbstractContextManager
from math import inf
from threading import Lock, get_ident
from types import ModuleType
from typing import Protocol, Self, TypeVar

from compare.testing.faults import of_test, of_user
from protocols.engine.nodes import TICK, Time
from protocols.errors import UserError

Action = Callable[[], object]
R = TypeVar("R")

_STEP_MS: Time = 1_000.0
"""While the user's code waits, it is looked after so often whether it still runs."""


class Living(Protocol):
    """What lives on a clock."""

    def run(self, until: Time, stop: Callable[[], bool] | None = None) -> Time:
        """Live up to and including ``until``, or until ``stop`` says so; the time that was reached."""


class Clock:
    """Virtual time; 0 seconds when the test begins. All groups that were made with it live through the same time."""

    def __init__(self) -> None:
        self.time: Time = 0.0
        """Now, in milliseconds."""
        self._living: list[Living] = []
        self._actions: list[tuple[Time, int, Action]] = []
        self._given = 0
        self.waits: list[Action] = []
        """Called when the user's code has waited: each raises where the code is to stop."""
        self.limit: Time = inf
        """When user's code that runs is to be stopped (`compare.testing.handling.run`), in milliseconds."""
        self.turn = Turn()
        """Taken by whoever lets time pass, or changes what lives on the clock."""
        self.clients = 0
        """How many clients of user's code were made."""

    def __repr__(self) -> str:
        return f"<Clock at {self.now:g}s>"

    @property
    def now(self) -> float:
        """Seconds of virtual time since the test began."""
        return self.time / 1000

    def pass_for_user(self, duration: Time) -> None:
        """Let so many milliseconds pass while the user's code waits: less where it is stopped before, and then what
        stops it is raised (see `compare.testing.stopping`)."""
        until = self.time + in_ticks(0.0, duration)
        while True:
            self.run(max(self.time, min(until, self.limit, self.time + _STEP_MS)))
            for check in list(self.waits):
                check()
            if self.time >= until:
                return

    def advance(self, seconds: float = 0.0, *, minutes: float = 0.0, milliseconds: float = 0.0) -> None:
        """Let time pass for every group."""
        duration = in_ticks(seconds + 60 * minutes, milliseconds)
        if duration < 0:
            raise ValueError(f"time cannot go back by {-duration} ms")
        self.run(self.time + duration)

    def virtual_time(self, *modules: ModuleType) -> AbstractContextManager[None]:
        """``with clock.virtual_time():`` the code under test lives in this time: what it asks ``time`` and
        ``datetime``, and how long it sleeps. See `compare.testing.virtual_time`."""
        from compare.testing.virtual_time import virtual_time

        return virtual_time(self, modules)

    def at(self, seconds: float, do: Action) -> None:
        """Call ``do`` when so many seconds have passed since the test began; the earlier call first, equal ones in the
        order given. `ValueError` for a time that is over."""
        self.put(in_ticks(seconds), do)

    def put(self, time: Time, do: Action) -> None:
        """The same with a time in milliseconds."""
        if time < self.time:
            raise ValueError(f"{time / 1000:g}s is in the past: the clock is at {self.now:g}s")
        self._given += 1
        insort(self._actions, (time, self._given, do))

    def add(self, living: Living) -> None:
        self._living.append(living)
        living.run(self.time)

    def keep_up(self, time: Time) -> None:
        """What lives on the clock has got this far, and calls somebody who may look at it."""
        self.time = max(self.time, time)

    def run(self, until: Time, first: Living | None = None, stop: Callable[[], bool] | None = None) -> None:
        """Let time pass up to ``until`` (milliseconds), or until ``stop`` says so while ``first`` lives. What is put on
        the clock may let time pass itself, and so may listeners: it may be later than ``until`` then."""
        with self.turn:
            self._run(until, first, stop)

    def _run(self, until: Time, first: Living | None, stop: Callable[[], bool] | None) -> None:
        while True:
            due = max(self.time, min(until, self._actions[0][0]) if self._actions else until)
            reached = due if first is None else first.run(due, stop)
            for each in list(self._living):
                if each is not first:
                    each.run(reached)
            self.time = max(self.time, reached)
            if reached < due or (stop is not None and stop()):
                return
            while self._actions and self._actions[0][0] <= self.time:
                of_test(self._actions.pop(0)[2])
            if self.time >= until:
                return


def in_ticks(seconds: float, milliseconds: float = 0.0) -> Time:
    """A duration in milliseconds, as a whole number of the simulation's ticks; `UserError` for what is no number."""
    try:
        return round((seconds * 1000 + milliseconds) / TICK) * TICK
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"{seconds!r} is not a time, expected a number of seconds such as 2.5") from None


class Turn:
    """A lock that one thread may take again and again, and may lend in between."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holder: int | None = None
        self._depth = 0

    def __enter__(self) -> Self:
        if self._holder != get_ident():
            self._lock.acquire()
            self._holder = get_ident()
        self._depth += 1
        return self

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._holder = None
            self._lock.release()

    def lend(self, call: Callable[..., R], *arguments: object) -> R:
        """Call the user's code; other threads may call meanwhile, where this one has the turn."""
        if self._holder != get_ident():
            return of_user(call, *arguments)
        depth, self._depth, self._holder = self._depth, 0, None
        self._lock.release()
        try:
            return of_user(call, *arguments)
        finally:
            self._lock.acquire()
            self._depth, self._holder = depth, get_ident()
