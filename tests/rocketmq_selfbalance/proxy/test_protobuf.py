"""The codec of the proxy's messages beside the classes that the released Python client brings."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rocketmq.grpc_protocol import service_pb2

from rocketmq_selfbalance.proxy import requests
from rocketmq_selfbalance.proxy.definitions import Code, MessageType
from rocketmq_selfbalance.proxy.protobuf import MalformedError, decode, encode

RECORDS: dict[str, type[Any]] = {
    name: getattr(requests, name)
    for name in dir(requests)
    if name.endswith(("Request", "Response", "Command")) and hasattr(service_pb2, name)
}
CLASSES: dict[str, Any] = {name: getattr(service_pb2, name) for name in RECORDS}
"""Of the client, to the records of the same names."""


def values(descriptor: Any, depth: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """Fields of a message that the client's class knows and ours have."""
    fields = {}
    for field in descriptor.fields:
        if field.containing_oneof is not None and len(field.containing_oneof.fields) > 1:
            continue  # of several only one can be there
        one = value(field, depth)
        if one is not None:
            fields[field.name] = st.lists(one, max_size=2) if field.is_repeated else one
    return st.fixed_dictionaries({}, optional=fields)


def value(field: Any, depth: int) -> st.SearchStrategy[Any] | None:
    if field.type == field.TYPE_MESSAGE:
        if field.message_type.GetOptions().map_entry or depth == 0:
            return None
        return values(field.message_type, depth - 1)
    kinds = {
        field.TYPE_STRING: st.text(max_size=5),
        field.TYPE_BYTES: st.binary(max_size=5),
        field.TYPE_BOOL: st.booleans(),
        field.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
        field.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
        field.TYPE_FLOAT: st.floats(width=32, allow_nan=False),
    }
    return kinds.get(field.type)


@pytest.mark.parametrize("name", sorted(RECORDS))
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_what_the_client_writes_is_read_and_written_again(name: str, data: st.DataObject) -> None:
    written = CLASSES[name](**data.draw(values(CLASSES[name].DESCRIPTOR)))
    record = decode(RECORDS[name], written.SerializeToString())
    known = CLASSES[name].FromString(encode(record))
    dropped = {field.name for field in written.DESCRIPTOR.fields} - set(RECORDS[name]._fields)
    for field in dropped:
        written.ClearField(field)
    assert known == written


def test_enumerations_maps_and_what_only_one_of_several_can_be() -> None:
    sent = service_pb2.SendMessageRequest()
    message = sent.messages.add()
    message.user_properties["k"] = "v"
    message.system_properties.message_type = 2
    record = decode(requests.SendMessageRequest, sent.SerializeToString())
    system = record.messages[0].system_properties
    assert (system and system.message_type) == MessageType.FIFO
    assert dict(record.messages[0].user_properties) == {"k": "v"}
    assert service_pb2.SendMessageRequest.FromString(encode(record)) == sent
    told = requests.ReceiveMessageResponse(requests.Status(Code.MESSAGE_NOT_FOUND, "no new message"))
    assert service_pb2.ReceiveMessageResponse.FromString(encode(told)).WhichOneof("content") == "status"


@settings(max_examples=500)
@given(st.sampled_from(sorted(RECORDS)), st.binary(max_size=40))
def test_bytes_that_are_no_message_are_malformed_and_nothing_else(name: str, raw: bytes) -> None:
    try:
        decode(RECORDS[name], raw)
    except MalformedError:
        return


def test_every_code_of_ours_is_one_of_the_clients() -> None:
    from rocketmq.grpc_protocol import definition_pb2

    known = dict(definition_pb2.Code.items())
    assert {code.name: code.value for code in Code}.items() <= known.items()
