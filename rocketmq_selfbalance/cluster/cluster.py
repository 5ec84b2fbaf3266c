"""RocketMQ as a scenario's cluster: its servers, its client instances, and what happens to the members.

A process is one client instance with a consumer for each of its members; its node has the member's name
(``group/member`` where that name is in several groups) or the name of the process. Settings of a variant are those of
`rocketmq_selfbalance.cluster.servers`.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

from protocols.engine.nodes import Message
from protocols.engine.simulation import Simulation
from protocols.java import Queue
from protocols.load import PoisonRecord, with_poison
from protocols.scenario import events
from protocols.scenario.events import Event
from protocols.scenario.events.records import offsets_of
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.scaling import Backlog
from protocols.scenario.topology import MemberKey, Topology
from protocols.scenario.world import Own, apply_event, end_process, start_later
from protocols.timeline import reads_in
from rocketmq_selfbalance.broker import Broker
from rocketmq_selfbalance.broker.state import GHOST
from rocketmq_selfbalance.client import commands
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.cluster.members import MemberNames, Members
from rocketmq_selfbalance.cluster.outages import NAME_SERVER
from rocketmq_selfbalance.cluster.servers import Servers, configuration
from rocketmq_selfbalance.fast_forward.driver import FastForward
from rocketmq_selfbalance.pop import PopMember
from rocketmq_selfbalance.versions import DEFAULT, VERSIONS

LOOK_AGAIN_MS: Final = 5.0
"""A member that restarts properly is looked at so often until it has shut down."""


class RocketMQCluster:
    """One variant of a scenario in RocketMQ; see `protocols.scenario.cluster_states.Cluster`.

    Raises `protocols.errors.UserError` for a strategy or a setting that RocketMQ does not have.
    """

    def __init__(self, scenario: Scenario, system: SystemPart, simulation: Simulation) -> None:
        self.scenario, self.simulation = scenario, simulation
        version = VERSIONS.named(scenario.versions.get("rocketmq", DEFAULT.name), "versions: rocketmq")
        self.configuration = configuration(system.settings, system.label or system.system, version.name)
        self.topology = Topology.of(scenario)
        simulation.observer = MemberNames(simulation.observer, self.topology)
        self.members = Members(scenario, system, self.topology, self.configuration)
        self.servers = Servers(scenario, self.configuration, simulation)
        self._poison: dict[Queue, tuple[PoisonRecord, ...]] = {}
        self._restarting: dict[MemberKey, events.Restart] = {}
        """Members that shut down to start again; not where something else was to become of them since."""

    # What a scenario calls.

    def start(self, beginning: Beginning = IN_STEP) -> None:
        """The servers, then the members in the order written; those of one process start together."""
        self.servers.start(beginning)
        there: dict[str, list[MemberKey]] = {}
        for key in self.members.parts:
            there.setdefault(self.topology.node[key], []).append(key)
        for node, keys in there.items():
            start = partial(self._start_process, node, keys)
            start_later(self.simulation, beginning.starts.get(keys[0], 0.0), start)

    def apply(self, event: Event) -> None:
        apply_event(event, self, _OWN, self.simulation, self.topology)

    def fast_forward(self) -> None:
        """Skip quiet times from now on (`rocketmq_selfbalance.fast_forward`)."""
        FastForward(self.simulation)

    def learn(self, scenario: Scenario) -> None:
        """The scenario has gone on: it has events that were not known before."""
        self.scenario = scenario
        self.topology.learn(scenario)

    def registered(self, group: str) -> frozenset[str]:
        """The nodes of the clients whom some running broker counts in the group, and of members that take by POP."""
        tables = [each.consumers.groups.get(group) for each in self.servers.replicas.running()]
        popping = {self.topology.node[key] for key in self.members.popping if key.group == group}
        sharing = {
            channel for table in tables if table is not None for channel in table.channels if GHOST not in channel
        }
        return frozenset(sharing | {node for node in popping if self.simulation.is_running(node)})

    def backlog(self, group: str) -> Backlog | None:
        """As ``consumerProgress`` tells it, of the masters that run."""
        read, now = reads_in(self.scenario), self.simulation.now
        waiting: list[int] = []
        masters = [self.broker(name) for name in self.servers.replicas.masters]
        for broker in (master for master in masters if master is not None):
            for topic, config in broker.disk.topics.configs.items():
                for number in range(config.read) if read(group, topic) else ():
                    stored, offset = broker.disk.store.queue(topic, number), broker.offsets.query(group, topic, number)
                    end = 0 if stored is None else stored.max_offset(now)
                    waiting.append(end - offset if offset >= 0 else 1)
        return Backlog(sum(waiting), len(waiting))

    def finish(self) -> None:
        """Nothing is left to report: every fact was observed when it happened."""

    def produce(self, topics: Iterable[str], per_second: float) -> None:
        """From now on producers write so many records per second to each queue of these topics."""
        self.servers.produce(topics, per_second)

    def broker(self, name: str) -> Broker | None:
        """The broker of this name; None where it does not run. Not to be changed."""
        return self.servers.broker(name)

    def client(self, node: str) -> Client | None:
        """The client instance of this node; None where none runs. Not to be changed."""
        process = self.simulation.processes.get(node)
        found = None if process is None else process.node
        return found if isinstance(found, Client) and not _is_over(found) else None

    # Members.

    def _start_process(self, node: str, keys: list[MemberKey]) -> None:
        if self.simulation.is_running(node):
            self.simulation.end(node)
        if any(key in self.members.popping for key in keys):
            self.simulation.start(node, PopMember())
            return
        specs = tuple(map(self._spec, keys))
        self.simulation.start(node, Client(self.members.client_id(node), (NAME_SERVER,), specs))

    def _start_member(self, key: MemberKey) -> None:
        node = self.topology.node[key]
        if self.client(node) is None:
            self._start_process(node, [key])
        else:
            self.simulation.command(node, commands.StartConsumer(self._spec(key)))

    def _spec(self, key: MemberKey) -> commands.ConsumerSpec:
        spec = self.members.spec(key, self.servers.topics)
        return spec if spec.by_hand else spec._replace(poison=self._poison)

    def _tell(self, key: MemberKey, command: Message) -> None:
        """A command to the member's client; nothing happens where it does not run."""
        node = self.topology.node[key]
        if self.client(node) is not None:
            self.simulation.command(node, command)

    def _join(self, event: events.Join) -> None:
        key = self.topology.key(event.group, event.join)
        self._restarting.pop(key, None)
        self.members.start(key, event)
        self._start_member(key)

    def _leave(self, event: events.Leave) -> None:
        key = self.topology.key(event.group, event.leave)
        self._restarting.pop(key, None)
        if key in self.members.popping:
            end_process(self.simulation, self.topology, self.topology.node[key])
        self._tell(key, commands.Shutdown(key.group))

    def _restart(self, event: events.Restart) -> None:
        key = self.topology.key(event.group, event.restart)
        self.members.start(key, event)
        node = self.topology.node[key]
        client = self.client(node)
        if event.how == "crash" or client is None:
            lived = () if client is None else tuple(client.instance.consumers)
            end_process(self.simulation, self.topology, node)
            mates = [member for member in self.topology.members[node] if member == key or member.group in lived]
            self._start_process(node, mates)
        else:
            self.simulation.command(node, commands.Shutdown(key.group))
            self._restarting[key] = event
            self._start_when_over(key, self.simulation.processes[node], event)

    def _start_when_over(self, key: MemberKey, process: object, restart: events.Restart) -> None:
        """Start the member again once it has shut down; not where its process was ended in the meantime."""
        node = self.topology.node[key]
        if self.simulation.processes.get(node) is not process or self._restarting.get(key) is not restart:
            return
        client = self.client(node)
        if client is None or key.group not in client.instance.consumers:
            del self._restarting[key]
            self._start_member(key)
        else:
            again = partial(self._start_when_over, key, process, restart)
            self.simulation.at(self.simulation.now + LOOK_AGAIN_MS, again)

    def _stop_polling(self, event: events.StopPolling) -> None:
        key = self.topology.key(event.group, event.stop_polling)
        node = self.topology.node[key]
        if self.client(node) is not None:
            self._tell(key, commands.StopPolling(key.group))
            until, label = self.simulation.now + event.for_, f"{event.stop_polling} goes on"
            go_on = commands.GoOn(key.group)
            self.simulation.at(until, partial(self._later, key, self.simulation.processes[node], go_on), label)

    def _slow(self, event: events.Slow) -> None:
        for member, takes in event.slow.items():
            key = self.topology.key(event.group, member)
            node = self.topology.node[key]
            if self.client(node) is not None:
                self._tell(key, commands.TakeFor(key.group, takes))
                own, process = self.members.parts[key].handle, self.simulation.processes[node]
                again = partial(self._later, key, process, commands.TakeFor(key.group, own))
                self.simulation.at(self.simulation.now + event.for_, again, f"{member} takes its own time again")

    def _later(self, key: MemberKey, process: object, command: Message) -> None:
        """The command is for this process alone, and for none that was started since."""
        if self.simulation.processes.get(self.topology.node[key]) is process:
            self._tell(key, command)

    def _subscribe(self, event: events.Subscribe) -> None:
        for member, topics in event.subscribe.items():
            key = self.topology.key(event.group, member)
            before = self.members.subscribe(key, topics)
            for topic in before:
                if topic not in topics:
                    self._tell(key, commands.Unsubscribe(key.group, topic))
            for topic in topics:
                if topic not in before:
                    self._tell(key, commands.Subscribe(key.group, topic))

    def _commit(self, event: events.Commit) -> None:
        key = self.topology.key(event.group, event.commit)
        offsets = tuple(
            (self.servers.queue(offset.topic, offset.broker, offset.number), offset.offset)
            for offset in offsets_of(event, self.servers.topics)
        )
        self._tell(key, commands.CommitNow(key.group, offsets))

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
        for key in self.members.parts:
            if key not in self.members.by_hand:
                self._tell(key, commands.KnowPoison(key.group, self._poison))


def _is_over(client: Client) -> bool:
    return not client.instance.consumers and not client.instance.threads


_OWN: Final[Own[RocketMQCluster]] = {
    events.Join: RocketMQCluster._join,
    events.Leave: RocketMQCluster._leave,
    events.Restart: RocketMQCluster._restart,
    events.Slow: RocketMQCluster._slow,
    events.StopPolling: RocketMQCluster._stop_polling,
    events.Subscribe: RocketMQCluster._subscribe,
    events.Commit: RocketMQCluster._commit,
    events.Produce: lambda cluster, event: cluster.servers.write(event),
    events.Poison: RocketMQCluster._write_poison,
    events.Queues: lambda cluster, event: cluster.servers.set_queues(event),
    events.AddTopic: lambda cluster, event: cluster.servers.add_topic(event),
    events.DeleteTopic: RocketMQCluster._delete_topic,
    events.BrokerEvent: lambda cluster, event: cluster.servers.replicas.change(event),
    events.Reset: lambda cluster, event: cluster.servers.reset_offsets(event),
    events.Configure: lambda cluster, event: None,
}
"""Events that are RocketMQ's own, those of members first; the others befall processes and the network. No setting of a
group is modelled: what configures one has nothing of RocketMQ's."""
