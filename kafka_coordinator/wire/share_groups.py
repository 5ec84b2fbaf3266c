"""Requests about share groups on the wire: heartbeats of their members, and what administrators ask and change."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from kio.static.protocol import Entity

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.share_groups.messages import (
    AlterShareGroupOffsets,
    AlterShareGroupOffsetsAnswer,
    DeleteShareGroupOffsets,
    DeleteShareGroupOffsetsAnswer,
    ShareGroupDescribe,
    ShareGroupDescribeAnswer,
    ShareGroupHeartbeat,
    ShareGroupHeartbeatAnswer,
)
from kafka_coordinator.coordinator.share_groups.target import foresee
from kafka_coordinator.errors import NONE
from kafka_coordinator.share.persister import NO_OFFSET, Kept
from kafka_coordinator.wire.entities import Kind, code, make, part, response
from kafka_coordinator.wire.group_membership import heartbeat_answer, prepare_heartbeat
from kafka_coordinator.wire.group_views import described_group, host_of, made_of, named_partitions, own_client_id
from kafka_coordinator.wire.opaque import by_topic
from kafka_coordinator.wire.requests import DescribeShareGroupOffsets, Piece, Rests, Work, answered
from kafka_coordinator.wire.state import NO_ID, NO_THROTTLE, Asked, BrokerState, Translation
from protocols.engine.nodes import Message, Outbox, Time

if TYPE_CHECKING:
    from kio.schema.alter_share_group_offsets.v0.request import AlterShareGroupOffsetsRequest
    from kio.schema.delete_share_group_offsets.v0.request import DeleteShareGroupOffsetsRequest
    from kio.schema.describe_share_group_offsets.v1.request import DescribeShareGroupOffsetsRequestGroup
    from kio.schema.share_group_describe.v1.request import ShareGroupDescribeRequest
    from kio.schema.share_group_heartbeat.v1.request import ShareGroupHeartbeatRequest


def _read_heartbeat(body: "ShareGroupHeartbeatRequest", asked: Asked) -> Sequence[Message]:
    group, member_id = body.group_id, body.member_id
    name = asked.names.heard(group, member_id, asked.connection) or asked.names.name(
        group, asked.client_id, member_id, asked.connection
    )
    topics = body.subscribed_topic_names
    return [
        ShareGroupHeartbeat(
            asked.first,
            group,
            member_id,
            body.member_epoch,
            body.rack_id,
            None if topics is None else tuple(topics),
            name,
        )
    ]


def _prepare_heartbeat(body: "ShareGroupHeartbeatRequest", asked: Asked) -> Iterator[None]:
    yield from prepare_heartbeat(body, asked)
    if body.member_epoch >= 0:
        core = asked.state.broker.coordinator.core
        yield from foresee(core, body.group_id, body.member_id, body.subscribed_topic_names)


def _write_heartbeat(
    kind: Kind, body: "ShareGroupHeartbeatRequest", asked: Asked, answers: Sequence[ShareGroupHeartbeatAnswer]
) -> Piece:
    (answer,) = answers
    return heartbeat_answer(kind, answer, asked.state)


def _read_describe(body: "ShareGroupDescribeRequest", asked: Asked) -> Sequence[Message]:
    return [ShareGroupDescribe(asked.first + place, group) for place, group in enumerate(body.group_ids)]


def _write_describe(
    kind: Kind, body: "ShareGroupDescribeRequest", asked: Asked, answers: Sequence[ShareGroupDescribeAnswer]
) -> Piece:
    item, core, rests = part(kind, "groups"), asked.state.broker.coordinator.core, Rests()
    members = part(item, "members")
    groups = []
    # Groups without an id come first.
    for group, answer in sorted(zip(body.group_ids, answers, strict=True), key=lambda each: bool(each[0])):
        if rests.due():
            yield
        rows = []
        for member in answer.members:
            assignment = yield from named_partitions(part(members, "assignment"), member.assignment, asked.state, rests)
            rows.append(
                make(
                    members,
                    member_id=member.member_id,
                    rack_id=member.rack,
                    member_epoch=member.member_epoch,
                    client_id=own_client_id(member.client_id),
                    client_host=host_of(member.host),
                    subscribed_topic_names=member.topics,
                    assignment=assignment,
                )
            )
        why = "is not a share group" if core.is_group(group) else "not found"
        groups.append(
            described_group(
                item,
                body,
                group,
                answer,
                why,
                group_epoch=answer.group_epoch,
                assignment_epoch=answer.assignment_epoch,
                assignor_name=answer.assignor,
                members=tuple(rows),
            )
        )
    return make(kind, throttle_time=NO_THROTTLE, groups=tuple(groups))


def _read_alter(body: "AlterShareGroupOffsetsRequest", asked: Asked) -> Sequence[Message]:
    offsets = [
        ((topic.topic_name, each.partition_index), each.start_offset)
        for topic in body.topics
        for each in topic.partitions
    ]
    return [AlterShareGroupOffsets(asked.first, body.group_id, tuple(offsets))]


def _write_alter(
    kind: Kind,
    body: "AlterShareGroupOffsetsRequest",
    asked: Asked,
    answers: Sequence[AlterShareGroupOffsetsAnswer],
) -> Piece:
    (answer,) = answers
    item, ids = part(kind, "responses"), asked.state.topic_ids
    row, errors = part(item, "partitions"), dict(answer.errors)

    def altered(topic: tuple[str, tuple[int, ...]]) -> Entity:
        rows = [_failed(row, errors[topic[0], number], partition_index=number) for number in topic[1]]
        return make(item, topic_name=topic[0], topic_id=ids.get(topic[0], NO_ID), partitions=tuple(rows))

    topics = yield from made_of(sorted(by_topic(errors), key=lambda each: each[0] in ids), Rests(), altered)
    return _failed(kind, answer.error, answer.error_message, throttle_time=NO_THROTTLE, responses=topics)


def _failed(kind: Kind, error: str, text: str | None = None, **more: object) -> Entity:
    """``text``: what is told beside the error; None: what Kafka tells of every such error."""
    message = None if error == NONE else text or TEXTS.get(error)
    return make(kind, error_code=code(error), error_message=message, **more)


TEXTS: Final[Mapping[str, str]] = {
    "UNKNOWN_TOPIC_OR_PARTITION": "This server does not host this topic-partition.",
    "NON_EMPTY_GROUP": "The group is not empty.",
    "INVALID_GROUP_ID": "The group id is invalid.",
    "NOT_COORDINATOR": "This is not the correct coordinator.",
}
"""Kafka's default texts of errors."""


def _read_forget(body: "DeleteShareGroupOffsetsRequest", asked: Asked) -> Sequence[Message]:
    topics = tuple([topic.topic_name for topic in body.topics])
    return [DeleteShareGroupOffsets(asked.first, body.group_id, topics)]


def _write_forget(
    kind: Kind,
    body: "DeleteShareGroupOffsetsRequest",
    asked: Asked,
    answers: Sequence[DeleteShareGroupOffsetsAnswer],
) -> Entity:
    (answer,) = answers
    item, ids = part(kind, "responses"), asked.state.topic_ids
    topics = [_failed(item, error, topic_name=topic, topic_id=ids.get(topic, NO_ID)) for topic, error in answer.errors]
    return _failed(kind, answer.error, answer.error_message, throttle_time=NO_THROTTLE, responses=tuple(topics))


TRANSLATIONS: Final[Mapping[int, Translation]] = {
    76: Translation(_read_heartbeat, _write_heartbeat, _prepare_heartbeat),
    77: Translation(_read_describe, _write_describe),
    91: Translation(_read_alter, _write_alter),
    92: Translation(_read_forget, _write_forget),
}
"""API key to its translation."""


# Where share-partitions begin.

_OFFSETS: Final = 90


def describe_offsets(
    state: BrokerState, now: Time, sender: str, request: DescribeShareGroupOffsets, out: Outbox
) -> None:
    """Start offsets of groups, as the persister has them, and how much each has before it."""
    out.send(sender, answered(request.correlation, _all_offsets(state, request)))


def _all_offsets(state: BrokerState, request: DescribeShareGroupOffsets) -> Work:
    kind, groups, rests = response(_OFFSETS, request.version), [], Rests()
    for group in request.body.groups:
        if rests.due():
            yield
        groups.append((yield from _offsets(part(kind, "groups"), state, group, rests)))
    return make(kind, throttle_time=NO_THROTTLE, groups=tuple(groups))


def _offsets(kind: Kind, state: BrokerState, asked: "DescribeShareGroupOffsetsRequestGroup", rests: Rests) -> Piece:
    core, group = state.broker.coordinator.core, asked.group_id
    error = core.refusal(group)
    if error != NONE:
        return _failed(kind, error, group_id=group, topics=())
    known = core.share_groups.get(group)
    partitions: list[Partition]
    if asked.topics is not None:
        partitions = [(topic.topic_name, number) for topic in asked.topics for number in topic.partitions]
    else:
        initialized = known.kept.initialized if known is not None and known.kept is not None else {}
        partitions = [(topic, number) for topic in initialized for number in sorted(initialized[topic])]
    item, topics = part(kind, "topics"), []
    for topic, numbers in by_topic(partitions):
        found = partial(_offset, part(item, "partitions"), state, group, topic)
        rows = yield from made_of(numbers, rests, found)
        topics.append(make(item, topic_name=topic, topic_id=state.topic_ids.get(topic, NO_ID), partitions=rows))
    return _failed(kind, NONE, group_id=group, topics=tuple(topics))


def _offset(kind: Kind, state: BrokerState, group: str, topic: str, number: int) -> Entity:
    kept = state.storage.shares.find(group, (topic, number)) or Kept()
    is_led = 0 <= number < len(state.cluster.topics.get(topic, ()))
    lag = -1
    if kept.start_offset != NO_OFFSET and is_led:
        # Whoever alters offsets may name any: a long, as which Kafka computes this, wraps.
        lag = state.storage.log(topic, number).end - kept.start_offset - kept.complete_count
        lag = (lag + 2**63) % 2**64 - 2**63
    return _failed(
        kind,
        NONE,
        partition_index=number,
        start_offset=kept.start_offset,
        leader_epoch=state.storage.log(topic, number).leader_epoch if is_led and kept.start_offset >= 0 else 0,
        lag=lag,
    )
