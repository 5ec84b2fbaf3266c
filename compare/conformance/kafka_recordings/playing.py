"""A run of a recording's scenario in the model, and what happened in it.

The sticky assignors of librdkafka and kafka-python are their own programs, not Java's. They give every member as many
partitions as Java's, but where several partitions of a topic would do as well they may take another one. So where such
a client may be the leader, a run is compared up to an exchange of partitions of one topic that are in the same
situation: the same members own them, or the same owned them last, or whoever did is gone. The run's callbacks are gone
through in order; where one names another partition than the recorded one, which the member might have been given or
might have lost just as well, the two change names from then on.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from compare.catalogues import KEEPING
from compare.conformance.kafka_recordings.happened import Called, Delivery, Happened, delivered_again, silences
from compare.conformance.kafka_recordings.reading import JAVA
from compare.conformance.kafka_recordings.scenario import LATENCY, Plan, Run
from compare.conformance.recordings import Change, changed, simulate
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
            key = MemberKey(plan.recording.group, member)
            cluster.members.poll_wait[key] = run.poll_wait
            cluster.members.first_wait[key] = run.first_waits.get(member, 0)
    heard.generation_of = partial(_generation, cluster)
    simulate(cluster, simulation, scenario)
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
        self._held: list[tuple[float, str, frozenset[Queue]]] = []
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
                self._held.append((now, fact.member, frozenset(fact.queues)))
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
            changes=tuple(changed(self._held)),
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


Figure = TypeVar("Figure", int, float)


def may_exchange(plan: Plan) -> bool:
    """Whether another sticky assignor than Java's may have been at work."""
    others = any(client.kind != JAVA for client in plan.clients.values())
    names = [name for client in plan.clients.values() for name in (client.strategy or "").split(",")]
    return others and any(name in KEEPING for name in names)


def exchanged(happened: Happened, real: Happened) -> Happened:
    """The run with its partitions named as the recorded ones, as far as possible."""
    naming = _Naming(real.callbacks)
    callbacks: list[Called] = []
    changes: list[Change] = []
    steps: list[tuple[float, bool, int]] = [(call.at, False, at) for at, call in enumerate(happened.callbacks)]
    steps += [(change.at, True, at) for at, change in enumerate(happened.changes)]
    for _, is_change, at in sorted(steps):
        if is_change:
            changes.append(naming.change(happened.changes[at]))
        else:
            callbacks.append(naming.call(happened.callbacks[at]))
    return replace(
        happened,
        callbacks=tuple(callbacks),
        changes=tuple(changes),
        described={client: naming.named(queues) for client, queues in happened.described.items()},
        again=_told_by(sum, naming, {queue: delivered_again(told) for queue, told in happened.delivered.items()}),
        silence=_told_by(max, naming, {queue: silences(told) for queue, told in happened.delivered.items()}),
    )


def _told_by(
    figure: Callable[[list[Figure]], Figure],
    naming: "_Naming",
    happened: Mapping[Queue, Iterable[tuple[float, Figure]]],
) -> dict[Queue, Figure]:
    """A figure per recorded partition, made of what happened to the run's while they were called so."""
    values: dict[Queue, list[Figure]] = {}
    for queue, told in happened.items():
        for at, value in told:
            values.setdefault(naming.name_at(queue, at), []).append(value)
    return {queue: figure(each) for queue, each in values.items()}


class _Naming:
    """What the run's partitions are called by now, and in which situation they are."""

    def __init__(self, recorded: Sequence[Called]) -> None:
        self._names: dict[Queue, Queue] = {queue: queue for call in recorded for queue in call.queues}
        self._named: dict[Queue, list[tuple[float, Queue]]] = {}
        """Queue to the names it was given, and when."""
        self._owners: dict[Queue, frozenset[str]] = {}
        self._last: dict[Queue, frozenset[str]] = {}
        """Queue to its owners when it had any the last time."""
        self._recorded: dict[str, list[Called]] = {}
        for call in recorded:
            if call.queues:
                self._recorded.setdefault(call.member, []).append(call)
        self._taken: dict[str, int] = {}
        """Member to how many of its callbacks there were so far."""
        self._given_up: tuple[float, frozenset[Queue]] = 0.0, frozenset()
        """What was given up at a time: it does not come back at the same time under another name."""

    def call(self, call: Called) -> Called:
        """The callback, its partitions named; they may change their names by it."""
        if call.queues:
            wanted = self._wanted(call)
            for queue in call.queues:
                if self._name(queue) not in wanted:
                    self._change_names(queue, call, wanted)
        if call.kind == "assigned":
            self._gained(call.member, call.queues)
        else:
            self._lost(call.member, call.queues)
            self._given_up = call.at, self._given_up_at(call.at) | set(call.queues)
        return call._replace(queues=self.named(call.queues))

    def change(self, change: Change) -> Change:
        """The change of ownership, its partitions named."""
        for queue in change.lost:
            if change.member in self._owners.get(queue, ()):
                # Nobody was called: the member is gone, and nobody claims what it had.
                self._last[queue] = frozenset()
        self._lost(change.member, change.lost)
        self._gained(change.member, change.gained)
        return change._replace(gained=self.named(change.gained), lost=self.named(change.lost))

    def named(self, queues: Iterable[Queue]) -> tuple[Queue, ...]:
        """These partitions as they are called by now."""
        return sort_queues(map(self._name, queues))

    def name_at(self, queue: Queue, at: float) -> Queue:
        """What the partition was called at a time; before anything happened to it, what it is called first."""
        return next((name for since, name in reversed(self._named.get(queue, ())) if since <= at), queue)

    def _name(self, queue: Queue) -> Queue:
        return self._names.get(queue, queue)

    def _wanted(self, call: Called) -> frozenset[Queue]:
        """What the member's callback of the same number names in the recording, if it is of the same kind."""
        number = self._taken.get(call.member, 0)
        self._taken[call.member] = number + 1
        recorded = self._recorded.get(call.member, [])[number : number + 1]
        return frozenset(queue for called in recorded if called.kind == call.kind for queue in called.queues)

    def _change_names(self, queue: Queue, call: Called, wanted: frozenset[Queue]) -> None:
        """Let the partition have the name of one that is wanted and might be in its place."""
        out = self._given_up_at(call.at).union(call.queues)
        for other in sorted(self._names):
            if self._names[other] in wanted and other not in out and self._situation(other) == self._situation(queue):
                self._names[other], self._names[queue] = self._name(queue), self._names[other]
                for each in (other, queue):
                    self._named.setdefault(each, []).append((call.at, self._names[each]))
                return

    def _situation(self, queue: Queue) -> tuple[str, frozenset[str], frozenset[str]]:
        owners = self._owners.get(queue, frozenset())
        return queue.topic, owners, frozenset() if owners else self._last.get(queue, frozenset())

    def _given_up_at(self, at: float) -> frozenset[Queue]:
        return self._given_up[1] if self._given_up[0] == at else frozenset()

    def _gained(self, member: str, queues: Iterable[Queue]) -> None:
        for queue in queues:
            self._owners[queue] = self._last[queue] = self._owners.get(queue, frozenset()) | {member}

    def _lost(self, member: str, queues: Iterable[Queue]) -> None:
        for queue in queues:
            self._owners[queue] = self._owners.get(queue, frozenset()) - {member}
