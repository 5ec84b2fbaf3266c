"""One group in one system, living event by event.

What has happened so far is always a scenario that could stand in a file: each event is checked as one of a file is,
and the whole can be written down and run again by `equipoise compare`.

Why a scenario rather than calls of the simulation: a test that fails in a way that depends on times is hard to explain
from its code. As a scenario it can be handed on, drawn and made smaller without the test. It also keeps tests honest:
what a scenario's file may not say (a member that joins twice, a queue that shrinks where it cannot) a test may not do
either.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

from compare.catalogues import UNCOUNTED
from compare.running.run_variant import Ending, ending
from compare.running.systems import cluster_of, known_strategies, system_of
from kafka_coordinator.cluster import KafkaCluster
from protocols.engine.links import Latency
from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import Simulation
from protocols.errors import UserError
from protocols.facts import Owns, RebalanceBegan, RebalanceEnded
from protocols.java import Queue
from protocols.scenario.cluster_states import Cluster
from protocols.scenario.events import Event, Produce
from protocols.scenario.fields import LONGEST
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario as read_scenario
from protocols.scenario.running import BEGINNING
from protocols.scenario.shorthands import each_name
from protocols.scenario.topology import Topology
from protocols.scenario.validation import PartError
from protocols.timeline import Recorder, Timeline, lifetimes, may_own_in
from rocketmq_selfbalance.cluster import RocketMQCluster

_OF_SYSTEM = {"strategy", "settings"}
"""Fields of an event that a system may refuse."""
_PLACE = re.compile(r"scenario: (events\[\d+\][^:]*: )?")
"""Where in a scenario something is wrong: of no use to who wrote none."""

_FOR_EVER = LONGEST / 2


class LiveCluster(Cluster, Protocol):
    """A cluster whose scenario goes on while it lives."""

    topology: Topology

    def learn(self, scenario: Scenario) -> None: ...
    def registered(self, group: str) -> frozenset[str]: ...


class World:
    """A group, its system and its time.

    ``fields``: the scenario at its beginning as plain values, without ``run``, ``systems`` and ``events``; it has
    exactly one group. Raises `protocols.errors.UserError` for what cannot be.
    """

    def __init__(
        self,
        fields: Mapping[str, object],
        system: str,
        settings: Mapping[str, object],
        seed: int = 0,
        latency: str = "1ms..5ms",
    ) -> None:
        self._fields = dict(fields)
        self._system = {"system": system, "label": system, "settings": dict(settings)}
        self._run = {"seed": seed, "latency": latency}
        self._given: list[Mapping[str, object]] = []
        self._strategies = known_strategies()
        self.scenario = self.scenario_until(_FOR_EVER)
        self._part = self.scenario.systems[0]
        (self.group,) = self.scenario.groups
        self._numbering = system_of(system).numbering
        self.lives = dict(lifetimes(self.scenario, self._numbering))
        """When each queue that did not exist throughout existed."""
        self._may_own = may_own_in(self.scenario)
        self._recorder = Recorder(lives=self.lives, may_own=self._asked, uncounted=UNCOUNTED)
        self.owned: dict[str, tuple[Queue, ...]] = {}
        """Member to what it believes to own now; whoever never owned anything is left out."""
        self.rebalancing: dict[str | None, Time] = {}
        """The group (None) or the members that share anew now, to when they began."""
        self.servants: list[Callable[[], bool]] = []
        """Asked after every step: user's code that the system calls; each returns whether it had to."""
        self.last_change: Time = 0.0
        """When a belief changed last, a rebalance was complete, or something happened."""
        self.told = 0
        """How many facts were told so far."""
        self._halting = False
        self._running = False
        self._timeline: tuple[object, Timeline] | None = None
        self.simulation = Simulation(seed=seed, latency=Latency(*self.scenario.run.latency), observer=self)
        self.cluster: LiveCluster = cluster_of(system)(self.scenario, self._part, self.simulation)  # type: ignore[assignment]
        self.cluster.fast_forward()
        self.calls: dict[int, Event | None] = {self.simulation.at(0.0, self.cluster.start, BEGINNING): None}

    @property
    def now(self) -> Time:
        """Milliseconds."""
        return self.simulation.now

    # The simulation's observer.

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        self.told += 1
        self._recorder.fact(now, node, fact, root, cause)
        noted = _NOTED.get(type(fact))
        if noted is not None:
            noted(self, now, fact)

    def created(self, number: int, due: Time, kind: int, node: str, what: object, cause: int) -> None:
        self.told += 1
        self._recorder.created(number, due, kind, node, what, cause)

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        self._recorder.sent(now, arrives, sender, to, message, number, cause)

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None:
        self._recorder.harmed(now, sender, to, lost)

    def _owns(self, now: Time, fact: Owns) -> None:
        if self.owned.get(fact.member, ()) != fact.queues:
            self._changed(now)
        self.owned[fact.member] = fact.queues

    def _began(self, now: Time, fact: RebalanceBegan) -> None:
        self.rebalancing.setdefault(fact.member, now)

    def _ended(self, now: Time, fact: RebalanceEnded) -> None:
        self.rebalancing.pop(fact.member, None)
        if fact.changed or fact.member is None:
            self._changed(now)

    def _changed(self, now: Time) -> None:
        self.last_change = now
        if self._halting:
            self.simulation.halt()

    # Living.

    def run(self, until: Time, stop: Callable[[], bool] | None = None) -> Time:
        """Live up to and including ``until`` (milliseconds), or until ``stop`` says so; the time that was reached."""
        if stop is None and not self.servants:
            return self._simulate(until)
        heap = self.simulation.heap
        while True:
            served = [serve() for serve in self.servants]
            if self.now > until or (stop is not None and stop()):
                return self.now
            if any(served):  # what they have told is heard before anything later, and may call them again
                self._simulate(self.now)
                continue
            due = heap[0][0] if heap else until
            if due > until:
                return self._simulate(until)
            self._simulate(due)

    def _simulate(self, until: Time) -> Time:
        if until < self.now:
            return self.now  # A listener that took its time has come further already.
        self._running = True
        try:
            self.simulation.run(until)
        finally:
            self._running = False
        return self.now

    def tell(self, node: str, command: Message) -> None:
        """A command to a node, now; it hears it when it wakes, if it hangs."""
        self.simulation.command(node, command)

    def run_to_change(self, until: Time) -> None:
        """Live until a belief changes or a rebalance is complete, at most to ``until``."""
        if self.servants:
            before = self.last_change
            self.run(until, lambda: self.last_change != before)
            return
        self._halting = True
        try:
            self._simulate(until)
        finally:
            self._halting = False

    # What happens.

    def happen(self, fields: Mapping[str, object]) -> Sequence[Event]:
        """Something happens now: an event as in a file, without its time; several where it names several members.
        Raises `UserError` where it cannot be."""
        given = {"at": self.now, **fields}
        if "rolling" in given:
            raise UserError("rolling takes its time, expected the method rolling")
        self._refuse_members(given)
        self._given.append(given)
        try:
            scenario = self.scenario_until(_FOR_EVER)
            events = scenario.events[len(self.scenario.events) :]
            if any(event.may_be_refused for event in events) or fields.keys() & _OF_SYSTEM:
                cluster_of(self._part.system)(scenario, self._part, Simulation())
        except UserError as error:
            self._given.pop()
            raise UserError(_PLACE.sub("", str(error))) from None
        self._learn(scenario, events)
        self._apply(events)
        return events

    def write(self, counts: Mapping[str, int]) -> None:
        """So many records come now, to queues that are there: the event ``produce``, without reading all of the
        scenario anew, because producers write often."""
        event = Produce(at=self.now, produce=dict(counts))
        self._given.append({"at": self.now, "produce": dict(counts)})
        self.scenario = self.scenario.model_copy(update={"events": (*self.scenario.events, event)})
        self._apply([event])

    def _apply(self, events: Sequence[Event]) -> None:
        for event in events:
            number = self.simulation.at(self.now, partial(self.cluster.apply, event), event.describe())
            self.calls[number] = event
        self.last_change = self.now
        if not self._running:
            self.simulation.run(self.now)

    def _refuse_members(self, given: Mapping[str, object]) -> None:
        """Nobody joins who is there: in a file a first join would mean that the member was not there before."""
        try:
            joining = each_name(given["join"], ("join",)) if "join" in given else ()
        except PartError as error:
            raise UserError(f"join: {error.problem}") from None
        for name, _ in joining:
            if name in self.members:
                raise UserError(f"{name} joins while it is already a member, expected another name or a restart")

    def _learn(self, scenario: Scenario, events: Sequence[Event]) -> None:
        self.scenario = scenario
        self.__dict__.pop("ending", None)
        self._may_own = may_own_in(scenario)
        if any(event.queue_changes() for event in events):
            self.lives.update(lifetimes(scenario, self._numbering))
        self.cluster.learn(scenario)

    def _asked(self, now: Time, group: str, member: str, topic: str) -> bool:
        return self._may_own(now, group, member, topic)

    # What is there.

    @cached_property
    def ending(self) -> Ending:
        """Who and what is there now, as the scenario says."""
        return ending(self.scenario, self._numbering)

    @property
    def members(self) -> Sequence[str]:
        """Those alive, hung ones among them."""
        return [key.member for key in self.ending.members]

    @property
    def topics(self) -> Mapping[str, tuple[Queue, ...]]:
        """Topic to the queues that it has now."""
        return self.ending.groups[self.group].topics

    def timeline(self) -> Timeline:
        """Everything so far."""
        if self.now:
            self.cluster.finish()
        key = self.now, self.told
        if self._timeline is None or self._timeline[0] != key:
            made = self._recorder.timeline(self.now, self.calls, self.simulation.messages)
            self._timeline = key, made
        return self._timeline[1]

    @property
    def busy_until(self) -> Time | None:
        """When the next thing that happened is over (a hang, a fault of the network, a loop that stands still); None
        where all is."""
        return min((entry[0] for entry in self.simulation.heap if entry[3] == entry[2] > 0), default=None)

    def scenario_until(self, until: Time) -> Scenario:
        """What has happened so far as a scenario that ends then (milliseconds)."""
        return read_scenario(
            {
                "threads": "real",
                **self._fields,
                "run": {"for": until, **self._run},
                "systems": [self._system],
                "events": self._given,
            },
            registered=self._strategies,
        )


_NOTED: Mapping[type, Callable[[World, Time, Any], None]] = {
    Owns: World._owns,
    RebalanceBegan: World._began,
    RebalanceEnded: World._ended,
}


@runtime_checkable
class KnowsEnds(Protocol):
    """A cluster that knows where its queues end."""

    def end_offset(self, queue: Queue, now: Time, /) -> int:
        """The offset of the next record that was written to the queue after this time."""


def end_offset(cluster: LiveCluster | KnowsEnds, queue: Queue, now: Time) -> int:
    """The offset of the next record that will be written to the queue; ``now`` in milliseconds."""
    if isinstance(cluster, KnowsEnds):
        return cluster.end_offset(queue, now)
    if isinstance(cluster, RocketMQCluster):
        return cluster.servers.disks[queue.broker].store.max_offset(queue.topic, queue.number, now)
    assert isinstance(cluster, KafkaCluster)
    return cluster.topics.load.production((queue.topic, queue.number)).end_offset(now)


def is_served(cluster: LiveCluster, queue: Queue) -> bool:
    """Whether a broker takes records for the queue now: its own one in RocketMQ, the partition's leader in Kafka."""
    if isinstance(cluster, RocketMQCluster):
        return cluster.broker(queue.broker) is not None
    assert isinstance(cluster, KafkaCluster)
    running = any(cluster.simulation.is_running(broker) for broker in cluster.scenario.brokers)
    return running and cluster.topics.is_served((queue.topic, queue.number))
