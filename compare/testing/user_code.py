"""What a test says about the user's own code: the methods of `compare.testing.handling.Handling`, on the group."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from compare.testing.handling import Handling, Interruption, Record

R = TypeVar("R")


class UserCode(ABC):
    """A group among whose members is user's code."""

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

    def run(self, code: Callable[[], R], *, seconds: float | None = None) -> R | None:
        """See `compare.testing.handling.Handling.run`."""
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
