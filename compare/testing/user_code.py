"""What a test says about the user's own code: the methods of `compare.testing.handling.Handling`, on the group."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from inspect import iscoroutine, iscoroutinefunction
from types import ModuleType
from typing import Any, TypeVar

from compare.testing.clock import Clock
from compare.testing.handled_records import Record
from compare.testing.handling import Handling
from compare.testing.interruptions import Interruption
from compare.testing.removed import REMOVED
from protocols.errors import UserError

R = TypeVar("R")


class UserCode(ABC):
    """A group among whose members is user's code."""

    clock: Clock

    @property
    @abstractmethod
    def handling(self) -> Handling:
        """Which records the user's code has handled, and what happens between its calls."""

    @abstractmethod
    def failed(self) -> None:
        """An assertion is about to fail."""

    def interrupt(self, with_: Interruption, *, after_calls: int | None = None, before_call: int | None = None) -> None:
        """See `compare.testing.handling.Handling.interrupt`."""
        self.handling.interrupt(with_, after_calls=after_calls, before_call=before_call)

    def virtual_time(self, *modules: ModuleType) -> AbstractContextManager[None]:
        """``with group.virtual_time():`` the code under test lives in virtual time (`compare.testing.virtual_time`)."""
        return self.clock.virtual_time(*modules)

    def run(self, code: Any, *, seconds: float | None = None) -> Any:
        """See `compare.testing.handling.Handling.run`. Raises `UserError` for a coroutine."""
        if iscoroutine(code):
            code.close()
        if iscoroutine(code) or iscoroutinefunction(code):
            raise UserError(f"group.run: {REMOVED['virtual_loop']}")
        return self.handling.run(code, seconds=seconds)

    def watch(self, handler: Callable[..., R]) -> Callable[..., R]:
        """See `compare.testing.handling.Handling.watch`."""
        return self.handling.watch(handler)

    def handled_twice(self) -> list[Record]:
        """See `compare.testing.handling.Handling.twice`."""
        return self._told(self.handling.twice())

    def never_handled(self) -> list[Record]:
        """See `compare.testing.handling.Handling.never`."""
        return self._told(self.handling.never())

    def _told(self, records: list[Record]) -> list[Record]:
        """These records; where there are any, a test is likely to fail."""
        if records:
            self.failed()
        return records
