"""How an assertion about a group fails, and what the failed test leaves behind: the scenario that the group lived
through, as YAML that `equipoise compare` runs."""

import sys
from collections.abc import Sequence
from typing import Protocol

from compare.testing import sentences
from compare.testing.group_interface import GroupInterface
from compare.testing.handling import HandlingGroup
from protocols.engine.nodes import Time

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
