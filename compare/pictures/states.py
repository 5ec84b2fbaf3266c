"""The state machines that the model runs from."""

from compare.pictures.svg import Picture
from compare.running.systems import machine
from compare.states.drawing import svg


def states(system: str, name: str | None = None) -> Picture:
    """``kafka`` or ``rocketmq``; ``name``: one of its machines, the main one where it is left out."""
    found = machine(system, name)
    words = [found.title] + [f"{each.before} -> {each.after}: {each.label}" for each in found.edges]
    return Picture(svg(found), "\n".join(words))
