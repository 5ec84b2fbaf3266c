"""Requests of Kafka's coordinator traces as messages and back, and answers and groups in the form of the recording.

Member ids in requests are real here: whoever calls has replaced the recording's symbols. The coordinator judges what a
request asks for: a recording may ask for what no client would.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from compare.conformance.cases import MalformedCase
from compare.conformance.kafka_requests import Field, Request, fields_of, named, pairs, sorted_pairs
from compare.conformance.kafka_share_groups import SHARE_ANSWERS, SHARE_REQUESTS
from compare.json_types import Json
from kafka_coordinator.cluster import (
    CONSUMER_PROTOCOL_TYPE,
    NONE,
    BrokerSettings,
    ConsumerGroup,
    ConsumerGroupDescribe,
    ConsumerGroupDescribeAnswer,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    ConsumerMetadata,
    DeleteGroup,
    DeleteGroupAnswer,
    DescribeGroup,
    DescribeGroupAnswer,
    Group,
    Heartbeat,
    HeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    Leaving,
    ListGroups,
    ListGroupsAnswer,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    Opaque,
    Refused,
    SyncGroup,
    SyncGroupAnswer,
    check_request,
)
from kafka_coordinator.cluster import consumer_groups_states as states
from protocols.engine.nodes import Message
from protocols.java import sorted_as_java

PARTITIONS: Final = "P:"
"""An assignment that was sent as a consumer's; every other text was sent as its bytes."""


def _opaque(text: str) -> Opaque:
    """An assignment as it was sent."""
    if not text.startswith(PARTITIONS):
        return text
    listed = text.removeprefix(PARTITIONS)
    named = [partition.rpartition("-") for partition in listed.split(",")] if listed else []
    return tuple((topic, int(number)) for topic, _, number in named)


def _assignment(assignment: object) -> str:
    """An assignment as the recording writes it."""
    if isinstance(assignment, tuple):
        return PARTITIONS + ",".join(f"{topic}-{number}" for topic, number in assignment)
    return assignment.decode("latin-1") if isinstance(assignment, bytes) else str(assignment or "")


def _topics(protocols: tuple[tuple[str, Opaque], ...]) -> Json:
    metadata = protocols[0][1] if protocols else None
    return list(metadata.topics) if isinstance(metadata, ConsumerMetadata) else []


def _protocols(req: Request) -> tuple[tuple[str, Opaque], ...]:
    """All protocols of a JoinGroup have the same metadata: a consumer's, or the topics as a text."""
    topics = tuple(req["topics"])
    is_consumer = req["protocol_type"] == CONSUMER_PROTOCOL_TYPE
    owned = named(req.get("owned", ())) or ()
    metadata: Opaque = ConsumerMetadata(topics, owned) if is_consumer else ",".join(topics)
    return tuple((name, metadata) for name in req["protocols"])


_MEMBER, _INSTANCE, _VERSION = Field("member_id"), Field("instance_id"), Field("api_version", "version")
_PARTITIONS_OF = Field("partitions", "", named, pairs)

REQUESTS: Mapping[str, tuple[type[Message], tuple[Field, ...]]] = {
    "join_group": (
        JoinGroup,
        (
            _MEMBER,
            _INSTANCE,
            Field("client_id", write=lambda client: getattr(client, "client_id", client)),
            Field("session_timeout_ms"),
            Field("rebalance_timeout_ms"),
            Field("protocol_type"),
            Field("protocols", "", None, lambda protocols: [name for name, _ in protocols]),
            Field("topics", "protocols", None, _topics),
            _VERSION,
        ),
    ),
    "sync_group": (
        SyncGroup,
        (
            _MEMBER,
            Field("generation"),
            _INSTANCE,
            Field("protocol_type"),
            Field("protocol"),
            Field(
                "assignments",
                "",
                lambda texts: {member: _opaque(text) for member, text in texts.items()},
                lambda given: {member: _assignment(assignment) for member, assignment in given.items()},
            ),
        ),
    ),
    "heartbeat": (Heartbeat, (_MEMBER, Field("generation"), _INSTANCE)),
    "leave_group": (
        LeaveGroup,
        (
            Field(
                "members",
                "",
                lambda members: tuple(Leaving(member["member_id"], member["instance_id"]) for member in members),
                lambda members: [fields_of(member, "member_id", "instance_id") for member in members],
            ),
        ),
    ),
    "offset_commit": (
        OffsetCommit,
        (
            _MEMBER,
            Field("generation_or_epoch", "generation"),
            _INSTANCE,
            Field(
                "offsets",
                "",
                lambda offsets: tuple(((topic, number), offset, "") for topic, number, offset in offsets),
                lambda offsets: [[*partition, offset] for partition, offset, _ in offsets],
            ),
            _VERSION,
        ),
    ),
    "offset_fetch": (OffsetFetch, (_MEMBER, Field("member_epoch", "generation"), _PARTITIONS_OF)),
    "offset_delete": (OffsetDelete, (_PARTITIONS_OF,)),
    "delete_group": (DeleteGroup, ()),
    "list_groups": (ListGroups, ()),
    "describe_group": (DescribeGroup, ()),
    "consumer_group_heartbeat": (
        ConsumerGroupHeartbeat,
        (
            _MEMBER,
            Field("member_epoch"),
            _INSTANCE,
            Field("rack", optional=True),
            Field("rebalance_timeout_ms"),
            Field(
                "subscribed",
                "topics",
                lambda topics: None if topics is None else tuple(topics),
                lambda topics: None if topics is None else list(topics),
            ),
            Field("regex"),
            Field("assignor"),
            Field("owned", "", named, pairs),
            _VERSION,
        ),
    ),
    "consumer_group_describe": (ConsumerGroupDescribe, ()),
    **SHARE_REQUESTS,
}
"""Operation to the message and its fields; all but one have a group as well."""

OPERATIONS: Mapping[type[Message], str] = {kind: op for op, (kind, _) in REQUESTS.items()}


def request(op: str, n: int, req: Request) -> Message:
    """The recorded request as a message, ``n`` the number of its step; `MalformedCase` if it is none."""
    kind, fields = REQUESTS[op]
    try:
        given: dict[str, object] = {} if kind is ListGroups else {"group": req["group_id"]}
        for field in fields:
            if field.read is not None:
                given[field.of_message] = field.read(req.get(field.name) if field.optional else req[field.name])
        if kind is JoinGroup:
            given["protocols"] = _protocols(req)
        make: Callable[..., Message] = kind
        return make(n, **given)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedCase("req", f"a {op} request", f"{type(error).__name__}: {error}") from None


def written(message: Message) -> dict[str, Json]:
    """The message as the recording writes a request, without its group."""
    _, fields = REQUESTS[OPERATIONS[type(message)]]
    return {field.name: field.write(getattr(message, field.of_message)) for field in fields}


def with_blank_rack(request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeat:
    """A heartbeat that was refused as invalid although nothing recorded of it is: then it is the one field that the
    recording leaves out, the rack, which was blank. One with a recorded fault stays as it is."""
    try:
        check_request(BrokerSettings(), request._replace(assignor=None))
    except Refused:
        return request
    return request._replace(rack="")


def _metadata(metadata: Opaque) -> Json:
    if isinstance(metadata, ConsumerMetadata):
        return list(metadata.topics)
    return metadata or None


def _errors(answer: OffsetCommitAnswer | OffsetDeleteAnswer) -> Json:
    return [[*partition, error] for partition, error in answer.errors]


def _fetched(answer: OffsetFetchAnswer) -> Json:
    if answer.error != NONE:
        return {"error": answer.error}
    return {
        "error": answer.error,
        "results": [[*partition, offset, error] for partition, offset, error in answer.offsets],
    }


ANSWERS: Mapping[type[Message], Callable[[Any], Json]] = {
    JoinGroupAnswer: lambda answer: {
        **fields_of(
            answer, "error", "generation", "member_id", "leader", "protocol_type", "protocol", "skip_assignment"
        ),
        "members": [
            {**fields_of(member, "member_id", "instance_id"), "metadata": _metadata(member.metadata)}
            for member in answer.members
        ],
    },
    SyncGroupAnswer: lambda answer: {
        **fields_of(answer, "error", "protocol_type", "protocol"),
        "assignment": _assignment(answer.assignment),
    },
    HeartbeatAnswer: lambda answer: {"error": answer.error},
    LeaveGroupAnswer: lambda answer: {
        "error": answer.error,
        "members": [
            {"member_id": member, "instance_id": instance, "error": error} for member, instance, error in answer.members
        ],
    },
    OffsetCommitAnswer: lambda answer: {"results": _errors(answer)},
    OffsetFetchAnswer: _fetched,
    OffsetDeleteAnswer: lambda answer: {"error": answer.error, "results": _errors(answer)},
    DescribeGroupAnswer: lambda answer: {
        **fields_of(answer, "error", "state", "protocol_type", "protocol"),
        "members": [
            {
                **fields_of(member, "member_id", "instance_id", "client_id"),
                "metadata": _metadata(member.metadata),
                "assignment": _assignment(member.assignment),
            }
            for member in answer.members
        ],
    },
    ListGroupsAnswer: lambda answer: {
        "error": answer.error,
        "groups": [
            {"group_id": group, "protocol_type": protocol_type, "state": state, "type": kind.lower()}
            for group, protocol_type, state, kind in answer.groups
        ],
    },
    DeleteGroupAnswer: lambda answer: {"error": answer.error},
    ConsumerGroupHeartbeatAnswer: lambda answer: {
        **fields_of(answer, "error", "member_id", "member_epoch", "heartbeat_interval_ms"),
        "assignment": None if answer.assignment is None else sorted_pairs(answer.assignment),
    },
    ConsumerGroupDescribeAnswer: lambda answer: {
        **fields_of(answer, "error", "state", "group_epoch", "assignment_epoch", "assignor"),
        "members": [
            {
                **fields_of(member, "member_id", "instance_id", "member_epoch"),
                "member_type": 0 if member.is_classic else 1,
                "subscribed": list(member.topics),
                "regex": member.regex,
                "assignment": sorted_pairs(member.assignment),
                "target_assignment": sorted_pairs(member.target),
            }
            for member in answer.members
        ],
    },
    **SHARE_ANSWERS,
}


def answer(message: Message) -> Json:
    """An answer in the form of the recording.

    The recording's form for real code that threw has no counterpart: the model always answers, and where it raises
    the case has failed.
    """
    return ANSWERS[type(message)](message)


def group_state(group: Group | None) -> Json:
    """A group in the form of the recording; null: there is none."""
    if group is None:
        return None
    return {
        "type": "classic",
        **fields_of(group, "state", "generation", "leader", "protocol_type", "protocol"),
        "members": {
            member.id: {
                **fields_of(member, "instance_id", "session_timeout_ms", "rebalance_timeout_ms"),
                "protocols": [name for name, _ in member.protocols],
                "awaiting_join": member.join is not None,
                "awaiting_sync": member.sync is not None,
                "assignment": _assignment(member.assignment),
            }
            for member in group.members.values()
        },
        "member_order": [member.id for member in group.ordered()],
        "num_pending_join": len(group.pending_join),
        "pending_sync": sorted(group.pending_sync),
        "new_member_added": group.new_member_added,
        "subscribed_topics": None if group.subscribed is None else sorted_as_java(group.subscribed),
    }


_MEMBER_STATES: Mapping[str, str] = {
    states.M_STABLE: "STABLE",
    states.UNREVOKED: "UNREVOKED_PARTITIONS",
    states.UNRELEASED: "UNRELEASED_PARTITIONS",
}


def consumer_group_state(group: ConsumerGroup) -> Json:
    """A group of the consumer protocol in the form of the recording."""
    return {
        "type": "consumer",
        "state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "preferred_assignor": group.preferred_assignor(),
        "members": {
            member.id: {
                "instance_id": member.profile.instance_id,
                "member_epoch": member.standing.epoch,
                "previous_member_epoch": member.standing.previous_epoch,
                "state": _MEMBER_STATES[member.standing.state],
                "subscribed": list(member.profile.topics),
                **fields_of(member.profile, "regex", "assignor", "rebalance_timeout_ms"),
                "assigned": sorted_pairs(member.standing.assigned),
                "pending_revocation": sorted_pairs(member.standing.pending),
                "target": sorted_pairs(group.target.get(member.id, ())),
                "classic_protocol": member.profile.classic is not None,
            }
            for member in group.members.values()
        },
    }
