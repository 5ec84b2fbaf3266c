"""The group model that Kafka and RocketMQ share: members, their subscriptions, the topics' queues."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self, TypeAlias

from protocols.errors import GroupError
from protocols.queues import Queue

QueueCount: TypeAlias = int | Mapping[str, int]
"""Number of queues of a topic, or of each of its brokers."""

MemberFields: TypeAlias = Mapping[str, Any]
"""Fields of a member by name, as `Group.of` takes them."""

ReplicaRacks: TypeAlias = Sequence[Sequence[str]]
"""For queue 0, 1, ... of a topic the racks of its replicas."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group.

    ``subscription`` holds the topics in the order in which the member lists them; where it subscribes by
    ``pattern`` (a regular expression that matches a topic's whole name) the topics it matched.
    ``instance_id`` makes it static (Kafka); ``rack`` is Kafka's rack or RocketMQ's room;
    ``client_id`` is what RocketMQ's broker lists it under (its ``id`` where none is given);
    members with equal ``process`` live in one client instance.
    """

    id: str
    subscription: tuple[str, ...] = ()
    pattern: str | None = None
    instance_id: str | None = None
    rack: str | None = None
    client_id: str | None = None
    process: str | None = None

    @property
    def allocation_id(self) -> str:
        """The id under which RocketMQ allocates for this member."""
        return self.id if self.client_id is None else self.client_id


_MEMBER_FIELDS = ("subscribe", "pattern", "instance_id", "rack", "client_id", "process")


@dataclass(frozen=True, slots=True)
class Group:
    """Members and the queues of their topics, immutable.

    ``topics`` maps each topic to its queues in the order written; Kafka's partition k is the k-th of them.
    ``replica_racks`` (optional, Kafka) maps a topic to the racks of each partition's replicas.
    Raises `GroupError` for two members with one id, or racks that do not fit the topics.
    """

    members: tuple[Member, ...]
    topics: Mapping[str, tuple[Queue, ...]]
    replica_racks: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    name: str = ""
    queues: tuple[Queue, ...] = field(init=False, repr=False, compare=False)
    """All queues, topic by topic in the order written: queue number i is ``queues[i]``."""
    spans: Mapping[str, range] = field(init=False, repr=False, compare=False)
    """Topic to the numbers of its queues."""
    _by_id: Mapping[str, Member] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_id = {member.id: member for member in self.members}
        if len(by_id) != len(self.members):
            ids = [member.id for member in self.members]
            twice = next(each for each in ids if ids.count(each) > 1)
            raise GroupError(f"member {twice!r} is listed twice, expected unique member ids in a group")
        for topic, racks in self.replica_racks.items():
            if len(racks) != len(self.topics.get(topic, ())):
                raise GroupError(
                    f"replica racks of topic {topic!r}: {len(racks)} partitions given,"
                    f" the topic has {len(self.topics.get(topic, ()))}"
                )
        spans: dict[str, range] = {}
        queues: list[Queue] = []
        for topic, of_topic in self.topics.items():
            start = len(queues)
            queues += of_topic
            spans[topic] = range(start, len(queues))
        if len(set(queues)) != len(queues):
            raise GroupError("a queue is listed twice, expected topic, broker and number to name one queue")
        set_field = object.__setattr__
        set_field(self, "topics", MappingProxyType(dict(self.topics)))
        set_field(self, "replica_racks", MappingProxyType(dict(self.replica_racks)))
        set_field(self, "queues", tuple(queues))
        set_field(self, "spans", MappingProxyType(spans))
        set_field(self, "_by_id", MappingProxyType(by_id))

    def __reduce__(self) -> tuple[object, ...]:
        # Mapping proxies cannot be pickled.
        return Group, (self.members, dict(self.topics), dict(self.replica_racks), self.name)

    def __hash__(self) -> int:
        return hash((self.members, tuple(self.topics.items()), self.name))

    @classmethod
    def of(
        cls,
        topics: Mapping[str, QueueCount],
        members: Mapping[str, Iterable[str] | MemberFields],
        *,
        replica_racks: Mapping[str, ReplicaRacks] | None = None,
        name: str = "",
    ) -> Self:
        """A group from plain Python values.

        ``topics``: topic to its number of queues, or to a number per broker. ``members``: id to the topics it
        subscribes to, or to a mapping with ``subscribe`` or ``pattern`` and, optionally, ``instance_id``,
        ``rack``, ``client_id``, ``process``. Topics that are subscribed to but not in ``topics`` do not exist.
        Raises `GroupError` that names the topic or member at fault.
        """
        queues = {topic: _queues_of(topic, count) for topic, count in topics.items()}
        return cls(
            members=tuple(_member_of(id, given, queues) for id, given in members.items()),
            topics=queues,
            replica_racks={
                topic: tuple(tuple(racks) for racks in partitions)
                for topic, partitions in (replica_racks or {}).items()
            },
            name=name,
        )

    def member(self, id: str) -> Member:
        """The member with this id; `GroupError` if there is none."""
        try:
            return self._by_id[id]
        except KeyError:
            raise GroupError(f"group {self.name!r} has no member {id!r}") from None

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    def without(self, *ids: str) -> Self:
        """The group after these members left."""
        for id in ids:
            self.member(id)
        return replace(self, members=tuple(each for each in self.members if each.id not in ids))

    def joined_by(self, id: str, member: Iterable[str] | MemberFields) -> Self:
        """The group after a member joined; the arguments are as in `Group.of`."""
        return replace(self, members=(*self.members, _member_of(id, member, self.topics)))

    def with_queues(self, topics: Mapping[str, QueueCount]) -> Self:
        """The group with these topics' queues added or changed; replica racks of changed topics are dropped."""
        queues = {topic: _queues_of(topic, count) for topic, count in topics.items()}
        changed = {**self.topics, **queues}
        return replace(
            self,
            members=tuple(
                each if each.pattern is None else replace(each, subscription=_matching(each.id, each.pattern, changed))
                for each in self.members
            ),
            topics=changed,
            replica_racks={t: racks for t, racks in self.replica_racks.items() if t not in queues},
        )

    def subscribers(self) -> dict[str, list[int]]:
        """Topic (each one that exists) to the positions in `members` of those who subscribe to it."""
        found: dict[str, list[int]] = {topic: [] for topic in self.topics}
        for position, member in enumerate(self.members):
            for topic in dict.fromkeys(member.subscription):
                if topic in found:
                    found[topic].append(position)
        return found


def _queues_of(topic: str, count: QueueCount) -> tuple[Queue, ...]:
    per_broker = {"": count} if isinstance(count, int) else count
    for broker, number in per_broker.items():
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            where = f" on broker {broker!r}" if broker else ""
            raise GroupError(f"topic {topic!r}{where}: number of queues is {number!r}, expected 0 or more")
    return tuple(Queue(topic, broker, n) for broker, number in per_broker.items() for n in range(number))


def _member_of(id: str, given: Iterable[str] | MemberFields, topics: Iterable[str]) -> Member:
    fields: MemberFields = given if isinstance(given, Mapping) else {"subscribe": given}
    unknown = [name for name in fields if name not in _MEMBER_FIELDS]
    if unknown:
        raise GroupError(f"member {id!r}: unknown field {unknown[0]!r}, expected {', '.join(_MEMBER_FIELDS)}")
    pattern = fields.get("pattern")
    subscribe = fields.get("subscribe", ())
    if isinstance(subscribe, str):
        raise GroupError(f"member {id!r}: subscribe is the text {subscribe!r}, expected a list of topics")
    if pattern is not None:
        if subscribe:
            raise GroupError(f"member {id!r}: give either subscribe or pattern, not both")
        subscribe = _matching(id, pattern, topics)
    return Member(id, tuple(subscribe), pattern, *(fields.get(name) for name in _MEMBER_FIELDS[2:]))


def _matching(id: str, pattern: str, topics: Iterable[str]) -> tuple[str, ...]:
    try:
        matches = re.compile(pattern).fullmatch
    except re.error as error:
        raise GroupError(f"member {id!r}: pattern {pattern!r} is no regular expression: {error}") from None
    return tuple(topic for topic in topics if matches(topic))
