"""What a Kafka assignor is given and what it answers, in numbers.

Partitions are numbers 0..N-1 over all topics: topic by topic in the order of `GroupMetadata.topics`, within a
topic ascending. Names and `Queue` records appear only at the edges (`kafka_coordinator.assign`, the players).

Racks: which members sit beside which replicas, and whether an assignor looks at racks at all (spec 5.3, 5.5).

An empty rack is none. A member without a rack fits every partition.

Who subscribes to what, and the order in which static members go first (spec 5.2 "S-order").

Partitions as queues of the shared model.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from protocols.java import Queue, utf16_key

Partition: TypeAlias = tuple[str, int]
"""Topic and number within the topic."""

NO_GENERATION = -1
"""In place of a generation: of no generation, as Kafka writes it."""


class Subscription(NamedTuple):
    """One member as the assignor sees it.

    ``claims`` are the partitions it says it owned, in the order in which it lists them (client sticky kinds),
    or its target assignment before (server kinds), in iteration order. ``claim_generation`` is the generation
    of these claims, ``generation_field`` the one in the subscription itself; None where not sent.
    """

    member_id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    rack: str | None = None
    claims: tuple[Partition, ...] = ()
    claim_generation: int | None = None
    generation_field: int | None = None


@dataclass(frozen=True, slots=True)
class HeldNumbers:
    """The members' claims as numbers of partitions that there are, each claimed once: ``numbers[i]`` are those of
    ``members[i]``, in any order, ``claimed`` all of them. ``iterated`` puts those of a member in iteration order, which
    few have to be asked."""

    numbers: Sequence[Sequence[int]]
    claimed: Collection[int]
    iterated: Callable[[Sequence[int]], list[int]]


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """The assignor's input.

    ``topics``: every topic known to the cluster to its number of partitions (0 is possible).
    ``members``: in the iteration order of the real code's members map (spec 5.2 "M-order").
    ``replica_racks``: topic to the racks of each partition's replicas. ``topic_ids`` (server kinds): topic to
    its 128-bit id as an unsigned integer. ``topic_order`` (server kinds): the order in which a homogeneous
    group's topics are iterated, where a recording gives it; else it follows from the ids. ``held`` (`uniform` for equal
    subscriptions to all topics): the claims, in place of those of the members. ``rates`` (`load_aware`): records per
    second, by names as `protocols.load_aware.rate_in` reads them.
    """

    topics: Mapping[str, int]
    members: tuple[Subscription, ...]
    replica_racks: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    topic_ids: Mapping[str, int] = field(default_factory=dict)
    topic_order: tuple[str, ...] | None = None
    held: HeldNumbers | None = None
    rates: Mapping[str, float] = field(default_factory=dict)

    def first_numbers(self) -> dict[str, int]:
        """Topic to the number of its partition 0."""
        first, total = {}, 0
        for topic, count in self.topics.items():
            first[topic] = total
            total += count
        return first


@dataclass(slots=True)
class Assignment:
    """The assignor's answer: ``owned[i]`` are the partition numbers of ``members[i]``.

    ``withheld`` (cooperative only): partition number to the position of the member who gets it next round.
    ``strays`` (client sticky kinds): partitions that do not exist, which members claim and may be given all the same;
    their numbers go on from the last partition of the group.
    """

    owned: list[list[int]]
    withheld: dict[int, int] = field(default_factory=dict)
    strays: tuple[Partition, ...] = ()


class AssignorError(Exception):
    """The real assignor throws here; ``error`` is the simple name of its exception."""

    def __init__(self, error: str, message: str = "") -> None:
        super().__init__(message or error)
        self.error = error


def rack_aware(member_racks: Iterable[str | None], replica_racks: Sequence[Sequence[str]]) -> bool:
    """Whether racks decide anything between these members and partitions.

    They do if a member's rack is the rack of some replica, and not every partition has replicas on every rack.
    """
    on_members = {rack for rack in member_racks if rack}
    on_replicas = {rack for racks in replica_racks for rack in racks}
    if on_members.isdisjoint(on_replicas):
        return False
    return any(on_replicas.difference(racks) for racks in replica_racks)


def fits(rack: str | None, replica_racks: Sequence[str]) -> bool:
    """Whether a member on this rack is beside a replica of the partition."""
    return not rack or rack in replica_racks


def static_order(members: Sequence[Subscription]) -> list[int]:
    """Positions of the members: those with an instance id first, by it; then the others by member id."""

    def key(position: int) -> tuple[bool, bytes]:
        member = members[position]
        dynamic = not member.instance_id
        return dynamic, utf16_key(member.member_id if dynamic else member.instance_id or "")

    return sorted(range(len(members)), key=key)


def subscribers(group: GroupMetadata, order: Sequence[int]) -> dict[str, list[int]]:
    """Each topic of the cluster to those who subscribe to it, as ranks: indexes into ``order``, ascending."""
    topics = group.topics
    if not order:
        return {topic: [] for topic in topics}
    subscription = group.members[0].topics
    if all(member.topics == subscription for member in group.members):
        everyone, nobody = list(range(len(order))), list[int]()
        wanted = set(subscription)
        return {topic: everyone if topic in wanted else nobody for topic in topics}
    found: dict[str, list[int]] = {topic: [] for topic in topics}
    for rank, position in enumerate(order):
        for topic in group.members[position].topics:
            if topic in found:
                found[topic].append(rank)
    return found


def kinds(subscriptions: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The different ones of these; equal ones are mostly one object, which is hashed once."""
    return list(dict.fromkeys({id(each): each for each in subscriptions}.values()))


def require_known_topics(group: GroupMetadata) -> None:
    """Raise as the server-side assignors do where a member subscribes to a topic that does not exist."""
    for subscription in kinds(member.topics for member in group.members):
        for topic in subscription:
            if topic not in group.topics:
                raise AssignorError(
                    "PartitionAssignorException", f"members subscribe to topic {topic!r}, which does not exist"
                )


@lru_cache(maxsize=1 << 16)
def queue_of(partition: Partition) -> Queue:
    """The queue that stands for a partition in facts; it has no broker here. One object for all who name it."""
    topic, number = partition
    return Queue(topic, "", number)
