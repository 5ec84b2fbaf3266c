"""Which edges of the systems' state machines a piece of work takes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from compare.running.systems import MACHINES, machine
from protocols.state_machine import ALWAYS, StateMachine

Taken = dict[str, set[tuple[str, str, str]]]
"""Name of a machine to state, event and guard of the edges taken."""


@contextmanager
def edges_taken(into: Taken) -> Iterator[None]:
    """Every step that the model takes is noted."""
    original = StateMachine.next_state

    def noted(table: StateMachine, before: str, event: str, guard: str = ALWAYS) -> str:
        after = original(table, before, event, guard)
        into.setdefault(table.name, set()).add((before, event, guard))
        return after

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StateMachine, "next_state", noted)
        yield


def covered(taken: Mapping[str, set[tuple[str, str, str]]]) -> list[tuple[str, str, int, int]]:
    """System, machine, how many edges were taken, and how many there are: of every machine that `equipoise states`
    draws."""
    found = []
    for system, machines in MACHINES.items():
        for name in machines:
            drawn = machine(system, name)
            edges = {(each.before, each.event, each.guard) for each in drawn.edges}
            found.append((system, name, len(edges & taken.get(drawn.name, set())), len(edges)))
    return found
