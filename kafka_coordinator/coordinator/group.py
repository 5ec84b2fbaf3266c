"""A classic group and its members: fields, and the small changes that every procedure is made of (spec 2.1, 2.9, 2.10).

Nothing here sends, sets timers or decides when; procedures are in `rebalance`, `join`, `sync`, `sessions`.

In Kafka `ClassicGroup` and `ClassicGroupMember`; before 4.0 `GroupMetadata` and `MemberMetadata`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.log import CommittedOffset
from kafka_coordinator.messages import CONSUMER_PROTOCOL_TYPE, ConsumerMetadata, Opaque
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Epoch, Transition
from protocols.java import Queue, grown_size, spread, string_entry_order, string_hash
from protocols.load import quickly_made
from protocols.node_state import NodeState, Shared

Protocols: TypeAlias = tuple[tuple[str, Opaque], ...]
"""Name and metadata, in order of preference."""

NO_BYTES = b""
"""An assignment that was never given."""


class Parked(NamedTuple):
    """A request that will be answered later: who sent it, under which number, over which of its connections."""

    sender: str
    correlation: int
    closes: int
    """How many connections with the sender had been closed when it came."""


@dataclass(slots=True, eq=False)
class Member(NodeState):
    """One member; its id is the key under which its group holds it."""

    group: InitVar[str]
    id: str
    instance_id: str | None
    client_id: str
    host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: Shared[Opaque] = NO_BYTES
    join: Parked | None = None
    sync: Parked | None = None
    is_new: bool = False
    """True until its first join has completed."""
    timer: tuple[str, str, str] = field(init=False)
    """Name of its session timer."""

    def __post_init__(self, group: str) -> None:
        self.timer = session_timer(group, self.id)

    def metadata(self, protocol: str | None) -> Opaque:
        """What it said for this protocol; empty bytes if it does not support it."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return NO_BYTES

    def vote(self, candidates: frozenset[str]) -> str:
        """The first of its protocols that is a candidate; one is, where the group's candidates are given."""
        return next(name for name, _ in self.protocols if name in candidates)


def session_timer(group: str, member_id: str) -> tuple[str, str, str]:
    """Name of the timer that removes a member, or a pending id, unless it gives a sign of life."""
    return "session", group, member_id


_transition = quickly_made(Transition)


@dataclass(slots=True, eq=False)
class Group(NodeState):
    """One group. Members are held in the order in which they came; `ordered` is the order of Java's HashMap."""

    id: str
    partition: int
    """Of ``__consumer_offsets``."""
    state: str = states.ABSENT
    previous: str = states.ABSENT
    since: Time = 0.0
    """When the state changed last."""
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    """Instance id to member id."""
    pending_join: dict[str, None] = field(default_factory=dict)
    """Ids handed out with MEMBER_ID_REQUIRED and not used yet."""
    pending_sync: dict[str, None] = field(default_factory=dict)
    """Members of the generation that have not sent SyncGroup. A static member's old id stays in it when the member
    is replaced, as in Kafka."""
    parked_joins: int = 0
    """How many members have a parked JoinGroup."""
    new_member_added: bool = False
    """Whether the initial delay is to be prolonged."""
    delay: tuple[int, int] | None = None
    """While the initial delay runs: how long this part of it is, and what may be added, in milliseconds."""
    subscribed: frozenset[str] | None = None
    """Topics of all members, found out with each generation; None: unknown."""
    supported: dict[str, int] = field(default_factory=dict)
    """Protocol to the number of members that support it."""
    offsets: dict[Partition, CommittedOffset] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    """Client id to the number of members that have it."""
    granted: dict[str, tuple[Queue, ...]] = field(default_factory=dict)
    """Client id to the queues that were granted to it as the observer saw; only names that have some."""
    changed: bool = False
    """Whether a member's grant has ended since the last generation was complete."""
    told_generation: int = 0
    """The generation as the observer saw it last."""
    converted: tuple[str, ...] = ()
    """Members of when it was a group of the consumer protocol, whose timers may run on."""
    _peak: int = 0
    _order: Sequence[str] | None = ()

    def transition(self, event: str, guard: str, now: Time, out: Outbox) -> None:
        """Take the edge of the state machine; `IllegalTransition` where there is none."""
        before = self.state
        after = states.GROUP.next_state(before, event, guard)
        if after != before:
            self.previous = before
            self.state = after
            self.since = now
        out.observe(_transition(("group", self.id, before, event, after)))
        if self.generation != self.told_generation:
            self.told_generation = self.generation
            out.observe(Epoch(self.id, "group", self.id, states.GENERATION, self.generation))

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance can be started: none is collecting members yet."""
        return self.state != states.PREPARING_REBALANCE

    @property
    def all_joined(self) -> bool:
        """Whether every member's JoinGroup is parked and no id that was handed out is missing."""
        return len(self.members) == self.parked_joins and not self.pending_join

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def ordered(self) -> list[Member]:
        """The members in the coordinator's own order: that of a HashMap of their ids which never shrinks."""
        members = self.members
        if self._order is None:
            mask = grown_size(self._peak) - 1
            self._order = sorted(members, key=lambda member_id: spread(string_hash(member_id)) & mask)
        elif len(self._order) != len(members):
            self._order = [member_id for member_id in self._order if member_id in members]
        return [members[member_id] for member_id in self._order]

    def add(self, member: Member, protocol_type: str) -> None:
        """Add a member; the first one leads the group."""
        if not self.members:
            self.protocol_type = protocol_type
        self._put(member)
        self._support(member.protocols, 1)
        if self.leader is None:
            self.leader = member.id
        if member.join is not None:
            self.parked_joins += 1
        self.pending_join.pop(member.id, None)

    def remove(self, member_ids: Iterable[str]) -> None:
        """Members (or pending ids) leave the group; where the leader does, the first one left leads."""
        for member_id in member_ids:
            member = self.members.pop(member_id, None)
            if member is not None:
                self._taken_out(member)
                self._support(member.protocols, -1)
                if member.join is not None:
                    self.parked_joins -= 1
            self.pending_join.pop(member_id, None)
            self.pending_sync.pop(member_id, None)
        if self.leader is not None and self.leader not in self.members:
            self.leader = self.ordered()[0].id if self.members else None

    def replace(self, old: Member, new_id: str) -> Member:
        """A static member returns under a new id and keeps all but the parked requests. Returns it."""
        del self.members[old.id]
        self._taken_out(old)
        new = old.copy()
        new.id = new_id
        new.timer = (*old.timer[:2], new_id)
        new.join = new.sync = None
        new.is_new = False
        self._put(new)
        if self.leader == old.id:
            self.leader = new_id
        return new

    def update(self, member: Member, protocols: Protocols, session_timeout_ms: int, rebalance_timeout_ms: int) -> None:
        """A member has sent its protocols and timeouts anew."""
        if protocols != member.protocols:
            self._support(member.protocols, -1)
            self._support(protocols, 1)
            member.protocols = protocols
        member.session_timeout_ms = session_timeout_ms
        member.rebalance_timeout_ms = rebalance_timeout_ms

    def _put(self, member: Member) -> None:
        string_hash(member.id)  # remembered: the end of a large round, which needs all of them, is one step
        self.members[member.id] = member
        self._peak = max(self._peak, len(self.members))
        self._order = None
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.id
        self.names[member.client_id] = self.names.get(member.client_id, 0) + 1

    def _taken_out(self, member: Member) -> None:
        if member.instance_id is not None:
            del self.static_members[member.instance_id]
        left = self.names[member.client_id] - 1
        if left:
            self.names[member.client_id] = left
        else:
            del self.names[member.client_id]

    def _support(self, protocols: Protocols, by: int) -> None:
        for name, _ in protocols:
            self.supported[name] = self.supported.get(name, 0) + by

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member with these protocols may join or stay: they have one in common with all members."""
        if self.state == states.EMPTY:
            return bool(protocol_type) and bool(protocols)
        count = len(self.members)
        return self.protocol_type == protocol_type and any(
            self.supported.get(name, 0) == count for name, _ in protocols
        )

    def voted_protocol(self) -> str:
        """The protocol with the most votes (spec 2.9); among equals the first in the order of a HashMap of names."""
        count = len(self.members)
        candidates = frozenset(name for name, supporters in self.supported.items() if supporters == count)
        if len(candidates) == 1:
            return next(iter(candidates))
        votes: dict[str, int] = {}
        for member in self.ordered():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        # max() takes the first of equals.
        return max(string_entry_order(list(votes)), key=votes.__getitem__)

    def subscribes(self, topic: str) -> bool:
        """Whether the group subscribes to the topic; where that is unknown, a group of consumers does."""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE if self.subscribed is None else topic in self.subscribed

    def find_subscribed(self) -> frozenset[str] | None:
        """The topics of all members; None where their metadata is not that of consumers."""
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return None
        lists: dict[tuple[str, ...], None] = {}
        for member in self.members.values():
            metadata = member.metadata(self.protocol)
            if not isinstance(metadata, ConsumerMetadata):
                return None
            lists[metadata.topics] = None
        return frozenset(topic for topics in lists for topic in topics)
