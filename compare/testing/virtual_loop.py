"""An asyncio event loop in virtual time: the user's coroutines run among the members of a group.

`asyncio.sleep`, timeouts, tasks, queues and locks work as ever; where nothing is ready to run, time passes up to the
next timer, or until a double has something for who waits for it. No thread ever sleeps and nothing is read from a
network. The loop stands for one process.
"""

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Coroutine
from contextlib import suppress
from math import ceil, inf
from typing import Any, Protocol, TypeVar

from compare.testing.clock import in_ticks
from compare.testing.group_interface import GroupInterface
from compare.testing.handling import Crashed
from protocols.engine.nodes import TICK, Time
from protocols.errors import UserError

R = TypeVar("R")

_LONGEST_WAIT_MS: Time = 3_600_000.0
"""Who waits for a record that never comes is told after so long."""
_GRACE_MS: Time = 120_000.0
"""How long code that was cancelled may go on."""
_TURNS_AT_ONE_TIME = 1_000
"""After so many turns of the loop without a timer a millisecond passes: each takes some time."""


class Source(Protocol):
    """What coroutines wait for: a double that was made in the loop."""

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, or has not begun to."""

    @property
    def is_hung(self) -> bool:
        """Whether its process is stopped."""

    @property
    def is_awaited(self) -> bool:
        """Whether a coroutine waits for it."""

    def due(self) -> Time:
        """When it has something to hand out, if nothing else happens; infinite where that is unknown."""

    def serve(self) -> None:
        """Resolve the futures of those who need not wait any more."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Its time is the clock of a group, in seconds. Raises `RuntimeError` where everything waits for something that
    cannot come, and `Crashed` where all members that were made in it are killed."""

    def __init__(self, group: GroupInterface) -> None:
        super().__init__()
        self.group = group
        self.sources: list[Source] = []
        self.limit: Time = inf
        """When `when_time_is_up` is called, in milliseconds."""
        self.when_time_is_up: Callable[[], object] = lambda: None
        self._selector = self
        self._clock_resolution = TICK / 1000
        self._turns = 0

    # What BaseEventLoop leaves to its subclasses.

    def time(self) -> float:
        """Seconds of virtual time."""
        return self.group.clock.time / 1000

    def _process_events(self, event_list: object) -> None:
        """Nothing comes from a network."""

    def _write_to_self(self) -> None:
        """Nobody has to be woken."""

    def run_in_executor(self, executor: object, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """The call is made at once, in this thread: it takes no virtual time."""
        future = self.create_future()
        try:
            future.set_result(contextvars.copy_context().run(func, *args))
        except Exception as error:
            future.set_exception(error)
        return future

    def select(self, timeout: float | None) -> list[object]:
        """Let time pass until something is ready to run, for ``timeout`` seconds at most."""
        clock = self.group.clock
        self._serve()
        if timeout == 0 or self._is_ready():
            self._turns += 1
            if self._turns > _TURNS_AT_ONE_TIME:
                self._turns = 0
                clock.run(clock.time + 1.0, self.group.world)
            return []
        self._turns = 0
        alive = [each for each in self.sources if each.is_alive]
        if self.sources and not alive:
            raise Crashed("every consumer of this loop was killed")
        if alive and all(each.is_hung for each in alive):
            self._let_pass(min(clock.time + _LONGEST_WAIT_MS, self.limit), only_awake=True)
            return []
        until = inf if timeout is None else clock.time + ceil(timeout * 1000 / TICK) * TICK
        until = min(until, clock.next_action, *(each.due() for each in alive if not each.is_hung), self.limit)
        awaited = any(each.is_awaited for each in alive)
        if until == inf and not awaited:
            raise RuntimeError("every task waits for something that cannot come: no timer, no record, no event is due")
        longest = clock.time + _LONGEST_WAIT_MS
        self._let_pass(min(until, longest))
        if until == inf and clock.time >= longest and not self._is_ready():
            raise RuntimeError("every task waits, and no record came for an hour")
        if clock.time >= self.limit and not self._is_ready():
            self.limit = inf
            self.when_time_is_up()
        return []

    def _let_pass(self, until: Time, *, only_awake: bool = False) -> None:
        clock, world = self.group.clock, self.group.world
        before = self._fates()

        def stop() -> bool:
            clock.keep_up(world.now)
            if only_awake:
                return any(not each.is_hung or not each.is_alive for each in self.sources)
            self._serve()
            earlier = any(each.due() < until for each in self.sources if each.is_alive and not each.is_hung)
            return earlier or self._is_ready() or self._fates() != before

        clock.run(until, world, stop)
        self._serve()

    def _fates(self) -> list[tuple[bool, bool]]:
        """Which members are killed or stopped now."""
        return [(each.is_alive, each.is_hung) for each in self.sources]

    def _serve(self) -> None:
        for each in list(self.sources):
            if not each.is_hung:
                each.serve()

    def _is_ready(self) -> bool:
        return bool(self._ready)  # type: ignore[attr-defined]


def running_loop(who: str) -> VirtualLoop:
    """The loop that runs now. Raises `RuntimeError` where none does, and `UserError` where it is not a virtual one."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError("The object should be created within an async function or provide loop directly.") from None
    if not isinstance(loop, VirtualLoop):
        raise UserError(f"{who} lives in virtual time, expected a coroutine that runs in group.run(...)")
    return loop


def is_asynchronous(code: object) -> bool:
    """Whether it is a coroutine, or something that gives one when it is called."""
    return inspect.iscoroutine(code) or inspect.iscoroutinefunction(code)


def run_coroutine(
    group: GroupInterface, code: Coroutine[Any, Any, R] | Callable[[], Coroutine[Any, Any, R]], seconds: float | None
) -> R | None:
    """Run it on a loop of its own until it returns, until all its consumers are killed, or until ``seconds`` of virtual
    time have passed: then it is cancelled, and may close its consumers. Returns what it returns, None where it was
    stopped."""
    loop = VirtualLoop(group)
    main = loop.create_task(code if inspect.iscoroutine(code) else code())  # type: ignore[operator]
    stopped = False

    def time_is_up() -> None:
        nonlocal stopped
        if stopped:
            raise RuntimeError(f"the code still runs {_GRACE_MS / 1000:g} s after it was cancelled")
        stopped = True
        loop.limit = group.clock.time + _GRACE_MS
        main.cancel("the time of run() is over")

    loop.when_time_is_up = time_is_up
    if seconds is not None:
        loop.limit = group.clock.time + in_ticks(seconds)
    try:
        result: R = loop.run_until_complete(main)
        return result
    except Crashed:
        return None
    except asyncio.CancelledError:
        if not stopped:
            raise
        return None
    finally:
        _end(loop)


def _end(loop: VirtualLoop) -> None:
    """Cancel what still runs, as `asyncio.run` does."""
    loop.limit = loop.group.clock.time + _GRACE_MS
    loop.when_time_is_up = loop.stop
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    with suppress(Crashed, RuntimeError):
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True) if tasks else asyncio.sleep(0))
    with suppress(Crashed, RuntimeError):
        loop.run_until_complete(loop.shutdown_asyncgens())
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()
    loop.close()
