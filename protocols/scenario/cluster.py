"""What a system offers to a scenario: a cluster that lives in a simulation and to which the events happen.

`protocols.scenario.topology` says which process each member lives in and what it is called; what befalls processes and
the network whatever runs in them (crash, hang, disconnect, network faults) is done by
`protocols.scenario.world.apply_to_world`, so that a cluster handles only what is its own system's.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from protocols.engine.simulation import Simulation
from protocols.scenario.events import Event
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.topology import Topology


class Cluster(Protocol):
    """One system with its brokers and members. Node names: brokers under their own names, members under their names
    (``group/member`` where a member's name is in several groups; several members of one process under ``process``)."""

    scenario: Scenario
    topology: Topology

    def start(self, beginning: Beginning = IN_STEP) -> None:
        """Start everything that is there from the beginning: the servers now, the members when they are to."""

    def apply(self, event: Event) -> None:
        """The event happens now."""

    def fast_forward(self) -> None:
        """Skip quiet times from now on, where the system can tell them (`protocols.engine.fast_forward`)."""

    def finish(self) -> None:
        """The run is over: let the nodes tell what they still hold back (records delivered so far)."""


MakeCluster: TypeAlias = Callable[[Scenario, SystemPart, Simulation], Cluster]
"""Raises `protocols.errors.UserError` for a strategy or setting that the system does not have."""
