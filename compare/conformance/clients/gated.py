"""Servers of a simulation whose requests a gate sees first, as the gate of a world on sockets does."""

from typing import Protocol

from protocols.engine.nodes import OPERATOR, Message, Node, Outbox, Time, TimerName
from protocols.engine.simulation import Simulation
from protocols.engine.sockets import Gate


class Gates(Protocol):
    """Who has the gate; None: everything passes."""

    gate: Gate | None


class Gated:
    """One server behind its gate."""

    def __init__(self, world: Gates, name: str, node: Node) -> None:
        self.world, self.name, self.node = world, name, node

    def start(self, now: Time, out: Outbox) -> None:
        self.node.start(now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        gate = self.world.gate
        if sender == OPERATOR or gate is None or not gate(self.name, sender, message):
            self.node.receive(now, sender, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self.node.timeout(now, timer, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        self.node.connected(now, peer, out)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.node.closed(now, peer, out)


def deliver(simulation: Simulation, name: str, sender: str, message: Message) -> None:
    """Give a server a request that its gate has held."""
    process = simulation.processes[name]
    assert isinstance(process.node, Gated)
    process.node.node.receive(simulation.now, sender, message, process)
