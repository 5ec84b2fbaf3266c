"""What a failing test leaves behind: a scenario file that repeats the run."""

import sys
from typing import Protocol

from compare.testing.group_interface import GroupInterface
from protocols.engine.nodes import Time
from protocols.scenario.events import Event
from protocols.scenario.writing import as_fields

HINT = "save this as a file and run `equipoise compare FILE --story {label}` to repeat the run"


def fields_of(event: Event) -> dict[str, object]:
    """An event as plain values, without its time and its group."""
    return {name: value for name, value in as_fields(event).items() if name not in ("at", "group")}


class _Printer(Protocol):
    def text(self, text: str) -> None: ...


class _Note:
    """A group's scenario for hypothesis, which asks for the text of what it prints only: not for every example."""

    __slots__ = ("group",)

    def __init__(self, group: GroupInterface) -> None:
        self.group = group

    def _repr_pretty_(self, printer: _Printer, cycle: bool) -> None:
        longer = "the same, and what came after; " if self.group.printed else ""
        self.group.printed = lived(self.group)
        printer.text(f"# {longer}{text(self.group).removeprefix('# ')}")


def tell(group: GroupInterface) -> None:
    """Under hypothesis: print the scenario with the falsifying example, which is the smallest that hypothesis found.
    What is printed already is not printed again."""
    if "hypothesis" in sys.modules and group.printed != lived(group):
        import hypothesis

        if hypothesis.currently_in_test_context():
            hypothesis.note(_Note(group))


def lived(group: GroupInterface) -> tuple[Time, int]:
    """When it is, and how much has happened: while both stay, so does the scenario."""
    return group.clock.time, len(group.world.scenario.events)


def text(group: GroupInterface) -> str:
    """The group's scenario, and what to do with it."""
    return f"# {HINT.format(label=group.label)}\n{group.scenario_text()}"
