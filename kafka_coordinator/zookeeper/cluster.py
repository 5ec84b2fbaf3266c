"""Kafka 0.8 in a scenario: one ZooKeeper, consumers that rebalance themselves, brokers that are only entries in it.

Every member is a node of its own, also where members share a process: then they live and die together. Brokers serve
every partition as long as one of them runs; a partition's leader plays no role.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from kafka_coordinator.zookeeper import messages
from kafka_coordinator.zookeeper.connection import SERVER, Subscription
from kafka_coordinator.zookeeper.consumer import Consumer, Who
from kafka_coordinator.zookeeper.consumption import User
from kafka_coordinator.zookeeper.server import ZooKeeper
from kafka_coordinator.zookeeper.settings import STRATEGIES, ConsumerSettings, with_settings
from kafka_coordinator.zookeeper.topics import (
    CommitNow,
    Freeze,
    RemoveNode,
    Reopen,
    ReportDelivered,
    SetPersistent,
    Shutdown,
    TakeFor,
    Thaw,
    TopicTable,
)
from protocols.engine.nodes import Message
from protocols.engine.simulation import Simulation
from protocols.errors import StrategyError, UserError
from protocols.scenario.events import (
    AddTopic,
    BrokerEvent,
    Commit,
    Configure,
    Crash,
    DeleteTopic,
    Event,
    Hang,
    Join,
    Leave,
    Lose,
    Poison,
    Produce,
    Queues,
    Reset,
    Restart,
    Slow,
    StopPolling,
    Subscribe,
)
from protocols.scenario.events.members import started_as
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.topology import MemberKey, Topology, listed_members
from protocols.scenario.world import Own, apply_event, apply_to_world, end_process, start_later

SYSTEM = "kafka-zookeeper"


class ZooKeeperCluster:
    """The `protocols.scenario.cluster_states.Cluster` of ``kafka-zookeeper`` with ``range`` and ``roundrobin``."""

    def __init__(self, scenario: Scenario, system: SystemPart, simulation: Simulation) -> None:
        name, _, strategy = system.system.partition(":")
        if name != SYSTEM or strategy not in STRATEGIES:
            names = " or ".join(f"{SYSTEM}:{each}" for each in STRATEGIES)
            raise StrategyError(f"unknown system {system.system!r}, expected {names}")
        if SYSTEM in scenario.replication:
            raise UserError(
                f"replication.{SYSTEM} is {scenario.replication[SYSTEM]}: brokers serve every partition as long as one"
                " of them runs, expected it to be left out"
            )
        self.scenario, self._simulation = scenario, simulation
        self.topology = Topology.of(scenario, one_node_per_member=True)
        base = with_settings(ConsumerSettings(), {"partition.assignment.strategy": strategy}, system.system)
        self._settings = with_settings(base, system.settings, f"settings of {system.label or system.system}")
        self._brokers = scenario.brokers
        self._killed: dict[str, BrokerEvent] = {}
        """Brokers that were killed and have not returned to the event that killed them."""
        self._topics = TopicTable(scenario, simulation.now)
        self._parts = listed_members(scenario)
        for key, part in self._parts.items():
            self._settings_of(key, part.strategy, part.settings)
        for event in scenario.events:
            self._check(event)

    def start(self, beginning: Beginning = IN_STEP) -> None:
        """ZooKeeper with the brokers and topics, then the members that are there from the beginning."""
        self._simulation.start(SERVER, ZooKeeper())
        for broker in self._brokers:
            self._administer(SetPersistent(messages.broker(broker), None))
        for topic, count in self._topics.counts.items():
            self._administer(SetPersistent(messages.topic(topic), count))
        for key in list(self._parts):
            start_later(self._simulation, beginning.starts.get(key, 0.0), partial(self._start_member, key))

    def apply(self, event: Event) -> None:
        apply_event(event, self, _OWN, self._simulation, self.topology)

    def fast_forward(self) -> None:
        """No quiet time is skipped."""

    def finish(self) -> None:
        for node in self.topology.members:
            self._tell(node, ReportDelivered())

    # Members.

    def _start_member(self, key: MemberKey) -> None:
        part, node = self._parts[key], self.topology.node[key]
        end_process(self._simulation, self.topology, node)
        settings = self._settings_of(key, part.strategy, part.settings)
        who = Who(key.group, key.member, part.client_id or key.member)
        subscription = Subscription(part.subscribe, part.pattern)
        production, poison = self._topics.load
        user = User(part.handle, part.threads or 1)
        self._simulation.start(node, Consumer(who, subscription, settings, production, user, poison))

    def _settings_of(self, key: MemberKey, strategy: str | None, given: Mapping[str, object]) -> ConsumerSettings:
        named = {} if strategy is None else {"partition.assignment.strategy": strategy}
        return with_settings(self._settings, {**named, **given}, f"member {key.member}")

    def _join(self, event: Join) -> None:
        key = self.topology.starting(event)
        self._parts[key] = started_as(self._parts.get(key), event)
        self._start_member(key)

    def _leave(self, event: Leave) -> None:
        self._tell(self._node(event.group, event.leave), Shutdown())

    def _end(self, event: Crash | Lose) -> None:
        (member,) = event.members()
        for node in self.topology.together[self.topology.key(event.group, member)]:
            self._tell(node, ReportDelivered())
        apply_to_world(event, self._simulation, self.topology)

    def _hang(self, event: Hang) -> None:
        nodes = self.topology.together[self.topology.key(event.group, event.hang)]
        for node in nodes:
            self._tell(node, Freeze())
        apply_to_world(event, self._simulation, self.topology)
        for node in nodes:
            self._later(node, event.for_, Thaw(), "handles records again")

    def _stop_polling(self, event: StopPolling) -> None:
        node = self._node(event.group, event.stop_polling)
        self._tell(node, Freeze())
        self._later(node, event.for_, Thaw(), "handles records again")

    def _slow(self, event: Slow) -> None:
        for member, takes in event.slow.items():
            key = self.topology.key(event.group, member)
            self._tell(self.topology.node[key], TakeFor(takes))
            again = TakeFor(self._parts[key].handle)
            self._later(self.topology.node[key], event.for_, again, "takes its own time again")

    def _later(self, node: str, after: float, command: Message, label: str) -> None:
        """The command is for the process that runs now, and for none that is started since."""
        process = self._simulation.processes.get(node)

        def tell() -> None:
            if process is not None and self._simulation.processes.get(node) is process:
                self._tell(node, command)

        self._simulation.at(self._simulation.now + after, tell, f"{node} {label}")

    def _restart(self, event: Restart) -> None:
        key = self.topology.starting(event)
        part = self._parts[key] = started_as(self._parts[key], event)
        node = self.topology.node[key]
        if event.how == "crash" or not self._simulation.is_running(node):
            self._tell(node, ReportDelivered())
            self._start_member(key)
        else:
            settings = self._settings_of(key, part.strategy, part.settings)
            self._tell(node, Reopen(part.subscribe, part.pattern, settings))

    def _subscribe(self, event: Subscribe) -> None:
        for member, topics in event.subscribe.items():
            key = self.topology.key(event.group, member)
            part = self._parts[key] = self._parts[key].model_copy(update={"subscribe": topics, "pattern": None})
            settings = self._settings_of(key, part.strategy, part.settings)
            self._tell(self.topology.node[key], Reopen(topics, None, settings))

    def _commit(self, event: Commit) -> None:
        offsets = None
        if event.offsets is not None:
            split = (queue.rpartition("-") for queue in event.offsets)
            named = ((topic, int(number)) for topic, _, number in split)
            offsets = tuple((*each, at) for each, at in zip(named, event.offsets.values(), strict=True))
        self._tell(self._node(event.group, event.commit), CommitNow(offsets))

    def _node(self, group: str | None, member: str) -> str:
        return self.topology.node[self.topology.key(group, member)]

    def _tell(self, node: str, message: Message) -> None:
        if self._simulation.is_running(node):
            self._simulation.command(node, message)

    # Topics, brokers, offsets.

    def _queues(self, event: Queues) -> None:
        self._topics_changed(self._topics.grow(event, self._simulation.now))

    def _add_topic(self, event: AddTopic) -> None:
        self._topics_changed(self._topics.add(event, self._simulation.now))

    def _topics_changed(self, counts: Mapping[str, int]) -> None:
        self._tell_load()
        for topic, count in counts.items():
            self._administer(SetPersistent(messages.topic(topic), count))

    def _delete_topic(self, event: DeleteTopic) -> None:
        self._topics.delete(event)
        self._tell_load()
        self._administer(RemoveNode(messages.topic(event.delete_topic)))

    def _produce(self, event: Produce) -> None:
        self._topics.write(event, self._simulation.now)
        self._tell_load()

    def _poison(self, event: Poison) -> None:
        self._topics.write_poison(event, self._simulation.now)
        self._tell_load()

    def _tell_load(self) -> None:
        load = self._topics.load
        for node in self.topology.members:
            self._tell(node, load)

    def _broker(self, event: BrokerEvent) -> None:
        path = messages.broker(event.broker)
        if event.broker not in self.scenario.brokers:
            return
        if event.does == "return":
            self._killed.pop(event.broker, None)
            self._administer(SetPersistent(path, None))
        elif event.does == "stop":
            self._administer(RemoveNode(path))
        else:
            self._killed[event.broker] = event
            end = self._simulation.now + self._settings.zookeeper_session_timeout_ms
            self._simulation.at(end, partial(self._expire, event), f"session of {event.broker} expires")

    def _expire(self, killed: BrokerEvent) -> None:
        """A killed broker's entry is removed with its session, unless the broker has returned by then."""
        if self._killed.get(killed.broker) is killed:
            self._administer(RemoveNode(messages.broker(killed.broker)))

    def _reset(self, event: Reset) -> None:
        """Consumers read the offset when they take up the partition next."""
        for number, offset in self._topics.offsets_at(event.topic, event.to).items():
            self._administer(SetPersistent(messages.offset(event.reset_offsets, event.topic, number), offset))

    def _administer(self, message: Message) -> None:
        self._simulation.command(SERVER, message)

    def _check(self, event: Event) -> None:
        """Raises `UserError` for what this system does not have, before anything runs."""
        if isinstance(event, Join | Restart):
            self._settings_of(self.topology.starting(event), event.strategy, event.settings)
        if isinstance(event, Reset) and event.via == "client":
            raise UserError(f"{SYSTEM} resets offsets in ZooKeeper alone, expected via: broker")
        if isinstance(event, BrokerEvent) and event.does == "freeze":
            raise UserError(f"{SYSTEM}: {event.describe()}: no frozen broker is modelled, expected does: kill")


_OWN: Final[Own[ZooKeeperCluster]] = {
    Join: ZooKeeperCluster._join,
    Leave: ZooKeeperCluster._leave,
    Crash: ZooKeeperCluster._end,
    Lose: ZooKeeperCluster._end,
    Hang: ZooKeeperCluster._hang,
    Slow: ZooKeeperCluster._slow,
    StopPolling: ZooKeeperCluster._stop_polling,
    Restart: ZooKeeperCluster._restart,
    Subscribe: ZooKeeperCluster._subscribe,
    Commit: ZooKeeperCluster._commit,
    Produce: ZooKeeperCluster._produce,
    Poison: ZooKeeperCluster._poison,
    Queues: ZooKeeperCluster._queues,
    AddTopic: ZooKeeperCluster._add_topic,
    DeleteTopic: ZooKeeperCluster._delete_topic,
    BrokerEvent: ZooKeeperCluster._broker,
    Reset: ZooKeeperCluster._reset,
    Configure: lambda cluster, event: None,
}
