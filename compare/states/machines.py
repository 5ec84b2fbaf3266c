"""Which state machines there are, by system and name, and their edges as the drawings need them.

Drawings are made from the graph of the system's own table (`protocols.state_machine.StateMachine.graph`). The state
``(none)`` stands for "there is no such thing yet".
"""

from collections.abc import Mapping
from typing import NamedTuple

from protocols.errors import UserError
from protocols.named_modules import module_named
from protocols.state_machine import Edge, StateMachine

MACHINES: Mapping[str, Mapping[str, str]] = {
    "kafka": {
        "group": "kafka_coordinator.coordinator.states:GROUP",
        "consumer": "kafka_coordinator.consumer.states:CONSUMER",
        "consumer protocol": "kafka_coordinator.consumer.kip848.states:CONSUMER_PROTOCOL",
        "consumer group": "kafka_coordinator.coordinator.consumer_groups.states:GROUP",
        "consumer group member": "kafka_coordinator.coordinator.consumer_groups.states:MEMBER",
    },
    "rocketmq": {
        "process queue": "rocketmq_selfbalance.states:PROCESS_QUEUE",
        "client": "rocketmq_selfbalance.states:CLIENT",
    },
}
"""System to its machines, each with the module and the name of its table; the first one is drawn where none is named.
Modules are imported when they are needed."""


class Machine(NamedTuple):
    """A state machine as it is drawn; edges are grouped by state, in the order of ``states``."""

    system: str
    name: str
    states: tuple[str, ...]
    older_names: Mapping[str, str]
    edges: tuple[Edge, ...]
    meanings: Mapping[str, str] = {}
    """State to what is going on in it."""

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
    module, _, attribute = named[chosen].partition(":")
    table: StateMachine = getattr(module_named(module), attribute)
    graph = table.graph()
    place = {state: position for position, state in enumerate(graph.nodes)}
    edges = [Edge(before, said["event"], said["guard"], after) for before, after, said in graph.edges(data=True)]
    edges.sort(key=lambda edge: (place[edge.before], place[edge.after]))
    return Machine(system, table.name, tuple(place), table.older_names, tuple(edges), table.meanings)
