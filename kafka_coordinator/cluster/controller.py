"""The cluster's controller: which broker leads what (spec 1.2, 1.4). It stands outside of all nodes and is no node.

A partition's preferred leader is the broker that it was written for; while that one is away, the next of its live
replicas leads. A partition of a topic has as many replicas as the scenario says, else one on every broker; one of
``__consumer_offsets`` has three, as by default, or as many as there are brokers.

In Kafka `QuorumController` and `ReplicationControlManager` (`maybeBalancePartitionLeaders`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.cluster.broker import ClusterState, GroupSettings, ReplicaRacks, ShareGroupSettings
from kafka_coordinator.consumer.settings import whole_number
from protocols.scenario.rates import Replicas


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """How leadership moves. A field's name is Kafka's own with ``_`` for ``.``."""

    broker_session_timeout_ms: int = 9_000
    """So long after its last heartbeat the controller fences a broker; it looks for such ones eight times in that."""
    broker_heartbeat_interval_ms: int = 2_000
    controller_quorum_fetch_timeout_ms: int = 2_000
    """So long after the active controller has died the others elect a new one."""
    offsets_topic_replication_factor: int = 3
    min_insync_replicas: int = 1
    """Of every topic that has no value of its own; records that all replicas are to have (`acks=all`) are refused while
    fewer are in sync."""
    leader_imbalance_check_interval_seconds: int = 300
    """Every so many seconds, counted from the start, partitions go back to their preferred leaders."""

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "ControllerSettings":
        """From Kafka's names (`NAMES`); raises `protocols.errors.UserError` for a value that cannot be."""
        return cls(**{NAMES[name]: whole_number(name, value, 1) for name, value in given.items()})


NAMES: Mapping[str, str] = {field.name.replace("_", "."): field.name for field in fields(ControllerSettings)}
"""Kafka's name of a setting to the field."""


class Controller:
    """Brokers in order, who of them is alive, the topics and the leaders of their partitions.

    ``replicas``: of each partition of a topic; None: one on every broker. ``offsets_replicas``: of
    ``__consumer_offsets`` (spec 1.3)."""

    def __init__(
        self, brokers: tuple[str, ...], offsets_partitions: int, replicas: int | None = None, offsets_replicas: int = 3
    ) -> None:
        self.brokers = brokers
        self.replicas = Replicas(brokers, replicas or len(brokers))
        self.offsets_replicas = Replicas(brokers, offsets_replicas)
        self.alive: dict[str, None] = dict.fromkeys(brokers)
        self.preferred: dict[str, tuple[str, ...]] = {}
        """Topic to the preferred leader of each partition."""
        self.assigned: dict[str, tuple[tuple[str, ...], ...]] = {}
        """Topic to the replicas of each partition, where these do not follow from its preferred leader; all have all
        records, and the first live one leads."""
        self.racks: dict[str, tuple[tuple[str, ...], ...]] = {}
        self.group_settings: GroupSettings = {}
        """Group to its settings."""
        self.share_settings: ShareGroupSettings = {}
        """Group to those of its share-partitions."""
        self.topic_ids: dict[str, int] = {}
        """Topic to its 128-bit id, where it has one that is not made from its name."""
        self.offsets_preferred = tuple(brokers[number % len(brokers)] for number in range(offsets_partitions))
        self.offsets_waiting: frozenset[int] = frozenset()
        """Partitions of ``__consumer_offsets`` to which nothing can be written that all in-sync replicas have."""
        self._leaders: dict[str, tuple[str, ...]] = {}
        self._offsets_leaders = self.offsets_preferred

    @property
    def state(self) -> ClusterState:
        racks: ReplicaRacks = dict(self.racks)
        ids, leaders = dict(self.topic_ids), dict(self._leaders)
        return ClusterState(
            tuple(self.alive),
            leaders,
            self._offsets_leaders,
            racks,
            self.group_settings,
            ids,
            self.share_settings,
            self.offsets_waiting,
        )

    def partitions(self) -> Iterator[Partition]:
        for topic, leaders in self._leaders.items():
            for number in range(len(leaders)):
                yield topic, number

    def leader(self, partition: Partition) -> str:
        """Empty where there is none."""
        topic, number = partition
        return self._leaders[topic][number]

    def in_sync(self, partition: Partition) -> tuple[str, ...]:
        """The in-sync set of a partition whose replicas follow from its preferred leader."""
        topic, number = partition
        return self.replicas.in_sync(self.preferred[topic][number])

    def offsets_in_sync(self) -> Iterator[tuple[str, ...]]:
        """The in-sync set of each partition of ``__consumer_offsets``."""
        return map(self.offsets_replicas.in_sync, self.offsets_preferred)

    def put_topic(
        self,
        topic: str,
        preferred: tuple[str, ...],
        racks: tuple[tuple[str, ...], ...] | None = None,
        *,
        replicas: tuple[tuple[str, ...], ...] | None = None,
    ) -> None:
        """A topic is created, or has more partitions: the preferred leader of each, and its ``replicas`` where they are
        not the brokers that follow the leader."""
        before = self._leaders.get(topic, ())
        self.preferred[topic] = preferred
        if replicas is None:
            new = [self._stand_in(name, self.replicas) for name in preferred[len(before) :]]
        else:
            self.assigned[topic] = replicas
            new = [self._first_live(replica) for replica in replicas[len(before) :]]
        self._leaders[topic] = (*before, *new)
        if racks is not None:
            self.racks[topic] = racks
        else:
            self.racks.pop(topic, None)

    def delete_topic(self, topic: str) -> None:
        for held in (self.preferred, self._leaders, self.assigned, self.racks, self.topic_ids):
            held.pop(topic, None)

    def ended(self, broker: str) -> None:
        """The broker's process has ended; the controller learns of it by `fence`."""
        self.replicas.ends(broker)
        self.offsets_replicas.ends(broker)

    def fence(self, broker: str) -> None:
        """The broker is away: others lead what it led."""
        self.alive.pop(broker, None)
        self._move(lambda leader, preferred, first: first if leader == broker else leader)

    def unfence(self, broker: str) -> None:
        """The broker is back; it leads only partitions that have no leader."""
        self.alive = {name: None for name in self.brokers if name in self.alive or name == broker}
        self.replicas.returns(broker)
        self.offsets_replicas.returns(broker)
        self._move(lambda leader, preferred, first: leader or first)

    def lead_offsets(self, partition: int, broker: str) -> None:
        """From now on this broker leads the partition of ``__consumer_offsets``."""
        leaders = self._offsets_leaders
        self._offsets_leaders = (*leaders[:partition], broker, *leaders[partition + 1 :])

    def rebalance_leaders(self) -> bool:
        """Partitions go back to their preferred leaders where these are alive; whether any leader changed."""
        before = self._leaders, self._offsets_leaders
        self._move(lambda leader, preferred, first: first if first == preferred else leader)
        return (self._leaders, self._offsets_leaders) != before

    def _stand_in(self, preferred: str, replicas: Replicas) -> str:
        """The preferred leader, or the next live replica after it; empty if there is none."""
        return next((name for name in replicas.in_sync(preferred) if name in self.alive), "")

    def _first_live(self, replicas: tuple[str, ...]) -> str:
        return next((name for name in replicas if name in self.alive), "")

    def _move(self, choose: Callable[[str, str, str], str]) -> None:
        """Who leads from now on: ``choose`` is given the leader so far, the preferred one, and who could stand in."""

        def moved(leaders: Iterable[str], preferred: Iterable[str], replicas: Replicas) -> tuple[str, ...]:
            first = {broker: self._stand_in(broker, replicas) for broker in self.brokers}
            return tuple([choose(leader, name, first[name]) for leader, name in zip(leaders, preferred, strict=True)])

        def moved_as_assigned(leaders: tuple[str, ...], topic: str) -> tuple[str, ...]:
            assigned = zip(leaders, self.assigned[topic], strict=True)
            return tuple([choose(leader, each[0], self._first_live(each)) for leader, each in assigned])

        self._leaders = {
            topic: moved_as_assigned(leaders, topic)
            if topic in self.assigned
            else moved(leaders, self.preferred[topic], self.replicas)
            for topic, leaders in self._leaders.items()
        }
        self._offsets_leaders = moved(self._offsets_leaders, self.offsets_preferred, self.offsets_replicas)
