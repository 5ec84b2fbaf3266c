"""The state that all parts of a coordinator work on: its groups, the log, the cluster's leaders and topics.

In Kafka the fields of `GroupMetadataManager` and `OffsetMetadataManager`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.log import Key, OffsetsTopic, PartitionLog, Value, offsets_partition
from kafka_coordinator.coordinator.members import AliveParked, Parked
from kafka_coordinator.coordinator.settings import BrokerSettings
from kafka_coordinator.errors import COORDINATOR_LOAD_IN_PROGRESS, NONE, NOT_COORDINATOR
from kafka_coordinator.messages import Opaque
from kafka_coordinator.partitions import queue_of
from protocols.engine.nodes import Message, Outbox, Time
from protocols.queues import Queue, sort_queues
from protocols.quick_records import quickly_made

if TYPE_CHECKING:
    from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup

_parked = quickly_made(Parked)

Racks = tuple[tuple[str, ...], ...]
"""Of the replicas of each partition of a topic."""


class Core:
    """State of one broker's coordinator. Parts are functions that are given it; `node.Coordinator` calls them."""

    __slots__ = (
        "_known",
        "closes",
        "consumer_groups",
        "group_settings",
        "groups",
        "image",
        "image_of_new_topics",
        "leaders",
        "loading",
        "name",
        "queues",
        "racks",
        "settings",
        "storage",
        "topic_ids",
        "topics",
    )

    def __init__(self, name: str, settings: BrokerSettings, storage: OffsetsTopic, leaders: tuple[str, ...]) -> None:
        self.name = name
        self.settings = settings
        self.storage = storage
        self.leaders = leaders
        """Partition of ``__consumer_offsets`` to the node name of its leader."""
        self.loading: dict[int, None] = {}
        """Partitions whose log is being read."""
        self.groups: dict[str, Group] = {}
        """The classic groups of all partitions that this broker leads and has loaded."""
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        """The groups of the consumer protocol; an id is that of one group, of either kind."""
        self.group_settings: Mapping[str, Mapping[str, int]] = {}
        """Group to its own settings, under Kafka's names."""
        self.closes: dict[str, int] = {}
        """Peer to how many connections with it have been closed."""
        self.topics: Mapping[str, int] | None = None
        self.racks: Mapping[str, Racks] = {}
        self.topic_ids: Mapping[str, int] = {}
        """Topic to its 128-bit id, where it has one that is not made from its name."""
        self.image = self.image_of_new_topics = 0
        """How often this broker has been told of the topics, and when last of one that is new."""
        self.queues: Mapping[str, tuple[Queue, ...]] = {}
        self._known: dict[Opaque, tuple[Queue, ...]] = {}

    def partition_of(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` that stores the group."""
        return offsets_partition(group_id, len(self.leaders))

    def refusal(self, group_id: str) -> str:
        """Why this broker answers nothing about a group, or NONE."""
        partition = self.partition_of(group_id)
        if self.leaders[partition] != self.name:
            return NOT_COORDINATOR
        return COORDINATOR_LOAD_IN_PROGRESS if partition in self.loading else NONE

    def log(self, partition: int) -> PartitionLog:
        """The log of a partition."""
        return self.storage.partitions[partition]

    def write(self, partition: int, key: Key, value: Value | None) -> None:
        """Append a record to the log of a partition."""
        self.log(partition).append(key, value)

    def parked(self, sender: str, correlation: int) -> Parked:
        """A request that is answered later."""
        return _parked((sender, correlation, self.closes.get(sender, 0)))

    def answer(self, parked: Parked, message: Message, out: Outbox) -> None:
        """Answer a parked request, unless its connection has been closed, because then nobody reads the answer."""
        if self.closes.get(parked.sender, 0) == parked.closes:
            out.send(parked.sender, message)

    def queue(self, partition: Partition) -> Queue:
        """The queue that stands for a partition in facts."""
        topic, number = partition
        queues = self.queues.get(topic, ())
        return queues[number] if 0 <= number < len(queues) else queue_of(partition)

    def queues_of(self, assignment: Opaque) -> tuple[Queue, ...]:
        """The queues of an assignment, sorted; none if it is not a tuple of partitions."""
        if not assignment or not isinstance(assignment, tuple):
            return ()
        known = self._known.get(assignment)
        if known is None:
            known = self._known[assignment] = sort_queues({self.queue(partition) for partition in assignment})
            if len(self._known) > _MOST_KNOWN:
                self._known = {}
        return known

    def set_queues(self, queues: Mapping[str, tuple[Queue, ...]]) -> None:
        """From now on these queues stand for the partitions in facts."""
        self.queues = queues
        self._known = {}

    def hosts(self, group_id: str) -> list[str]:
        """The hosts of the group's members, of either protocol."""
        classic, other = self.groups.get(group_id), self.consumer_groups.get(group_id)
        found = [member.host for member in classic.members.values()] if classic else []
        return found + ([member.profile.host for member in other.members.values()] if other else [])

    @property
    def partition_counts(self) -> Mapping[str, int]:
        """The cluster's topics with their numbers of partitions."""
        return self.topics or {}

    def described(self, topic: str) -> tuple[int, int, Racks]:
        """All that a group's metadata hash depends on: the topic's id, its partitions, their racks."""
        return self.topic_ids.get(topic, 0), self.partition_counts[topic], self.racks.get(topic, ())

    def copy(self) -> "Core":
        """An independent copy, with a copy of the log."""
        copied = Core(self.name, self.settings, self.storage.copy(), self.leaders)
        copied.loading = dict(self.loading)
        copied.groups = {group_id: group.copy() for group_id, group in self.groups.items()}
        copied.consumer_groups = {group_id: group.copy() for group_id, group in self.consumer_groups.items()}
        copied.group_settings = self.group_settings
        copied.closes = dict(self.closes)
        copied.topics, copied.racks, copied.topic_ids = self.topics, self.racks, self.topic_ids
        copied.image, copied.image_of_new_topics = self.image, self.image_of_new_topics
        copied.queues = self.queues
        return copied

    def key(self, now: Time) -> tuple[object, ...]:
        """The state as plain tuples, times relative to now. The log is left out: it holds what the groups hold."""
        alive = AliveParked(self.closes)
        groups = tuple(self.groups[group_id].key(now, alive) for group_id in sorted(self.groups))
        others = tuple(self.consumer_groups[group_id].key(now) for group_id in sorted(self.consumer_groups))
        topics = None if self.topics is None else tuple(sorted(self.topics.items()))
        return self.leaders, tuple(sorted(self.loading)), groups, topics, others


_MOST_KNOWN = 4096
"""Assignments whose queues are remembered at once."""
