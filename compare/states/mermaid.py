"""A state machine as a Mermaid state diagram."""

import re

from compare.running.systems import Machine
from protocols.state_machine import BEGINNING

_NO_WORD = re.compile(r"\W+")


def mermaid(machine: Machine) -> str:
    """The diagram's text, without a line break at the end."""
    lines = ["stateDiagram-v2"]
    for state in machine.states:
        if state != BEGINNING:
            lines.append(f'    state "{machine.shown(state)}" as {_word(state)}')
    for (before, after), labels in machine.between().items():
        lines.append(f"    {_word(before)} --> {_word(after)}: {'<br/>'.join(labels)}")
    return "\n".join(lines)


def _word(state: str) -> str:
    """The name by which the diagram refers to the state."""
    return "[*]" if state == BEGINNING else _NO_WORD.sub("_", state)
