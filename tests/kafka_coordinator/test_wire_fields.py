"""Every message is one that Kafka's clients and brokers send: its fields are those of the official schemas."""

import dataclasses
import importlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, get_args

from kafka_coordinator import messages
from kafka_coordinator.messages import (
    ConsumerMetadata,
    CoordinatorFound,
    DeleteGroup,
    DeleteGroupAnswer,
    DescribedMember,
    DescribeGroup,
    DescribeGroupAnswer,
    FindCoordinator,
    Heartbeat,
    HeartbeatAnswer,
    JoinedMember,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    Leaving,
    ListGroups,
    ListGroupsAnswer,
    MetadataAnswer,
    MetadataRequest,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    SyncGroup,
    SyncGroupAnswer,
)
from tests.message_classes import message_classes


class Wire(NamedTuple):
    """``schema``: module below `kio.schema` and the class in it. ``fields``: ours to paths in it; ``^`` begins one that
    is in the header."""

    schema: str
    fields: Mapping[str, str]


def request(schema: str, name: str, **fields: str) -> Wire:
    return Wire(f"{schema}.request.{name}Request", {"correlation": "^correlation_id", **fields})


def answer(schema: str, name: str, **fields: str) -> Wire:
    return Wire(f"{schema}.response.{name}Response", {"correlation": "^correlation_id", **fields})


_MEMBER = {"group": "group_id", "member_id": "member_id", "instance_id": "group_instance_id"}
_PARTITIONS = "topics.name topics.partitions.partition_index"

WIRE: Mapping[type[Any], Wire] = {
    FindCoordinator: request("find_coordinator.v4", "FindCoordinator", group="coordinator_keys"),
    CoordinatorFound: answer(
        "find_coordinator.v4",
        "FindCoordinator",
        error="coordinators.error_code",
        broker="coordinators.node_id coordinators.host",
    ),
    JoinGroup: request(
        "join_group.v9",
        "JoinGroup",
        **_MEMBER,
        client_id="^client_id",
        version="^request_api_version",
        session_timeout_ms="session_timeout",
        rebalance_timeout_ms="rebalance_timeout",
        protocol_type="protocol_type",
        protocols="protocols.name protocols.metadata",
        reason="reason",
    ),
    JoinedMember: Wire(
        "join_group.v9.response.JoinGroupResponseMember",
        {"member_id": "member_id", "instance_id": "group_instance_id", "metadata": "metadata"},
    ),
    JoinGroupAnswer: answer(
        "join_group.v9",
        "JoinGroup",
        error="error_code",
        generation="generation_id",
        member_id="member_id",
        leader="leader",
        protocol_type="protocol_type",
        protocol="protocol_name",
        skip_assignment="skip_assignment",
        members="members.member_id",
    ),
    SyncGroup: request(
        "sync_group.v5",
        "SyncGroup",
        **_MEMBER,
        generation="generation_id",
        protocol_type="protocol_type",
        protocol="protocol_name",
        assignments="assignments.member_id assignments.assignment",
    ),
    SyncGroupAnswer: answer(
        "sync_group.v5",
        "SyncGroup",
        error="error_code",
        protocol_type="protocol_type",
        protocol="protocol_name",
        assignment="assignment",
    ),
    Heartbeat: request("heartbeat.v4", "Heartbeat", **_MEMBER, generation="generation_id"),
    HeartbeatAnswer: answer("heartbeat.v4", "Heartbeat", error="error_code"),
    Leaving: Wire(
        "leave_group.v5.request.MemberIdentity",
        {"member_id": "member_id", "instance_id": "group_instance_id", "reason": "reason"},
    ),
    LeaveGroup: request("leave_group.v5", "LeaveGroup", group="group_id", members="members.member_id"),
    LeaveGroupAnswer: answer(
        "leave_group.v5",
        "LeaveGroup",
        error="error_code",
        members="members.member_id members.group_instance_id members.error_code",
    ),
    OffsetCommit: request(
        "offset_commit.v9",
        "OffsetCommit",
        **_MEMBER,
        version="^request_api_version",
        generation="generation_id_or_member_epoch",
        offsets=f"{_PARTITIONS} topics.partitions.committed_offset topics.partitions.committed_metadata",
        epochs="topics.partitions.committed_leader_epoch",
    ),
    OffsetCommitAnswer: answer(
        "offset_commit.v9", "OffsetCommit", errors=f"{_PARTITIONS} topics.partitions.error_code"
    ),
    OffsetFetch: request(
        "offset_fetch.v9",
        "OffsetFetch",
        group="groups.group_id",
        member_id="groups.member_id",
        generation="groups.member_epoch",
        partitions="groups.topics.name groups.topics.partition_indexes",
    ),
    OffsetFetchAnswer: answer(
        "offset_fetch.v9",
        "OffsetFetch",
        error="groups.error_code",
        offsets="groups.topics.name groups.topics.partitions.partition_index groups.topics.partitions.committed_offset"
        " groups.topics.partitions.error_code",
        texts="groups.topics.partitions.metadata",
        epochs="groups.topics.partitions.committed_leader_epoch",
    ),
    OffsetDelete: request("offset_delete.v0", "OffsetDelete", group="group_id", partitions=_PARTITIONS),
    OffsetDeleteAnswer: answer(
        "offset_delete.v0",
        "OffsetDelete",
        error="error_code",
        errors=f"{_PARTITIONS} topics.partitions.error_code",
    ),
    DescribeGroup: request("describe_groups.v6", "DescribeGroups", group="groups", version="^request_api_version"),
    DescribedMember: Wire(
        "describe_groups.v6.response.DescribedGroupMember",
        {
            "member_id": "member_id",
            "instance_id": "group_instance_id",
            "client_id": "client_id",
            "host": "client_host",
            "metadata": "member_metadata",
            "assignment": "member_assignment",
        },
    ),
    DescribeGroupAnswer: answer(
        "describe_groups.v6",
        "DescribeGroups",
        error="groups.error_code",
        state="groups.group_state",
        protocol_type="groups.protocol_type",
        protocol="groups.protocol_data",
        members="groups.members.member_id",
    ),
    ListGroups: request("list_groups.v5", "ListGroups", states="states_filter", types="types_filter"),
    ListGroupsAnswer: answer(
        "list_groups.v5",
        "ListGroups",
        error="error_code",
        groups="groups.group_id groups.protocol_type groups.group_state groups.group_type",
    ),
    DeleteGroup: request("delete_groups.v2", "DeleteGroups", group="groups_names"),
    DeleteGroupAnswer: answer("delete_groups.v2", "DeleteGroups", error="results.error_code"),
    MetadataRequest: request("metadata.v12", "Metadata", topics="topics.name"),
    MetadataAnswer: answer(
        "metadata.v12",
        "Metadata",
        brokers="brokers.node_id brokers.host",
        topics="topics.name topics.partitions.partition_index topics.partitions.leader_id",
        replica_racks="brokers.rack topics.partitions.replica_nodes",
    ),
    ConsumerMetadata: Wire(
        "consumer_protocol_subscription.v3.data.ConsumerProtocolSubscription",
        {
            "topics": "topics",
            "owned": "owned_partitions.topic owned_partitions.partitions",
            "generation": "generation_id",
            "rack": "rack_id",
            "user_data": "user_data",
        },
    ),
}

HEADER = {
    field.name
    for schema, name in (
        ("request_header.v2.header", "RequestHeader"),
        ("response_header.v1.header", "ResponseHeader"),
    )
    for field in dataclasses.fields(getattr(importlib.import_module(f"kio.schema.{schema}"), name))
}


def schema_of(wire: Wire) -> Any:
    module, _, name = wire.schema.rpartition(".")
    return getattr(importlib.import_module(f"kio.schema.{module}"), name)


def has(schema: Any, path: Iterable[str]) -> bool:
    """Whether the class of a schema has this path of fields, through tuples of other classes."""
    for name in path:
        fields = {} if schema is None else {field.name: field.type for field in dataclasses.fields(schema)}
        if name not in fields:
            return False
        schema = inner(fields[name])
    return True


def inner(kind: Any) -> Any:
    """The class of the elements of a field, if they are records."""
    if dataclasses.is_dataclass(kind):
        return kind
    return next((found for each in get_args(kind) if (found := inner(each)) is not None), None)


def private(message: type[Any], wire: Wire) -> list[str]:
    """The fields of a message that its schema does not have."""
    schema = schema_of(wire)
    return [
        field
        for field in message._fields
        if not wire.fields.get(field)
        or not all(
            place[1:] in HEADER if place.startswith("^") else has(schema, place.split("."))
            for place in wire.fields[field].split()
        )
    ]


EVERY = message_classes(messages)


def test_every_field_is_one_of_the_schema() -> None:
    assert [(message, field) for message in EVERY for field in private(message, WIRE[message])] == []


def test_a_private_field_is_found() -> None:
    hosted = type("JoinGroup", (), {"_fields": (*JoinGroup._fields, "host")})
    wire = WIRE[JoinGroup]
    assert private(hosted, wire) == ["host"]
    assert private(hosted, wire._replace(fields={**wire.fields, "host": "host"})) == ["host"]
    assert private(JoinGroup, wire._replace(fields={**wire.fields, "reason": "^reason"})) == ["reason"]
