"""Messages have no field of their own: each is one that the official schemas have, though often under another name."""

import dataclasses
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from kafka_coordinator import messages
from kafka_coordinator.wire.apis import APIS
from kafka_coordinator.wire.schemas import request_schema, response_schema
from tests.message_classes import message_classes

OURS = {
    "correlation": "correlation_id",
    "version": "request_api_version",
    "group": "group_id",
    "error": "error_code",
    "errors": "error_code",
    "broker": "node_id",
    "generation": "generation_id",
    "session_timeout_ms": "session_timeout",
    "rebalance_timeout_ms": "rebalance_timeout",
    "heartbeat_interval_ms": "heartbeat_interval",
    "protocol": "protocol_name",
    "offsets": "committed_offset",
    "epochs": "committed_leader_epoch",
    "texts": "committed_metadata",
    "state": "group_state",
    "states": "states_filter",
    "types": "types_filter",
    "replica_racks": "replica_nodes",
    "regex": "subscribed_topic_regex",
    "assignor": "server_assignor",
    "is_classic": "member_type",
    "target": "target_assignment",
    "owned": "owned_partitions",
}
OPAQUE = {"owned_partitions", "user_data"}
"""Within the bytes of a subscription, whose schema is the consumers' own."""


def names_in(schema: Any) -> Iterator[str]:
    """The fields of a schema's class and of all classes within it."""
    yield from (field.name for field in dataclasses.fields(schema))
    for hint in get_type_hints(schema).values():
        for kind in classes_in(hint):
            yield from names_in(kind)


def classes_in(hint: Any) -> Iterator[Any]:
    if dataclasses.is_dataclass(hint):
        yield hint
    for argument in get_args(hint):
        yield from classes_in(argument)


def test_every_field_is_one_of_kafkas() -> None:
    loaded = [load(key, max(api.versions)) for key, api in APIS.items() for load in (request_schema, response_schema)]
    known = OPAQUE | {
        name for schema in loaded for kind in (schema, schema.__header_schema__) for name in names_in(kind)
    }
    fields = {(message.__name__, field) for message in message_classes(messages) for field in message._fields}
    assert sorted(field for field in fields if OURS.get(field[1], field[1]) not in known) == []
    assert "watch" not in known, "a private field would be found"
