"""A run of a recording's scenario in the model, and what happened in it."""

from functools import partial

from compare.conformance.kafka_recordings.happened import (
    Called,
    Change,
    Delivery,
    Happened,
    delivered_again,
    silences,
)
from compare.conformance.kafka_recordings.scenario import LATENCY, Plan, Run
from kafka_coordinator.cluster import KafkaCluster
from protocols.engine.links import Latency
from protocols.engine.observer import Unobserved
from protocols.engine.simulation import Simulation
from protocols.facts import Callback, Delivered, Granted, Owns, RebalanceBegan, RebalanceEnded, Transition
from protocols.queues import Queue, sort_queues
from protocols.scenario.model import SystemPart

SYSTEM = SystemPart(system="kafka:range")
"""Every member has its own assignors."""


def play(plan: Plan, run: Run) -> Happened:
    """Let the run happen. Times are the run's own."""
    heard = _Heard()
    scenario = run.scenario
    simulation = Simulation(
        seed=scenario.run.seed,
        latency=Latency(*LATENCY),
        observer=heard,
        ids={prefix: iter(ids) for prefix, ids in plan.ids.items()},
    )
    cluster = KafkaCluster(scenario, SYSTEM, simulation)
    cluster.fast_forward()
    simulation.at(0.0, cluster.start)
    for event in scenario.events:
        simulation.at(event.at, partial(cluster.apply, event))
    simulation.run(scenario.run.for_)
    cluster.finish()
    clients = {member: client.client_id for member, client in plan.clients.items()}
    return heard.happened(scenario.run.for_, clients)


class _Heard(Unobserved):
    """An observer that keeps what a recording tells, too."""

    def __init__(self) -> None:
        self._callbacks: list[Called] = []
        self._changes: list[Change] = []
        self._owned: dict[str, frozenset[Queue]] = {}
        self._generations: dict[int, float] = {}
        self._beginnings: dict[int, float] = {}
        self._granted: dict[str, tuple[Queue, ...]] = {}
        self._sizes: dict[int, int] = {}
        self._grants: dict[int | None, int] = {}
        """Generation to how many members it granted something, or nothing, so far."""
        self._state = ""
        self._delivered: dict[Queue, list[Delivery]] = {}
        self._within: dict[str, int | None] = {}
        """Member to the generation of its last assignment."""

    def fact(self, now: float, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        match fact:
            case Callback():
                self._called(now, fact)
            case Owns():
                self._owns(now, fact)
            case Granted():
                self._granted[fact.member] = fact.queues
                self._grants[fact.generation] = self._grants.get(fact.generation, 0) + 1
            case RebalanceBegan(generation=int(number)):
                self._beginnings.setdefault(number, now)
            case RebalanceEnded(generation=int(number)):
                self._generations.setdefault(number, now)
                self._sizes.setdefault(number, self._grants.get(number, 0))
            case Transition(machine="group"):
                self._state = fact.after
            case Delivered():
                about = Delivery(fact.since, now, fact.first, fact.end)
                self._delivered.setdefault(fact.queue, []).append(about)

    def happened(self, end: float, clients: dict[str, str]) -> Happened:
        """All that was heard. ``clients``: member to client id."""
        described: dict[str, set[Queue]] = {}
        for member, queues in self._granted.items():
            described.setdefault(clients.get(member, member), set()).update(queues)
        delivered = {queue: tuple(sorted(told)) for queue, told in self._delivered.items()}
        return Happened(
            end=end,
            callbacks=tuple(self._callbacks),
            changes=tuple(self._changes),
            generations=self._generations,
            sizes=self._sizes,
            beginnings=self._beginnings,
            state=self._state,
            described={client: sort_queues(queues) for client, queues in described.items() if queues},
            again={queue: sum(count for _, count in delivered_again(told)) for queue, told in delivered.items()},
            silence={queue: max(length for _, length in silences(told)) for queue, told in delivered.items()},
            delivered=delivered,
        )

    def _called(self, now: float, fact: Callback) -> None:
        """The listener's generation: on an assignment the latest one; until then the one of the last assignment. What
        a cooperative member gives up together with an assignment is told within the latest, too."""
        if fact.kind == "assigned":
            latest = max(self._generations, default=None)
            self._within[fact.member] = latest
            last = len(self._callbacks) - 1
            while last >= 0 and self._callbacks[last].at == now:
                before = self._callbacks[last]
                if before.member == fact.member:
                    self._callbacks[last] = before._replace(generation=latest)
                last -= 1
        generation = self._within.get(fact.member)
        self._callbacks.append(Called(now, fact.member, fact.kind, fact.queues, generation))

    def _owns(self, now: float, fact: Owns) -> None:
        before, after = self._owned.get(fact.member, frozenset()), frozenset(fact.queues)
        if before != after:
            self._owned[fact.member] = after
            self._changes.append(Change(now, fact.member, sort_queues(after - before), sort_queues(before - after)))
