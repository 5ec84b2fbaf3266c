"""Sizes of frames that are computed are those of the frames that the codec writes."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import timedelta
from typing import Any, cast, get_args, get_origin
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode

from kafka_coordinator import messages
from kafka_coordinator.coordinator.share_groups import messages as group
from kafka_coordinator.frame_sizes import frame_size, opaque
from kafka_coordinator.share import messages as records
from kafka_coordinator.wire.entities import Kind, part
from kafka_coordinator.wire.opaque import by_topic, bytes_of
from kafka_coordinator.wire.writing import content
from tests.rows import rows

CLIENT = "billing-7"
LONG = "a-group-whose-name-is-" + "long" * 40
SHARE = (("orders", 0), ("orders", 3), ("payments", 1))
OFFSETS = tuple((partition, 70_000_000_000 + number, "") for number, partition in enumerate(SHARE))
METADATA = messages.ConsumerMetadata(("orders", "payments"), SHARE, 5, "rack-1")
MEMBER = "consumer-billing-7-5b5f2a1c-3b6b-4b1e-9d3c-2f6f1f0f6d11"
RANGES = ((5, 9, ("ACCEPT",)), (11, 12, ("ACCEPT", "RELEASE")))

FIXED: Mapping[type, object] = {ErrorCode: ErrorCode.none, timedelta: timedelta(0), UUID: UUID(int=1), bool: False}
"""Values of fields that take as many bytes whatever they say."""


def filled(kind: Kind, values: Mapping[str, Any]) -> Any:
    """An entity with these values, its parts given as mappings; what always takes as many bytes may be left out."""
    return kind(
        **{
            field.name: of_value(kind, field.name, values[field.name])
            if field.name in values
            else anything(cast(type, field.type))
            for field in fields(kind)
            if field.name in values or field.default is MISSING
        }
    )


def of_value(kind: Kind, name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(of_value(kind, name, each) for each in value)
    return filled(part(kind, name), value) if isinstance(value, Mapping) else value


def anything(kind: type) -> object:
    if get_origin(kind) is tuple:
        return ()
    if type(None) in get_args(kind):
        return None
    return next((value for each, value in FIXED.items() if issubclass(kind, each)), 0)


def written(asked: bool, key: int, version: int, values: Mapping[str, Any]) -> int:
    """Bytes of the frame: length, header (of a request with the client's id), body."""
    schema = (load_request_schema if asked else load_response_schema)(key, version)
    header = 2 + 2 + 4 + 2 + len(CLIENT) + 1 if asked else 4 + 1
    return 4 + header + len(content(filled(cast(Kind, schema), values)))


def topics(**values: Any) -> list[dict[str, Any]]:
    """Of each topic its partitions, with these values."""
    return [
        {"name": topic, "partitions": [{"partition_index": number, **values} for number in numbers]}
        for topic, numbers in by_topic(SHARE)
    ]


NUMBERS = [numbers for _, numbers in by_topic(SHARE)]
BY_ID = [{"partitions": numbers} for numbers in NUMBERS]
BATCHES = [{"acknowledge_types": tuple(1 for _ in types)} for _, _, types in RANGES]
BROKER = {"host": "127.0.0.1", "port": 19092}
OF_MEMBER = {"member_id": MEMBER}
OF_GROUP = {"group_id": "g", **OF_MEMBER}
OF_CONSUMER = {"protocol_type": "consumer", "protocol_name": "range"}
IN_METADATA = {"replica_nodes": (1,), "isr_nodes": (1,), "offline_replicas": ()}

SIZES: list[tuple[Any, bool, int, int, dict[str, Any]]] = [
    (messages.FindCoordinator(9, LONG), True, 10, 6, {"coordinator_keys": (LONG,)}),
    (
        messages.JoinGroup(9, LONG, MEMBER, None, CLIENT, 1, 2, "consumer", (("range", METADATA), ("sticky", b"xy"))),
        *(True, 11, 9),
        {
            **OF_MEMBER,
            "group_id": LONG,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": bytes_of(METADATA)}, {"name": "sticky", "metadata": b"xy"}],
        },
    ),
    (
        messages.JoinGroupAnswer(
            9, "NONE", 3, MEMBER, MEMBER, "consumer", "range", False, ((messages.JoinedMember(MEMBER, "i", METADATA)),)
        ),
        *(False, 11, 9),
        {
            **OF_CONSUMER,
            **OF_MEMBER,
            "leader": MEMBER,
            "members": [{**OF_MEMBER, "group_instance_id": "i", "metadata": bytes_of(METADATA)}],
        },
    ),
    (
        messages.SyncGroup(9, "g", MEMBER, 3, "i", "consumer", "range", {MEMBER: SHARE, "b": ()}),
        *(True, 14, 5),
        {
            **OF_GROUP,
            **OF_CONSUMER,
            "group_instance_id": "i",
            "assignments": [
                {"member_id": who, "assignment": bytes_of(share)} for who, share in ((MEMBER, SHARE), ("b", ()))
            ],
        },
    ),
    (
        messages.SyncGroupAnswer(9, "NONE", "consumer", "range", SHARE),
        *(False, 14, 5),
        {**OF_CONSUMER, "assignment": bytes_of(SHARE)},
    ),
    (messages.Heartbeat(9, LONG, MEMBER, 3, None), True, 12, 4, {**OF_MEMBER, "group_id": LONG}),
    (messages.HeartbeatAnswer(9, "NONE"), False, 12, 4, {}),
    (
        messages.LeaveGroup(9, "g", (messages.Leaving(MEMBER, None, "the consumer is being closed"),)),
        *(True, 13, 5),
        {"group_id": "g", "members": [{**OF_MEMBER, "reason": "the consumer is being closed"}]},
    ),
    (messages.LeaveGroupAnswer(9, "NONE", ((MEMBER, None, "NONE"),)), False, 13, 5, {"members": [OF_MEMBER]}),
    (
        messages.OffsetCommit(9, "g", MEMBER, 3, None, OFFSETS),
        *(True, 8, 9),
        {**OF_GROUP, "topics": topics(committed_metadata="")},
    ),
    (
        messages.OffsetCommitAnswer(9, tuple((partition, "NONE") for partition in SHARE)),
        *(False, 8, 9),
        {"topics": topics()},
    ),
    (
        messages.OffsetFetch(9, "g", SHARE, MEMBER, 3),
        *(True, 9, 9),
        {"groups": [{**OF_GROUP, "topics": [{"name": of, "partition_indexes": told} for of, told in by_topic(SHARE)]}]},
    ),
    (
        messages.MetadataRequest(9, ("orders", LONG)),
        *(True, 3, 13),
        {"topics": [{"name": name} for name in ("orders", LONG)]},
    ),
    (
        messages.ConsumerGroupHeartbeat(9, "g", MEMBER, 3, None, None, 300_000, ("orders",), None, "uniform", SHARE),
        *(True, 68, 1),
        {**OF_GROUP, "subscribed_topic_names": ("orders",), "server_assignor": "uniform", "topic_partitions": BY_ID},
    ),
    (
        messages.ConsumerGroupHeartbeatAnswer(9, "NONE", MEMBER, 3, 5000, SHARE),
        *(False, 68, 1),
        {**OF_MEMBER, "assignment": {"topic_partitions": BY_ID}},
    ),
    # These answers name the group, which the model's do not: its name is not counted.
    (
        messages.CoordinatorFound(9, "NONE", "b1"),
        *(False, 10, 6),
        {"coordinators": [{"key": "", **BROKER, "error_message": None}]},
    ),
    (
        messages.OffsetFetchAnswer(9, "NONE", tuple((partition, 7, "NONE") for partition in SHARE)),
        *(False, 9, 9),
        {"groups": [{"group_id": "", "topics": topics(metadata="")}]},
    ),
    (
        messages.MetadataAnswer(9, ("b1", "b2"), {"orders": ("b1", "b2"), LONG: ("b1",)}),
        *(False, 3, 13),
        {
            "brokers": [BROKER, BROKER],
            "cluster_id": "x" * 22,
            "topics": [
                {"name": "orders", "partitions": [IN_METADATA, IN_METADATA]},
                {"name": LONG, "partitions": [IN_METADATA]},
            ],
        },
    ),
    (
        group.ShareGroupHeartbeat(9, LONG, MEMBER, 0, None, ("orders", "payments")),
        *(True, 76, 1),
        {**OF_MEMBER, "group_id": LONG, "subscribed_topic_names": ("orders", "payments")},
    ),
    (
        group.ShareGroupHeartbeatAnswer(9, "NONE", MEMBER, 3, 5000, SHARE),
        *(False, 76, 1),
        {**OF_MEMBER, "assignment": {"topic_partitions": BY_ID}},
    ),
    (
        records.ShareAcknowledge(9, "g", MEMBER, 2, tuple((each, RANGES) for each in SHARE)),
        *(True, 79, 2),
        {
            **OF_GROUP,
            "topics": [{"partitions": [{"acknowledgement_batches": BATCHES} for _ in numbers]} for numbers in NUMBERS],
        },
    ),
    (
        records.ShareAcknowledgeAnswer(9, "NONE", 30_000, tuple((each, "NONE") for each in SHARE)),
        *(False, 79, 2),
        {"responses": [{"partitions": [{"current_leader": {}} for _ in numbers]} for numbers in NUMBERS]},
    ),
]


@rows("message, asked, key, version, values", SIZES)
def test_a_frame_has_as_many_bytes_as_the_codec_writes(
    message: Any, asked: bool, key: int, version: int, values: dict[str, Any]
) -> None:
    assert frame_size(message, CLIENT) == written(asked, key, version, values)


@rows("value", [METADATA, messages.ConsumerMetadata(("x",)), SHARE, (), b"plain"])
def test_what_is_opaque_has_as_many_bytes_as_the_codec_writes(value: Any) -> None:
    assert opaque(value) == len(bytes_of(value))
