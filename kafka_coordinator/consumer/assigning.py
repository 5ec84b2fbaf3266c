"""The leader assigns the partitions: from the members' metadata to the assignment of each (spec 4.4 step 4, 5.2).

In Kafka `ConsumerCoordinator.onLeaderElected` and `metadata()`, and `ConsumerPartitionAssignor` with `assign`,
`subscriptionUserData` and `onAssignment`.
"""

from collections.abc import Mapping
from functools import lru_cache

from kafka_coordinator.assign import STRATEGIES, assign
from kafka_coordinator.assignors.claims import highest_generation
from kafka_coordinator.assignors.inputs import AssignorError, GroupMetadata, Partition, Subscription
from kafka_coordinator.assignors.translation import ClaimSource
from kafka_coordinator.catalogue import CONSUMER
from kafka_coordinator.consumer.state import AssignorMemory, ConsumerState
from kafka_coordinator.messages import ConsumerMetadata, JoinedMember, JoinGroupAnswer
from protocols.errors import StrategyError
from protocols.groups import Group, Member
from protocols.java import Queue, sorted_as_java, string_entry_order
from protocols.load import quickly_made

_metadata = quickly_made(ConsumerMetadata)


class CannotAssignError(Exception):
    """The leader's assignor throws; the text says what."""


def known_assignor(name: str) -> bool:
    """Whether a consumer can be configured with it: Kafka's own ones and those that users registered."""
    return name in STRATEGIES and not in_the_broker(name)


def in_the_broker(name: str) -> bool:
    """Whether it is an assignor of the consumer protocol, which no client can run."""
    return name in STRATEGIES and STRATEGIES[name].protocol == CONSUMER


def topics_of(members: tuple[JoinedMember, ...]) -> tuple[str, ...]:
    lists = {member.metadata.topics for member in members}
    return tuple(sorted_as_java(set().union(*lists)))


def assignments(c: ConsumerState, answer: JoinGroupAnswer) -> dict[str, tuple[Partition, ...]]:
    """Member id to its partitions in the assignor's order. Raises `CannotAssignError`."""
    name = answer.protocol or ""
    run = STRATEGIES[name].implementation.assign if known_assignor(name) else None
    claims = _claims(name)
    joined = {member.member_id: member for member in answer.members}
    members = [joined[id] for id in string_entry_order(list(joined))]
    known = c.metadata.topics
    topics = {topic: len(known[topic]) for topic in c.assigning.group_topics if topic in known}
    partitions = [partition for topic, count in topics.items() for partition in _partitions_of(topic, count)]
    racks = {topic: rack for topic, rack in c.metadata.replica_racks.items() if topic in topics}
    try:
        if run is None:
            return _registered(name, members, topics, racks)
        if not claims:
            found = run(GroupMetadata(topics, _stateless(members), racks))
        else:
            sent = (_sticky if claims == "user data" else _cooperative)(members)
            group = GroupMetadata(topics, sent, racks, rates=c.config.settings.load_aware_rates)
            memory = c.assigning.memories.get(name, AssignorMemory())
            highest = highest_generation(group, memory.highest)
            c.assigning.memories[name] = memory._replace(highest=highest)
            found = run(group, highest)
    except AssignorError as error:
        raise CannotAssignError(f"the {name} assignor throws {error.error}") from None
    partitions += found.strays
    return {
        member.member_id: tuple([partitions[number] for number in numbers])
        for member, numbers in zip(members, found.owned, strict=True)
    }


@lru_cache(maxsize=1024)
def _partitions_of(topic: str, count: int) -> tuple[Partition, ...]:
    return tuple([(topic, number) for number in range(count)])


def _stateless(members: list[JoinedMember]) -> tuple[Subscription, ...]:
    return tuple([Subscription(id, sent.topics, instance, sent.rack) for id, instance, sent in members])


def _sticky(members: list[JoinedMember]) -> tuple[Subscription, ...]:
    found = []
    for id, instance, sent in members:
        claims, generation = sent.user_data or ((), None)
        found.append(Subscription(id, sent.topics, instance, sent.rack, claims, generation, sent.generation))
    return tuple(found)


def _cooperative(members: list[JoinedMember]) -> tuple[Subscription, ...]:
    found = []
    for id, instance, sent in members:
        generation = sent.generation
        if generation < 0:
            generation = None if sent.user_data is None else sent.user_data[1]
        found.append(Subscription(id, sent.topics, instance, sent.rack, sent.owned, generation, sent.generation))
    return tuple(found)


def _registered(
    name: str, members: list[JoinedMember], topics: Mapping[str, int], racks: Mapping[str, tuple[tuple[str, ...], ...]]
) -> dict[str, tuple[Partition, ...]]:
    """A strategy of the user's own, through the same door as `kafka_coordinator.assign`."""
    group = Group(
        tuple(
            Member(id, tuple(topic for topic in sent.topics if topic in topics), None, instance, sent.rack)
            for id, instance, sent in members
        ),
        {topic: tuple(Queue(topic, "", number) for number in range(count)) for topic, count in topics.items()},
        racks,
    )
    previous = {
        id: [Queue(topic, "", number) for topic, number in sent.owned or (sent.user_data or ((), 0))[0]]
        for id, _, sent in members
    }
    try:
        found = assign(name, group, previous=previous)
    except StrategyError as error:
        raise CannotAssignError(str(error)) from None
    return {id: tuple((queue.topic, queue.number) for queue in queues) for id, queues in found.items()}


def metadata_for(c: ConsumerState, name: str) -> ConsumerMetadata:
    """What the client sends to the leader for one of its assignors (spec 4.4 step 2)."""
    topics = tuple(sorted_as_java(c.subscription.topics)) if len(c.subscription.topics) > 1 else c.subscription.topics
    user_data: tuple[tuple[Partition, ...], int] | None = None
    claims = _claims(name)
    if claims:
        memory = c.assigning.memories.get(name)
        if claims == "owned partitions":
            user_data = ((), AssignorMemory().generation if memory is None else memory.generation)
        elif memory is not None and memory.claims is not None:
            user_data = (_by_topic(memory.claims), memory.generation)
    owned, generation = c.subscription.owned, c.membership.generation
    if c.config.by_hand and not c.cooperative:
        # librdkafka: its eager assignors tell neither, so that a member that joins again has changed nothing.
        owned, generation = (), -1
    return _metadata((topics, owned, generation, c.config.rack, user_data))


def remember(c: ConsumerState, name: str, assigned: tuple[Partition, ...]) -> None:
    """The assignor remembers the assignment (onAssignment)."""
    claims = _claims(name)
    if claims:
        memory = c.assigning.memories.get(name, AssignorMemory())
        claimed = assigned if claims == "user data" else memory.claims
        c.assigning.memories[name] = AssignorMemory(claimed, c.membership.generation, memory.highest)


def _claims(name: str) -> ClaimSource:
    """Where the assignor reads what members owned; empty for an unknown one."""
    return STRATEGIES[name].implementation.claims if name in STRATEGIES else ""


def _by_topic(partitions: tuple[Partition, ...]) -> tuple[Partition, ...]:
    """The partitions as the sticky assignor's user data lists them: topics in the order of a HashMap that was filled
    with computeIfAbsent. That puts a new key at the front of its bin (spec 5.1 rule 5); bins that split keep their
    order, so that in the end each bin lists its keys from the last to the first."""
    grouped: dict[str, list[Partition]] = {}
    for partition in partitions:
        grouped.setdefault(partition[0], []).append(partition)
    if len(grouped) <= 1:
        return partitions
    return tuple([partition for topic in string_entry_order(list(grouped)[::-1]) for partition in grouped[topic]])
