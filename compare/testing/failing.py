"""What a failing test leaves behind: a test that drives the user's code in the same way, or a scenario file."""

import sys
from pathlib import Path
from typing import Protocol

from compare.testing.handling import HandlingGroup
from protocols.engine.nodes import Time
from protocols.scenario.events import Event
from protocols.scenario.writing import as_fields

HINT = "save this as a file and run `equipoise compare FILE --story {label}` to repeat the run"

_HERE = str(Path(__file__).parent)


def fields_of(event: Event) -> dict[str, object]:
    """An event as plain values, without its time and its group."""
    return {name: value for name, value in as_fields(event).items() if name not in ("at", "group")}


class _Printer(Protocol):
    def text(self, text: str) -> None: ...


class _Note:
    """A group's replay for hypothesis, which asks for the text of what it prints only: not for every example."""

    __slots__ = ("group",)

    def __init__(self, group: HandlingGroup) -> None:
        self.group = group

    def _repr_pretty_(self, printer: _Printer, cycle: bool) -> None:
        longer = "the same, and what came after; " if self.group.printed else ""
        self.group.printed = lived(self.group)
        printer.text(f"# {longer}{text(self.group).removeprefix('# ')}")


def tell(group: HandlingGroup) -> None:
    """Under hypothesis: print the replay with the falsifying example, which is the smallest that hypothesis found.
    What is printed already is not printed again."""
    group.handling.journal.demanded = _demanded()
    if "hypothesis" in sys.modules and group.printed != lived(group):
        import hypothesis

        if hypothesis.currently_in_test_context():
            hypothesis.note(_Note(group))


def lived(group: HandlingGroup) -> tuple[Time, int]:
    """When it is, and how much has happened: while both stay, so does the scenario."""
    return group.clock.time, len(group.world.scenario.events)


def text(group: HandlingGroup) -> str:
    """How to repeat what the group has lived through. Where user's code ran in it, that is a test, because in a
    scenario a simulated consumer would stand for the user's; else it is the scenario, and what to do with it."""
    if group.handling.calls:
        return group.handling.journal.text()
    return f"# {HINT.format(label=group.label)}\n{group.scenario_text()}"


def _demanded() -> str:
    """The assertion that is about to fail, as the test could have written it; empty where it is none of ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        code, given = frame.f_code, frame.f_locals
        name = code.co_name
        if code.co_filename.startswith(_HERE):
            if name in ("handled_twice", "never_handled"):
                return f"assert group.{name}() == []"
            if name.startswith("assert_"):
                names = [each for each in code.co_varnames[: code.co_argcount] if each not in ("group", "self")]
                return f"group.{name}({', '.join(f'{each}={given[each]!r}' for each in names)})"
        frame = frame.f_back
    return ""
