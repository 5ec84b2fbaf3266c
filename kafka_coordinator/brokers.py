"""The brokers of a cluster as processes, and how their controller moves leadership between them (spec 1.4).

In Kafka `BrokerServer`, and `QuorumController` with what it publishes in metadata images.
"""

from collections.abc import Callable
from functools import partial

from kafka_coordinator.broker import Broker
from kafka_coordinator.controller import Controller, ControllerSettings
from kafka_coordinator.coordinator.node import offsets_topic
from kafka_coordinator.coordinator.settings import BrokerSettings
from protocols.engine.simulation import Simulation
from protocols.scenario.events import BrokerEvent


class Brokers:
    """The brokers that ``controller`` knows. ``served_otherwise`` is called whenever one of them begins or ceases to
    serve partitions."""

    __slots__ = ("_controller", "_served_otherwise", "_settings", "_simulation", "_storage", "_timing")

    def __init__(
        self,
        controller: Controller,
        settings: BrokerSettings,
        timing: ControllerSettings,
        simulation: Simulation,
        served_otherwise: Callable[[], None],
    ) -> None:
        self._controller = controller
        self._settings = settings
        self._timing = timing
        self._simulation = simulation
        self._storage = offsets_topic(settings)
        self._served_otherwise = served_otherwise

    def start_all(self) -> None:
        """All of them start, in order."""
        for broker in self._controller.brokers:
            self._start(broker)

    def tell(self) -> None:
        """Those that run learn what the controller knows."""
        state = self._controller.state
        for broker in self._controller.brokers:
            if self._simulation.is_running(broker):
                self._simulation.command(broker, state)

    def change(self, event: BrokerEvent) -> None:
        """A broker stops, is killed or returns."""
        name, simulation = event.broker, self._simulation
        if event.does == "return":
            if not simulation.is_running(name):
                self._return(name)
        elif simulation.is_running(name):
            self._controller.ended(name)
            self._served_otherwise()
            if event.does == "stop":
                self._fence(name)
                simulation.end(name)
            else:
                simulation.end(name)
                noticed = simulation.now + self._timing.broker_session_timeout_ms
                simulation.at(noticed, partial(self._fence_if_gone, name), f"the controller detects the loss of {name}")

    def _start(self, name: str) -> None:
        self._simulation.start(name, Broker(name, self._settings, self._storage, self._controller.state))

    def _return(self, name: str) -> None:
        self._controller.unfence(name)
        self._start(name)
        self.tell()
        self._served_otherwise()
        every = self._timing.leader_imbalance_check_interval_seconds * 1000.0
        check = (self._simulation.now // every + 1) * every
        self._simulation.at(check, self._rebalance_leaders, "partitions go back to their preferred leaders")

    def _fence_if_gone(self, name: str) -> None:
        if not self._simulation.is_running(name):
            self._fence(name)

    def _fence(self, name: str) -> None:
        self._controller.fence(name)
        self.tell()

    def _rebalance_leaders(self) -> None:
        if self._controller.rebalance_leaders():
            self.tell()
