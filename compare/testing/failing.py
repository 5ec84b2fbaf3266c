"""What a failing test leaves behind: a scenario file that lives through the same again."""

import sys
from typing import TYPE_CHECKING, Any

from protocols.scenario.model import Event
from protocols.scenario.writing import plain

if TYPE_CHECKING:
    from compare.testing.group import Group

HINT = "save it as a file, and `equipoise compare FILE --story {label}` lives through the same"


def fields_of(event: Event) -> dict[str, Any]:
    """An event as plain values, without its time and its group."""
    return {name: value for name, value in plain(event).items() if name not in ("at", "group")}


def tell(group: "Group") -> None:
    """Under hypothesis: print the scenario with the falsifying example, which is the smallest that hypothesis found."""
    if "hypothesis" in sys.modules:
        import hypothesis

        if hypothesis.currently_in_test_context():
            hypothesis.note(text(group))


def text(group: "Group") -> str:
    """The group's scenario, and what to do with it."""
    return f"# {HINT.format(label=group.label)}\n{group.scenario_text()}"
