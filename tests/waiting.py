"""Waiting for what comes from another process or thread, or from another task of the loop."""

import asyncio
import time
from collections.abc import Callable


def until(holds: Callable[[], object], within_s: float = 15.0) -> None:
    """Wait for it, so many seconds at most."""
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


async def soon(holds: Callable[[], bool]) -> None:
    """Wait for it in a task, five seconds at most."""
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to that")
