"""Brokers and their slaves as processes: which of them is master, and what becomes of one that is killed, stopped or
frozen, or starts again.

A slave is a broker's other replica, at an address of its own. It holds the same records; offsets it has as its master
wrote them last. Only a controller makes it master; else it serves readers until the master is back.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from protocols.engine.links import Link
from protocols.engine.nodes import Time
from protocols.engine.randomness import number_below
from protocols.engine.simulation import Process, Simulation
from protocols.facts import Stage
from protocols.scenario.events import BrokerEvent
from protocols.scenario.model import Scenario
from rocketmq_selfbalance.broker import Broker, BrokerNode, Disk
from rocketmq_selfbalance.broker.state import GHOST, BrokerSettings
from rocketmq_selfbalance.broker.store import ChangeRole, Haunt, StopBroker
from rocketmq_selfbalance.cluster.producers import Health
from rocketmq_selfbalance.codes import MASTER_ID
from rocketmq_selfbalance.messages.membership import ConsumerData, HeartBeat

NAME_SERVER: Final = "namesrv"
"""Node name of the name server."""

START_MS: Final = 3_000.0
"""A broker that starts registers so long after its port is open, as it did in recordings, or 10 s later (no setting
decides it; ``brokerStartTime`` is this model's)."""

ELECTED_MS: Final = 400.0
"""The controller sees the master's connection end, and has a new master registered."""

FROZEN_MS: Final = 10_000.0
"""``controllerHeartBeatTimeoutMills``: a broker whose connection stays open is dead after so long without heartbeat;"""

SCAN_MS: Final = 5_000
"""which the controller looks for so often (``scanNotActiveBrokerInterval``)."""


class Replicas:
    """The processes of all brokers. ``disks``: by address, of masters first. ``changed`` is called when one of them no
    longer answers, or answers again; ``goes_on`` before that, with the name of a broker whose frozen master is killed
    (False, or is master no more) or goes on and reads what had come for it (True)."""

    def __init__(
        self,
        scenario: Scenario,
        simulation: Simulation,
        settings: BrokerSettings,
        changed: Callable[[], None],
        goes_on: Callable[[str, bool], None],
    ) -> None:
        self._simulation, self._settings, self._changed, self._goes_on = simulation, settings, changed, goes_on
        self.disks: dict[str, Disk] = {}
        self.masters = {broker: broker for broker in scenario.brokers}
        """Broker to the address of the process that is its master now, or was when it ended."""
        self.brokers = {**self.masters, **{name: name.rpartition(".s")[0] for name in scenario.slaves}}
        """Address to the broker's name."""
        self.has_failed = False
        """Whether one of them has."""
        self._thaws: dict[str, Time] = {}
        self._controlled = bool(scenario.replication.get("rocketmq_controller"))

    def of(self, name: str) -> list[str]:
        """The addresses of a broker's replicas, the first master first."""
        return [address for address, broker in self.brokers.items() if broker == name]

    def id(self, address: str) -> int:
        """0 of a master; slaves are numbered."""
        name = self.brokers[address]
        others = [each for each in self.of(name) if each != self.masters[name]]
        return MASTER_ID if address == self.masters[name] else 1 + others.index(address)

    def broker(self, name: str) -> Broker | None:
        """The master of this name, or the replica at this address; None where it does not run."""
        process = self._simulation.processes.get(self.masters.get(name, name))
        return process.node.state if process is not None and isinstance(process.node, BrokerNode) else None

    def running(self) -> list[Broker]:
        found = (self._simulation.processes.get(address) for address in self.brokers)
        return [each.node.state for each in found if each is not None and isinstance(each.node, BrokerNode)]

    def health(self, address: str) -> Health:
        """How it answers who takes it for a master."""
        process = self._simulation.processes.get(address)
        if process is None or self.masters[self.brokers[address]] != address:
            return "dead"
        return "frozen" if process.hung else "lives"

    def thaws(self, address: str) -> Time:
        """When a frozen one goes on."""
        return self._thaws[address]

    def start(self, address: str, settings: BrokerSettings) -> None:
        name = self.brokers[address]
        state = Broker(name, self.disks[address], settings, (NAME_SERVER,), address, self.id(address))
        self._simulation.start(address, BrokerNode(state))

    def change(self, event: BrokerEvent) -> None:
        """A broker, or a slave, stops, is killed, freezes for a while, or starts again with the disk that it had."""
        address, simulation = event.broker, self._simulation
        if address not in self.brokers:
            return
        self.has_failed = True
        process = simulation.processes.get(address)
        if event.does == "return" and process is None:
            self.start(address, replace(self._settings, start_to_registration_ms=self._registers_after(address)))
            self._changed()
        elif event.does == "freeze" and process is not None:
            self._thaws[address] = simulation.now + (event.for_ or 0.0)
            simulation.hang(address)
            is_master = self._fails(
                address, FROZEN_MS + 1.0 + number_below(SCAN_MS, simulation.seed, "controller", address)
            )
            again = partial(self._thaw, address, process, was_master=is_master)
            simulation.at(self._thaws[address], again, f"{address} goes on")
        elif event.does in ("stop", "kill") and process is not None:
            if event.does == "stop":
                simulation.command(address, StopBroker(0))
            if process.hung and address == self.masters[self.brokers[address]]:
                self._goes_on(self.brokers[address], False)
            simulation.end(address)
            self._fails(address, ELECTED_MS)

    def _registers_after(self, address: str) -> Time:
        """Milliseconds from the open port of a broker that starts to its registration. It looks for the name servers
        in one thread and registers in another: where it has found none by then, it does so with its next one."""
        if self._settings.start_to_registration_ms:
            return self._settings.start_to_registration_ms
        simulation = self._simulation
        missed = number_below(2, simulation.seed, "name server not found yet", address, simulation.now)
        return START_MS + missed * self._settings.register_first_ms

    def _fails(self, address: str, elected_after: Time) -> bool:
        """The process answers nobody any more; whether it was a master."""
        name, now = self.brokers[address], self._simulation.now
        is_master = address == self.masters[name]
        if is_master:
            self.disks[name].store.stop(now)
            for slave in self.of(name):
                node = self.broker(slave)
                if slave != address and node is not None:
                    node.offsets.load(self.disks[address].offsets)
            if self._controlled:
                self._simulation.at(now + elected_after, partial(self._elect, name, address))
        self._changed()
        return is_master

    def _elect(self, name: str, before: str) -> None:
        """The controller makes a replica master that lives, unless the master has come back."""
        living = [each for each in self.of(name) if self._runs(each)]
        if self.masters[name] != before or self._runs(before) or not living:
            return
        self.masters[name] = living[0]
        self.disks[name].store.running = True
        self._simulation.command(living[0], ChangeRole(0, MASTER_ID))
        self._changed()

    def _runs(self, address: str) -> bool:
        process = self._simulation.processes.get(address)
        return process is not None and not process.hung

    def _thaw(self, address: str, stopped: Process, *, was_master: bool) -> None:
        """The frozen process goes on, unless it was killed meanwhile. It reads what had come for it; heartbeats over
        connections that their clients have closed since may come after the ends of these (`Haunt`)."""
        simulation, name = self._simulation, self.brokers[address]
        if simulation.processes.get(address) is not stopped:
            return
        late = tuple(_too_late(stopped))
        is_master = self.masters[name] == address
        if isinstance(stopped.node, BrokerNode):
            stopped.node.state.id = self.id(address)
        if is_master:
            self.disks[name].store.running = True
        simulation.wake(address)
        if late:
            expires = f"channelExpiredTimeout {self._settings.channel_expired_timeout_ms:.0f} ms"
            told = Stage(address, f"{address} hears of closed connections and lists members twice", "", expires)
            simulation.observer.fact(simulation.now, address, told, simulation.root, simulation.handling)
            simulation.command(address, Haunt(0, late))
        if was_master:
            self._goes_on(name, is_master)
        self._changed()


def _too_late(frozen: Process) -> Iterator[tuple[str, str, tuple[ConsumerData, ...]]]:
    """Of the heartbeats that wait at a frozen broker over connections that have ended since, those that are taken in
    after the end is noticed, which is another thread's work: as chance has it."""
    ended = [what for _, _, handler, what in frozen.backlog if handler == frozen.closed]
    number = 0
    for _, _, handler, what in frozen.backlog:
        link = getattr(handler, "__self__", None)
        if isinstance(what, HeartBeat) and isinstance(link, Link) and any(link is each for each in ended):
            number += 1
            if frozen.choose("the end is noticed first", (False, True)):
                yield f"{link.sender_name}{GHOST}{number}", what.client_id, what.consumers
