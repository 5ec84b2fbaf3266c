"""What a system offers to a scenario: a cluster that lives in a simulation and to which the events happen.

`protocols.scenario.topology` says which process each member lives in and what it is called; what befalls processes and
the network whatever runs in them (crash, hang, disconnect, network faults) is done by
`protocols.scenario.world.apply_to_world`, so that a cluster handles only what is its own system's.

The states that a scenario's cluster can be in beside its processes, by numbers, for the explorer: what it knows, and
what it has left to come. Each way of events and of what they left leads to one; equal ones have one number.
"""

import copyreg
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import partial
from types import FunctionType, MappingProxyType, MethodType
from typing import NamedTuple, Protocol, TypeAlias

from pydantic import BaseModel

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
        """Skip quiet times from now on, where the system can tell them (RocketMQ can)."""

    def finish(self) -> None:
        """The run is over: let the nodes tell what they still hold back (records delivered so far)."""


MakeCluster: TypeAlias = Callable[[Scenario, SystemPart, Simulation], Cluster]
"""Raises `protocols.errors.UserError` for a strategy or setting that the system does not have."""


Left: TypeAlias = dict[tuple[int, int], Callable[[], None]]
"""(Number of the event, which of the things that it has left) to what is still to come."""

copyreg.pickle(MappingProxyType, lambda proxy: (MappingProxyType, (dict(proxy),)))
"""Clusters hold mappings that nobody changes, which `deepcopy` copies only where it is told how."""


class ClusterState(NamedTuple):
    """A cluster, and what is to come, which belongs to it and to no copy."""

    cluster: Cluster
    left: Left


class ClusterStates:
    """``kept``: objects that all copies share. A state that was handed out is never changed."""

    def __init__(self, cluster: Cluster, kept: Iterable[object], instead: Mapping[int, object]) -> None:
        """``instead``: id of an object to what stands in its place in all states."""
        self._kept = {id(each): each for each in kept}
        self._states = [deepcopy(ClusterState(cluster, {}), {**self._kept, **instead})]

    def __getitem__(self, number: int) -> ClusterState:
        return self._states[number]

    def copy(self, number: int) -> ClusterState:
        """One that may be changed."""
        return deepcopy(self._states[number], dict(self._kept))

    def number(self, state: ClusterState) -> int:
        """The number of this state, which is handed over."""
        for number, each in enumerate(self._states):
            if alike(each, state):
                return number
        self._states.append(state)
        return len(self._states) - 1


def alike(one: object, other: object) -> bool:
    """Whether two objects are equal, field by field, whatever their classes think of equality; mappings and lists in
    the same order."""
    return _alike(one, other, set())


def _alike(one: object, other: object, compared: set[tuple[int, int]]) -> bool:
    if one is other or (id(one), id(other)) in compared:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, _BY_VALUE):
        return bool(one == other)
    compared.add((id(one), id(other)))
    ours, theirs = _parts(one), _parts(other)
    return len(ours) == len(theirs) and all(_alike(a, b, compared) for a, b in zip(ours, theirs, strict=True))


_BY_VALUE = (int, str, bytes, float, bool, type(None), set, frozenset, type, BaseModel)


def _parts(value: object) -> list[object]:
    """All that an object consists of, in a fixed order."""
    if isinstance(value, tuple | list):
        return list(value)
    if isinstance(value, dict | MappingProxyType):
        return [part for item in value.items() for part in item]
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, FunctionType):
        cells = [each.cell_contents for each in value.__closure__ or ()]
        return [id(value.__code__), value.__defaults__, *cells]
    fields = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        fields.update((name, getattr(value, name)) for name in ((slots,) if isinstance(slots, str) else slots))
    return [part for item in fields.items() for part in item]
