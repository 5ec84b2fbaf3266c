"""A run of a recording's scenario in the model, and what happened in it."""

from collections.abc import Callable
from functools import partial

from compare.conformance.kafka_recordings.happened import (
    Called,
    Change,
    Delivery,
    Happened,
    delivered_again,
    silences,
)
from compare.conformance.kafka_recordings.runs import LATENCY, Run, poll_wait
from compare.conformance.kafka_recordings.scenario import Plan
from kafka_coordinator.catalogue import NO_GENERATION
from kafka_coordinator.cluster import KafkaCluster
from kafka_coordinator.cluster import consumer_groups_states as states
from protocols.engine.links import Latency
from protocols.engine.nodes import Unobserved
from protocols.engine.simulation import Simulation
from protocols.facts import Callback, Delivered, Granted, Owns, RebalanceBegan, RebalanceEnded, Transition
from protocols.java import Queue, sort_queues
from protocols.scenario.model import SystemPart
from protocols.scenario.topology import MemberKey

SYSTEM = SystemPart(system="kafka:range")
"""Every member has its own assignors."""

CLASSIC_GROUP = "group"
"""The state machine of a group of the classic protocol."""


def play(plan: Plan, run: Run) -> Happened:
    """Let the run happen. Times are the run's own."""
    heard = Heard()
    scenario = run.scenario
    simulation = Simulation(
        seed=scenario.run.seed,
        latency=Latency(*LATENCY),
        observer=heard,
        ids={prefix: iter(ids) for prefix, ids in plan.ids.items()},
    )
    system = SYSTEM.model_copy(update={"settings": dict(plan.coordinator)})
    cluster = KafkaCluster(scenario, system, simulation)
    for member, client in plan.clients.items():
        if not client.is_classic:
            cluster.members.poll_wait[MemberKey(plan.recording.group, member)] = poll_wait(run)
    heard.generation_of = partial(_generation, cluster)
    simulation.at(0.0, cluster.start)
    for event in scenario.events:
        simulation.at(event.at, partial(cluster.apply, event))
    simulation.run(scenario.run.for_)
    cluster.finish()
    clients = {member: client.client_id for member, client in plan.clients.items()}
    return heard.happened(scenario.run.for_, clients)


def _generation(cluster: KafkaCluster, node: str) -> int:
    """The generation, or epoch, that a member has."""
    consumer = cluster.consumer(node)
    return NO_GENERATION if consumer is None else consumer.state.told_generation()


class Heard(Unobserved):
    """An observer that keeps what a recording tells, too."""

    def __init__(self) -> None:
        self.generation_of: Callable[[str], int] = lambda node: NO_GENERATION
        """Of a node: the generation that it has now."""
        self._members: set[str] = set()
        """Ids of the members of the group, as long as it is one of the consumer protocol."""
        self._is_classic = True
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
        """Member to its last generation."""

    def fact(self, now: float, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        match fact:
            case Callback():
                self._called(now, node, fact)
            case Owns():
                self._owns(now, fact)
            case Granted():
                self._granted[fact.member] = fact.queues
                self._grants[fact.generation] = self._grants.get(fact.generation, 0) + 1
            case RebalanceBegan(generation=int(number)) if self._is_classic:
                self._beginnings.setdefault(number, now)
            case RebalanceBegan(generation=int(number)):
                self._beginnings.setdefault(number - 1, now)
                self._sizes[number] = len(self._members)
            case RebalanceEnded(generation=int(number)):
                self._generations.setdefault(number, now)
                if self._is_classic:
                    self._sizes.setdefault(number, self._grants.get(number, 0))
            case Transition():
                self._took(fact)
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

    def _called(self, now: float, node: str, fact: Callback) -> None:
        """The listener's generation is the member's, or the last one that it had."""
        generation = self.generation_of(node)
        told = self._within[fact.member] = generation if generation > 0 else self._within.get(fact.member)
        self._callbacks.append(Called(now, fact.member, fact.kind, fact.queues, told))

    def _took(self, fact: Transition) -> None:
        if fact.machine in (CLASSIC_GROUP, states.GROUP.name) and fact.after != states.DEAD:
            # A group that is converted is told to be dead after the one that follows it has begun.
            self._state = fact.after
            self._is_classic = fact.machine == CLASSIC_GROUP
        elif fact.machine == states.MEMBER.name and fact.before == states.ABSENT:
            self._is_classic = False
            self._members.add(fact.of)
        elif fact.machine == states.MEMBER.name and fact.after == states.REMOVED:
            self._members.discard(fact.of)

    def _owns(self, now: float, fact: Owns) -> None:
        before, after = self._owned.get(fact.member, frozenset()), frozenset(fact.queues)
        if before != after:
            self._owned[fact.member] = after
            self._changes.append(Change(now, fact.member, sort_queues(after - before), sort_queues(before - after)))
