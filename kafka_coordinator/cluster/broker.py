"""A broker as a node: a group coordinator, and answers about topics and brokers (spec 1.2, 4.8).

What it knows of the cluster comes from the controller (`ClusterState`, from `protocols.engine.nodes.OPERATOR`). Records
are no messages here: what a partition holds is a function of time (`protocols.load`).

In Kafka `KafkaApis` with `MetadataCache`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_coordinator.cluster.share_logs import LoadLogs
from kafka_coordinator.consumer.commands import NewLoad
from kafka_coordinator.consumer.settings import NO_LOAD, Load
from kafka_coordinator.coordinator import commands
from kafka_coordinator.coordinator.commands import OffsetsLeaders, Topics
from kafka_coordinator.coordinator.log import OffsetsTopic
from kafka_coordinator.coordinator.node import Coordinator
from kafka_coordinator.coordinator.settings import BrokerSettings
from kafka_coordinator.messages import MetadataAnswer, MetadataRequest
from kafka_coordinator.share import Call, ShareLeader
from kafka_coordinator.share import requests as share_requests
from kafka_coordinator.share.messages import ShareAcknowledge, ShareFetch
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.node_state import Apart, Emptied, NodeState

_OF_SHARES: Final = frozenset((ShareFetch, ShareAcknowledge))

ReplicaRacks = Mapping[str, tuple[tuple[str, ...], ...]]
GroupSettings = Mapping[str, Mapping[str, int]]
ShareGroupSettings = Mapping[str, Mapping[str, object]]


class ClusterState(NamedTuple):
    """The cluster as it is from now on. Never changed once it was sent; what stays the same stays the same object."""

    brokers: tuple[str, ...]
    """Node names of the live brokers."""
    topics: Mapping[str, tuple[str, ...]]
    """Topic to the leader of each partition; empty where there is none."""
    offsets_leaders: tuple[str, ...]
    """Leader of each partition of ``__consumer_offsets``."""
    replica_racks: ReplicaRacks = MappingProxyType({})
    group_settings: GroupSettings = MappingProxyType({})
    """Group to the settings that it has itself, under Kafka's names."""
    topic_ids: Mapping[str, int] = MappingProxyType({})
    """Topic to its 128-bit id; one that is not in it has an id made from its name."""
    share_settings: ShareGroupSettings = MappingProxyType({})
    """Group to the settings that it has itself of its share-partitions."""
    offsets_waiting: frozenset[int] = frozenset()
    """Partitions of ``__consumer_offsets`` of which nothing is acknowledged now: see `commands.OffsetsWaiting`."""


@dataclass(slots=True, init=False, eq=False)
class Broker(NodeState):
    """One broker. ``storage`` is the cluster's ``__consumer_offsets``, see `Coordinator`."""

    coordinator: Coordinator
    cluster: ClusterState
    shares: ShareLeader | None
    """Its share-partitions; None where the cluster has no share groups."""
    load: Apart[Load]
    _answers: Apart[Emptied[dict[tuple[str, ...] | None, tuple[Mapping[str, tuple[str, ...]], ReplicaRacks]]]]

    def __init__(
        self,
        name: str,
        settings: BrokerSettings,
        storage: OffsetsTopic,
        cluster: ClusterState,
        shares: ShareLeader | None = None,
        load: Load = NO_LOAD,
    ) -> None:
        self.coordinator = Coordinator(name, settings, storage, cluster.offsets_leaders)
        self.cluster = cluster
        self.shares, self.load = shares, load
        self._answers = {}

    def start(self, now: Time, out: Outbox) -> None:
        self.coordinator.start(now, out)
        self._tell_topics(now, out)
        self._tell_group_settings(now, out)
        if self.cluster.offsets_waiting:
            self.coordinator.receive(now, self.coordinator.core.name, self._waiting(), out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        kind = type(message)
        if kind is MetadataRequest:
            correlation, topics = message
            out.send(sender, MetadataAnswer(correlation, self.cluster.brokers, *self._answer(topics)))
        elif self.shares is not None and kind in _OF_SHARES:
            share_requests.receive(self.shares, self._call(now, out), sender, message)  # type: ignore[arg-type]
        elif kind is NewLoad:
            (self.load,) = message
            if self.shares is not None:
                share_requests.cluster_changed(self.shares, self._call(now, out))
        elif kind is ClusterState:
            self._learn(now, sender, ClusterState._make(message), out)
        else:
            self.coordinator.receive(now, sender, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if self.shares is not None and timer[0] in share_requests.TIMERS:
            share_requests.timeout(self.shares, self._call(now, out), timer)
            return
        self.coordinator.timeout(now, timer, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing changes before the peer sends a request."""
        self.coordinator.connected(now, peer, out)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.coordinator.closed(now, peer, out)
        if self.shares is not None:
            share_requests.closed(self.shares, self._call(now, out), peer)

    def _call(self, now: Time, out: Outbox) -> Call:
        return Call(now, LoadLogs(self.coordinator.core.name, self.cluster.topics, self.load, now, {}), out)

    def _learn(self, now: Time, sender: str, state: ClusterState, out: Outbox) -> None:
        before, self.cluster = self.cluster, state
        self._answers = {}
        if state.offsets_leaders != before.offsets_leaders:
            self.coordinator.receive(now, sender, OffsetsLeaders(state.offsets_leaders), out)
        if state.offsets_waiting != before.offsets_waiting:
            self.coordinator.receive(now, sender, self._waiting(), out)
        described, described_before = [(each.topics, each.replica_racks, each.topic_ids) for each in (state, before)]
        if described != described_before:
            self._tell_topics(now, out)
        if state.group_settings != before.group_settings:
            self._tell_group_settings(now, out)
        if self.shares is not None:
            self.shares.configure(state.share_settings)
            share_requests.cluster_changed(self.shares, self._call(now, out))

    def _waiting(self) -> commands.OffsetsWaiting:
        return commands.OffsetsWaiting(self.cluster.offsets_waiting)

    def _tell_group_settings(self, now: Time, out: Outbox) -> None:
        settings = commands.GroupSettings(self.cluster.group_settings)
        self.coordinator.receive(now, self.coordinator.core.name, settings, out)

    def _tell_topics(self, now: Time, out: Outbox) -> None:
        counts = {topic: len(leaders) for topic, leaders in self.cluster.topics.items()}
        news = Topics(counts, racks=self.cluster.replica_racks, ids=self.cluster.topic_ids)
        self.coordinator.receive(now, self.coordinator.core.name, news, out)

    def _answer(self, topics: tuple[str, ...] | None) -> tuple[Mapping[str, tuple[str, ...]], ReplicaRacks]:
        """Leaders and racks of these topics; who asks the same is given the same objects."""
        found = self._answers.get(topics)
        if found is None:
            cluster = self.cluster
            if topics is None:
                found = cluster.topics, cluster.replica_racks
            else:
                racks = cluster.replica_racks
                found = (
                    {topic: cluster.topics[topic] for topic in topics if topic in cluster.topics},
                    {topic: racks[topic] for topic in topics if topic in racks},
                )
            self._answers[topics] = found
        return found
