"""The group model that Kafka and RocketMQ share: members, their subscriptions, the topics' queues, and who owns which.

Strategies, figures, the optimum and all readers speak of nothing else, so that a figure means the same for a
simulated group, for one that an admin tool printed, and for one that a test wrote down. The model is deliberately
poor: it has no coordinator, no generation and no time. What a group *believes* may contradict itself (two owners of
a queue, none): an `Allocation` can hold that, because in RocketMQ it happens, and the figures count it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Self, TypeAlias

from protocols.errors import GroupError
from protocols.java import Queue, sort_queues

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
        # Equal subscriptions are one tuple, so that they are told to be equal without being looked into.
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        return cls(
            members=tuple(_member_of(id, given, queues, shared) for id, given in members.items()),
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
        for id in ids:
            self.member(id)
        return replace(self, members=tuple(member for member in self.members if member.id not in ids))

    def joined_by(self, id: str, member: Iterable[str] | MemberFields) -> Self:
        """The group after a member joined; the arguments are as in `Group.of`."""
        return replace(self, members=(*self.members, _member_of(id, member, self.topics, {})))

    def with_queues(self, topics: Mapping[str, QueueCount]) -> Self:
        """The group with these topics' queues added or changed; replica racks of changed topics are dropped."""
        queues = {topic: _queues_of(topic, count) for topic, count in topics.items()}
        changed = {**self.topics, **queues}
        return replace(
            self,
            members=tuple(
                member
                if member.pattern is None
                else replace(member, subscription=_matching(member.id, member.pattern, changed))
                for member in self.members
            ),
            topics=changed,
            replica_racks={t: racks for t, racks in self.replica_racks.items() if t not in queues},
        )

    def subscribers(self) -> dict[str, list[int]]:
        """Topic (each one that exists) to the positions in `members` of those who subscribe to it."""
        subscribers: dict[str, list[int]] = {topic: [] for topic in self.topics}
        for position, member in enumerate(self.members):
            for topic in dict.fromkeys(member.subscription):
                if topic in subscribers:
                    subscribers[topic].append(position)
        return subscribers


def _queues_of(topic: str, count: QueueCount) -> tuple[Queue, ...]:
    per_broker = {"": count} if isinstance(count, int) else count
    for broker, number in per_broker.items():
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            where = f" on broker {broker!r}" if broker else ""
            raise GroupError(f"topic {topic!r}{where}: number of queues is {number!r}, expected 0 or more")
    if isinstance(count, int):
        return plain_queues(topic, count)
    return tuple(Queue(topic, broker, n) for broker, number in per_broker.items() for n in range(number))


@lru_cache(maxsize=1 << 12)
def plain_queues(topic: str, count: int) -> tuple[Queue, ...]:
    """The queues 0, 1, ... of a topic without brokers, the same objects for all groups: equal ones compare fast."""
    return tuple([Queue(topic, "", number) for number in range(count)])


def _member_of(
    id: str,
    given: Iterable[str] | MemberFields,
    topics: Iterable[str],
    shared: dict[tuple[str, ...], tuple[str, ...]],
) -> Member:
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
    subscription = tuple(subscribe)
    return Member(
        id, shared.setdefault(subscription, subscription), pattern, *(fields.get(name) for name in _MEMBER_FIELDS[2:])
    )


def _matching(id: str, pattern: str, topics: Iterable[str]) -> tuple[str, ...]:
    try:
        matches = re.compile(pattern).fullmatch
    except re.error as error:
        raise GroupError(f"member {id!r}: pattern {pattern!r} is no regular expression: {error}") from None
    return tuple(topic for topic in topics if matches(topic))


class Allocation(Mapping[str, tuple[Queue, ...]]):
    """Members (every one of the group, idle ones too) to their queues, each a sorted tuple. Immutable.

    Queues with several owners or none can be represented, because RocketMQ has them, and Kafka's sticky assignors
    make them: see `double_owned`, `unowned`, and `check`. ``withheld`` maps queues that a cooperative assignor holds
    back in this round to the member who gets them in the next. ``gone``: queues that the group's topics no longer
    have, which may be owned all the same, because these assignors hand such queues out: see `vanished`. Raises
    `GroupError` for a member that the group lacks, and for any other queue that it lacks.
    """

    def __init__(
        self,
        group: Group,
        owned: Mapping[str, Iterable[Queue]],
        withheld: Mapping[Queue, str] | None = None,
        gone: Iterable[Queue] = (),
    ) -> None:
        self.group = group
        self.withheld: Mapping[Queue, str] = dict(withheld or {})
        for id in owned:
            group.member(id)
        self._owned = {member.id: sort_queues(owned.get(member.id, ())) for member in group.members}
        lacking = self._owned_queues.difference(group.queues)
        unknown = lacking.difference(gone)
        if unknown:
            raise GroupError(f"{sort_queues(unknown)[0]} is no queue of the group's topics")
        self.vanished = sort_queues(lacking)

    vanished: tuple[Queue, ...]
    """Queues that somebody owns and the group's topics do not have, sorted. They count in no figure."""

    @classmethod
    def trusted(
        cls,
        group: Group,
        owned: Mapping[str, tuple[Queue, ...]],
        withheld: Mapping[Queue, str] | None = None,
        gone: Iterable[Queue] = (),
    ) -> Self:
        """Made without any check, for strategies whose answer is right by construction.

        ``owned`` holds every member, in the group's order, with a sorted tuple of the group's own queues, and of those
        that are ``gone``.
        """
        made = cls.__new__(cls)
        made.group, made._owned, made.withheld = group, dict(owned), dict(withheld or {})
        gone = list(gone)
        made.vanished = sort_queues(made._owned_queues.intersection(gone)) if gone else ()
        return made

    def __getitem__(self, member: str) -> tuple[Queue, ...]:
        return self._owned[member]

    def __iter__(self) -> Iterator[str]:
        return iter(self._owned)

    def __len__(self) -> int:
        return len(self._owned)

    def __repr__(self) -> str:
        return f"Allocation({self._owned!r})"

    def __eq__(self, other: object) -> bool:
        return self._owned == other._owned if isinstance(other, Allocation) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def _owned_queues(self) -> set[Queue]:
        return set().union(*self._owned.values())

    @cached_property
    def owners(self) -> Mapping[Queue, tuple[str, ...]]:
        """Each queue of the group to the members who own it, in the group's order."""
        owners: dict[Queue, tuple[str, ...]] = dict.fromkeys(self.group.queues, ())
        for member, queues in self._owned.items():
            for queue in queues:
                if queue in owners:
                    owners[queue] += (member,)
        return owners

    @cached_property
    def unowned(self) -> tuple[Queue, ...]:
        """Queues of subscribed topics that nobody owns, sorted."""
        subscribed = {topic for member in self.group.members for topic in member.subscription}
        return sort_queues(
            queue for queue in self.group.queues if queue.topic in subscribed and queue not in self._owned_queues
        )

    @cached_property
    def double_owned(self) -> tuple[Queue, ...]:
        """Queues with more than one owner, sorted."""
        if sum(map(len, self._owned.values())) == len(self._owned_queues):
            return ()
        return sort_queues(queue for queue, owners in self.owners.items() if len(owners) > 1)

    @cached_property
    def unsubscribed(self) -> tuple[tuple[str, Queue], ...]:
        """(member, queue) where the member does not subscribe to the queue's topic."""
        return tuple(
            (member.id, queue)
            for member in self.group.members
            for queue in self._owned[member.id]
            if queue.topic not in member.subscription
        )

    def check(self) -> None:
        """Raise `GroupError` unless every queue of a subscribed topic has exactly one owner, who subscribes, and no
        other queue has any."""
        if self.vanished:
            raise GroupError(f"{self.vanished[0]} is owned, and its topic does not have it any more")
        if self.double_owned:
            queue = self.double_owned[0]
            raise GroupError(f"{queue} has {len(self.owners[queue])} owners: {', '.join(self.owners[queue])}")
        if self.unowned:
            raise GroupError(f"{self.unowned[0]} has no owner")
        if self.unsubscribed:
            member, queue = self.unsubscribed[0]
            raise GroupError(f"{member!r} owns {queue} without subscribing to its topic")
