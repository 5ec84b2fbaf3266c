"""What coroutines wait for in a double: conditions that the group's life fulfils."""

from asyncio import Future
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from compare.testing.handling import Crashed
from compare.testing.virtual_loop import VirtualLoop
from protocols.engine.nodes import Time

Condition = Callable[[], bool]
NextDue = Callable[[], Time]


def _never() -> Time:
    return inf


@dataclass(slots=True)
class _Waiter:
    condition: Condition
    until: Time
    next_due: NextDue
    future: Future[Any]
    counts: bool


class Waiting:
    """The waiters of one member (`compare.testing.virtual_loop.Source`)."""

    def __init__(self, loop: VirtualLoop, name: str, alive: Condition, hung: Condition) -> None:
        self._loop, self._name, self._alive, self._hung = loop, name, alive, hung
        self._waiters: list[_Waiter] = []
        loop.sources.append(self)

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, or has not begun to."""
        return self._alive()

    @property
    def is_hung(self) -> bool:
        """Whether its process is stopped."""
        return self._alive() and self._hung()

    @property
    def is_awaited(self) -> bool:
        """Whether the user's code waits; a double's own task always does."""
        return any(each.counts for each in self._waiters)

    def due(self) -> Time:
        """When a condition holds, as far as that is known."""
        return min((min(each.until, each.next_due()) for each in self._waiters), default=inf)

    def serve(self) -> None:
        """Wake those whose condition holds, or whose time is over; with `Crashed` where the process was killed."""
        alive = self._alive()
        for each in self._waiters:
            if each.future.done():
                continue
            if not alive:
                each.future.set_exception(Crashed(f"{self._name} was killed"))
            elif each.condition() or self._loop.group.clock.time >= each.until:
                each.future.set_result(None)

    async def until(
        self, condition: Condition, *, until: Time = inf, next_due: NextDue = _never, counts: bool = True
    ) -> bool:
        """Wait until the condition holds or a time (milliseconds) is reached; whether it holds. ``next_due``: when it
        will, if nothing else happens; ``counts``: whether the user's code waits here."""
        if not condition():
            waiter = _Waiter(condition, until, next_due, self._loop.create_future(), counts)
            self._waiters.append(waiter)
            try:
                await waiter.future
            finally:
                self._waiters.remove(waiter)
        return condition()

    def close(self) -> None:
        """Nobody waits any more."""
        if self in self._loop.sources:
            self._loop.sources.remove(self)
