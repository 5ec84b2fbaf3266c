"""The state that all parts of a coordinator work on: its groups, the log, the cluster's leaders and topics; what is
written to the log about a classic group, and when it begins and ends to exist (spec 1.3).

In Kafka the fields of `GroupMetadataManager` and `OffsetMetadataManager`, `GroupCoordinatorRecordHelpers`.

Why state and rules are apart: joining, syncing, heartbeats, offsets and expiry all change the same groups, and each is
easier to compare with the spec as a file of functions than as a part of one class of thousands of lines. A state
without behaviour can also be copied and compared field by field, which the explorer does millions of times.

Why the log is part of it: a broker that takes the coordinator over knows a group only by what was written to
``__consumer_offsets``. A rule that changes a group therefore writes the record in the same place, and what is never
written (joins that wait, session timers) is lost with the leader, as in Kafka.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from kafka_coordinator.assignors.inputs import Partition, queue_of
from kafka_coordinator.assignors.translation import topic_id
from kafka_coordinator.assignors.uniform import IdHashes
from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.subscribed import SubscribedTopics
from kafka_coordinator.coordinator.group import Group, Parked, session_timer
from kafka_coordinator.coordinator.log import (
    CommittedOffset,
    GroupKey,
    GroupValue,
    Key,
    OffsetsTopic,
    PartitionLog,
    PendingKey,
    PendingOffset,
    StoredMember,
    Value,
    offset_key,
    offsets_partition,
)
from kafka_coordinator.coordinator.settings import BrokerSettings
from kafka_coordinator.coordinator.share_groups.group import Asked, ShareGroup, Target
from kafka_coordinator.errors import COORDINATOR_LOAD_IN_PROGRESS, NONE, NOT_COORDINATOR
from kafka_coordinator.messages import OffsetCommit, Opaque
from protocols.engine.nodes import Message, Outbox, Time
from protocols.java import Queue, sorted_pairs
from protocols.load import quickly_made
from protocols.node_state import Apart, Emptied, NodeState
from protocols.state_machine import ALWAYS

_parked, _queue = quickly_made(Parked), quickly_made(Queue)


class WaitingCommit(NamedTuple):
    """A commit that was found right, and counts when it is replicated. ``parked``: whom to answer until ``due``, None
    where it has been told that it failed. ``partition`` of ``__consumer_offsets``; ``name``: the member's client id."""

    partition: int
    name: str | None
    request: OffsetCommit
    parked: Parked | None
    due: Time


Racks = tuple[tuple[str, ...], ...]
"""Of the replicas of each partition of a topic."""


@dataclass(slots=True, eq=False)
class Core(NodeState):
    """State of one broker's coordinator. Parts are functions that are given it; `node.Coordinator` calls them."""

    name: str
    settings: BrokerSettings
    storage: OffsetsTopic
    leaders: tuple[str, ...]
    """Partition of ``__consumer_offsets`` to the node name of its leader."""
    loading: dict[int, None] = field(default_factory=dict)
    """Partitions whose log is being read."""
    waiting: frozenset[int] = frozenset()
    """Partitions to which nothing can be written that all in-sync replicas have."""
    commits: list[WaitingCommit] = field(default_factory=list)
    """What is written to those, in order."""
    groups: dict[str, Group] = field(default_factory=dict)
    """The classic groups of all partitions that this broker leads and has loaded."""
    consumer_groups: dict[str, ConsumerGroup] = field(default_factory=dict)
    """The groups of the consumer protocol; an id is that of one group, of whatever kind."""
    share_groups: dict[str, ShareGroup] = field(default_factory=dict)
    share_calls: dict[int, Asked] = field(default_factory=dict)
    """What the persister of share-partitions has been asked and has not answered, by number."""
    share_calls_made: int = 0
    forgotten: dict[str, ConsumerGroup] = field(default_factory=dict)
    """Emptied groups of the consumer protocol that made room for a classic one which never came to be. The log still
    has them; what only reads sees them until the next write (spec 10)."""
    group_settings: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Group to its own settings, under Kafka's names."""
    pending: dict[str, dict[int, dict[Partition, PendingOffset]]] = field(default_factory=dict)
    """Group to producer id to the offsets that wait for the end of its transaction."""
    pending_bytes: int = 0
    """What these take."""
    closes: dict[str, int] = field(default_factory=dict)
    """Peer to how many connections with it have been closed."""
    topics: Mapping[str, int] | None = None
    racks: Mapping[str, Racks] = field(default_factory=dict)
    topic_ids: Mapping[str, int] = field(default_factory=dict)
    """Topic to its 128-bit id, where it has one that is not made from its name."""
    image: int = 0
    image_of_new_topics: int = 0
    """How often this broker has been told of the topics, and when last of one that is new."""
    queues: Apart[Mapping[str, tuple[Queue, ...]]] = field(default_factory=dict)
    staged: Apart[list[tuple[int, Key, Value | None]] | None] = None
    """What the request that is being handled writes if a batch takes it all; None: it is written at once."""
    _subscriptions: Apart[Emptied[dict[tuple[str, ...], SubscribedTopics]]] = field(default_factory=dict)
    _known: Apart[Emptied[dict[Opaque, tuple[Queue, ...]]]] = field(default_factory=dict)
    foreseen_shares: Apart[Emptied[tuple[tuple[object, ...], Mapping[str, Target]] | None]] = None
    """What the target of a share group is to be computed from soon, and the target that comes of it."""
    _hashes: Apart[Emptied[IdHashes | None]] = None

    def partition_of(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` that stores the group."""
        return offsets_partition(group_id, len(self.leaders))

    def refusal(self, group_id: str) -> str:
        """Why this broker answers nothing about a group, or NONE."""
        partition = self.partition_of(group_id)
        if self.leaders[partition] != self.name:
            return NOT_COORDINATOR
        return COORDINATOR_LOAD_IN_PROGRESS if partition in self.loading else NONE

    def is_group(self, group_id: str) -> bool:
        """Whether there is a group of this id, of whatever kind."""
        return group_id in self.groups or group_id in self.consumer_groups or group_id in self.share_groups

    def ask_persister(self, asked: Asked) -> int:
        """The number of a call to the persister of share-partitions, whose answer names it."""
        self.share_calls_made += 1
        self.share_calls[self.share_calls_made] = asked
        return self.share_calls_made

    def log(self, partition: int) -> PartitionLog:
        return self.storage.partitions[partition]

    def write(self, partition: int, key: Key, value: Value | None) -> None:
        if self.staged is None:
            self.log(partition).append(key, value)
        else:
            self.staged.append((partition, key, value))

    def readable(self, group_id: str) -> ConsumerGroup | None:
        """The group of the consumer protocol that a request sees that only reads."""
        forgotten = self.forgotten.get(group_id)
        if forgotten is not None and forgotten.forgotten_at == self.log(forgotten.partition).end:
            return forgotten
        return self.consumer_groups.get(group_id)

    def is_pending(self, group_id: str, partition: Partition) -> bool:
        """Whether the offset may be another one soon: a transaction that is open has committed one."""
        return any(partition in waiting for waiting in self.pending.get(group_id, {}).values())

    def forget_pending(self, group_id: str, partition: Partition) -> None:
        """The group's offset of the partition is deleted: what waits for a marker goes, too."""
        for producer_id, waiting in self.pending.get(group_id, {}).items():
            if (gone := waiting.pop(partition, None)) is not None:
                self.pending_bytes -= gone.cost(group_id, partition)
                self.write(self.partition_of(group_id), PendingKey(group_id, producer_id, *partition), None)

    def outdate(self, group_id: str, partition: Partition, position: int) -> None:
        """The group has committed an offset, which the log had first there: what waits for a marker and came before it
        does not count."""
        for producer_id, waiting in self.pending.get(group_id, {}).items():
            found = waiting.get(partition)
            if found is not None and found.position < position:
                waiting[partition] = found._replace(is_outdated=True)
                self.write(
                    self.partition_of(group_id), PendingKey(group_id, producer_id, *partition), waiting[partition]
                )

    def parked(self, sender: str, correlation: int) -> Parked:
        return _parked((sender, correlation, self.closes.get(sender, 0)))

    def answer(self, parked: Parked, message: Message, out: Outbox) -> None:
        """Answer a parked request, unless its connection has been closed, because then nobody reads the answer."""
        if self.closes.get(parked.sender, 0) == parked.closes:
            out.send(parked.sender, message)

    def queue(self, partition: Partition) -> Queue:
        topic, number = partition
        queues = self.queues.get(topic, ())
        return queues[number] if 0 <= number < len(queues) else queue_of(partition)

    def sorted_queues(self, partitions: Iterable[Partition]) -> tuple[Queue, ...]:
        """The queues of these partitions, in the systems' order."""
        known = self.queues
        if not known:
            return tuple([_queue((topic, "", number)) for topic, number in sorted_pairs(partitions)])
        return tuple(
            [
                queues[number] if 0 <= number < len(queues := known.get(topic, ())) else queue_of((topic, number))
                for topic, number in sorted_pairs(partitions)
            ]
        )

    def queues_of(self, assignment: Opaque) -> tuple[Queue, ...]:
        """The queues of an assignment, sorted; none if it is not a tuple of partitions."""
        if not assignment or not isinstance(assignment, tuple):
            return ()
        known = self._known.get(assignment)
        if known is None:
            known = self._known[assignment] = self.sorted_queues(set(assignment))
            if len(self._known) > _MOST_KNOWN:
                self._known = {}
        return known

    def set_queues(self, queues: Mapping[str, tuple[Queue, ...]]) -> None:
        self.queues = queues
        self._known = {}

    def set_topics(self, topics: Mapping[str, int], racks: Mapping[str, Racks], ids: Mapping[str, int]) -> None:
        self.topics, self.racks, self.topic_ids = topics, racks, ids
        self._subscriptions, self._hashes = {}, None

    @property
    def id_hashes(self) -> IdHashes:
        """The hash codes of the ids of the topics that there are."""
        if self._hashes is None:
            counts, ids = self.partition_counts, self.topic_ids
            self._hashes = IdHashes(lambda topic: topic_id(topic, ids.get(topic)) if topic in counts else None)
        return self._hashes

    def subscription(self, named: tuple[str, ...]) -> SubscribedTopics:
        """What this broker knows of these topics, which are in Java's order."""
        known = self._subscriptions.get(named)
        if known is None:
            if len(self._subscriptions) >= _MOST_SUBSCRIPTIONS:
                del self._subscriptions[next(iter(self._subscriptions))]
            known = SubscribedTopics(named, self.partition_counts, self.topic_ids, self.racks)
            self._subscriptions[named] = known
        return known

    def hosts(self, group_id: str) -> list[str]:
        classic, other = self.groups.get(group_id), self.consumer_groups.get(group_id)
        share = self.share_groups.get(group_id)
        found = [member.host for member in classic.members.values()] if classic else []
        found += [member.host for member in share.members.values()] if share else []
        return found + ([member.profile.host for member in other.members.values()] if other else [])

    @property
    def partition_counts(self) -> Mapping[str, int]:
        return self.topics or {}


_MOST_SUBSCRIPTIONS = 64
"""Subscriptions of which is kept what follows from them."""
_MOST_KNOWN = 4096
"""Assignments whose queues are remembered at once."""


_stored_member = quickly_made(StoredMember)


class WithOffsets(Protocol):
    """A group of either kind."""

    id: str
    partition: int
    offsets: dict[Partition, CommittedOffset]

    def subscribes(self, topic: str) -> bool:
        """Whether the group subscribes to the topic, as far as that is known."""


def create_group(core: Core, group_id: str, now: Time, out: Outbox) -> Group:
    """A group that did not exist begins, empty; nothing is written yet."""
    group = core.groups[group_id] = Group(group_id, core.partition_of(group_id))
    if group_id in core.forgotten:
        group.offsets = core.forgotten.pop(group_id).offsets
    group.transition(states.CREATED, ALWAYS, now, out)
    return group


def store_group(core: Core, group: Group) -> None:
    protocol = group.protocol
    members = tuple(
        [
            _stored_member(
                (
                    member.id,
                    member.instance_id,
                    member.client_id,
                    member.host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    member.metadata(protocol),
                    member.assignment,
                )
            )
            for member in group.ordered()
        ]
    )
    value = GroupValue(group.protocol_type, group.generation, protocol, group.leader, group.since, members)
    core.write(group.partition, GroupKey(group.id), value)


def store_offset(core: Core, group: WithOffsets, partition: Partition, committed: CommittedOffset) -> None:
    group.offsets[partition] = committed
    core.write(group.partition, offset_key(group.id, partition), committed)


def offsets_of(core: Core, group: WithOffsets) -> list[Partition]:
    """Partitions of which the group has an offset, or may have one when a transaction is committed."""
    waiting = [partition for each in core.pending.get(group.id, {}).values() for partition in each]
    return list(dict.fromkeys((*group.offsets, *waiting)))


def delete_offset(core: Core, group: WithOffsets, partition: Partition) -> None:
    core.forget_pending(group.id, partition)
    if group.offsets.pop(partition, None) is not None:
        core.write(group.partition, offset_key(group.id, partition), None)


def delete_group(core: Core, group: Group, event: str, now: Time, out: Outbox) -> None:
    """The group ends, with its offsets and the ids that it handed out; a group with members cannot."""
    for partition in offsets_of(core, group):
        delete_offset(core, group, partition)
    end_group(core, group, event, now, out)


def end_group(core: Core, group: Group, event: str, now: Time, out: Outbox) -> None:
    """The group ends, with the ids that it handed out; its offsets stay."""
    group.transition(event, ALWAYS, now, out)
    for member_id in group.pending_join:
        out.cancel_timer(session_timer(group.id, member_id))
    core.write(group.partition, GroupKey(group.id), None)
    del core.groups[group.id]
