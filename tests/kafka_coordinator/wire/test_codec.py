"""Bytes to messages and back, for every version of every API."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_reader

from kafka_coordinator.cluster.broker import Broker, ClusterState
from kafka_coordinator.coordinator.node import offsets_topic
from kafka_coordinator.coordinator.refusals import REFUSE
from kafka_coordinator.coordinator.settings import BrokerSettings
from kafka_coordinator.errors import NOT_COORDINATOR
from kafka_coordinator.messages import (
    CoordinatorFound,
    FindCoordinator,
    JoinedMember,
    JoinGroup,
    JoinGroupAnswer,
    ListGroups,
    ListGroupsAnswer,
    SyncGroup,
    SyncGroupAnswer,
)
from kafka_coordinator.versions import VERSIONS as KAFKA_VERSIONS
from kafka_coordinator.wire.apis import APIS
from kafka_coordinator.wire.conversation import Frames, KafkaConversation
from kafka_coordinator.wire.entities import make, part
from kafka_coordinator.wire.group_views import host_of
from kafka_coordinator.wire.names import ClientName, Names
from kafka_coordinator.wire.opaque import assignment, bytes_of, subscription
from kafka_coordinator.wire.records.storage import Storage
from kafka_coordinator.wire.requests import Answer, AskedNothing, Request
from kafka_coordinator.wire.schemas import response_schema
from kafka_coordinator.wire.state import BrokerAddress, BrokerState, ServerSettings
from kafka_coordinator.wire.writing import content, is_long, pieces, records
from protocols.engine.connection import WireError
from protocols.engine.nodes import Message
from tests.kafka_coordinator.wire.frames_made import VERSIONS, any_entity, any_request, frame
from tests.rows import rows


def state() -> BrokerState:
    settings = BrokerSettings(version=KAFKA_VERSIONS["4.4"])
    cluster = ClusterState(("b",), {"orders": ("b",) * 6}, ("b",) * 50, topic_ids={"orders": 5})
    broker = Broker("b", settings, offsets_topic(settings), cluster)
    return BrokerState("b", 1, broker, ServerSettings(), {"b": BrokerAddress(1, "127.0.0.1", 9092)}, Storage(0))


def conversation() -> KafkaConversation:
    return KafkaConversation("127.0.0.1:5000", state(), Names())


def taken(talk: KafkaConversation) -> Iterator[Message]:
    while (message := talk.next()) is not None:
        yield message


def read_answer(key: int, version: int, content: bytes) -> Any:
    """The whole answer, as the codec's reader of that version has it."""
    kind = response_schema(key, version)
    length, rest = int.from_bytes(content[:4], "big"), content[4:]
    assert length == len(rest)
    header, at = entity_reader(kind.__header_schema__)(rest, 0)
    assert header.correlation_id == 7
    found, size = entity_reader(kind)(rest, at)
    assert at + size == len(rest)
    return found


def refusal(message: Message) -> Message:
    if isinstance(message, FindCoordinator):
        return CoordinatorFound(message.correlation, NOT_COORDINATOR, "")
    if isinstance(message, ListGroups):
        return ListGroupsAnswer(message.correlation, NOT_COORDINATOR, ())
    if isinstance(message, AskedNothing):
        return Answer(message.correlation, None)
    return REFUSE[type(message)](message, NOT_COORDINATOR)


@rows(("key", "version"), VERSIONS)
def test_a_request_arrives_as_it_was_sent_and_an_answer_can_be_read(key: int, version: int) -> None:
    random = Random(key * 100 + version)
    for _ in range(5):
        body = any_request(key, version, random)
        talk, sent = conversation(), frame(body)
        cut = random.randrange(len(sent))
        talk.feed(sent[:cut])
        assert talk.next() is None
        talk.feed(sent[cut:])
        messages = list(taken(talk))
        assert messages
        if APIS[key].translation is None:
            (message,) = messages
            assert isinstance(message, Request)
            assert (message.version, message.client_id, message.body) == (version, "someone", body)
            continue
        written = [b"".join(talk.encode(refusal(each))) for each in messages]
        assert not any(written[:-1])
        answer = read_answer(key, version, written[-1])
        if not any(isinstance(each, AskedNothing) for each in messages) and list(_groups(body)):
            has_room = (key, version) != (9, 1) or any(each.partition_indexes for each in body.topics)
            assert ("not_coordinator" in repr(answer)) == has_room, "the error reaches the client"
        assert talk.next() is None


def _groups(body: Any) -> Iterator[Any]:
    """What of a request the coordinator is asked about."""
    for name in ("groups", "group_ids", "groups_names", "coordinator_keys", "topics"):
        yield from getattr(body, name, None) or ()


@given(st.binary(max_size=60))
def test_opaque_bytes_pass_untouched(raw: bytes) -> None:
    for read in (subscription, assignment):
        value = read(raw)
        assert bytes_of(value) == raw
        assert value == read(bytes(raw))
        assert hash(value) == hash(read(bytes(raw)))


def test_a_subscription_and_an_assignment_are_read_as_librdkafka_writes_them() -> None:
    # Version 1: topics [orders], user data null, owned orders 0 and 2.
    owned = b"\0\0\0\1\0\6orders\0\0\0\2\0\0\0\0\0\0\0\2"
    read = subscription(b"\0\1\0\0\0\1\0\6orders\xff\xff\xff\xff" + owned)
    assert (read.topics, read.owned) == (("orders",), (("orders", 0), ("orders", 2)))
    assert assignment(b"\0\0" + owned + b"\xff\xff\xff\xff") == (("orders", 0), ("orders", 2))
    # What the coordinator makes itself is written so that every version can read it.
    made = bytes_of((("orders", 0), ("orders", 2)))
    assert made == b"\0\0" + owned + b"\xff\xff\xff\xff"


def test_metadata_and_assignments_of_other_protocols_are_left_alone() -> None:
    talk, random = conversation(), Random(3)
    join = any_request(11, 9, random)
    talk.feed(frame(replace(join, protocol_type="connect")))
    (message,) = taken(talk)
    assert isinstance(message, JoinGroup)
    assert [(name, type(raw)) for name, raw in message.protocols] == [(each.name, bytes) for each in join.protocols]
    members = (JoinedMember("m", None, b"\1\2"),)
    talk.encode(JoinGroupAnswer(1, "NONE", 1, "m", "m", "connect", "p", False, members))
    sync = replace(any_request(14, 5, random), protocol_type="connect", protocol_name="p")
    talk.feed(frame(sync))
    (message,) = taken(talk)
    assert isinstance(message, SyncGroup)
    written = b"".join(talk.encode(SyncGroupAnswer(message.correlation, "NONE", "connect", "p", b"\xff\0")))
    assert read_answer(14, 5, written).assignment == b"\xff\0"


def test_a_protocol_that_is_named_twice_counts_once() -> None:
    talk, join = conversation(), any_request(11, 9, Random(3))
    twice = (*join.protocols[:1], *join.protocols[:1])
    assert len(twice) == 2
    talk.feed(frame(replace(join, protocols=twice)))
    (message,) = taken(talk)
    assert isinstance(message, JoinGroup)
    assert [name for name, _ in message.protocols] == [twice[0].name]


def test_requests_are_handled_one_at_a_time() -> None:
    talk = conversation()
    join = any_request(11, 9, Random(1))
    talk.feed(frame(join) + frame(any_request(12, 4, Random(1))))
    first = talk.next()
    assert first is not None
    assert talk.next() is None, "the heartbeat waits for the JoinGroup's answer"
    talk.encode(refusal(first))
    assert talk.next() is not None


def test_a_version_of_api_versions_that_is_not_served_is_answered_in_version_0() -> None:
    talk = conversation()
    talk.feed(b"\0\0\0\x0d" + b"\0\x12\0\x63" + b"\0\0\0\7" + b"\0\1x" + b"\0\0")
    message = talk.next()
    assert isinstance(message, Request)
    assert (message.version, message.body) == (0, None)


HEAD, HUGE = b"\0\0\0\7\xff\xff", b"\xff\xff\xff\xff\x0f"
"""A correlation without a client id; 2^32 - 1 as a number of variable length, which stands for one less."""


@rows(
    ("content", "says"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "a client speaks TLS here; .*PLAINTEXT"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "a client speaks HTTP/2 here; "),
        (b"GET / HTTP/1.1\r\n", "a client speaks HTTP here; "),
        (b"\x7f\xff\xff\xff", "socket.request.max.bytes"),
        (b"\xff\xff\xff\xff", "-1 bytes"),
        (b"\0\0\0\4\0\0\0\0", "shorter than its header"),
        (b"\0\0\0\x0a\0\x58\0\0\0\0\0\7\xff\xff", "API 88"),
        (b"\0\0\0\x0a\0\x0c\0\x63\0\0\0\7\xff\xff", "Heartbeat of version 99, expected 0 to 4"),
        (b"\0\0\0\x0b\0\x0c\0\0\0\0\0\7\xff\xff\0", "Heartbeat of version 0 that cannot be read"),
        (b"\0\0\0\x11\0\3\0\x09" + HEAD + b"\0" + HUGE + b"\1", "Metadata of version 9 .* 4294967294 items in 1 b"),
        (b"\0\0\0\x11\0\3\0\x09" + HEAD + HUGE + b"\1\1", "4294967295 items in 2 bytes"),
        (b"\0\0\0\x10\0\3\0\1" + HEAD + b"\x7f\xff\xff\xff\0\0", "2147483647 items in 2 bytes"),
        (b"\0\0\0\x10\0\3\0\1" + HEAD + b"\0\0\0\1\0\6", "ends within a field"),
        (b"\0\0\0\x11\0\3\0\x09" + HEAD + b"\0\2" + HUGE, "ends within a field"),
        (b"\0\0\0\x16\0\3\0\x09" + HEAD + b"\0\1\1\0\0\1\5" + HUGE, "ends within a field"),
        (b"\0\0\0\x10\0\x0b\0\1" + HEAD + b"\0\1g\0\0\0", "ends within a field"),
        (b"\0\0\0\x0f\0\x10\0\5" + HEAD + b"\0\0\0\0\0", "ListGroups of version 5 .* states_filter is null"),
    ],
)
def test_what_is_no_request_is_told_in_one_line(content: bytes, says: str) -> None:
    talk = conversation()
    talk.feed(content)
    with pytest.raises(WireError, match=says) as told:
        talk.next()
    assert "\n" not in str(told.value)


def test_requests_that_wait_are_bounded() -> None:
    frames = Frames(1000)
    for _ in range(1000):
        frames.feed(b"\0\0\3\xe8" + b"x" * 1000)
    with pytest.raises(WireError, match="wait for earlier ones"):
        frames.feed(b"x" * 50_000)


@rows("at_once", [True, False])
def test_long_frames_are_cut_where_they_end(at_once: bool) -> None:
    contents = [b"a" * 10, b"b" * 2_000_000, b"c" * 3_000_000, b"d" * 10]
    sent = [len(each).to_bytes(4) + each for each in contents]
    frames, found = Frames(4_000_000), list[bytes]()
    for data in [b"".join(sent[:3]), sent[3]] if at_once else sent:
        for at in range(0, len(data), 700_001):
            frames.feed(data[at : at + 700_001])
            while (frame := frames.next()) is not None:
                found.append(bytes(frame))
    assert found == contents
    assert frames.waiting == 0


def test_members_are_called_by_their_client_ids_and_told_apart() -> None:
    names = Names()
    first = names.name("g", "rdkafka", "", "b 1")
    names.given("g", "b 1", "m1")
    assert names.name("g", "rdkafka", "m1", "b 1") == first == "rdkafka"
    second = names.name("g", "rdkafka", "", "b 2")
    assert (second, second.client_id) == ("rdkafka#2", "rdkafka")
    assert names.name("other", "rdkafka", "", "b 2") == "rdkafka"
    assert names.heard("g", "m1", "b 3") == "rdkafka", "on a new connection"
    names.closed("b 1")
    assert names.name("g", "rdkafka", "", "b 4") == "rdkafka#3"
    names.closed("b 3")
    assert names.name("g", "rdkafka", "", "b 5") == "rdkafka", "whoever comes after it has its name"
    assert isinstance(first, ClientName)


def test_hosts_are_printed_as_kafka_prints_them() -> None:
    assert host_of("/127.0.0.1:5000") == "/127.0.0.1"
    assert host_of("/[::1]:5000") == "/0:0:0:0:0:0:0:1"


def test_the_page_about_serving_lists_what_is_served() -> None:
    page = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"\| (\w+) \| (\d+(?: to \d+)?) (?=\|)", page))
    listed |= dict(re.findall(r"(?<=\d) \| (\w+) \| (\d+(?: to \d+)?) \|", page))
    versions = {api.name: sorted({*api.versions}) for api in APIS.values()}
    assert listed == {name: " to ".join(map(str, each)) for name, each in versions.items()}


def test_every_length_of_every_request_is_compared_with_what_follows() -> None:
    """Cut anywhere, no request of any API and version reaches the codec, which is told by its own errors."""
    random = Random(4)
    for key, version in VERSIONS:
        content = frame(any_request(key, version, random))[4:]
        for end in range(len(content)):
            talk = conversation()
            talk.feed(end.to_bytes(4) + content[:end])
            with pytest.raises(WireError, match=r"shorter than its header|client id|ends within|items in|null"):
                talk.next()


@rows(("key", "version"), VERSIONS)
def test_an_answer_is_the_same_whole_and_piece_by_piece(key: int, version: int) -> None:
    random = Random(key * 100 + version)
    kind: Any = response_schema(key, version)
    for _ in range(3):
        entity = any_entity(kind, random)
        arrays = {
            each.name: getattr(entity, each.name) for each in fields(kind) if is_items(getattr(entity, each.name))
        }
        longer = replace(entity, **{name: items * 60 for name, items in arrays.items()})
        assert is_long(longer) == bool(arrays)
        for each in (entity, longer):
            assert b"".join(pieces(each)) == content(each)


@rows("version", [4, 11, 12, 18])
def test_long_records_are_written_as_they_stand(version: int) -> None:
    batches = [bytes([number]) * 30_000 for number in range(3)]
    random = Random(version)

    def answer(has: Any) -> Any:
        kind: Any = response_schema(1, version)
        topic = part(kind, "responses")
        partition = part(topic, "partitions")
        known = {each.name: getattr(any_entity(partition, random), each.name) for each in fields(partition)}
        of_topic = {"topic": "orders", "topic_id": UUID(int=1), "partitions": (partition(**known | {"records": has}),)}
        top = {each.name: getattr(any_entity(kind, random), each.name) for each in fields(kind)}
        return kind(**top | {"responses": (make(topic, **of_topic),)})

    state = random.getstate()
    long = answer(records(batches))
    random.setstate(state)
    assert is_long(long)
    written = list(pieces(long))
    assert b"".join(written) == content(answer(b"".join(batches)))
    assert [each for each in written if any(each is batch for batch in batches)] == batches, "none is copied"


def is_items(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and is_dataclass(value[0])
