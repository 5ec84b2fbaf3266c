"""An event loop in a thread of its own, for those who test beside it: from other threads, and from other loops."""

import asyncio
from collections.abc import Callable, Coroutine
from threading import Thread
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


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

    def run(self, coroutine: Coroutine[object, None, T]) -> T:
        """Run a coroutine in the loop and return its result, or raise what it raises."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in the loop's thread and return its result, or raise what it raises."""

        async def called() -> T:
            return function(*args, **kwargs)

        return self.run(called())

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
