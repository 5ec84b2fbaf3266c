"""Whose turn it is: virtual time passes in one thread at a time, whichever thread calls.

A real client may be called from several threads, so its double may be. A call waits until no other thread is inside a
call of the same test; while a callback of the user's code runs, its thread lends its turn, so that the callback may
wait for another thread that calls, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident
from typing import Self


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

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Other threads may call while this block runs user's code; nothing where this thread has no turn."""
        if self._holder != get_ident():
            yield
            return
        depth, self._depth, self._holder = self._depth, 0, None
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()
            self._depth, self._holder = depth, get_ident()
