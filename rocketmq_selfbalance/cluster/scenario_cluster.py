"""What a scenario's cluster of RocketMQ does alike whether clients own queues or none: servers, records, topics and
offsets, and what its members are told while they run."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from protocols.engine.nodes import Message
from protocols.engine.simulation import Simulation
from protocols.java import Queue
from protocols.load import PoisonRecord, with_poison
from protocols.scenario import events
from protocols.scenario.fields import MemberPart
from protocols.scenario.model import Scenario
from protocols.scenario.topology import MemberKey, Topology
from protocols.scenario.world import Own
from protocols.timeline import reads_in
from rocketmq_selfbalance.broker import Broker
from rocketmq_selfbalance.client import commands
from rocketmq_selfbalance.cluster.servers import Servers

LOOK_AGAIN_MS: Final = 5.0
"""A member that restarts properly is looked at so often until it has shut down."""


class ScenarioCluster(ABC):
    """See `protocols.scenario.cluster_states.Cluster`."""

    def __init__(self, scenario: Scenario, simulation: Simulation, topology: Topology, servers: Servers) -> None:
        self.scenario, self.simulation = scenario, simulation
        self.topology, self.servers = topology, servers
        self._poison: dict[Queue, tuple[PoisonRecord, ...]] = {}

    @property
    @abstractmethod
    def _parts(self) -> Mapping[MemberKey, MemberPart]:
        """What every member is, or was last."""

    @abstractmethod
    def _runs(self, node: str) -> bool:
        """Whether a client runs in this node that hears commands."""

    @abstractmethod
    def _resubscribe(self, key: MemberKey, topics: tuple[str, ...]) -> tuple[str, ...]:
        """The member subscribes to these topics from now on; to which it did before."""

    def _hears_of_poison(self, key: MemberKey) -> bool:
        return True

    # What a scenario calls.

    def learn(self, scenario: Scenario) -> None:
        """The scenario has gone on: it has events that were not known before."""
        self.scenario = scenario
        self.topology.learn(scenario)

    def finish(self) -> None:  # noqa: B027 - a cluster with nothing to tell is complete
        """Nothing is left to report: every fact was observed when it happened."""

    def produce(self, topics: Iterable[str], per_second: float) -> None:
        """From now on producers write so many records per second to each queue of these topics."""
        self.servers.produce(topics, per_second)

    def broker(self, name: str) -> Broker | None:
        """The broker of this name; None where it does not run. Not to be changed."""
        return self.servers.broker(name)

    def _progress(self, group: str) -> Iterator[tuple[int, int]]:
        """The end and the group's committed offset (-1: none) of every queue that it reads at the masters that run."""
        read, now = reads_in(self.scenario), self.simulation.now
        masters = [self.broker(name) for name in self.servers.replicas.masters]
        for broker in (master for master in masters if master is not None):
            for topic, config in broker.disk.topics.configs.items():
                for number in range(config.read) if read(group, topic) else ():
                    yield broker.disk.store.max_offset(topic, number, now), broker.offsets.query(group, topic, number)

    # Members that run.

    def _tell(self, key: MemberKey, command: Message) -> None:
        """A command to the member's client; nothing happens where it does not run."""
        node = self.topology.node[key]
        if self._runs(node):
            self.simulation.command(node, command)

    def _stop_polling(self, event: events.StopPolling) -> None:
        key = self.topology.key(event.group, event.stop_polling)
        node = self.topology.node[key]
        if self._runs(node):
            self._tell(key, commands.StopPolling(key.group))
            until, label = self.simulation.now + event.for_, f"{event.stop_polling} goes on"
            go_on = commands.GoOn(key.group)
            self.simulation.at(until, partial(self._later, key, self.simulation.processes[node], go_on), label)

    def _slow(self, event: events.Slow) -> None:
        for member, takes in event.slow.items():
            key = self.topology.key(event.group, member)
            node = self.topology.node[key]
            if self._runs(node):
                self._tell(key, commands.TakeFor(key.group, takes))
                own, process = self._parts[key].handle, self.simulation.processes[node]
                again = partial(self._later, key, process, commands.TakeFor(key.group, own))
                self.simulation.at(self.simulation.now + event.for_, again, f"{member} takes its own time again")

    def _later(self, key: MemberKey, process: object, command: Message) -> None:
        """The command is for this process alone, and for none that was started since."""
        if self.simulation.processes.get(self.topology.node[key]) is process:
            self._tell(key, command)

    def _subscribe(self, event: events.Subscribe) -> None:
        for member, topics in event.subscribe.items():
            key = self.topology.key(event.group, member)
            before = self._resubscribe(key, topics)
            for topic in before:
                if topic not in topics:
                    self._tell(key, commands.Unsubscribe(key.group, topic))
            for topic in topics:
                if topic not in before:
                    self._tell(key, commands.Subscribe(key.group, topic))

    # Records that nobody's code can handle.

    def _write_poison(self, event: events.Poison) -> None:
        queue, offset = self.servers.next_record(event)
        if offset is not None:
            self._poison = with_poison(self._poison, queue, PoisonRecord(offset, event.attempts, event.pause))
            self._tell_poison()
            self.servers.write(event)

    def _delete_topic(self, event: events.DeleteTopic) -> None:
        if any(queue.topic == event.delete_topic for queue in self._poison):
            left = {queue: each for queue, each in self._poison.items() if queue.topic != event.delete_topic}
            self._poison = left
            self._tell_poison()
        self.servers.delete_topic(event)

    def _tell_poison(self) -> None:
        for key in self._parts:
            if self._hears_of_poison(key):
                self._tell(key, commands.KnowPoison(key.group, self._poison))


OWN: Final[Own[ScenarioCluster]] = {
    events.Slow: ScenarioCluster._slow,
    events.StopPolling: ScenarioCluster._stop_polling,
    events.Subscribe: ScenarioCluster._subscribe,
    events.Produce: lambda cluster, event: cluster.servers.write(event),
    events.Poison: ScenarioCluster._write_poison,
    events.Queues: lambda cluster, event: cluster.servers.set_queues(event),
    events.AddTopic: lambda cluster, event: cluster.servers.add_topic(event),
    events.DeleteTopic: ScenarioCluster._delete_topic,
    events.BrokerEvent: lambda cluster, event: cluster.servers.replicas.change(event),
    events.Reset: lambda cluster, event: cluster.servers.reset_offsets(event),
    events.Configure: lambda cluster, event: None,
}
"""Events that are RocketMQ's own and alike in both; the others befall processes and the network. No setting of a group
is modelled: what configures one has nothing of RocketMQ's."""
