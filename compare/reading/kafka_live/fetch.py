"""From a cluster's answers to facts, the same ones that the tools' views give."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from compare.reading.kafka.facts import Client, Fact, GroupState, MembersTable, OffsetsTable, TopicQueues
from compare.reading.kafka.messages import REBALANCING
from compare.reading.kafka_live.connection import Connection, name
from compare.reading.observed import ObservedMember, Skipped
from protocols import Queue, UserError, sort_queues

_STATES = {
    "STABLE": "Stable",
    "EMPTY": "Empty",
    "DEAD": "Dead",
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
}
_CONSUMER_PROTOCOL = {"CONSUMER": True, "CLASSIC": False}
_GONE = ("GROUP_ID_NOT_FOUND",)
_QUEUES_AT_ONCE = 2000

Committed = Mapping[Queue, int]


def fetch(connection: Connection, source: str, progress: Callable[[str], None]) -> Iterator[Fact | Skipped]:
    """Ask for everything about all consumer groups; `UserError` if the cluster does not even list them.

    Order: groups, then per group members and commits, then partitions and their ends. So a partition or record that
    comes into being meanwhile is at worst counted as not owned yet or not read yet.
    """
    names, refused = _list(connection)
    yield from (Skipped(source, None, f"a node does not list its groups: {why}") for why in refused)
    if not names and not refused:
        yield Skipped(source, None, "the cluster has no consumer groups")
    described: dict[str, Any] = {}
    committed: dict[str, Committed] = {}
    for done, (group, about, offsets) in enumerate(_groups(connection, names), 1):
        progress(f"{source}: group {done} of {len(names)}")
        if isinstance(about, Exception):
            yield Skipped(source, None, _why(connection, group, about))
            continue
        described[group] = about
        if isinstance(offsets, Exception):
            yield Skipped(source, None, f"offsets of group {group!r} cannot be read: {connection.text(offsets)}")
        else:
            committed[group] = _commits(offsets)
    mentioned = {queue for offsets in committed.values() for queue in offsets}
    mentioned.update(queue for about in described.values() for member in about.members for queue in _owned(member))
    topics = _topics(connection)
    topics = {topic: topics[topic] for topic in sorted({queue.topic for queue in mentioned}) if topic in topics}
    yield from (TopicQueues(source, topic, numbers) for topic, numbers in topics.items())
    there = [queue for queue in sort_queues(mentioned) if queue.number in topics.get(queue.topic, ())]
    ends, unknown = _ends(connection, there)
    if unknown:
        why = next(iter(unknown.values()))
        yield Skipped(source, None, f"the end of {len(unknown)} partitions cannot be read, so no lag is told: {why}")
    for group, about in described.items():
        yield from _facts(source, group, about, committed.get(group), ends)


def _list(connection: Connection) -> tuple[list[str], list[str]]:
    """The groups' names, sorted, and why a node did not tell its own."""
    admin, timeout_s = connection.admin, connection.timeout_s
    listed = connection.first(admin.list_consumer_groups(request_timeout=timeout_s))
    if listed.errors and not listed.valid:
        raise connection.refusal(listed.errors[0])
    refused = sorted({connection.text(error) for error in listed.errors})
    return sorted({each.group_id for each in listed.valid}), refused


def _groups(connection: Connection, names: Sequence[str]) -> Iterator[tuple[str, Any, Any]]:
    """Each group with its description and its offsets, an exception in place of either that failed."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    admin, timeout_s = connection.admin, connection.timeout_s

    def requests() -> Iterator[Future[Any]]:
        for group in names:
            yield admin.describe_consumer_groups([group], request_timeout=timeout_s)[group]
            request = [ConsumerGroupTopicPartitions(group)]
            yield admin.list_consumer_group_offsets(request, request_timeout=timeout_s)[group]

    answers = connection.each(requests())
    for group in names:
        yield group, next(answers), next(answers)


def _why(connection: Connection, group: str, error: Exception) -> str:
    if name(error) in _GONE:
        return f"group {group!r} was deleted while the cluster was read"
    return f"group {group!r} cannot be read: {connection.text(error)}"


def _topics(connection: Connection) -> dict[str, tuple[int, ...]]:
    """The numbers of each topic's partitions, ascending."""
    try:
        metadata = connection.admin.list_topics(timeout=connection.timeout_s)
    except Exception as error:
        raise UserError(f"{connection.servers} does not tell its topics: {connection.text(error)}") from None
    return {topic: tuple(sorted(about.partitions)) for topic, about in metadata.topics.items() if about.partitions}


def _ends(connection: Connection, queues: list[Queue]) -> tuple[dict[Queue, int], dict[Queue, str]]:
    """The end offset of each queue, or why it is not known."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    admin, timeout_s = connection.admin, connection.timeout_s
    ends: dict[Queue, int] = {}
    unknown: dict[Queue, str] = {}
    for start in range(0, len(queues), _QUEUES_AT_ONCE):
        batch = queues[start : start + _QUEUES_AT_ONCE]
        request = {TopicPartition(queue.topic, queue.number): OffsetSpec.latest() for queue in batch}
        answers = connection.each(admin.list_offsets(request, request_timeout=timeout_s).values())
        for queue, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Exception):
                unknown[queue] = connection.text(answer)
            else:
                ends[queue] = answer.offset
    return ends, unknown


def _facts(
    source: str, group: str, about: Any, committed: Committed | None, ends: Mapping[Queue, int]
) -> Iterator[Fact]:
    consumer_protocol = _CONSUMER_PROTOCOL.get(about.type.name)
    state = _STATES.get(about.state.name)
    if state is None and consumer_protocol:
        # librdkafka has no names for what only the consumer protocol has: Assigning and Reconciling.
        state = REBALANCING
    strategy = about.partition_assignor or None
    members = tuple(sorted((_member(each) for each in about.members), key=lambda member: member.id))
    yield GroupState(source, group, "state", state, strategy, len(members), consumer_protocol)
    targets = {queue for each in about.members for queue in _queues(each.target_assignment)}
    yield MembersTable(source, group, members, True, sort_queues(targets), consumer_protocol, complete=True)
    if committed is None:
        return
    owned = {each.id: each.owned for each in members if each.owned}
    taken = {queue for queues in owned.values() for queue in queues}
    yield OffsetsTable(
        source=source,
        group=group,
        owned=owned,
        unowned=tuple(queue for queue in sort_queues(committed) if queue not in taken),
        lag={queue: _lag(queue, committed, ends) for queue in sort_queues(taken | committed.keys())},
        clients={each.id: Client(each.client_id, each.host) for each in members if each.owned},
        complete=True,
    )


def _member(about: Any) -> ObservedMember:
    return ObservedMember(
        id=about.member_id,
        owned=_owned(about),
        client_id=about.client_id or None,
        instance_id=about.group_instance_id or None,
        host=about.host or None,
    )


def _owned(member: Any) -> tuple[Queue, ...]:
    return sort_queues(set(_queues(member.assignment)))


def _queues(assignment: Any) -> list[Queue]:
    return [] if assignment is None else [Queue(each.topic, "", each.partition) for each in assignment.topic_partitions]


def _commits(offsets: Any) -> dict[Queue, int]:
    found = offsets.topic_partitions or []
    return {Queue(each.topic, "", each.partition): each.offset for each in found if not each.error and each.offset >= 0}


def _lag(queue: Queue, committed: Committed, ends: Mapping[Queue, int]) -> int | None:
    if queue not in committed or queue not in ends:
        return None
    # A topic made anew ends before what was committed: nothing is left to read.
    return max(ends[queue] - committed[queue], 0)
