"""Requests about a group's offsets on the wire: commit, fetch, delete.

What is asked about topics that there are not is answered here, as in `KafkaApis`; the coordinator is not asked.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kio.static.protocol import Entity

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.errors import NONE, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION
from kafka_coordinator.messages import (
    NO_LEADER_EPOCH,
    NO_OFFSET,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    TxnOffsetCommit,
)
from kafka_coordinator.wire.entities import Kind, code, make, part
from kafka_coordinator.wire.opaque import by_topic
from kafka_coordinator.wire.requests import Piece, Rests
from kafka_coordinator.wire.state import NO_ID, NO_THROTTLE, Asked, Translation
from protocols.engine.nodes import Message

if TYPE_CHECKING:
    from kio.schema.offset_commit.v9.request import OffsetCommitRequest
    from kio.schema.offset_delete.v0.request import OffsetDeleteRequest
    from kio.schema.offset_fetch.v9.request import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
    from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest

_BATCHES_SINCE: Final = 8
"""From this version of OffsetFetch on it asks about several groups."""
_ALL_SINCE: Final = 2
"""From this version of OffsetFetch on null asks for all partitions that have an offset."""
_IDS_SINCE: Final = 10
"""From this version of OffsetCommit and OffsetFetch on topics are named by their ids, from 6 on in TxnOffsetCommit."""


def _name(topic: Any, asked: Asked) -> str:
    """Of a topic in a request, which from `_IDS_SINCE` on has an id instead; empty where there is none of that id."""
    name: str = topic.name if hasattr(topic, "name") else asked.state.topic_names.get(topic.topic_id or NO_ID, "")
    return name


def _error_of(topic: object, name: str, known: str) -> str:
    """The error of a topic's partitions: ``known``, or that its id is none."""
    return known if name or not hasattr(topic, "topic_id") else UNKNOWN_TOPIC_ID


def _topic(kind: Kind, topic: object, partitions: Sequence[Entity]) -> Entity:
    """A topic in an answer, called as the request calls it."""
    called = {each: getattr(topic, each) for each in ("name", "topic_id") if hasattr(topic, each)}
    return make(kind, partitions=tuple(partitions), **called)


def _exists(topic: str, number: int, asked: Asked) -> bool:
    return 0 <= number < len(asked.state.cluster.topics.get(topic, ()))


def _read_commit(body: "OffsetCommitRequest | TxnOffsetCommitRequest", asked: Asked) -> Sequence[Message]:
    member_id = getattr(body, "member_id", "")
    asked.names.heard(body.group_id, member_id, asked.connection)
    offsets, epochs = [], []
    for topic in body.topics:
        name = _name(topic, asked)
        there = [one for one in topic.partitions if _exists(name, one.partition_index, asked)]
        offsets += [((name, one.partition_index), one.committed_offset, one.committed_metadata or "") for one in there]
        epochs += [getattr(one, "committed_leader_epoch", NO_LEADER_EPOCH) for one in there]
    if body.topics and not offsets:
        return []
    return [
        OffsetCommit(
            asked.first,
            body.group_id,
            member_id,
            getattr(body, "generation_id_or_member_epoch", getattr(body, "generation_id", -1)),
            getattr(body, "group_instance_id", None),
            tuple(offsets),
            asked.version,
            tuple(epochs) if any(epoch != NO_LEADER_EPOCH for epoch in epochs) else (),
        )
    ]


def _read_in_transaction(body: "TxnOffsetCommitRequest", asked: Asked) -> Sequence[Message]:
    plain = [each for each in _read_commit(body, asked) if isinstance(each, OffsetCommit)]
    return [
        TxnOffsetCommit(
            each.correlation,
            each.group,
            each.member_id,
            each.generation,
            each.instance_id,
            each.offsets,
            body.transactional_id,
            body.producer_id,
            body.producer_epoch,
            each.version,
            each.epochs,
        )
        for each in plain
    ]


def _write_commit(
    kind: Kind, body: "OffsetCommitRequest", asked: Asked, answers: Sequence[OffsetCommitAnswer]
) -> Piece:
    return _errors(kind, body, asked, answers[0].errors if answers else ())


def _errors(
    kind: Kind,
    body: "OffsetCommitRequest | OffsetDeleteRequest",
    asked: Asked,
    answered: Sequence[tuple[Partition, str]],
) -> Piece:
    """The error of each partition of the request; first those about which the coordinator was not asked, and topics
    with such ones, as `OffsetCommitResponse.Builder.merge` puts them."""
    item = part(kind, "topics", "partitions")
    listed: dict[object, tuple[object, list[Entity], list[Entity]]] = {}
    named = [(_name(topic, asked), one.partition_index) for topic in body.topics for one in topic.partitions]
    errors: dict[Partition, list[str]] = {}  # one may be named twice, and be taken once
    for partition, error in reversed(answered):
        errors.setdefault(partition, []).append(error)
    is_merged, rests = any(each not in errors for each in named), Rests()
    for topic in body.topics:
        if rests.due():
            yield
        name = _name(topic, asked)
        missing = _error_of(topic, name, UNKNOWN_TOPIC_OR_PARTITION)
        key = getattr(topic, "topic_id", name) if is_merged else len(listed)
        _, first, then = listed.setdefault(key, (topic, [], []))
        for number in [one.partition_index for one in topic.partitions]:
            told = errors.get((name, number))
            error = missing if told is None else told.pop()
            made = make(item, partition_index=number, error_code=code(error))
            (first if told is None else then).append(made)
    topics = []
    for asked_topic, first, then in sorted(listed.values(), key=lambda each: not each[1]):
        if rests.due():
            yield
        topics.append(_topic(part(kind, "topics"), asked_topic, first + then))
    return make(kind, throttle_time=NO_THROTTLE, error_code=code(NONE), topics=tuple(topics))


def _read_fetch(body: "OffsetFetchRequest", asked: Asked) -> Sequence[Message]:
    groups = getattr(body, "groups", (body,))
    stable = getattr(body, "require_stable", False)
    return [_read_group(group, asked, asked.first + place, stable) for place, group in enumerate(groups)]


def _read_group(group: "OffsetFetchRequestGroup", asked: Asked, correlation: int, stable: bool) -> Message:
    topics = group.topics
    wanted: tuple[Partition, ...] | None = None
    if topics is not None:
        named = [(_name(topic, asked), topic.partition_indexes) for topic in topics]
        wanted = tuple([(name, number) for name, numbers in named if name for number in numbers])
    member_id = getattr(group, "member_id", None) or None
    return OffsetFetch(correlation, group.group_id, wanted, member_id, getattr(group, "member_epoch", -1), stable)


def _write_fetch(kind: Kind, body: "OffsetFetchRequest", asked: Asked, answers: Sequence[OffsetFetchAnswer]) -> Piece:
    rests = Rests()
    if asked.version < _BATCHES_SINCE:
        (answer,) = answers
        topics = yield from _fetched(kind, getattr(body, "topics", None), asked, answer, rests)
        return make(kind, throttle_time=NO_THROTTLE, topics=topics, error_code=code(answer.error))
    item, groups = part(kind, "groups"), []
    for group, answer in zip(body.groups, answers, strict=True):
        if rests.due():
            yield
        topics = yield from _fetched(item, group.topics, asked, answer, rests)
        groups.append(make(item, group_id=group.group_id, topics=topics, error_code=code(answer.error)))
    return make(kind, throttle_time=NO_THROTTLE, groups=tuple(groups))


def _fetched(
    kind: Kind,
    topics: "Iterable[OffsetFetchRequestTopics] | None",
    asked: Asked,
    answer: OffsetFetchAnswer,
    rests: Rests,
) -> Generator[None, None, tuple[Entity, ...]]:
    """What was found, by the topics of the request, or (None) all topics."""
    since_per_group = asked.version >= _ALL_SINCE
    if answer.error != NONE and since_per_group:
        return ()
    item, made = part(kind, "topics", "partitions"), part(kind, "topics")
    texts = answer.texts or ("",) * len(answer.offsets)
    epochs = answer.epochs or (NO_LEADER_EPOCH,) * len(answer.offsets)

    def told(number: int, offset: int, epoch: int, text: str, error: str) -> Entity:
        return make(
            item,
            partition_index=number,
            committed_offset=offset,
            committed_leader_epoch=epoch,
            metadata=text,
            error_code=code(error),
        )

    found = {}
    for (partition, offset, error), text, epoch in zip(answer.offsets, texts, epochs, strict=True):
        if rests.due():
            yield
        found[partition] = told(partition[1], offset, epoch, text, error)
    if topics is None:
        ids = asked.state.topic_ids
        return tuple(
            [
                make(made, name=name, topic_id=ids.get(name), partitions=tuple([found[name, one] for one in numbers]))
                for name, numbers in by_topic(found)
                if asked.version < _IDS_SINCE or name in ids
            ]
        )
    listed = []
    for topic in topics:
        if rests.due():
            yield
        name = _name(topic, asked)
        error = _error_of(topic, name, answer.error)
        partitions = [
            found.get((name, number)) or told(number, NO_OFFSET, NO_LEADER_EPOCH, "", error)
            for number in topic.partition_indexes
        ]
        listed.append(_topic(made, topic, partitions))
    return tuple(listed)


def _read_delete(body: "OffsetDeleteRequest", asked: Asked) -> Sequence[Message]:
    wanted = [
        (topic.name, one.partition_index)
        for topic in body.topics
        for one in topic.partitions
        if _exists(topic.name, one.partition_index, asked)
    ]
    return [OffsetDelete(asked.first, body.group_id, tuple(wanted))]


def _write_delete(
    kind: Kind, body: "OffsetDeleteRequest", asked: Asked, answers: Sequence[OffsetDeleteAnswer]
) -> Piece:
    (answer,) = answers
    if answer.error != NONE:
        return make(kind, throttle_time=NO_THROTTLE, error_code=code(answer.error), topics=())
    return (yield from _errors(kind, body, asked, answer.errors))


TRANSLATIONS: Mapping[int, Translation] = {
    8: Translation(_read_commit, _write_commit),
    9: Translation(_read_fetch, _write_fetch),
    28: Translation(_read_in_transaction, _write_commit),
    47: Translation(_read_delete, _write_delete),
}
"""API key to its translation."""
