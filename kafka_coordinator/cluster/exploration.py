"""What the explorer has to know of Kafka's nodes (`protocols.engine.exploration`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.cluster.share_logs import Persister
from kafka_coordinator.consumer import Consumer, assigning
from kafka_coordinator.consumer.share.node import ShareConsumer
from kafka_coordinator.consumer.state import ConsumerState
from kafka_coordinator.consumer.states import METADATA, REQUESTS
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.target import compute_target
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.log import Key, PartitionLog, Value
from kafka_coordinator.messages import ConsumerMetadata, FindCoordinator, JoinedMember, JoinGroupAnswer, MetadataRequest
from kafka_coordinator.share import Entry, Kept, ShareLeader, SharePartition
from kafka_coordinator.share.leader import WAIT
from kafka_coordinator.share.persister import ShareStates
from kafka_coordinator.share.records import Lock
from protocols.engine.exploration.rules import NodeRules
from protocols.engine.nodes import Node, Time, TimerName
from protocols.java import Queue, sort_queues
from protocols.node_state import Apart, NodeState, Shared

Shares: TypeAlias = dict[str, dict[str, tuple[Queue, ...]]]
"""Group to member (its name; the id that the coordinator knows where no consumer has it) to its queues."""


def shares(nodes: Mapping[str, Node], now: Time) -> Shares:
    """What each group's strategy gives its members today, whatever they own (the property `fair-share`).
    ``nodes``: those that run. Copies of them are asked: the coordinator for a new target, a classic leader for an
    assignment as if all had joined again with what they own; a strategy that keeps what is balanced gives the same."""
    consumers = {
        (node.state.config.group, node.state.membership.member_id): node.state
        for node in nodes.values()
        if isinstance(node, Consumer) and not node.is_over
    }
    found: Shares = {}
    for node in nodes.values():
        if not isinstance(node, Broker):
            continue
        core = node.copy().coordinator.core
        given = {group.id: _targets(core, group, now) for group in core.consumer_groups.values()}
        given |= {group.id: _assigned(group, consumers) for group in core.groups.values()}
        for group, members in given.items():
            found[group] = {
                consumers[group, member].config.name if (group, member) in consumers else member: sort_queues(
                    map(core.queue, partitions)
                )
                for member, partitions in members.items()
            }
    return found


def _targets(core: Core, group: ConsumerGroup, now: Time) -> Mapping[str, tuple[Partition, ...]]:
    """The target of every member if it were computed now."""
    if group.members:
        caller = next(iter(group.members.values()))
        compute_target(core, group, caller, is_new=False, alike=group.homogeneous(), now=now)
    return {member: group.target.get(member, ()) for member in group.members}


def _assigned(group: Group, consumers: Mapping[tuple[str, str], ConsumerState]) -> Mapping[str, tuple[Partition, ...]]:
    """What the leader would give to each member; nothing in a group that has no leader among the consumers."""
    protocol, leader = group.protocol, consumers.get((group.id, group.leader or ""))
    nobody: dict[str, tuple[Partition, ...]] = dict.fromkeys(group.members, ())
    if protocol is None or leader is None:
        return nobody
    joined = []
    for member in group.ordered():
        state = consumers.get((group.id, member.id))
        metadata = member.metadata(protocol) if state is None else assigning.metadata_for(state, protocol)
        if isinstance(metadata, ConsumerMetadata):
            joined.append(JoinedMember(member.id, member.instance_id, metadata))
    asked = leader.copy()
    asked.assigning.group_topics = assigning.topics_of(tuple(joined))
    answer = JoinGroupAnswer(
        0, "NONE", group.generation, leader.membership.member_id, leader.membership.member_id, group.protocol_type,
        protocol, False, tuple(joined),
    )  # fmt: skip
    try:
        return nobody | assigning.assignments(asked, answer)
    except assigning.CannotAssignError:
        return nobody


class _Requests:
    """See `protocols.engine.exploration.rules.Numbering`."""

    def outstanding(self, node: Consumer | ShareConsumer) -> Mapping[int, str]:
        return {number: each.to for number, each in node.state.requests.in_flight.items()}

    def restart(self, node: Consumer | ShareConsumer, number: int) -> None:
        node.state.requests.correlation = number

    def rename(self, node: Consumer | ShareConsumer, names: Mapping[int, int]) -> None:
        requests = node.state.requests
        requests.in_flight = {names.get(number, number): each for number, each in requests.in_flight.items()}


class _Unread(PartitionLog):
    """A log that nobody reads, because no broker begins to lead."""

    __slots__ = ()

    def append(self, key: Key, value: Value | None) -> None:
        pass


@dataclass(slots=True, eq=False)
class _UnreadTopic(NodeState):
    """``__consumer_offsets`` of a world in which it is never read."""

    partitions: Apart[Sequence[_Unread]]


def _write_at_once(node: Broker) -> None:
    """Share-partitions whose states nobody else reads, and which are kept as soon as they change."""
    shares = node.shares
    if shares is not None:
        shares.states = _OwnStates(shares.states.kept)
        shares.settings = replace(shares.settings, write_ms=0)


@dataclass(slots=True, eq=False)
class _OwnStates(ShareStates):
    """As one leader has them: whatever the group's coordinator has initialized is there."""

    def find(self, group: str, partition: Partition) -> Kept | None:
        return self.kept.setdefault((group, partition), Kept(0))


def _write_nothing(node: Any) -> None:
    _write_at_once(node)
    node.coordinator.core.storage = _UnreadTopic([_Unread(1.0, 1)] * len(node.coordinator.core.leaders))


@dataclass(slots=True, eq=False)
class _ReplicatedTopic(NodeState):
    """``__consumer_offsets`` as one broker has it: what it wrote itself, and what others had written when the
    controller told it anything last, which it does whenever leaders change.

    ``ends``: partition to how many records were written. ``newest``: to the newest value of each key, so that states do
    not say how it came about. Those without records are left out.
    """

    ends: dict[int, int]
    newest: dict[int, dict[Key, Shared[Value]]]

    @property
    def partitions(self) -> "_ReplicatedTopic":
        return self

    def __getitem__(self, partition: int) -> "_ReplicatedLog":
        return _ReplicatedLog(self, partition)


class _ReplicatedLog(NamedTuple):
    """One partition."""

    topic: _ReplicatedTopic
    partition: int

    @property
    def records(self) -> Mapping[Key, Value]:
        return self.topic.newest.get(self.partition, {})

    def append(self, key: Key, value: Value | None) -> None:
        topic, partition = self
        values = topic.newest[partition] = {other: kept for other, kept in self.records.items() if other != key}
        if value is not None:
            values[key] = value
        topic.ends[partition] = topic.ends.get(partition, 0) + 1

    def history(self) -> Iterable[tuple[Key, Value]]:
        return self.records.items()

    def latest(self) -> dict[Key, Value]:
        return dict(self.records)


def _keep_newest(node: Any) -> None:
    _write_at_once(node)
    core = node.coordinator.core
    logs = {partition: log for partition, log in enumerate(core.storage.partitions) if log.end}
    core.storage = _ReplicatedTopic(
        {partition: log.end for partition, log in logs.items()},
        {partition: log.latest() for partition, log in logs.items()},
    )


class _Remains(NamedTuple):
    """What is left of a broker."""

    topic: object
    shares: ShareStates | None


class _Storage:
    """See `protocols.engine.exploration.rules.Lasting`: the topic is the cluster's. One broker at a time writes to a
    partition, after it has been told what is there; so the longest log is the partition's."""

    def remains(self, node: Broker) -> object:
        return _Remains(node.coordinator.core.storage.copy(), node.shares.states.copy() if node.shares else None)

    def take_over(self, node: Broker, name: str, remains: Mapping[str, _Remains]) -> None:
        own: Any = node.coordinator.core.storage
        for left in remains.values():
            topic: Any = left.topic
            if node.shares is not None and left.shares is not None:
                node.shares.states.catch_up(left.shares)
            for partition, end in topic.ends.items():
                if end > own.ends.get(partition, 0):
                    own.ends[partition], own.newest[partition] = end, topic.newest[partition].copy()


def _forget_connections(node: Broker, timers: dict[TimerName, Time]) -> None:
    """Of a parked request only counts whether its connection is open."""
    core = node.coordinator.core
    for group in core.groups.values():
        for member in group.members.values():
            for name in ("join", "sync"):
                parked = getattr(member, name)
                if parked is not None:
                    is_alive = core.closes.get(parked.sender, 0) == parked.closes
                    setattr(member, name, parked._replace(closes=0 if is_alive else -1))
    core.closes = {}
    if node.shares is not None:
        _forget_counts(node.shares)


def _forget_counts(shares: ShareLeader) -> None:
    """Of share-partitions: how many requests and locks there were, and locks that were given up."""
    for request in shares.requests.values():
        request.closes = 0 if shares.closes.get(request.sender, 0) == request.closes else -1
    shares.closes = {}
    shares.renumber()
    for share in shares.shares.values():
        _renumber_locks(share)


def _renumber_locks(share: SharePartition) -> None:
    pieces = [piece for batch in share.batches for piece in batch.pieces()]
    held = sorted([(piece.entry.lock, piece.entry) for piece in pieces if piece.entry.lock is not None], key=_lock)
    share.locks, share.locks_set = [], len(held)
    for number, (lock, entry) in enumerate(held):
        entry.lock = lock._replace(number=number)
        share.locks.append(entry.lock)


def _lock(held: tuple[Lock, Entry]) -> Lock:
    return held[0]


def _forget_past(node: Consumer | ShareConsumer, timers: dict[TimerName, Time]) -> None:
    """Deadlines of what is over; the timer of the requests, which the client moves only when it fires, stands where it
    is needed."""
    state = node.state
    deadlines = [each.deadline for each in state.requests.in_flight.values()]
    state.requests.check_at = min(deadlines, default=None)
    timers.pop(REQUESTS, None)
    if deadlines:
        timers[REQUESTS] = min(deadlines)
    if state.joining.awaiting != "commit":
        state.joining.prepare_deadline = 0.0


def _housekeeping(timer: TimerName) -> bool:
    return timer == METADATA or _is_expiry_or_wait(timer)


def _is_expiry_or_wait(timer: TimerName) -> bool:
    """A share consumer's fetch whose wait ends without records is followed by the next one."""
    return isinstance(timer, tuple) and timer[0] in ("expiry", WAIT)


_RULES: Final = NodeRules(
    numberings={Consumer: _Requests(), ShareConsumer: _Requests()},
    clients=(Consumer, ShareConsumer),
    seen=lambda node: (type(node).__name__, isinstance(node, Consumer | ShareConsumer) and node.is_over),
    answering=(Broker, Persister),
    constant=(MetadataRequest, FindCoordinator),
    housekeeping=_housekeeping,
    adopt={Broker: _write_nothing},
    forget={Broker: _forget_connections, Consumer: _forget_past, ShareConsumer: _forget_past},
    shares=shares,
)

_RULES_OF_LEADERS: Final = replace(
    _RULES, adopt={Broker: _keep_newest}, lasting={Broker: _Storage()}, housekeeping=_is_expiry_or_wait
)


def rules(*, brokers_end: bool) -> NodeRules:
    """Of a world in which brokers end and others lead in their place, or none does."""
    return _RULES_OF_LEADERS if brokers_end else _RULES
