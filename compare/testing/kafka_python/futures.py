"""Futures as kafka-python hands them out: they come about without a thread, when the group's time has passed."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

_LOG = logging.getLogger("kafka.future")


class Future:
    """Stands for `kafka.future.Future`; ``wait``: lets time pass until it is done, for so many seconds at most."""

    def __init__(self, wait: Callable[[float | None], None]) -> None:
        self.is_done = False
        self.value: Any = None
        self.exception: Exception | None = None
        self._wait = wait
        self._callbacks: list[Callable[[Any], object]] = []
        self._errbacks: list[Callable[[Any], object]] = []

    def succeeded(self) -> bool:
        """Whether it has a value."""
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        """Whether it has an exception."""
        return self.exception is not None

    def success(self, value: Any) -> "Future":
        """It has come about."""
        self.value, self.is_done = value, True
        self._call(self._callbacks, value)
        return self

    def failure(self, error: Exception) -> "Future":
        """It has failed."""
        self.exception, self.is_done = error, True
        self._call(self._errbacks, error)
        return self

    def add_callback(self, function: Callable[..., object], *args: Any, **kwargs: Any) -> "Future":
        """Call with the value, as soon as it is there."""
        self._callbacks.append(partial(function, *args, **kwargs))
        if self.succeeded():
            self._call(self._callbacks[-1:], self.value)
        return self

    def add_errback(self, function: Callable[..., object], *args: Any, **kwargs: Any) -> "Future":
        """Call with the exception, if there is one."""
        self._errbacks.append(partial(function, *args, **kwargs))
        if self.failed():
            self._call(self._errbacks[-1:], self.exception)
        return self

    def add_both(self, function: Callable[..., object], *args: Any, **kwargs: Any) -> "Future":
        """Call with whichever comes."""
        return self.add_callback(function, *args, **kwargs).add_errback(function, *args, **kwargs)

    def get(self, timeout: float | None = None) -> Any:
        """Wait for the value, so many seconds at most. Raises its exception, or where the time is over."""
        if not self.is_done:
            self._wait(timeout)
        if self.exception is not None:
            raise self.exception
        return self.value

    def _call(self, functions: list[Callable[[Any], object]], value: Any) -> None:
        for each in functions:
            try:
                each(value)
            except Exception:
                _LOG.exception("Error processing callback")
