"""Requests of a group's members on the wire: join, sync, heartbeat, leave, of either protocol."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Final

from kio.static.protocol import Entity

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups.subscribed import hash_names
from kafka_coordinator.coordinator.refusals import sync_refused
from kafka_coordinator.coordinator.share_groups.messages import ShareGroupHeartbeatAnswer
from kafka_coordinator.errors import INCONSISTENT_GROUP_PROTOCOL, NONE
from kafka_coordinator.messages import (
    CONSUMER_PROTOCOL_TYPE,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    Heartbeat,
    HeartbeatAnswer,
    JoinedMember,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    Leaving,
    Opaque,
    SyncGroup,
    SyncGroupAnswer,
)
from kafka_coordinator.wire.entities import Kind, code, has, make, part
from kafka_coordinator.wire.group_views import named_partitions
from kafka_coordinator.wire.opaque import assignment, bytes_of, subscription, version_of
from kafka_coordinator.wire.requests import Piece, Rests
from kafka_coordinator.wire.state import MANY, NO_ID, NO_THROTTLE, Asked, BrokerState, Translation, milliseconds
from protocols.engine.nodes import Message
from protocols.java import sorted_as_java

if TYPE_CHECKING:
    from kio.schema.consumer_group_heartbeat.v1.request import ConsumerGroupHeartbeatRequest, TopicPartitions
    from kio.schema.heartbeat.v4.request import HeartbeatRequest
    from kio.schema.join_group.v9.request import JoinGroupRequest
    from kio.schema.leave_group.v5.request import LeaveGroupRequest
    from kio.schema.share_group_heartbeat.v1.request import ShareGroupHeartbeatRequest
    from kio.schema.sync_group.v5.request import SyncGroupRequest

_NULLABLE_PROTOCOL_SINCE: Final = 7
"""From this version of JoinGroup's answer on the protocol's name may be null."""


_NAMES_PROTOCOL_SINCE: Final = 5
"""From this version of SyncGroup on a member says its protocol's type and name."""


def _read_join(body: "JoinGroupRequest", asked: Asked) -> Sequence[Message]:
    of_consumers = body.protocol_type == CONSUMER_PROTOCOL_TYPE
    session = milliseconds(body.session_timeout)
    instance_id = getattr(body, "group_instance_id", None)
    protocols: dict[str, Opaque] = {}
    for protocol in body.protocols:
        # A name that comes twice would count as two votes; the first one counts.
        protocols.setdefault(protocol.name, subscription(protocol.metadata) if of_consumers else protocol.metadata)
    return [
        JoinGroup(
            asked.first,
            body.group_id,
            body.member_id,
            instance_id,
            asked.names.name(body.group_id, asked.client_id, body.member_id, asked.connection),
            session,
            milliseconds(body.rebalance_timeout) if has(type(body), "rebalance_timeout") else session,
            body.protocol_type,
            tuple(protocols.items()),
            asked.version,
            getattr(body, "reason", None) or "",
        )
    ]


def _write_join(kind: Kind, body: "JoinGroupRequest", asked: Asked, answers: Sequence[JoinGroupAnswer]) -> Entity:
    (answer,) = answers
    if answer.member_id:
        asked.names.given(body.group_id, asked.connection, answer.member_id)
    protocol = answer.protocol if answer.error == NONE else None
    return make(
        kind,
        throttle_time=NO_THROTTLE,
        error_code=code(answer.error),
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name="" if protocol is None and asked.version < _NULLABLE_PROTOCOL_SINCE else protocol,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=tuple([_joined_member(part(kind, "members"), member) for member in answer.members]),
    )


def _joined_member(kind: Kind, member: JoinedMember) -> Entity:
    return make(
        kind, member_id=member.member_id, group_instance_id=member.instance_id, metadata=bytes_of(member.metadata)
    )


def _read_sync(body: "SyncGroupRequest", asked: Asked) -> Sequence[Message]:
    if asked.version >= _NAMES_PROTOCOL_SINCE and (body.protocol_type is None or body.protocol_name is None):
        return []
    asked.names.heard(body.group_id, body.member_id, asked.connection)
    group = asked.state.broker.coordinator.core.groups.get(body.group_id)
    of_consumers = group is None or group.protocol_type == CONSUMER_PROTOCOL_TYPE
    assignments = {
        each.member_id: assignment(each.assignment) if of_consumers else each.assignment for each in body.assignments
    }
    return [
        SyncGroup(
            asked.first,
            body.group_id,
            body.member_id,
            body.generation_id,
            getattr(body, "group_instance_id", None),
            getattr(body, "protocol_type", None),
            getattr(body, "protocol_name", None),
            assignments,
        )
    ]


def _write_sync(kind: Kind, body: "SyncGroupRequest", asked: Asked, answers: Sequence[SyncGroupAnswer]) -> Entity:
    (answer,) = answers or [sync_refused(0, INCONSISTENT_GROUP_PROTOCOL)]
    group = asked.state.broker.coordinator.core.readable(body.group_id)
    member = None if group is None else group.members.get(body.member_id)
    classic = None if member is None else member.profile.classic
    version = 0 if classic is None else version_of(classic.protocols[0][1])
    return make(
        kind,
        throttle_time=NO_THROTTLE,
        error_code=code(answer.error),
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol,
        assignment=bytes_of(answer.assignment, version),
    )


def _read_heartbeat(body: "HeartbeatRequest", asked: Asked) -> Sequence[Message]:
    asked.names.heard(body.group_id, body.member_id, asked.connection)
    instance_id = getattr(body, "group_instance_id", None)
    return [Heartbeat(asked.first, body.group_id, body.member_id, body.generation_id, instance_id)]


@cache
def _heartbeat_answer(kind: Kind, error: str) -> Entity:
    return make(kind, throttle_time=NO_THROTTLE, error_code=code(error))


def _write_heartbeat(kind: Kind, body: "HeartbeatRequest", asked: Asked, answers: Sequence[HeartbeatAnswer]) -> Entity:
    return _heartbeat_answer(kind, answers[0].error)


def _read_leave(body: "LeaveGroupRequest", asked: Asked) -> Sequence[Message]:
    if has(type(body), "members"):
        members = tuple(
            [
                Leaving(member.member_id, member.group_instance_id, getattr(member, "reason", None) or "")
                for member in body.members
            ]
        )
    else:
        members = (Leaving(getattr(body, "member_id", ""), None),)
    return [LeaveGroup(asked.first, body.group_id, members)]


def _write_leave(kind: Kind, body: "LeaveGroupRequest", asked: Asked, answers: Sequence[LeaveGroupAnswer]) -> Entity:
    (answer,) = answers
    if not has(kind, "members"):
        error = answer.error
        if error == NONE and answer.members:
            error = answer.members[0][2]
        return make(kind, throttle_time=NO_THROTTLE, error_code=code(error))
    member = part(kind, "members")
    members = tuple(
        [
            make(member, member_id=member_id, group_instance_id=instance_id, error_code=code(error))
            for member_id, instance_id, error in answer.members
        ]
    )
    return make(kind, throttle_time=NO_THROTTLE, error_code=code(answer.error), members=members)


def prepare_heartbeat(
    body: "ConsumerGroupHeartbeatRequest | ShareGroupHeartbeatRequest", asked: Asked
) -> Iterator[None]:
    """What the coordinator will ask about the member's topics is computed before it is given the request, which it
    handles as a whole."""
    topics = body.subscribed_topic_names or ()
    if len(topics) > MANY:
        yield from hash_names(topics)
        subscription = asked.state.broker.coordinator.core.subscription(tuple(sorted_as_java(set(topics))))
        yield
        subscription.in_order()
        yield
        subscription.partitions()
        yield


def _read_consumer_heartbeat(body: "ConsumerGroupHeartbeatRequest", asked: Asked) -> Sequence[Message]:
    member_id = body.member_id
    names = asked.names
    if body.member_epoch == 0 or not member_id:
        name = names.name(body.group_id, asked.client_id, member_id, asked.connection)
    else:
        name = names.heard(body.group_id, member_id, asked.connection) or names.name(
            body.group_id, asked.client_id, member_id, asked.connection
        )
    topics = body.subscribed_topic_names
    return [
        ConsumerGroupHeartbeat(
            asked.first,
            body.group_id,
            member_id,
            body.member_epoch,
            body.instance_id,
            body.rack_id,
            milliseconds(body.rebalance_timeout),
            None if topics is None else tuple(topics),
            getattr(body, "subscribed_topic_regex", None),
            body.server_assignor,
            None if body.topic_partitions is None else _named(body.topic_partitions, asked.state),
            name,
            asked.version,
        )
    ]


def _named(topics: "Sequence[TopicPartitions]", state: BrokerState) -> tuple[Partition, ...]:
    """Partitions whose topics there are, or were until they were deleted, sorted."""
    known = {**state.gone_topics, **state.topic_names} if state.gone_topics else state.topic_names
    named = [(known.get(topic.topic_id or NO_ID), topic.partitions) for topic in topics]
    return tuple(sorted([(name, number) for name, numbers in named if name is not None for number in numbers]))


def _write_consumer_heartbeat(
    kind: Kind, body: "ConsumerGroupHeartbeatRequest", asked: Asked, answers: Sequence[ConsumerGroupHeartbeatAnswer]
) -> Piece:
    (answer,) = answers
    if answer.member_id:
        asked.names.given(body.group_id, asked.connection, answer.member_id)
    return heartbeat_answer(kind, answer, asked.state)


def heartbeat_answer(
    kind: Kind, answer: ConsumerGroupHeartbeatAnswer | ShareGroupHeartbeatAnswer, state: BrokerState
) -> Piece:
    """The answer to a heartbeat of the consumer protocol, or of a share group, which has the same fields."""
    told = answer.assignment
    assignment = None
    if told is not None:
        assignment = yield from named_partitions(part(kind, "assignment"), told, state, Rests())
    return make(
        kind,
        throttle_time=NO_THROTTLE,
        error_code=code(answer.error),
        error_message=answer.error_message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval=timedelta(milliseconds=answer.heartbeat_interval_ms),
        assignment=assignment,
    )


TRANSLATIONS: Mapping[int, Translation] = {
    11: Translation(_read_join, _write_join),
    12: Translation(_read_heartbeat, _write_heartbeat),
    13: Translation(_read_leave, _write_leave),
    14: Translation(_read_sync, _write_sync),
    68: Translation(_read_consumer_heartbeat, _write_consumer_heartbeat, prepare_heartbeat),
}
"""API key to its translation."""
