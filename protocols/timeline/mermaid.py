"""The messages of a run as a Mermaid sequence diagram (`protocols.timeline.sequence`)."""

from protocols.engine.nodes import Time
from protocols.timeline.sequence import Arrow, sequence_diagram
from protocols.timeline.timeline import Timeline


def sequence(timeline: Timeline, since: Time = 0.0, until: Time | None = None) -> str:
    """The diagram from ``since`` to ``until`` (milliseconds; default: all of the run). Ends with a newline.

    Raises `ValueError` where the simulation did not trace.
    """
    participants, steps = sequence_diagram(timeline, since, until)
    numbers = {name: f"n{number}" for number, name in enumerate(participants, 1)}
    everybody = ",".join(dict.fromkeys([*numbers.values()][:1] + [*numbers.values()][-1:]))
    lines = ["sequenceDiagram"]
    lines += (f"    participant {number} as {_text(name)}" for name, number in numbers.items())
    for step in steps if numbers else ():
        if isinstance(step, Arrow):
            arrow = "-x" if step.lost else "->>"
            lines.append(f"    {numbers[step.sender]}{arrow}{numbers[step.to]}: {_text(step.text)}")
        else:
            over = everybody if step.over is None else numbers[step.over]
            lines.append(f"    Note over {over}: {_text(step.text)}")
    return "".join(f"{line}\n" for line in lines)


def _text(text: str) -> str:
    """Text that Mermaid takes as it is: what it would read as its own language is written as an entity code."""
    codes = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "\n": " ", "\r": " ", "%": "#37;"}
    return "".join(codes.get(character, character) for character in text)
