"""What befalls processes and the network, whatever system runs in them: a cluster hands on what is not its own.

| event | what happens here |
|---|---|
| crash | the process ends with all its members, its connections close, the members believe nothing from now on |
| lose | the process ends with all its members, its connections stay open: others notice by their timeouts alone |
| hang | the process stops, and goes on after its time if it is still the same |
| disconnect | the process's connections are cut (or the one to ``broker``), both sides are told |
| network | the links are cut, lossy or slow, and mended after the time; overlapping faults add up |

A cluster whose nodes hold facts back (records delivered so far) lets them tell before it hands on a crash.
Every other event is the cluster's own.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

from protocols.engine.links import Fault
from protocols.engine.nodes import Time
from protocols.engine.simulation import Simulation
from protocols.errors import UserError
from protocols.facts import Owns
from protocols.scenario.events import Crash, Disconnect, Event, Hang, Lose, Network
from protocols.scenario.fields import listed
from protocols.scenario.topology import Topology

C = TypeVar("C")
Own: TypeAlias = Mapping[type[Event], Callable[[C, Any], None]]
"""Kind of event to what a cluster does on one: the events that are its own system's."""


def apply_event(event: Event, cluster: C, own: Own[C], simulation: Simulation, topology: Topology) -> None:
    """The event happens now: as the cluster's ``own`` table has it, else as `apply_to_world` does.

    Raises `UserError` for a kind of event that is in neither: the system has nothing of that kind.
    """
    applied = own.get(type(event))
    if applied is not None:
        applied(cluster, event)
    elif not apply_to_world(event, simulation, topology):
        raise UserError(f"{event.describe()}: the system has no {event.kind_name()!r}, expected another event")


def apply_to_world(event: Event, simulation: Simulation, topology: Topology) -> bool:
    """The event happens now, if it is one that befalls processes or the network; whether it is one.

    Nothing happens to a process that does not run (any more).
    """
    applied = _APPLIED.get(type(event))
    if applied is None:
        return False
    applied(event, simulation, topology)
    return True


def start_later(simulation: Simulation, delay: Time, start: Callable[[], None]) -> None:
    """Something starts after so many milliseconds: at once where that is 0."""
    if delay:
        simulation.at(simulation.now + delay, start)
    else:
        start()


def end_process(simulation: Simulation, topology: Topology, node: str, *, silently: bool = False) -> bool:
    """The process of this node ends at once and with it all that its members believe; whether it ran.

    For crashes, and for members that have closed properly. ``silently``: with its machine, so that its connections
    do not close.
    """
    if not simulation.is_running(node):
        return False
    if silently:
        simulation.lose(node)
    else:
        simulation.end(node)
    for group, member in topology.members.get(node, ()):
        fact = Owns(group, member, (), None)
        simulation.observer.fact(simulation.now, node, fact, simulation.root, simulation.handling)
    return True


def _end(event: Crash | Lose, simulation: Simulation, topology: Topology) -> None:
    (member,) = event.members()
    for node in topology.together[topology.key(event.group, member)]:
        end_process(simulation, topology, node, silently=isinstance(event, Lose))


def _hang(event: Hang, simulation: Simulation, topology: Topology) -> None:
    for node in topology.together[topology.key(event.group, event.hang)]:
        if simulation.is_running(node):
            simulation.hang(node)
            stopped = simulation.processes[node]

            def wake(node: str = node, stopped: object = stopped) -> None:
                # A process that was killed and started again in the meantime is another one.
                if simulation.processes.get(node) is stopped:
                    simulation.wake(node)

            simulation.at(simulation.now + event.for_, wake, f"{event.hang} goes on")


def _disconnect(event: Disconnect, simulation: Simulation, topology: Topology) -> None:
    for node in topology.together[topology.key(event.group, event.disconnect)]:
        if simulation.is_running(node):
            simulation.disconnect(node, event.broker)


def _network(event: Network, simulation: Simulation, topology: Topology) -> None:
    topology.faults.append(event)
    _set_faults(event, simulation, topology)
    mend = partial(_mend, event, simulation, topology)
    simulation.at(simulation.now + event.for_, mend, f"network of {listed(event.between)} mended")


def _mend(event: Network, simulation: Simulation, topology: Topology) -> None:
    topology.faults.remove(event)
    _set_faults(event, simulation, topology)


def _set_faults(event: Network, simulation: Simulation, topology: Topology) -> None:
    """All that is wrong now with the links that the event is about."""
    befallen = [(_pairs(fault, topology), fault) for fault in topology.faults]
    for pair in _pairs(event, topology):
        faults = [each for pairs, each in befallen if pair in pairs]
        simulation.set_fault(*pair, _together(faults) if faults else None)


def _pairs(event: Network, topology: Topology) -> Mapping[tuple[str, str], None]:
    """The pairs of nodes, each pair once in a fixed order, between which the event puts something wrong."""
    one = topology.named(event.between[0])
    other = topology.named(event.between[1]) if len(event.between) > 1 else topology.others(one)
    return {(min(a, b), max(a, b)): None for a in one for b in other if a != b}


def _together(faults: list[Network]) -> Fault:
    passing = 1.0
    for fault in faults:
        passing *= 1 - fault.loss
    return Fault(any(fault.network == "cut" for fault in faults), 1 - passing, sum(fault.delay for fault in faults))


_APPLIED: Mapping[type[Event], Callable[..., None]] = {
    Crash: _end,
    Lose: _end,
    Hang: _hang,
    Disconnect: _disconnect,
    Network: _network,
}
