"""The uniform assignor for members who all subscribe to the same topics (spec 5.10 "Homogeneous").

In Kafka `UniformHomogeneousAssignmentBuilder`.

The group coordinator's uniform assignor of the consumer protocol (spec 5.10): sticky, even, blind to racks.

In Kafka `UniformAssignor`.

The server-side assignors by the names under which members ask for them; own ones can be added.

In Kafka the classes that the setting ``group.consumer.assignors`` names (`ConsumerGroupPartitionAssignor`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, groupby
from operator import itemgetter
from typing import TypeAlias

from kafka_coordinator.assignors import inputs
from kafka_coordinator.assignors.range import server_range
from kafka_coordinator.assignors.uniform_heterogeneous import uniform_heterogeneous
from protocols.java import entry_order, size_for_set_of, string_entry_order


def id_hash(topic_id: int) -> int:
    """Java's hash code of a 128-bit topic id, unsigned."""
    folded = topic_id >> 64 ^ topic_id & (1 << 64) - 1
    return folded >> 32 ^ folded & 0xFFFFFFFF


class IdHashes(dict[str, int]):
    """Topic to the hash code of its id, computed when it is asked for first; 0 of a topic that ``id_of`` has not."""

    def __init__(self, id_of: Callable[[str], int | None]) -> None:
        super().__init__()
        self._id_of = id_of

    def __missing__(self, topic: str) -> int:
        known = self._id_of(topic)
        found = self[topic] = 0 if known is None else id_hash(known)
        return found


def topic_order(group: inputs.GroupMetadata, topics: Sequence[str]) -> list[str]:
    """The order in which the assignor walks these topics: a Java set of their ids, built from a collection."""
    by_id = {group.topic_ids[topic]: topic for topic in topics}
    return [by_id[each] for each in entry_order(list(by_id), id_hash, size_for_set_of(len(by_id)))]


def uniform_homogeneous(group: inputs.GroupMetadata) -> inputs.Assignment:
    """Even out in one pass: members keep up to their share, the rest goes to those below theirs.

    Every member's share is partitions // members; the surplus seats go to members that hold an additional
    partition already, else to the last members in order. Raises `AssignorError` where a claim names a partition
    that a subscribed topic does not have.
    """
    members = group.members
    owned: list[list[int]] = [[] for _ in members]
    if not members or not members[0].topics:
        return inputs.Assignment(owned)
    first = group.first_numbers()
    subscribed = {topic: first[topic] for topic in members[0].topics}
    order = group.topic_order
    if order is None:
        # The coordinator makes the set of ids of a HashSet of names.
        names = string_entry_order(members[0].topics, size_for_set_of(len(members[0].topics)))
        order = tuple(topic_order(group, names))
    held = group.held
    if held is None:
        claims = [_numbers(member.claims, subscribed, group) if member.claims else [] for member in members]
        held = inputs.HeldNumbers(claims, set[int]().union(*claims), list)
    claimed = held.claimed
    unassigned: list[int] = []
    for topic in order:
        unassigned += range(first[topic], first[topic] + group.topics[topic])
    if claimed:
        unassigned = [number for number in unassigned if number not in claimed]
    total = sum(group.topics[topic] for topic in subscribed)
    share, surplus = divmod(total, len(members))
    unfilled: list[tuple[int, int]] = []
    for position, numbers in enumerate(held.numbers):
        extra = surplus > 0
        room = share + extra
        if len(numbers) > room:
            in_order = held.iterated(numbers)
            owned[position] += in_order[:room]
            unassigned += in_order[room:]
            room = 0
        else:
            owned[position] += numbers
            room -= len(numbers)
        if room and extra and len(members) - position > surplus:
            room -= 1
            extra = False
        if room:
            unfilled.append((position, room))
        surplus -= extra
    given = 0
    for position, room in unfilled:
        owned[position] += unassigned[given : given + room]
        given += room
    if given < len(unassigned):
        raise inputs.AssignorError("PartitionAssignorException", "partitions were left unassigned")
    return inputs.Assignment(owned)


def _numbers(claims: Sequence[inputs.Partition], subscribed: dict[str, int], group: inputs.GroupMetadata) -> list[int]:
    """The claims as partition numbers, topic by topic in the order given, without topics not subscribed to."""
    found: dict[str, list[int]] = {}
    for topic, run in groupby(claims, _TOPIC):
        first = subscribed.get(topic)
        if first is not None:
            numbers = [first + partition for _, partition in run]
            if max(numbers) >= first + group.topics[topic]:
                raise inputs.AssignorError(
                    "PartitionAssignorException", f"{topic}-{max(numbers) - first} was left unassigned"
                )
            found.setdefault(topic, []).extend(numbers)
    return list(chain.from_iterable(found.values()))


_TOPIC = itemgetter(0)


def homogeneous(group: inputs.GroupMetadata) -> bool:
    """Whether all members subscribe to the same topics (spec 6.8, for groups that subscribe by name)."""
    subscriptions = inputs.kinds(member.topics for member in group.members)
    return all(set(subscription) == set(subscriptions[0]) for subscription in subscriptions)


def uniform(group: inputs.GroupMetadata, same_subscriptions: bool | None = None) -> inputs.Assignment:
    """Spread all partitions evenly over the members, and leave them where they were as far as that allows.

    ``same_subscriptions`` is the coordinator's view of the group, which follows from the topics unless members
    subscribe by pattern (spec 6.8). Raises `AssignorError` if a member subscribes to a topic that does not exist.
    """
    inputs.require_known_topics(group)
    if homogeneous(group) if same_subscriptions is None else same_subscriptions:
        return uniform_homogeneous(group)
    return uniform_heterogeneous(group)


ServerAssignor: TypeAlias = Callable[[inputs.GroupMetadata, bool], inputs.Assignment]
"""The group, and whether all its members subscribe alike, to the target assignment. The members' claims are their
targets before. `kafka_coordinator.assignors.inputs.AssignorError` where it cannot."""


def _range(group: inputs.GroupMetadata, same_subscriptions: bool) -> inputs.Assignment:
    """`server_range`; members that are taken to subscribe alike all share the topics of the first in S-order."""
    if same_subscriptions and group.members:
        first = group.members[inputs.static_order(group.members)[0]].topics
        if any(member.topics != first for member in group.members):
            group = replace(group, members=tuple([member._replace(topics=first) for member in group.members]))
    return server_range(group)


SERVER_ASSIGNORS: dict[str, ServerAssignor] = {"uniform": uniform, "range": _range}
"""Name to assignor, in the order in which an unchanged broker has them."""


def register_server_assignor(name: str, assignor: ServerAssignor) -> None:
    """Let brokers use an assignor of one's own, which ``group.consumer.assignors`` names; `ValueError` for a name that
    is taken or has a comma."""
    if name in SERVER_ASSIGNORS or "," in name or name != name.strip() or not name:
        raise ValueError(f"server-side assignor {name!r}: expected a name without commas that is not taken")
    SERVER_ASSIGNORS[name] = assignor
