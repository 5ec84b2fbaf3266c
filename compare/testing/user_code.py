"""What a test says about the user's own code: the methods of `compare.testing.handling.Handling`, on the group.

How an assertion about a group fails, and what the failed test leaves behind: the scenario that the group lived
through, as YAML that `equipoise compare` runs.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from inspect import iscoroutine, iscoroutinefunction
from types import ModuleType
from typing import Any, Protocol, TypeVar

from compare.testing import sentences
from compare.testing.clock import Clock
from compare.testing.group_interface import GroupInterface
from compare.testing.handled_records import Record
from compare.testing.handling import Handling, HandlingGroup
from compare.testing.interruptions import Interruption
from compare.testing.removed import REMOVED
from protocols.engine.nodes import Time
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


MOST_LINES = 8


def fail(group: GroupInterface, what: str, more: Sequence[str] = (), *, most: int = MOST_LINES) -> None:
    """Raise the `AssertionError`: when, in which system, what, and the lines that say why; beyond ``most`` lines of
    ``more`` the rest is counted."""
    __tracebackhide__ = True
    group.failed()
    told = f"{group.system} at {sentences.moment(group.clock.time)}: {what}"
    raise AssertionError(f"{told}\n{sentences.first_lines(more, most)}" if more else told)


def text(group: HandlingGroup) -> str:
    """The scenario of what the group has lived through, and how to repeat it."""
    head = f"# save this as a file and run `equipoise compare FILE --story {group.label}` to repeat the run\n"
    head += f"# seed {group.plan.seed}, failed at {sentences.moment(group.clock.time, 3)}"
    if group.handling.calls:
        members = ", ".join(sorted(group.handling.doubles))
        head += f"; simulated consumers stand for your own code of {members}"
    return f"{head}\n{group.scenario_text()}"


def tell(group: HandlingGroup) -> None:
    """Under hypothesis: print the scenario with the falsifying example, which is the smallest that hypothesis found.
    What is printed already is not printed again."""
    if "hypothesis" in sys.modules and group.printed != _lived(group):
        import hypothesis

        if hypothesis.currently_in_test_context():
            hypothesis.note(_Note(group))


class _Printer(Protocol):
    def text(self, text: str) -> None: ...


class _Note:
    """A group's scenario for hypothesis, which asks for the text of what it prints only: not for every example."""

    __slots__ = ("group",)

    def __init__(self, group: HandlingGroup) -> None:
        self.group = group

    def _repr_pretty_(self, printer: _Printer, cycle: bool) -> None:
        longer = "the same, and what came after; " if self.group.printed else ""
        self.group.printed = _lived(self.group)
        printer.text(f"# {longer}{text(self.group).removeprefix('# ')}")


def _lived(group: HandlingGroup) -> tuple[Time, int]:
    """When it is, and how much has happened: while both stay, so does the scenario."""
    return group.clock.time, len(group.world.scenario.events)
