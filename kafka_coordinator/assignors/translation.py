"""Between the shared group model and the assignors' numbers.

Topics are numbered in the systems' order, so that ascending numbers are sorted queues. Members go in the order in
which Java's HashMap lists their ids, put in as the group lists them: what a coordinator, and the leader, sees.

An assignor as `kafka_coordinator.assign` and the group's leader call it: an `Assignor` record, made of a function
from `GroupMetadata` to `Assignment`.

`of_leader` and `of_leader_with_claims` wrap those of the classic protocol, which run on the group's leader;
`of_coordinator` and `of_coordinator_with_targets` those of the consumer protocol (KIP-848), which run in the broker.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from operator import itemgetter
from typing import Literal, TypeAlias

from kafka_coordinator.assignors.inputs import Assignment, GroupMetadata, HeldNumbers, Partition, Subscription, kinds
from kafka_coordinator.assignors.uniform import id_hash
from protocols import java
from protocols.errors import StrategyError
from protocols.groups import Allocation, Group, Member, plain_queues

Owned = Mapping[str, Iterable[java.Queue]]
"""Member id to queues, as an `Allocation` has them."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A group's queues by number, its members in the assignors' order.

    ``ascending``: ascending numbers are sorted queues. ``plain``: partition k of every topic is number k of no
    broker, as in Kafka itself.
    """

    group: Group
    topics: dict[str, int]
    queues: list[java.Queue]
    members: list[Member]
    ascending: bool
    plain: bool

    @classmethod
    def of(cls, group: Group) -> "Numbers":
        topics: dict[str, int] = {}
        queues: list[java.Queue] = []
        ascending = plain = True
        for topic in java.sorted_as_java(group.topics):
            of_topic = group.topics[topic]
            topics[topic] = len(of_topic)
            queues += of_topic
            known = plain_queues(topic, len(of_topic))
            if of_topic is not known and of_topic != known:
                plain = False
                ascending = ascending and of_topic == java.sort_queues(of_topic)
        by_id = {member.id: member for member in group.members}
        members = [by_id[id] for id in java.string_entry_order(list(by_id))]
        return cls(group, topics, queues, members, ascending, plain)

    def for_client(
        self, previous: Owned | None = None, generation: int = 1, rates: Mapping[str, float] | None = None
    ) -> GroupMetadata:
        """What the leader's assignor is given: members of ``previous`` claim what they had, in this generation.

        That a queue does not exist any more is left for the assignor to find out, which may not mind. Where queues
        have brokers, one that is gone is no partition that could be named: it is left out.
        """
        topics_of = _Subscriptions(None)
        partitions = None if self.plain or not previous else self._partitions()
        members = [_member(member, topics_of) for member in self.members]
        for position, member in enumerate(self.members if previous else ()):
            if previous and member.id in previous:
                if partitions is None:
                    claims = tuple([(topic, number) for topic, broker, number in previous[member.id] if not broker])
                else:
                    claims = tuple([partitions[queue] for queue in previous[member.id] if queue in partitions])
                members[position] = members[position]._replace(
                    claims=claims, claim_generation=generation, generation_field=generation
                )
        return GroupMetadata(self.topics, tuple(members), self.group.replica_racks, rates=rates or {})

    def for_server(
        self, previous: Owned | None = None, topic_ids: Mapping[str, object] | None = None, *, alike: bool = False
    ) -> GroupMetadata:
        """What the coordinator's own assignor is given: ``previous`` is the target assignment before.

        Topics and partitions that no longer exist are left out, as the coordinator leaves them out; of a queue's
        several owners the first counts. ``topic_ids``: see `topic_id`. ``alike``: all members have equal subscriptions.
        """
        if topic_ids is not None and not isinstance(topic_ids, Mapping):
            raise StrategyError(f"setting topic_ids is {topic_ids!r}, expected topics with their ids")
        for topic in topic_ids or ():
            if topic not in self.topics:
                raise StrategyError(f"topic_ids: the group has no topic {topic!r}")
        ids = {topic: topic_id(topic, (topic_ids or {}).get(topic)) for topic in self.topics}
        if len(set(ids.values())) != len(ids):
            raise StrategyError("topic_ids: two topics have one id, expected a different one for each")
        topics_of = _Subscriptions(self.topics)
        held = self._held(previous, ids) if alike and previous and self.plain else None
        if held is not None and len(topics_of[self.members[0].subscription]) == len(self.topics):
            return GroupMetadata(
                self.topics,
                tuple([_member(member, topics_of) for member in self.members]),
                self.group.replica_racks,
                ids,
                held=held,
            )
        claims = self._claims(previous or {})
        members = tuple([_member(member, topics_of, _iterated(claims[member.id], ids)) for member in self.members])
        return GroupMetadata(self.topics, members, self.group.replica_racks, ids)

    def allocation(self, answer: Assignment) -> Allocation:
        """The assignor's answer with the group's own queues and members, and those that are gone and given all the
        same. What is given to a member twice counts once."""
        queues, ascending, assigned = self.queues, self.ascending, answer.owned
        gone = [java.Queue(topic, "", number) for topic, number in answer.strays]
        if gone:
            queues, ascending, assigned = [*queues, *gone], False, [list(set(numbers)) for numbers in assigned]
        owned: dict[str, tuple[java.Queue, ...]] = {member.id: () for member in self.group.members}
        for member, numbers in zip(self.members, assigned, strict=True):
            if numbers:
                in_order = _picked(queues, sorted(numbers))
                owned[member.id] = in_order if ascending else java.sort_queues(in_order)
        withheld = {queues[number]: self.members[position].id for number, position in answer.withheld.items()}
        return Allocation.trusted(self.group, owned, withheld, gone)

    def _held(self, previous: Owned, ids: Mapping[str, int]) -> HeldNumbers | None:
        """What each member had, by number; None where a queue is gone or is owned twice, or nobody is there."""
        first = dict(zip(self.topics, accumulate(self.topics.values(), initial=0), strict=False))
        held: list[list[int]] = []
        for member in self.members:
            had = tuple(previous.get(member.id, ()))
            try:
                numbers = [first[topic] + number for topic, _, number in had]
                found = _picked(self.queues, numbers) if numbers else ()
            except LookupError:
                return None
            if found != had:  # mostly the very objects, which are equal without being looked into
                return None
            held.append(numbers)
        claimed = set[int]().union(*held)
        if not held or len(claimed) < sum(map(len, held)):
            return None
        return HeldNumbers(held, claimed, partial(self._iterated, ids))

    def _iterated(self, ids: Mapping[str, int], numbers: Sequence[int]) -> list[int]:
        """Partition numbers in the order in which Java's map of sets lists them."""
        claims: dict[str, list[int]] = {}
        for number in numbers:
            topic, _, partition = self.queues[number]
            claims.setdefault(topic, []).append(partition)
        number_of = {(self.queues[number][0], self.queues[number][2]): number for number in numbers}
        return [number_of[each] for each in _iterated(claims, ids)]

    def _claims(self, previous: Owned) -> dict[str, dict[str, list[int]]]:
        """Member to topic to the partitions that it had and that there still are, each for the first owner only."""
        unclaimed = self._partitions() if previous else {}
        found: dict[str, dict[str, list[int]]] = {}
        for member in self.members:
            claims: dict[str, list[int]] = {}
            for queue in previous.get(member.id, ()):
                if queue in unclaimed:
                    topic, partition = unclaimed.pop(queue)
                    claims.setdefault(topic, []).append(partition)
            found[member.id] = claims
        return found

    def _partitions(self) -> dict[java.Queue, Partition]:
        """Each queue of the group as (topic, its place in the topic)."""
        places = ((topic, place) for topic, count in self.topics.items() for place in range(count))
        return dict(zip(self.queues, places, strict=True))


def _picked(queues: list[java.Queue], numbers: list[int]) -> tuple[java.Queue, ...]:
    # An itemgetter takes two thirds of a comprehension's time, and gives no tuple for one number.
    return itemgetter(*numbers)(queues) if len(numbers) > 1 else (queues[numbers[0]],)


def _member(member: Member, topics_of: "_Subscriptions", claims: tuple[Partition, ...] = ()) -> Subscription:
    return Subscription(member.id, topics_of[member.subscription], member.instance_id, member.rack, claims)


class _Subscriptions:
    """A member's subscription without repetitions and, where the topics are known, without unknown ones.

    Members mostly share one tuple: it is worked out, and hashed, once."""

    def __init__(self, known: Mapping[str, int] | None) -> None:
        self._known = known
        self._kept: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._last: tuple[tuple[str, ...], tuple[str, ...]] = (), ()

    def __getitem__(self, subscription: tuple[str, ...]) -> tuple[str, ...]:
        if subscription is not self._last[0]:
            topics = self._kept.get(subscription)
            if topics is None:
                known = self._known
                kept = dict.fromkeys(subscription)
                topics = tuple(kept if known is None else [topic for topic in kept if topic in known])
                self._kept[subscription] = topics
            self._last = subscription, topics
        return self._last[1]


def same_subscriptions(group: Group) -> bool:
    """The coordinator's "homogeneous" (spec 6.8): all members name the same topics, or all use one same pattern."""
    if any(member.pattern is not None for member in group.members):
        return len({member.pattern for member in group.members}) == 1
    return len({frozenset(topics) for topics in kinds(member.subscription for member in group.members)}) <= 1


def topic_id(topic: str, given: object = None) -> int:
    """A topic's 128-bit id: ``given`` as a number or as Kafka prints it, else made from the topic's name.

    The made one is the MD5 of the name in UTF-16, so that it is the same in every run and on every machine.
    """
    if given is None:
        return _made_id(topic)
    if isinstance(given, int) and 0 <= given < 1 << 128:
        return given
    try:
        raw = base64.urlsafe_b64decode(f"{given}==") if isinstance(given, str) else b""
    except ValueError:
        raw = b""
    if len(raw) != 16:
        raise StrategyError(f"topic_ids: {given!r} for topic {topic!r}, expected 128 bits as a number or base64")
    return int.from_bytes(raw, "big")


@lru_cache(maxsize=1 << 14)
def _made_id(topic: str) -> int:
    return int.from_bytes(hashlib.md5(java.utf16_key(topic), usedforsecurity=False).digest(), "big")


def _iterated(claims: Mapping[str, list[int]], ids: Mapping[str, int]) -> tuple[Partition, ...]:
    """A target assignment in the order in which Java's map of sets lists it."""
    if not claims:
        return ()
    topics = java.entry_order(list(claims), lambda topic: id_hash(ids[topic])) if len(claims) > 1 else claims
    return tuple([(topic, partition) for topic in topics for partition in java.number_entry_order(claims[topic])])


Strategy: TypeAlias = Callable[..., object]
"""``(group, previous, **settings)`` to an `Allocation` or member id to queues; or a class, see `register`."""

ClaimSource: TypeAlias = Literal["", "user data", "owned partitions"]
"""Where an assignor on the leader reads what members owned: in its own user data (sticky), in the owned partitions that
every member's metadata has (cooperative-sticky), or nowhere."""


@dataclass(frozen=True, slots=True)
class Assignor:
    """``strategy`` is what `kafka_coordinator.assign` calls.

    ``assign`` takes the members' metadata; one with ``claims`` also takes the highest generation that its instance has
    seen. It is None for a user's own strategy, which the leader calls through ``strategy``. ``cooperative``: whether it
    supports the cooperative protocol besides the eager one.
    """

    strategy: Strategy
    assign: Callable[..., Assignment] | None = None
    claims: ClaimSource = ""
    cooperative: bool = False


def of_leader(assign: Callable[[GroupMetadata], Assignment]) -> Assignor:
    """An assignor of the classic protocol that looks at members and topics only."""

    def stateless(group: Group, previous: Owned | None) -> Allocation:
        numbers = Numbers.of(group)
        return numbers.allocation(assign(numbers.for_client()))

    return Assignor(stateless, assign)


def of_leader_with_claims(
    assign: Callable[..., Assignment], claims: ClaimSource, *, cooperative: bool = False
) -> Assignor:
    """An assignor of the classic protocol that reads what members owned; its setting is their ``generation``."""

    def with_claims(group: Group, previous: Owned | None, *, generation: int = 1) -> Allocation:
        if not isinstance(generation, int) or isinstance(generation, bool):
            raise StrategyError(f"setting generation is {generation!r}, expected a whole number")
        numbers = Numbers.of(group)
        return numbers.allocation(assign(numbers.for_client(previous, generation)))

    return Assignor(with_claims, assign, claims, cooperative)


def of_coordinator(assign: Callable[[GroupMetadata], Assignment]) -> Assignor:
    """An assignor of the consumer protocol that looks at members and topics only; its setting is ``topic_ids``."""

    def stateless(group: Group, previous: Owned | None, *, topic_ids: Mapping[str, object] | None = None) -> Allocation:
        numbers = Numbers.of(group)
        return numbers.allocation(assign(numbers.for_server(None, topic_ids)))

    return Assignor(stateless, assign)


def of_coordinator_with_targets(assign: Callable[[GroupMetadata, bool], Assignment]) -> Assignor:
    """An assignor of the consumer protocol that is given the target assignment before, and whether all members
    subscribe alike; its setting is ``topic_ids``."""

    def with_targets(
        group: Group, previous: Owned | None, *, topic_ids: Mapping[str, object] | None = None
    ) -> Allocation:
        numbers, alike = Numbers.of(group), same_subscriptions(group)
        return numbers.allocation(assign(numbers.for_server(previous, topic_ids, alike=alike), alike))

    return Assignor(with_targets, assign)
