"""Futures of ``concurrent.futures`` that are resolved in virtual time: whoever looks at one lets time pass."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Condition
from typing import Any

_FINISHED = "FINISHED"


class VirtualFuture(Future[Any]):
    """``let_pass``: lets time pass until the condition that it is given holds. Looking at the future (`result`,
    `exception`, `done`, `concurrent.futures.wait`) does; nothing blocks a real thread."""

    def __init__(self, let_pass: Callable[[Callable[[], bool]], object]) -> None:
        self._let_pass, self._within = let_pass, True
        super().__init__()
        self._within = False

    @property
    def _condition(self) -> Condition:
        """What everybody locks who looks at the state."""
        if not self._within:
            with self._inside():
                self._let_pass(lambda: self._state == _FINISHED)
        return self._lock

    @_condition.setter
    def _condition(self, condition: Condition) -> None:
        self._lock = condition

    @contextmanager
    def _inside(self) -> Iterator[None]:
        before, self._within = self._within, True
        try:
            yield
        finally:
            self._within = before

    def set_result(self, result: Any) -> None:
        """The answer is there."""
        with self._inside():
            super().set_result(result)

    def set_exception(self, exception: BaseException | None) -> None:
        """The answer is an error."""
        with self._inside():
            super().set_exception(exception)

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        """Called when the answer is there."""
        with self._inside():
            super().add_done_callback(fn)

    def set_running_or_notify_cancel(self) -> bool:
        """It cannot be cancelled any more."""
        with self._inside():
            return super().set_running_or_notify_cancel()

    def __repr__(self) -> str:
        with self._inside():
            return super().__repr__()
