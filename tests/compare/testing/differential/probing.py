"""Probes: small functions that make calls in a world and tell what they answered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.compare.testing.differential.plain import told
from tests.compare.testing.differential.worlds import World

Run: TypeAlias = Callable[[World], Any]


@dataclass(frozen=True, slots=True)
class Probe:
    """``mock``: why the mock cluster answers unlike a broker (then nothing is compared); ``differs``: why the double
    answers unlike the real client; ``alone``: it harms the broker, and gets one of its own."""

    name: str
    run: Run
    mock: str = ""
    differs: str = ""
    alone: bool = False


PROBES: dict[str, Probe] = {}
"""By name, in the order in which they were written."""


def add(name: str, run: Run, *, mock: str = "", differs: str = "", alone: bool = False) -> None:
    """One more probe."""
    assert name not in PROBES, name
    PROBES[name] = Probe(name, run, mock, differs, alone)


def probe(*, mock: str = "", differs: str = "", alone: bool = False) -> Callable[[Run], Run]:
    """The function is a probe under its own name."""

    def added(run: Run) -> Run:
        add(run.__name__.replace("_", "-"), run, mock=mock, differs=differs, alone=alone)
        return run

    return added


def answer(probe: Probe, world: World) -> Any:
    """What a probe tells in a world; whatever it made is closed."""
    try:
        return told(lambda: probe.run(world))
    finally:
        world.close()
