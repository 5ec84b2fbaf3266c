"""A share group: its fields, and the small changes of which every procedure is made (spec share 2.1).

In Kafka `ShareGroup`, `ShareGroupMember` and `ShareGroupStatePartitionMetadataInfo`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups.uniform_balance import Counts, count
from kafka_coordinator.coordinator.group import Parked
from kafka_coordinator.coordinator.share_groups import states
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Transition
from protocols.java import sorted_as_java
from protocols.node_state import NodeState
from protocols.state_machine import ALWAYS

Numbers = Mapping[str, frozenset[int]]
"""Topic to numbers of its partitions, perhaps none."""


class ShareMember(NamedTuple):
    """One member: what it has told, and where it stands."""

    id: str
    rack: str | None = None
    client_id: str = ""
    host: str = ""
    topics: tuple[str, ...] = ()
    """Sorted, without repetitions."""
    epoch: int = 0
    previous_epoch: int = -1
    assigned: frozenset[Partition] = frozenset()
    of_topics: frozenset[str] = frozenset()
    """As `Target.topics`."""


def topics_of(member: ShareMember, told: Sequence[str] | None) -> tuple[str, ...]:
    """The topics of a member that tells these in a heartbeat; None: they stay."""
    return member.topics if told is None else tuple(sorted(set(told)))


class Target(NamedTuple):
    """Partitions for a member, in the order in which they are kept, and their topics; among these, since 4.2, those of
    which it has had partitions and has none left."""

    partitions: tuple[Partition, ...] = ()
    topics: frozenset[str] = frozenset()


NO_TARGET: Final = Target()


class Initialized(NamedTuple):
    """For which partitions the persister keeps states, for which it is asked, and topics that it is to forget."""

    initializing: Numbers = MappingProxyType({})
    initialized: Numbers = MappingProxyType({})
    deleting: frozenset[str] = frozenset()
    nameless: frozenset[str] = frozenset()
    """Topics that were gone when the persister answered: to whoever looks by name they are not there."""


NOTHING: Final = Initialized()


def union(one: Numbers, other: Numbers) -> dict[str, frozenset[int]]:
    both = dict(one)
    for topic, numbers in other.items():
        both[topic] = both[topic] | numbers if topic in both else numbers
    return both


def without(numbers: Numbers, gone: Numbers) -> dict[str, frozenset[int]]:
    """A topic of which nothing is left goes, too, if ``gone`` names it."""
    left = dict(numbers)
    for topic in gone:
        if topic in left and not left[topic] - gone[topic]:
            del left[topic]
        elif topic in left:
            left[topic] = left[topic] - gone[topic]
    return left


INITIALIZES: Final = "a heartbeat initializes"
ALTERS: Final = "an administrator alters offsets"
FORGETS: Final = "an administrator deletes offsets"
DELETES: Final = "an administrator deletes the group"


class Asked(NamedTuple):
    """What the persister was asked about a group, and who waits for it."""

    group: str
    purpose: str
    """One of the four above."""
    numbers: Numbers
    parked: Parked | None = None
    errors: tuple[tuple[Any, str], ...] = ()
    """Of partitions, or of topics, that are known already."""


@dataclass(slots=True, eq=False)
class ShareGroup(NodeState):
    """One group. Members are held in the order in which they came."""

    id: str
    partition: int
    """Of ``__consumer_offsets``."""
    state: str = states.ABSENT
    epoch: int = 0
    target_epoch: int = 0
    """The group epoch for which the target assignment was computed."""
    assigned_at: Time | None = None
    """When it was computed; None: unknown, and the next one need not wait."""
    metadata_hash: str = ""
    stale: bool = True
    """Whether a subscribed topic has changed since the hash was computed."""
    members: dict[str, ShareMember] = field(default_factory=dict)
    most_members: int = 0
    """The most members that there have been at once: the orders of Kafka's maps depend on it."""
    target: dict[str, Target] = field(default_factory=dict)
    by_name: Counts[str] = field(default_factory=dict)
    """Topic to how many members subscribe to it."""
    kept: Initialized | None = None
    """None: nothing was ever initialized."""
    kept_at: Time = 0
    """When that was written last; all attempts to initialize are taken to be as old."""
    told_epochs: tuple[int, int] = (0, 0)
    """As the observer saw them last."""

    def settle(self, event: str, out: Outbox) -> None:
        self._take(event, states.GUARDS[states.STABLE if self.members else states.EMPTY], out)

    def end(self, event: str, out: Outbox) -> None:
        self._take(event, ALWAYS, out)

    def _take(self, event: str, guard: str, out: Outbox) -> None:
        before = self.state
        self.state = states.GROUP.next_state(before, event, guard)
        out.observe(Transition(states.GROUP.name, self.id, before, event, self.state))

    def put(self, member: ShareMember) -> None:
        """Take a member in, or what is new of it."""
        before = self.members.get(member.id)
        self.members[member.id] = member
        self.most_members = max(self.most_members, len(self.members))
        if before is None or before.topics != member.topics:
            self._count(before, -1)
            self._count(member, 1)

    def remove(self, member_id: str) -> None:
        self._count(self.members.pop(member_id), -1)
        self.target.pop(member_id, None)

    def _count(self, member: ShareMember | None, by: int) -> None:
        for topic in member.topics if member else ():
            count(self.by_name, topic, by)

    def subscribed(self) -> tuple[str, ...]:
        """All topics to which a member subscribes, in Java's order."""
        return tuple(sorted_as_java(self.by_name))

    def subscribes(self, topic: str) -> bool:
        return topic in self.by_name

    def homogeneous(self) -> bool:
        """Whether every subscribed topic is subscribed to by all members."""
        return all(each == len(self.members) for each in self.by_name.values())
