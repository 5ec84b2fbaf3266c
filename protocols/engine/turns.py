"""What is due at which time of a real clock, and the event loop's one timer that tells when the first of it is; what
the nodes of the world on sockets handle, one thing after the other, and what they raise.

`LoopThread` is an event loop in a thread of its own, for those who test beside it: from other threads, and other loops.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from threading import Thread
from types import TracebackType
from typing import Generic, ParamSpec, Self, TypeVar

from protocols.engine.connection import LOG, Connection, WireError
from protocols.engine.nodes import TICK, Time
from protocols.engine.process import CLOCK
from protocols.engine.socket_process import SocketProcess

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


class Turns:
    """Actions of nodes. What an action brings about for other nodes here is handled after it; what is for a node that
    hangs is kept with its process. ``begins`` is called before the first of them, in each call from outside."""

    def __init__(self, begins: Callable[[], object]) -> None:
        self.number = 0
        """The number given last to something to be handled."""
        self.handling, self.root = 0, CLOCK
        self.failures: list[Exception] = []
        self._begins = begins
        self._waiting: deque[tuple[SocketProcess, Callable[[], None]]] = deque()
        self.is_acting = False
        """Whether a node is handling something."""

    def take(self, process: SocketProcess, action: Callable[[], None], about: Connection | None = None) -> None:
        """One thing for one node: now, or after what is being handled. ``about``: the connection that it came on,
        which is closed where this fails."""
        if process.hung:
            process.backlog.append(action)
        elif self.is_acting:
            self._waiting.append((process, action))
        else:
            self._begins()
            self._act(process, action, about)
            while self._waiting:
                process, action = self._waiting.popleft()
                if process.hung:
                    process.backlog.append(action)
                else:
                    self._act(process, action, None)

    def call(self, number: int, action: Callable[[], None]) -> None:
        """An event of the world, the root of all that follows from it."""
        self.root = self.handling = number
        try:
            action()
        except Exception as error:
            LOG.exception("an event of the world")
            self.failures.append(error)
        finally:
            self.root, self.handling = CLOCK, 0

    def failed(self, name: str, error: Exception) -> None:
        """The node has raised this, which is being handled."""
        if isinstance(error, WireError):
            LOG.warning("%s: an answer that cannot be written: %s", name, error)
        else:
            LOG.exception("%s: a fault of the model", name)
        self.failures.append(error)

    def _act(self, process: SocketProcess, action: Callable[[], None], about: Connection | None) -> None:
        self.number += 1
        self.handling, self.is_acting = self.number, True
        try:
            action()
        except Exception as error:
            self.failed(process.name, error)
            if about is not None:
                about.abort()
        finally:
            self.handling, self.is_acting = 0, False


P = ParamSpec("P")
R = TypeVar("R")


class LoopThread:
    """Runs an asyncio event loop from `__enter__` to `__exit__`. Its methods may be called from any other thread."""

    def __init__(self, name: str = "equipoise") -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def run(self, coroutine: Coroutine[object, None, R]) -> R:
        """Run a coroutine in the loop and return its result, or raise what it raises."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function in the loop's thread and return its result, or raise what it raises."""

        async def called() -> R:
            return function(*args, **kwargs)

        return self.run(called())

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
