"""Recorded requests of Kafka's coordinator traces as messages, and answers and groups in the form of the recording.

Member ids in requests are real here: whoever calls has replaced the recording's symbols.
"""

from collections.abc import Callable, Mapping
from typing import Any

from compare.conformance.cases import MalformedCase
from compare.conformance.kafka_consumer_group_shapes import CONSUMER_ANSWERS, CONSUMER_REQUESTS, Request
from compare.json_types import Json
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.errors import NONE
from kafka_coordinator.messages import (
    CONSUMER_PROTOCOL_TYPE,
    ConsumerMetadata,
    DeleteGroup,
    DeleteGroupAnswer,
    DescribeGroup,
    DescribeGroupAnswer,
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
    SyncGroup,
    SyncGroupAnswer,
)
from protocols.engine.nodes import Message
from protocols.java import sorted_as_java


def _join(n: int, req: Request) -> JoinGroup:
    protocol_type, topics = req["protocol_type"], tuple(req["topics"])
    metadata: Opaque = ConsumerMetadata(topics) if protocol_type == CONSUMER_PROTOCOL_TYPE else ",".join(topics)
    return JoinGroup(
        n,
        req["group_id"],
        req["member_id"],
        req["instance_id"],
        req["client_id"],
        req["session_timeout_ms"],
        req["rebalance_timeout_ms"],
        protocol_type,
        tuple((name, metadata) for name in req["protocols"]),
        req["api_version"],
    )


PARTITIONS = "P:"
"""An assignment that was sent as a consumer's; every other text was sent as its bytes."""


def _opaque(text: str) -> Opaque:
    """An assignment as it was sent."""
    if not text.startswith(PARTITIONS):
        return text
    listed = text.removeprefix(PARTITIONS)
    named = [each.rpartition("-") for each in listed.split(",")] if listed else []
    return tuple((topic, int(number)) for topic, _, number in named)


def _sync(n: int, req: Request) -> SyncGroup:
    return SyncGroup(
        n,
        req["group_id"],
        req["member_id"],
        req["generation"],
        req["instance_id"],
        req["protocol_type"],
        req["protocol"],
        {member: _opaque(text) for member, text in req["assignments"].items()},
    )


def _heartbeat(n: int, req: Request) -> Heartbeat:
    return Heartbeat(n, req["group_id"], req["member_id"], req["generation"], req["instance_id"])


def _leave(n: int, req: Request) -> LeaveGroup:
    members = tuple(Leaving(each["member_id"], each["instance_id"]) for each in req["members"])
    return LeaveGroup(n, req["group_id"], members)


def _commit(n: int, req: Request) -> OffsetCommit:
    return OffsetCommit(
        n,
        req["group_id"],
        req["member_id"],
        req["generation_or_epoch"],
        req["instance_id"],
        tuple(((topic, number), offset, "") for topic, number, offset in req["offsets"]),
        req["api_version"],
    )


def _fetch(n: int, req: Request) -> OffsetFetch:
    partitions = req["partitions"]
    wanted = None if partitions is None else tuple((topic, number) for topic, number in partitions)
    return OffsetFetch(n, req["group_id"], wanted, req["member_id"], req["member_epoch"])


def _delete_offsets(n: int, req: Request) -> OffsetDelete:
    return OffsetDelete(n, req["group_id"], tuple((topic, number) for topic, number in req["partitions"]))


REQUESTS: Mapping[str, Callable[[int, Request], Message]] = {
    "join_group": _join,
    "sync_group": _sync,
    "heartbeat": _heartbeat,
    "leave_group": _leave,
    "offset_commit": _commit,
    "offset_fetch": _fetch,
    "offset_delete": _delete_offsets,
    "delete_group": lambda n, req: DeleteGroup(n, req["group_id"]),
    "list_groups": lambda n, req: ListGroups(n),
    "describe_group": lambda n, req: DescribeGroup(n, req["group_id"]),
    **CONSUMER_REQUESTS,
}
"""Operation to the message (number of the step, the recorded request)."""


def request(op: str, n: int, req: Request) -> Message:
    """The recorded request as a message; `MalformedCase` if it is none."""
    try:
        return REQUESTS[op](n, req)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedCase("req", f"a {op} request", f"{type(error).__name__}: {error}") from None


def _metadata(metadata: Opaque) -> Json:
    if isinstance(metadata, ConsumerMetadata):
        return list(metadata.topics)
    return metadata or None


def _assignment(assignment: Opaque) -> Json:
    if isinstance(assignment, tuple):
        return PARTITIONS + ",".join(f"{topic}-{number}" for topic, number in assignment)
    return assignment or ""


def _joined(answer: JoinGroupAnswer) -> Json:
    return {
        "error": answer.error,
        "generation": answer.generation,
        "member_id": answer.member_id,
        "leader": answer.leader,
        "protocol_type": answer.protocol_type,
        "protocol": answer.protocol,
        "skip_assignment": answer.skip_assignment,
        "members": [
            {"member_id": each.member_id, "instance_id": each.instance_id, "metadata": _metadata(each.metadata)}
            for each in answer.members
        ],
    }


def _synced(answer: SyncGroupAnswer) -> Json:
    return {
        "error": answer.error,
        "protocol_type": answer.protocol_type,
        "protocol": answer.protocol,
        "assignment": _assignment(answer.assignment),
    }


def _left(answer: LeaveGroupAnswer) -> Json:
    members = [
        {"member_id": member, "instance_id": instance, "error": error} for member, instance, error in answer.members
    ]
    return {"error": answer.error, "members": members}


def _fetched(answer: OffsetFetchAnswer) -> Json:
    if answer.error != NONE:
        return {"error": answer.error}
    return {
        "error": answer.error,
        "results": [[*partition, offset, error] for partition, offset, error in answer.offsets],
    }


def _described(answer: DescribeGroupAnswer) -> Json:
    return {
        "error": answer.error,
        "state": answer.state,
        "protocol_type": answer.protocol_type,
        "protocol": answer.protocol,
        "members": [
            {
                "member_id": each.member_id,
                "instance_id": each.instance_id,
                "client_id": each.client_id,
                "metadata": _metadata(each.metadata),
                "assignment": _assignment(each.assignment),
            }
            for each in answer.members
        ],
    }


def _listed(answer: ListGroupsAnswer) -> Json:
    groups = [
        {"group_id": group, "protocol_type": protocol_type, "state": state, "type": kind.lower()}
        for group, protocol_type, state, kind in answer.groups
    ]
    return {"error": answer.error, "groups": groups}


ANSWERS: Mapping[type[Message], Callable[[Any], Json]] = {
    JoinGroupAnswer: _joined,
    SyncGroupAnswer: _synced,
    HeartbeatAnswer: lambda answer: {"error": answer.error},
    LeaveGroupAnswer: _left,
    OffsetCommitAnswer: lambda answer: {"results": [[*partition, error] for partition, error in answer.errors]},
    OffsetFetchAnswer: _fetched,
    OffsetDeleteAnswer: lambda answer: {
        "error": answer.error,
        "results": [[*partition, error] for partition, error in answer.errors],
    },
    DescribeGroupAnswer: _described,
    ListGroupsAnswer: _listed,
    DeleteGroupAnswer: lambda answer: {"error": answer.error},
    **CONSUMER_ANSWERS,
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
        "state": group.state,
        "generation": group.generation,
        "leader": group.leader,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "members": {
            member.id: {
                "instance_id": member.instance_id,
                "session_timeout_ms": member.session_timeout_ms,
                "rebalance_timeout_ms": member.rebalance_timeout_ms,
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
