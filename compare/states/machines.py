"""Which state machines there are, by system and name, and their edges as the drawings need them.

A machine's module has ``graph()``: a networkx MultiDiGraph whose nodes are states in the order in which they are to be
listed, with ``older_name`` where there is one, and whose edges have ``event`` and maybe ``guard``. The state ``(none)``
stands for "there is no such thing yet".
"""

import importlib
from collections.abc import Mapping
from typing import NamedTuple

from protocols.errors import UserError

BEGINNING = "(none)"

MACHINES: Mapping[str, Mapping[str, str]] = {
    "kafka": {
        "group": "kafka_coordinator.coordinator.states",
        "consumer": "kafka_coordinator.consumer.states",
    },
    "rocketmq": {
        "process queue": "rocketmq_selfbalance.states:process_queue_graph",
        "client": "rocketmq_selfbalance.states:client_graph",
    },
}
"""System to its machines, each with the module that has its graph (and the function, where it is not ``graph``); the
first one is drawn where none is named."""


class Edge(NamedTuple):
    before: str
    event: str
    guard: str
    after: str

    @property
    def label(self) -> str:
        """Event and guard in one text."""
        return f"{self.event} [{self.guard}]" if self.guard else self.event


class Machine(NamedTuple):
    """A state machine as it is drawn; edges are grouped by state, in the order of ``states``."""

    system: str
    name: str
    states: tuple[str, ...]
    older_names: Mapping[str, str]
    edges: tuple[Edge, ...]

    @property
    def title(self) -> str:
        """What the machine is called above its drawing."""
        return f"{self.system}: {self.name}"

    def shown(self, state: str) -> str:
        """The state's name with the older one, where there is one."""
        return f"{state} ({self.older_names[state]})" if state in self.older_names else state

    def between(self) -> dict[tuple[str, str], list[str]]:
        """States before and after to the labels of all edges between them."""
        found: dict[tuple[str, str], list[str]] = {}
        for edge in self.edges:
            found.setdefault((edge.before, edge.after), []).append(edge.label)
        return found


def machine(system: str, name: str | None) -> Machine:
    """The machine of a system, the first if no name is given. `UserError` names those that there are."""
    named = MACHINES[system]
    chosen = next(iter(named)) if name is None else name
    if chosen not in named:
        raise UserError(f"--machine {chosen}: {system} has no such state machine, expected one of {', '.join(named)}")
    module, _, function = named[chosen].partition(":")
    graph = getattr(importlib.import_module(module), function or "graph")()
    states = tuple(graph.nodes)
    older = {state: said["older_name"] for state, said in graph.nodes.items() if said.get("older_name")}
    place = {state: position for position, state in enumerate(states)}
    edges = [
        Edge(before, said["event"], said.get("guard", ""), after) for before, after, said in graph.edges(data=True)
    ]
    edges.sort(key=lambda edge: (place[edge.before], place[edge.after]))
    return Machine(system, chosen, states, older, tuple(edges))
