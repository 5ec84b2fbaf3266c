"""RocketMQ as a scenario's cluster: a name server, brokers, client instances, and what happens to them.

A process is one client instance with a consumer for each of its members; its node has the member's name
(``group/member`` where that name is in several groups) or the name of the process. Settings of a variant are those of
`rocketmq_selfbalance.configuration`. The cluster begins as one that has run for long: the name server knows the
brokers and their topics already.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from protocols.nodes import Message
from protocols.queues import Queue
from protocols.scenario import model
from protocols.scenario.commits import offsets_of
from protocols.scenario.model import Event, Scenario, SystemPart
from protocols.scenario.places import MemberKey, Places
from protocols.scenario.world import apply_to_world, end_process
from protocols.simulation import Simulation
from rocketmq_selfbalance.broker import Broker, Disk
from rocketmq_selfbalance.broker.groups import GroupTable
from rocketmq_selfbalance.broker.node import CLUSTER
from rocketmq_selfbalance.broker.store import MessageStore
from rocketmq_selfbalance.broker.topics import TopicTable
from rocketmq_selfbalance.client.commands import (
    CommitNow,
    GoOn,
    Shutdown,
    StartConsumer,
    StopPolling,
    Subscribe,
    Unsubscribe,
)
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.configuration import configuration
from rocketmq_selfbalance.members import Members
from rocketmq_selfbalance.messages import (
    MASTER_ID,
    DeleteTopicInBroker,
    DeleteTopicInNameServer,
    Produce,
    ResetOffset,
    StopBroker,
    TopicConfig,
    UpdateTopic,
)
from rocketmq_selfbalance.nameserver import NameServer

NAME_SERVER: Final = "namesrv"
"""Node name of the name server."""

LOOK_AGAIN_MS: Final = 5.0
"""A member that restarts properly is looked at so often until it has shut down."""


class RocketMQCluster:
    """One variant of a scenario in RocketMQ; see `protocols.scenario.cluster.Cluster`.

    Raises `protocols.errors.UserError` for a strategy or a setting that RocketMQ does not have.
    """

    def __init__(self, scenario: Scenario, system: SystemPart, simulation: Simulation) -> None:
        self.scenario, self.simulation = scenario, simulation
        self.configuration = configuration(system.settings, system.label or system.system)
        self.places = Places.of(scenario)
        self.members = Members(scenario, system, self.places, self.configuration)
        self.topics: dict[str, dict[str, int]] = {topic: dict(part.queues) for topic, part in scenario.topics.items()}
        """Topic to its queues per broker, as the administrator set them last."""
        self.disks = {broker: self._disk(broker) for broker in scenario.brokers}

    def _disk(self, broker: str) -> Disk:
        configs = [
            TopicConfig(topic, counts[broker], counts[broker])
            for topic, counts in self.topics.items()
            if broker in counts
        ]
        groups = GroupTable(auto_create=self.configuration.broker.auto_create_subscription_group)
        return Disk(TopicTable(self.simulation.now, configs), groups, MessageStore(self.scenario.load.produce))

    # What a scenario calls.

    def start(self) -> None:
        """The servers, then the members in the order written; those of one process start together."""
        now = self.simulation.now
        name_server = NameServer(self.configuration.name_server)
        for broker, disk in self.disks.items():
            told = disk.topics.told()
            name_server.table.register(now, CLUSTER, broker, MASTER_ID, broker, told, disk.topics.version, broker)
        self.simulation.start(NAME_SERVER, name_server)
        for broker in self.disks:
            self._start_broker(broker)
        there = {self.places.node[key]: None for key in self.members.parts}
        for node in there:
            self._start_process(node, [key for key in self.places.members[node] if key in self.members.parts])

    def apply(self, event: Event) -> None:
        """The event happens now."""
        own = _OWN.get(type(event))
        if own is not None:
            own(self, event)
        else:
            apply_to_world(event, self.simulation, self.places)

    def learn(self, scenario: Scenario) -> None:
        """The scenario has gone on: it has events that were not known before."""
        self.scenario = scenario
        self.places.learn(scenario)

    def registered(self, group: str) -> frozenset[str]:
        """The nodes of the clients whom some running broker counts in the group."""
        running = [broker for name in self.disks if (broker := self.broker(name)) is not None]
        tables = [each.consumers.groups.get(group) for each in running]
        return frozenset(channel for table in tables if table is not None for channel in table.channels)

    def finish(self) -> None:
        """Everything was told when it happened."""

    def produce(self, topics: Iterable[str], per_second: float) -> None:
        """From now on producers write so many records per second to each queue of these topics."""
        for topic in topics:
            for broker in self.disks:
                self._administer(broker, Produce(0, topic, per_second))

    def broker(self, name: str) -> Broker | None:
        """The broker of this name; None where it does not run. Not to be changed."""
        process = self.simulation.processes.get(name)
        return process.node if process is not None and isinstance(process.node, Broker) else None

    def client(self, node: str) -> Client | None:
        """The client instance of this node; None where none runs. Not to be changed."""
        process = self.simulation.processes.get(node)
        found = None if process is None else process.node
        return found if isinstance(found, Client) and not _is_over(found) else None

    # Members.

    def _start_process(self, node: str, keys: list[MemberKey]) -> None:
        if self.simulation.is_running(node):
            self.simulation.end(node)
        specs = tuple(self.members.spec(key, self.topics) for key in keys)
        self.simulation.start(node, Client(self.members.client_id(node), (NAME_SERVER,), specs))

    def _start_member(self, key: MemberKey) -> None:
        node = self.places.node[key]
        if self.client(node) is None:
            self._start_process(node, [key])
        else:
            self.simulation.command(node, StartConsumer(self.members.spec(key, self.topics)))

    def _tell(self, key: MemberKey, command: Message) -> None:
        """A command to the member's client; nothing happens where it does not run."""
        node = self.places.node[key]
        if self.client(node) is not None:
            self.simulation.command(node, command)

    def _join(self, event: model.Join) -> None:
        key = self.places.key(event.group, event.join)
        self.members.start(key, event)
        self._start_member(key)

    def _leave(self, event: model.Leave) -> None:
        key = self.places.key(event.group, event.leave)
        self._tell(key, Shutdown(key.group))

    def _restart(self, event: model.Restart) -> None:
        key = self.places.key(event.group, event.restart)
        self.members.start(key, event)
        node = self.places.node[key]
        client = self.client(node)
        if event.how == "crash" or client is None:
            lived = () if client is None else tuple(client.instance.consumers)
            end_process(self.simulation, self.places, node)
            mates = [each for each in self.places.members[node] if each == key or each.group in lived]
            self._start_process(node, mates)
        else:
            self.simulation.command(node, Shutdown(key.group))
            self._start_when_over(key, client)

    def _start_when_over(self, key: MemberKey, client: Client) -> None:
        """Start the member again once it has shut down; not where its process was ended in the meantime."""
        process = self.simulation.processes.get(self.places.node[key])
        if process is None or process.node is not client:
            return
        if _is_over(client) or key.group not in client.instance.consumers:
            self._start_member(key)
        else:
            again = partial(self._start_when_over, key, client)
            self.simulation.at(self.simulation.now + LOOK_AGAIN_MS, again)

    def _stop_polling(self, event: model.StopPolling) -> None:
        key = self.places.key(event.group, event.stop_polling)
        client = self.client(self.places.node[key])
        if client is not None:
            self._tell(key, StopPolling(key.group))
            until, label = self.simulation.now + event.for_, f"{event.stop_polling} goes on"
            self.simulation.at(until, partial(self._go_on, key, client), label)

    def _go_on(self, key: MemberKey, stopped: Client) -> None:
        if self.client(self.places.node[key]) is stopped:
            self._tell(key, GoOn(key.group))

    def _subscribe(self, event: model.Subscribe) -> None:
        for member, topics in event.subscribe.items():
            key = self.places.key(event.group, member)
            before = self.members.subscribe(key, topics)
            for topic in before:
                if topic not in topics:
                    self._tell(key, Unsubscribe(key.group, topic))
            for topic in topics:
                if topic not in before:
                    self._tell(key, Subscribe(key.group, topic))

    def _commit(self, event: model.Commit) -> None:
        key = self.places.key(event.group, event.commit)
        offsets = tuple(
            (self._queue(each.topic, each.broker, each.number), each.offset) for each in offsets_of(event, self.topics)
        )
        self._tell(key, CommitNow(key.group, offsets))

    def _queue(self, topic: str, broker: str, number: int) -> Queue:
        """A queue by its number at a broker, or by its number over all brokers in the order written."""
        for each, count in self.topics[topic].items():
            if broker in ("", each):
                if number < count or broker:
                    return Queue(topic, each, number)
                number -= count
        raise ValueError(f"topic {topic} has no queue {number}")

    # Topics and offsets.

    def _queues(self, event: model.Queues) -> None:
        for topic, counts in event.queues.items():
            self._put_topic(topic, counts)

    def _add_topic(self, event: model.AddTopic) -> None:
        for topic, part in event.add_topic.items():
            self._put_topic(topic, part.queues)

    def _put_topic(self, topic: str, counts: Mapping[str, int]) -> None:
        """Brokers that had queues of the topic and are not named have none any more."""
        before = self.topics.get(topic, {})
        self.topics[topic] = dict(counts)
        for broker in self.disks:
            if broker in counts or before.get(broker):
                count = counts.get(broker, 0)
                self._administer(broker, UpdateTopic(0, TopicConfig(topic, count, count)))

    def _delete_topic(self, event: model.DeleteTopic) -> None:
        self.topics.pop(event.delete_topic, None)
        for broker in self.disks:
            self._administer(broker, DeleteTopicInBroker(0, event.delete_topic))
        self.simulation.command(NAME_SERVER, DeleteTopicInNameServer(0, event.delete_topic))

    def _reset(self, event: model.Reset) -> None:
        for broker in self.disks:
            command = ResetOffset(0, event.reset_offsets, event.topic, event.to, through_clients=event.via == "client")
            self._administer(broker, command)

    def _administer(self, broker: str, command: Message) -> None:
        """Tell a broker. One that is down is out of the administrator's reach, but finds topics changed when it
        returns."""
        if self.simulation.is_running(broker):
            self.simulation.command(broker, command)
        elif isinstance(command, UpdateTopic):
            self.disks[broker].topics.put(self.simulation.now, command.config)
        elif isinstance(command, DeleteTopicInBroker):
            self.disks[broker].topics.delete(self.simulation.now, command.topic)
            self.disks[broker].store.delete(command.topic)
        elif isinstance(command, Produce):
            self.disks[broker].store.rates[command.topic] = command.per_second

    # Brokers.

    def _start_broker(self, name: str) -> None:
        self.simulation.start(name, Broker(name, self.disks[name], self.configuration.broker, (NAME_SERVER,)))

    def _broker(self, event: model.BrokerEvent) -> None:
        name = event.broker
        if event.does == "return":
            if not self.simulation.is_running(name):
                self._start_broker(name)
        elif self.simulation.is_running(name):
            if event.does == "stop":
                self.simulation.command(name, StopBroker(0))
            self.simulation.end(name)
            self.disks[name].store.stop(self.simulation.now)


def _is_over(client: Client) -> bool:
    """Whether all consumers of the client have shut down."""
    return not client.instance.consumers and not client.instance.threads


_OWN: Final[Mapping[type[Event], Callable[[RocketMQCluster, Any], None]]] = {
    model.Join: RocketMQCluster._join,
    model.Leave: RocketMQCluster._leave,
    model.Restart: RocketMQCluster._restart,
    model.StopPolling: RocketMQCluster._stop_polling,
    model.Subscribe: RocketMQCluster._subscribe,
    model.Commit: RocketMQCluster._commit,
    model.Queues: RocketMQCluster._queues,
    model.AddTopic: RocketMQCluster._add_topic,
    model.DeleteTopic: RocketMQCluster._delete_topic,
    model.BrokerEvent: RocketMQCluster._broker,
    model.Reset: RocketMQCluster._reset,
}
"""Events that are RocketMQ's own; the others befall processes and the network."""
