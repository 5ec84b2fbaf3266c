"""Kafka as a scenario's cluster: brokers with their coordinators, consumers, and what happens to them.

A member's node has the member's name (``group/member`` where that name is in several groups); every member is a
process of its own, those of one ``process`` die and hang together. Its ``client.id`` is its name. The controller is
no node but code that acts from outside, because the raft quorum behind it is not modelled, only what brokers and
clients see of it.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from kafka_coordinator.assignors.inputs import Partition, queue_of
from kafka_coordinator.catalogue import SHARE
from kafka_coordinator.cluster.admin import Admin, ResetOffsets
from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.cluster.brokers import Brokers, Quorum
from kafka_coordinator.cluster.controller import Controller, ControllerSettings
from kafka_coordinator.cluster.members import GroupConfigs, Members, SettingsByRole
from kafka_coordinator.cluster.outages import Outages, ProducerSettings, Wait
from kafka_coordinator.cluster.topics import TopicTable
from kafka_coordinator.consumer import (
    Close,
    CommitNow,
    Consumer,
    ConsumerConfig,
    Freeze,
    GoOn,
    NewLoad,
    ReportDelivered,
    StopPolling,
    Subscribe,
    TakeFor,
    Thaw,
)
from kafka_coordinator.consumer.settings import ConsumerSettings, whole_number
from kafka_coordinator.consumer.share.node import ShareConsumer
from kafka_coordinator.coordinator.log import offsets_partition
from kafka_coordinator.coordinator.settings import MOST, BrokerSettings, with_settings
from kafka_coordinator.share.settings import share_settings
from kafka_coordinator.versions import DEFAULT, VERSIONS
from protocols.engine.nodes import Message
from protocols.engine.simulation import Simulation
from protocols.facts import Writes
from protocols.scenario import events
from protocols.scenario.events import Event
from protocols.scenario.events.records import offsets_of
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import Scenario, SystemPart, split_system
from protocols.scenario.scaling import Backlog
from protocols.scenario.topology import MemberKey, Topology
from protocols.scenario.world import Own, apply_event, apply_to_world, end_process, start_later
from protocols.timeline import reads_in

ADMIN: Final = "admin"
"""Node name of the administrator."""
CONTROLLER: Final = "controller"
"""Who tells the observer what is written; no node."""
PERSISTER_MS: Final = 10
"""How long a share coordinator takes to keep a change: it lingers 5 ms (`share.coordinator.append.linger.ms`)."""
REQUEST_TIMEOUT: Final = "request.timeout.ms"


class KafkaCluster:
    """One variant of a scenario in Kafka, members of either protocol; see `protocols.scenario.cluster_states.Cluster`.

    Raises `protocols.errors.UserError` for an assignor or a setting that Kafka does not have, and for an event that
    it refuses: fewer partitions of a topic.
    """

    def __init__(self, scenario: Scenario, system: SystemPart, simulation: Simulation) -> None:
        self.scenario, self.simulation = scenario, simulation
        where = system.label or system.system
        self._shares = split_system(system.system)[1] == SHARE
        divided = SettingsByRole(system.settings, where, shares=self._shares)
        version = VERSIONS.named(scenario.versions.get("kafka", DEFAULT.name), "versions: kafka")
        # A limit on batches is for runs that ask for it: above it every heartbeat of a large group computes in vain.
        unlimited = BrokerSettings(version=version, message_max_bytes=MOST)
        settings = with_settings(unlimited, divided.coordinator, where)
        timing = ControllerSettings.of(divided.controller)
        self.group_configs = GroupConfigs(scenario, settings)
        self.controller = Controller(
            scenario.brokers,
            settings.offsets_topic_num_partitions,
            scenario.replication.get("kafka"),
            timing.offsets_topic_replication_factor,
        )
        self._settings_changed()
        producer = ProducerSettings.of({**scenario.load.producer, **divided.producer})
        self._outages = Outages(self.controller, producer, simulation.seed, timing.min_insync_replicas)
        consumer_times_out = divided.consumer.get(REQUEST_TIMEOUT, ConsumerSettings().request_timeout_ms)
        self.brokers = Brokers(
            self.controller,
            self._outages,
            Quorum(scenario.controllers),
            settings,
            timing,
            (producer.request_timeout_ms, whole_number(REQUEST_TIMEOUT, consumer_times_out, 1)),
            simulation,
            self._written_otherwise,
            replace(share_settings(divided.share, where), write_ms=0 if simulation.stands_still else PERSISTER_MS)
            if self._shares
            else None,
        )
        self.topics = TopicTable(scenario, self.controller, self._outages, where, simulation.now)
        self.brokers.load = self.topics.load
        self._waiting: dict[Partition, Wait] = {}
        """Partitions of which nothing is acknowledged, as the observer has been told."""
        self.topology = Topology.of(scenario, one_node_per_member=True)
        self.members = Members(scenario, system, self.topology, divided.consumer, where)

    # What a scenario calls.

    def start(self, beginning: Beginning = IN_STEP) -> None:
        """Brokers first, then the members in the order written."""
        self.brokers.start_all()
        for key in list(self.members.parts):
            start_later(self.simulation, beginning.starts.get(key, 0.0), partial(self._start_listed, key))

    def _start_listed(self, key: MemberKey) -> None:
        self._start_member(key, self.members.config(*key, self.members.parts[key], self.topics.load))

    def apply(self, event: Event) -> None:
        apply_event(event, self, _OWN, self.simulation, self.topology)

    def fast_forward(self) -> None:
        """No quiet time is skipped: heartbeats are cheap, and what is fetched is computed anyway."""

    def learn(self, scenario: Scenario) -> None:
        """The scenario has gone on: it has events that were not known before."""
        self.scenario = scenario
        self.topology.learn(scenario)

    def registered(self, group: str) -> frozenset[str]:
        """The nodes of the members that the group's coordinator counts as members."""
        found: set[str] = set()
        for broker in self.scenario.brokers:
            process = self.simulation.processes.get(broker)
            if process is not None and isinstance(process.node, Broker):
                hosts = process.node.coordinator.core.hosts(group)
                found.update(host.removeprefix("/") for host in hosts)
        return frozenset(found)

    def backlog(self, group: str) -> Backlog | None:
        """As ``kafka-consumer-groups`` tells it; None where no broker leads the group's offsets at the moment."""
        leaders = self.controller.state.offsets_leaders
        process = self.simulation.processes.get(leaders[offsets_partition(group, len(leaders))])
        if process is None or not isinstance(process.node, Broker):
            return None
        core = process.node.coordinator.core
        found = core.groups.get(group) or core.consumer_groups.get(group)
        committed = {} if found is None else found.offsets
        load, now = self.topics.load, self.simulation.now
        read = reads_in(self.scenario)
        partitions = [
            (topic, number)
            for topic, there in self.controller.state.topics.items()
            if read(group, topic)
            for number in range(len(there))
        ]
        waiting = [
            load.production(each).end_offset(now) - committed[each].offset if each in committed else 1
            for each in partitions
        ]
        return Backlog(sum(waiting), len(partitions))

    def finish(self) -> None:
        """Consumers report what they have handled."""
        for node in self.topology.members:
            self.command(node, ReportDelivered())

    def consumer(self, node: str) -> Consumer | None:
        """The consumer of this node name that owns partitions; None where none runs. Not to be changed."""
        found = self._member(node)
        return found if isinstance(found, Consumer) else None

    def _member(self, node: str) -> Consumer | ShareConsumer | None:
        process = self.simulation.processes.get(node)
        found = None if process is None else process.node
        return found if isinstance(found, Consumer | ShareConsumer) and not found.is_over else None

    def command(self, node: str, command: Message) -> None:
        """A command to a consumer; nothing happens where it does not run."""
        if self._member(node) is not None:
            self.simulation.command(node, command)

    # Members.

    def _start_member(self, key: MemberKey, config: ConsumerConfig) -> None:
        node = self.topology.node[key]
        if self._member(node) is not None:
            self.simulation.command(node, Close(config))  # it is closing: the next one follows it
            return
        if self.simulation.is_running(node):
            self.simulation.end(node)
        self.simulation.start(node, ShareConsumer(config) if self._shares else Consumer(config))

    def _join(self, event: events.Join) -> None:
        key = self.topology.key(event.group, event.join)
        part = self.members.part(key.group, key.member, event)
        self._start_member(key, self.members.config(*key, part, self.topics.load))

    def _leave(self, event: events.Leave) -> None:
        self.command(self.topology.node[self.topology.key(event.group, event.leave)], Close())

    def _end(self, event: events.Crash | events.Lose) -> None:
        (member,) = event.members()
        for node in self.topology.together[self.topology.key(event.group, member)]:
            self._kill(node, silently=isinstance(event, events.Lose))

    def _kill(self, node: str, *, silently: bool = False) -> bool:
        """Whether there was something to kill."""
        was_alive = self._member(node) is not None
        self.command(node, ReportDelivered())
        end_process(self.simulation, self.topology, node, silently=silently)
        return was_alive

    def _restart(self, event: events.Restart) -> None:
        key = self.topology.key(event.group, event.restart)
        part = self.members.part(key.group, key.member, event)
        again = [key]
        if event.how == "crash":
            for node in self.topology.together[key]:
                other = self.topology.members[node][0]
                if self._kill(node) and other != key:
                    again.append(other)
        for each in again:
            fields = part if each == key else self.members.parts[each]
            self._start_member(each, self.members.config(*each, fields, self.topics.load))

    def _hang(self, event: events.Hang) -> None:
        nodes = self.topology.together[self.topology.key(event.group, event.hang)]
        for node in nodes:
            self.command(node, Freeze())
        apply_to_world(event, self.simulation, self.topology)
        for node in nodes:
            self.command(node, Thaw())  # waits with everything else until it goes on, and comes first then

    def _stop_polling(self, event: events.StopPolling) -> None:
        node = self.topology.node[self.topology.key(event.group, event.stop_polling)]
        if self._member(node) is not None:
            self.simulation.command(node, StopPolling())
            until, label = self.simulation.now + event.for_, f"{event.stop_polling} polls again"
            self.simulation.at(until, partial(self._later, node, self.simulation.processes[node], GoOn()), label)

    def _later(self, node: str, process: object, command: Message) -> None:
        """The command is for this process alone, and for none that was started since."""
        if self.simulation.processes.get(node) is process:
            self.command(node, command)

    def _slow(self, event: events.Slow) -> None:
        for member, takes in event.slow.items():
            key = self.topology.key(event.group, member)
            node = self.topology.node[key]
            if self._member(node) is not None:
                self.simulation.command(node, TakeFor(takes))
                own, process = TakeFor(self.members.parts[key].handle), self.simulation.processes[node]
                label = f"{member} takes its own time again"
                self.simulation.at(self.simulation.now + event.for_, partial(self._later, node, process, own), label)

    def _subscribe(self, event: events.Subscribe) -> None:
        for member, topics in event.subscribe.items():
            key = self.topology.key(event.group, member)
            self.members.subscribe(key, topics)
            self.command(self.topology.node[key], Subscribe(topics))

    def _commit(self, event: events.Commit) -> None:
        offsets = None
        if event.offsets is not None:
            named = offsets_of(event, self.topics.per_broker)
            offsets = tuple((self.topics.partition(each), each.offset) for each in named)
        node = self.topology.node[self.topology.key(event.group, event.commit)]
        self.command(node, CommitNow(offsets, event.generation))

    # Topics.

    def _queues(self, event: events.Queues) -> None:
        self.topics.grow(event, self.simulation.now)
        self._topics_changed()

    def _add_topic(self, event: events.AddTopic) -> None:
        self.topics.add(event, self.simulation.now)
        self._topics_changed()

    def _delete_topic(self, event: events.DeleteTopic) -> None:
        self.topics.delete(event)
        self._topics_changed()

    def _produce(self, event: events.Produce) -> None:
        self.topics.write(event, self.simulation.now)
        self._load_changed()

    def _poison(self, event: events.Poison) -> None:
        self.topics.write_poison(event, self.simulation.now)
        self._load_changed()

    def _topics_changed(self) -> None:
        self.brokers.tell()
        self.brokers.topics_changed()
        self._load_changed()

    def _load_changed(self) -> None:
        load = self.topics.load
        self.brokers.new_load(load)
        for node in self.topology.members:
            self.command(node, NewLoad(load))

    def _written_otherwise(self) -> None:
        before, self._waiting = self._waiting, dict(self._outages.waiting)
        for partition in sorted(before.keys() | self._waiting.keys()):
            was, waits = before.get(partition), self._waiting.get(partition)
            wait = waits or was
            if wait is None or (was and waits and was.acknowledged == waits.acknowledged):
                continue
            simulation = self.simulation
            fact = Writes(
                queue_of(partition),
                self.topics.per_second(partition),
                partition in self._waiting,
                self._outages.at_most(wait, simulation.now),
                acknowledged=wait.acknowledged,
            )
            simulation.observer.fact(simulation.now, CONTROLLER, fact, simulation.root, simulation.handling)
        self._load_changed()

    # Groups.

    def _configure(self, event: events.Configure) -> None:
        self.group_configs.set(event)
        self._settings_changed()
        self.brokers.tell()

    def _settings_changed(self) -> None:
        self.controller.group_settings, self.controller.share_settings = (
            self.group_configs.now,
            self.group_configs.shares,
        )

    def _reset(self, event: events.Reset) -> None:
        if not self.simulation.is_running(ADMIN):
            self.simulation.start(ADMIN, Admin(self.scenario.brokers))
        self.simulation.command(ADMIN, ResetOffsets(event.reset_offsets, self.topics.offsets_at(event.topic, event.to)))


_OWN: Final[Own[KafkaCluster]] = {
    events.Join: KafkaCluster._join,
    events.Leave: KafkaCluster._leave,
    events.Crash: KafkaCluster._end,
    events.Lose: KafkaCluster._end,
    events.Restart: KafkaCluster._restart,
    events.Hang: KafkaCluster._hang,
    events.StopPolling: KafkaCluster._stop_polling,
    events.Slow: KafkaCluster._slow,
    events.Subscribe: KafkaCluster._subscribe,
    events.Commit: KafkaCluster._commit,
    events.Produce: KafkaCluster._produce,
    events.Poison: KafkaCluster._poison,
    events.Queues: KafkaCluster._queues,
    events.AddTopic: KafkaCluster._add_topic,
    events.DeleteTopic: KafkaCluster._delete_topic,
    events.BrokerEvent: lambda cluster, event: cluster.brokers.change(event),
    events.Configure: KafkaCluster._configure,
    events.Reset: KafkaCluster._reset,
}
"""Events that are Kafka's own; the others befall processes and the network."""
