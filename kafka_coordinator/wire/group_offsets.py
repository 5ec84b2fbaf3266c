"""Requests about a group's offsets on the wire: commit, fetch, delete.

What is asked about topics that there are not is answered here, as in `KafkaApis`; the coordinator is not asked.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.errors import NONE, UNKNOWN_TOPIC_OR_PARTITION
from kafka_coordinator.messages import (
    NO_LEADER_EPOCH,
    NO_OFFSET,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
)
from kafka_coordinator.wire.entities import has, make, part
from kafka_coordinator.wire.error_codes import code
from kafka_coordinator.wire.opaque import by_topic
from kafka_coordinator.wire.state import NO_ID
from kafka_coordinator.wire.translation import NO_THROTTLE, Asked, Translation
from protocols.engine.nodes import Message

UNKNOWN_TOPIC_ID: Final = "UNKNOWN_TOPIC_ID"
_BATCHES_SINCE: Final = 8
"""From this version of OffsetFetch on it asks about several groups."""
_ALL_SINCE: Final = 2
"""From this version of OffsetFetch on null asks for all partitions that have an offset."""


def _topic(given: Any, asked: Asked) -> str | None:
    """The name of a topic that a request gives by name or by id; None for an id that is unknown."""
    if has(type(given), "name"):
        return str(given.name)
    return asked.state.topic_names.get(given.topic_id)


def _exists(topic: str, number: int, asked: Asked) -> bool:
    return 0 <= number < len(asked.state.cluster.topics.get(topic, ()))


def _read_commit(body: Any, asked: Asked) -> Sequence[Message]:
    asked.names.heard(body.group_id, body.member_id, asked.connection)
    offsets, epochs = [], []
    for each in body.topics:
        topic = _topic(each, asked)
        if topic is not None:
            there = [one for one in each.partitions if _exists(topic, one.partition_index, asked)]
            offsets += [
                ((topic, one.partition_index), one.committed_offset, one.committed_metadata or "") for one in there
            ]
            epochs += [getattr(one, "committed_leader_epoch", NO_LEADER_EPOCH) for one in there]
    if body.topics and not offsets:
        return []
    return [
        OffsetCommit(
            asked.first,
            body.group_id,
            body.member_id,
            body.generation_id_or_member_epoch,
            getattr(body, "group_instance_id", None),
            tuple(offsets),
            asked.version,
            tuple(epochs) if any(each != NO_LEADER_EPOCH for each in epochs) else (),
        )
    ]


def _write_commit(kind: Any, body: Any, asked: Asked, answers: Sequence[OffsetCommitAnswer]) -> Any:
    return _errors(kind, body, asked, dict(answers[0].errors) if answers else {})


def _errors(kind: Any, body: Any, asked: Asked, errors: Mapping[Partition, str], error: str = NONE) -> Any:
    """The error of each partition of the request."""
    item, topics = part(kind, "topics", "partitions"), []
    for each in body.topics:
        name = _topic(each, asked)
        missing = UNKNOWN_TOPIC_ID if name is None else UNKNOWN_TOPIC_OR_PARTITION
        found = [
            make(
                item,
                partition_index=one.partition_index,
                error_code=code(errors.get((name or "", one.partition_index), missing)),
            )
            for one in each.partitions
        ]
        topics.append(_of_topic(part(kind, "topics"), each, tuple(found)))
    return make(kind, throttle_time=NO_THROTTLE, error_code=code(error), topics=tuple(topics))


def _of_topic(kind: Any, asked_for: Any, partitions: tuple[Any, ...]) -> Any:
    """An answer's topic, named or numbered as the request has it."""
    return make(
        kind,
        name=getattr(asked_for, "name", ""),
        topic_id=getattr(asked_for, "topic_id", None) or NO_ID,
        partitions=partitions,
    )


def _read_fetch(body: Any, asked: Asked) -> Sequence[Message]:
    groups = body.groups if has(type(body), "groups") else (body,)
    return [_read_group(each, asked, asked.first + place) for place, each in enumerate(groups)]


def _read_group(group: Any, asked: Asked, correlation: int) -> Message:
    topics = group.topics
    wanted: tuple[Partition, ...] | None = None
    if topics is not None:
        named = [(_topic(each, asked), each.partition_indexes) for each in topics]
        wanted = tuple([(topic, number) for topic, numbers in named if topic is not None for number in numbers])
    member_id = getattr(group, "member_id", None) or None
    return OffsetFetch(correlation, group.group_id, wanted, member_id, getattr(group, "member_epoch", -1))


def _write_fetch(kind: Any, body: Any, asked: Asked, answers: Sequence[OffsetFetchAnswer]) -> Any:
    if asked.version < _BATCHES_SINCE:
        (answer,) = answers
        topics = _fetched(kind, body.topics, asked, answer)
        return make(kind, throttle_time=NO_THROTTLE, topics=topics, error_code=code(answer.error))
    item = part(kind, "groups")
    groups = [
        make(
            item,
            group_id=each.group_id,
            topics=_fetched(item, each.topics, asked, answer),
            error_code=code(answer.error),
        )
        for each, answer in zip(body.groups, answers, strict=True)
    ]
    return make(kind, throttle_time=NO_THROTTLE, groups=tuple(groups))


def _fetched(kind: Any, topics: Any, asked: Asked, answer: OffsetFetchAnswer) -> tuple[Any, ...]:
    """What was found, by the topics of the request, or (None) all topics."""
    since_per_group = asked.version >= _ALL_SINCE
    if answer.error != NONE and since_per_group:
        return ()
    item, made = part(kind, "topics", "partitions"), part(kind, "topics")
    texts = answer.texts or ("",) * len(answer.offsets)
    epochs = answer.epochs or (NO_LEADER_EPOCH,) * len(answer.offsets)
    found = {
        partition: make(
            item,
            partition_index=partition[1],
            committed_offset=offset,
            committed_leader_epoch=epoch,
            metadata=text,
            error_code=code(error),
        )
        for (partition, offset, error), text, epoch in zip(answer.offsets, texts, epochs, strict=True)
    }

    def missing(number: int, error: str) -> Any:
        return make(
            item,
            partition_index=number,
            committed_offset=NO_OFFSET,
            committed_leader_epoch=NO_LEADER_EPOCH,
            metadata="",
            error_code=code(error),
        )

    if topics is None:
        ids = asked.state.topic_ids
        return tuple(
            [
                make(
                    made, name=name, topic_id=ids.get(name, NO_ID), partitions=tuple([found[name, n] for n in numbers])
                )
                for name, numbers in by_topic(found)
            ]
        )
    listed = []
    for each in topics:
        name = _topic(each, asked)
        error = UNKNOWN_TOPIC_ID if name is None else answer.error
        partitions = [found.get((name or "", number)) or missing(number, error) for number in each.partition_indexes]
        listed.append(_of_topic(made, each, tuple(partitions)))
    return tuple(listed)


def _read_delete(body: Any, asked: Asked) -> Sequence[Message]:
    wanted = [
        (each.name, one.partition_index)
        for each in body.topics
        for one in each.partitions
        if _exists(each.name, one.partition_index, asked)
    ]
    return [OffsetDelete(asked.first, body.group_id, tuple(wanted))]


def _write_delete(kind: Any, body: Any, asked: Asked, answers: Sequence[OffsetDeleteAnswer]) -> Any:
    (answer,) = answers
    if answer.error != NONE:
        return make(kind, throttle_time=NO_THROTTLE, error_code=code(answer.error), topics=())
    return _errors(kind, body, asked, dict(answer.errors))


TRANSLATIONS: Mapping[int, Translation] = {
    8: Translation(_read_commit, _write_commit),
    9: Translation(_read_fetch, _write_fetch),
    47: Translation(_read_delete, _write_delete),
}
"""API key to its translation."""
