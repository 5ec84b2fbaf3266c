"""How many bytes the frame of a message has on Kafka's wire, without writing it: what the codec of `wire` writes, which
needs packages that a comparison does without.

Frames are those of the versions that a Java client of 4.1 speaks with a broker of 4.1 (``_HEADERS``), for share groups
those of 4.4. Fetches of records are none of them, be they of owned partitions or of shared ones. All are flexible:
lengths are unsigned varints of one more than the length, and every structure ends with the number of its tags, 0. The
group's name in answers that repeat it is left out: the model's answers do not have it.

In Kafka `RequestHeader`, `ResponseHeader` and the generated messages.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any

from kafka_coordinator import messages
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.share_groups import messages as group
from kafka_coordinator.share import messages as records
from protocols.engine.nodes import Message

_REQUEST = 4 + 2 + 2 + 4 + 2 + 1
"""Length, API key, version, correlation, length of the client id, tags."""
_ANSWER = 4 + 4 + 1
_TAGS = 1
_UUID = 16


def varint(number: int) -> int:
    return 1 if number < 1 << 7 else -(-number.bit_length() // 7)


@lru_cache(maxsize=1 << 16)
def text(value: str | None) -> int:
    return 1 if value is None else data(len(value.encode()))


def data(length: int) -> int:
    return varint(length + 1) + length


def array(sizes: Iterable[int]) -> int:
    listed = list(sizes)
    return varint(len(listed) + 1) + sum(listed)


def _by_topic(partitions: Iterable[Partition], of_one: int, name: Callable[[str], int] = text) -> int:
    """Topics, each with so many bytes for every partition."""
    counts: dict[str, int] = {}
    for topic, _ in partitions:
        counts[topic] = counts.get(topic, 0) + 1
    return array(name(topic) + varint(count + 1) + count * of_one + _TAGS for topic, count in counts.items())


def _by_id(partitions: Iterable[Partition]) -> int:
    return _by_topic(partitions, 4, lambda topic: _UUID)


def opaque(value: messages.Opaque) -> int:
    """Bytes of a subscription (version 3) or an assignment (version 0), which have lengths of two and four bytes."""
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, messages.ConsumerMetadata):
        topics = 4 + sum(2 + len(topic.encode()) for topic in value.topics)
        return 2 + topics + 4 + _listed(value.owned) + 4 + 2 + len((value.rack or "").encode())
    return 2 + _listed(value) + 4


def _listed(partitions: Iterable[Partition]) -> int:
    of_topics = [(topic, len(list(each))) for topic, each in groupby(partitions, lambda partition: partition[0])]
    return 4 + sum(2 + len(topic.encode()) + 4 + 4 * count for topic, count in of_topics)


def _join(told: messages.JoinGroup) -> int:
    protocols = array(text(name) + data(opaque(metadata)) + _TAGS for name, metadata in told.protocols)
    reason = text(told.reason or None)
    return text(told.group) + 8 + _ids(told) + text(told.protocol_type) + protocols + reason


def _ids(told: Any) -> int:
    return text(told.member_id) + text(told.instance_id)


def _joined(told: messages.JoinGroupAnswer) -> int:
    members = array(_ids(each) + data(opaque(each.metadata)) + _TAGS for each in told.members)
    names = text(told.protocol_type) + text(told.protocol) + text(told.leader) + text(told.member_id)
    return 4 + 2 + 4 + names + 1 + members


def _sync(told: messages.SyncGroup) -> int:
    assignments = array(text(name) + data(opaque(share)) + _TAGS for name, share in told.assignments.items())
    return text(told.group) + 4 + _ids(told) + text(told.protocol_type) + text(told.protocol) + assignments


def _synced(told: messages.SyncGroupAnswer) -> int:
    return 4 + 2 + text(told.protocol_type) + text(told.protocol) + data(opaque(told.assignment))


def _leave(told: messages.LeaveGroup) -> int:
    return text(told.group) + array(_ids(each) + text(each.reason or None) + _TAGS for each in told.members)


def _left(told: messages.LeaveGroupAnswer) -> int:
    return 4 + 2 + array(text(member) + text(instance) + 2 + _TAGS for member, instance, _ in told.members)


def _commit(told: messages.OffsetCommit) -> int:
    texts = sum(text(each) for _, _, each in told.offsets)
    topics = _by_topic((partition for partition, _, _ in told.offsets), 4 + 8 + 4 + _TAGS)
    return text(told.group) + 4 + _ids(told) + topics + texts


def _fetch(told: messages.OffsetFetch) -> int:
    topics = 1 if told.partitions is None else _by_topic(told.partitions, 4)
    return 1 + text(told.group) + text(told.member_id) + 4 + topics + _TAGS + 1


def _fetched(told: messages.OffsetFetchAnswer) -> int:
    texts = sum(map(text, told.texts or ("",) * len(told.offsets)))
    topics = _by_topic((partition for partition, _, _ in told.offsets), 4 + 8 + 4 + 2 + _TAGS)
    return 4 + 1 + text("") + topics + texts + 2 + _TAGS


def _asked_metadata(told: messages.MetadataRequest) -> int:
    topics = 1 if told.topics is None else array(_UUID + text(topic) + _TAGS for topic in told.topics)
    return topics + 1 + 1


def _metadata(told: messages.MetadataAnswer) -> int:
    """One replica of each partition where nothing is told of replicas; ids of the cluster and hosts as ours are."""
    brokers = array(4 + text(_HOST) + 4 + 1 + _TAGS for _ in told.brokers)
    partition = 2 + 4 + 4 + 4 + 2 * (1 + 4) + 1 + _TAGS
    topics = (
        2 + text(topic) + _UUID + 1 + varint(len(leaders) + 1) + len(leaders) * partition + 4 + _TAGS
        for topic, leaders in told.topics.items()
    )
    return 4 + brokers + text(_CLUSTER) + 4 + array(topics) + 2


def _consumer(told: messages.ConsumerGroupHeartbeat) -> int:
    topics = 1 if told.topics is None else array(map(text, told.topics))
    owned = 1 if told.owned is None else _by_id(told.owned)
    names = text(told.rack) + text(told.regex) + text(told.assignor)
    return text(told.group) + _ids(told) + 4 + names + 4 + topics + owned


def _consumer_told(told: messages.ConsumerGroupHeartbeatAnswer) -> int:
    share = 1 if told.assignment is None else 1 + _by_id(told.assignment) + _TAGS
    return 4 + 2 + text(told.error_message) + text(told.member_id) + 4 + 4 + share


def _share(told: group.ShareGroupHeartbeat) -> int:
    topics = 1 if told.topics is None else array(map(text, told.topics))
    return text(told.group) + text(told.member_id) + 4 + text(told.rack) + topics


def _share_told(told: group.ShareGroupHeartbeatAnswer) -> int:
    permitted = 1 if told.assignment is None else 1 + _by_id(told.assignment) + _TAGS
    return 4 + 2 + text(told.error_message) + text(told.member_id) + 4 + 4 + permitted


def _acknowledge(told: records.ShareAcknowledge) -> int:
    of_topics: dict[str, list[int]] = {}
    for (topic, _), ranges in told.acknowledged:
        batches = array(8 + 8 + varint(len(types) + 1) + len(types) + _TAGS for _, _, types in ranges)
        of_topics.setdefault(topic, []).append(4 + batches + _TAGS)
    topics = array(_UUID + array(partitions) + _TAGS for partitions in of_topics.values())
    return text(told.group) + text(told.member_id) + 4 + 1 + topics


def _acknowledged(told: records.ShareAcknowledgeAnswer) -> int:
    leader = 4 + 4 + _TAGS
    topics = _by_topic((each for each, _ in told.partitions), 4 + 2 + 1 + leader + _TAGS, lambda topic: _UUID)
    return 4 + 2 + 1 + 4 + topics + 1


_HOST, _CLUSTER = "127.0.0.1", "x" * 22
"""The hosts of brokers, and the id of a cluster, which has 22 characters."""

_REQUESTS: Mapping[type[Message], Callable[[Any], int]] = {
    messages.FindCoordinator: lambda told: 1 + array([text(told.group)]),
    messages.JoinGroup: _join,
    messages.SyncGroup: _sync,
    messages.Heartbeat: lambda told: text(told.group) + 4 + _ids(told),
    messages.LeaveGroup: _leave,
    messages.OffsetCommit: _commit,
    messages.OffsetFetch: _fetch,
    messages.MetadataRequest: _asked_metadata,
    messages.ConsumerGroupHeartbeat: _consumer,
    group.ShareGroupHeartbeat: _share,
    records.ShareAcknowledge: _acknowledge,
}

_ANSWERS: Mapping[type[Message], Callable[[Any], int]] = {
    messages.CoordinatorFound: lambda told: 4 + array([text("") + 4 + text(_HOST) + 4 + 2 + 1 + _TAGS]),
    messages.JoinGroupAnswer: _joined,
    messages.SyncGroupAnswer: _synced,
    messages.HeartbeatAnswer: lambda told: 4 + 2,
    messages.LeaveGroupAnswer: _left,
    messages.OffsetCommitAnswer: lambda told: 4 + _by_topic((each for each, _ in told.errors), 4 + 2 + _TAGS),
    messages.OffsetFetchAnswer: _fetched,
    messages.MetadataAnswer: _metadata,
    messages.ConsumerGroupHeartbeatAnswer: _consumer_told,
    group.ShareGroupHeartbeatAnswer: _share_told,
    records.ShareAcknowledgeAnswer: _acknowledged,
}


REQUESTS = frozenset(_REQUESTS)
"""Messages that clients send."""


def frame_size(message: Message, client_id: str, server: str = "") -> int:
    """Bytes of the frame, its length included. ``client_id``: the client's, from whom or to whom it goes."""
    kind = type(message)
    if kind in _REQUESTS:
        return _REQUEST + len(client_id.encode()) + _REQUESTS[kind](message) + _TAGS
    return _ANSWER + _ANSWERS[kind](message) + _TAGS


SIZES = dict.fromkeys((*_REQUESTS, *_ANSWERS), frame_size)
"""Messages between a group's clients and brokers to the sizes of their frames."""
