"""Connections of gRPC: headers of the standard's own examples, windows, and grpcio's client in plaintext and TLS."""

from collections.abc import Generator
from struct import pack

import grpc
import pytest
from rocketmq.grpc_protocol import service_pb2
from rocketmq.grpc_protocol.service_pb2_grpc import MessagingServiceStub

from compare.testing.brokers import RocketMQBrokers
from protocols.engine.connection import WireError
from rocketmq_selfbalance.grpc import CERTIFICATE
from rocketmq_selfbalance.grpc.headers import HeaderReader
from rocketmq_selfbalance.grpc.http2 import Http2
from tests.calls import calls_of
from tests.rocketmq_selfbalance.grpc.frames_made import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    PREFACE,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
)
from tests.rows import rows

OK = 20_000
FIRST = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")]
SECURE = [(":method", "GET"), (":scheme", "https"), (":path", "/index.html"), (":authority", "www.example.com")]


@pytest.mark.parametrize(
    "blocks",
    [
        ("828684410f7777772e6578616d706c652e636f6d", "828684be58086e6f2d6361636865"),
        ("828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf"),
    ],
    ids=["C.3", "C.4"],
)
def test_header_blocks_of_rfc_7541_are_read(blocks: tuple[str, str]) -> None:
    reader = HeaderReader()
    assert reader.read(bytes.fromhex(blocks[0])) == FIRST
    assert reader.read(bytes.fromhex(blocks[1])) == [*FIRST, ("cache-control", "no-cache")]
    last = "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"
    assert reader.read(bytes.fromhex(last)) == [*SECURE, ("custom-key", "custom-value")]


def frames(raw: bytes) -> list[tuple[int, int, int, bytes]]:
    found = []
    while raw:
        length = int.from_bytes(raw[:3])
        found.append((raw[3], raw[4], int.from_bytes(raw[5:9]), raw[9 : 9 + length]))
        raw = raw[9 + length :]
    return found


def opened(window: int) -> Http2:
    """A connection whose client gives each stream this window and has opened stream 1."""
    connection = Http2()
    connection.feed(PREFACE + frame(SETTINGS, 0, 0, (4).to_bytes(2) + window.to_bytes(4)))
    connection.feed(frame(HEADERS, END_HEADERS | END_STREAM, 1, bytes.fromhex("828684")))
    connection.said()
    return connection


def test_an_answer_goes_out_as_far_as_the_client_opens_its_windows() -> None:
    connection = opened(10)
    connection.respond(1, b"\x88", b"x" * 25, b"\x89")
    assert frames(b"".join(connection.said())) == [(HEADERS, END_HEADERS, 1, b"\x88"), (DATA, 0, 1, b"x" * 10)]
    connection.feed(frame(WINDOW_UPDATE, 0, 0, (1000).to_bytes(4)))
    assert not connection.said(), "the stream's own window is full"
    connection.feed(frame(WINDOW_UPDATE, 0, 1, (12).to_bytes(4)))
    assert frames(b"".join(connection.said())) == [(DATA, 0, 1, b"x" * 12)]
    connection.feed(frame(SETTINGS, 0, 0, (4).to_bytes(2) + (13).to_bytes(4)))
    assert frames(b"".join(connection.said())) == [
        (SETTINGS, 1, 0, b""),
        (DATA, 0, 1, b"x" * 3),
        (HEADERS, END_HEADERS | END_STREAM, 1, b"\x89"),
    ]


@rows(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nXX",
        PREFACE + frame(DATA, 0, 1, b"x"),
        PREFACE + frame(HEADERS, END_HEADERS, 2, bytes.fromhex("828684")),
        PREFACE + frame(HEADERS, END_HEADERS, 1, bytes.fromhex("ff")),
        PREFACE + frame(HEADERS, 0, 1, bytes.fromhex("82")) + frame(PING, 0, 0, bytes(8)),
        PREFACE + frame(WINDOW_UPDATE, 0, 0, bytes(4)),
        PREFACE + frame(WINDOW_UPDATE, 0, 0, (2**31 - 1).to_bytes(4)),
        PREFACE + frame(PING, 0, 0, bytes(16_385)),
    ],
)
def test_what_is_no_http2_ends_its_connection(raw: bytes) -> None:
    with pytest.raises(WireError):
        Http2().feed(raw)


def test_changes_of_windows_look_at_no_stream_each() -> None:
    """Settings that come together take no longer where thousands of answers wait (it was 5 s for 64 KB of them)."""

    def calls(streams: int) -> int:
        connection = opened(0)
        for number in range(3, 2 * streams, 2):
            connection.feed(frame(HEADERS, END_HEADERS | END_STREAM, number, bytes.fromhex("828684")))
            connection.respond(number, b"", bytes(2), b"x")
        changes = b"".join([frame(SETTINGS, 0, 0, pack(">HI", 4, at % 2)) for at in range(500)])
        return calls_of(lambda: connection.feed(changes))

    assert 500 < calls(2_000) < calls(50) + 20 * 2_000, "all streams once or twice, not at each change"


@pytest.fixture(scope="module")
def brokers() -> Generator[RocketMQBrokers, None, None]:
    cluster = RocketMQBrokers({"big": 1})
    yield cluster
    cluster.close()


@pytest.mark.parametrize("tls", [False, True], ids=["plaintext", "TLS"])
def test_one_port_takes_plaintext_and_tls_and_messages_larger_than_windows(brokers: RocketMQBrokers, tls: bool) -> None:
    root = CERTIFICATE.read_bytes().partition(b"-----BEGIN PRIVATE KEY")[0]
    channel = (
        grpc.secure_channel(brokers.proxy, grpc.ssl_channel_credentials(root))
        if tls
        else grpc.insecure_channel(brokers.proxy)
    )
    metadata = (("x-mq-client-id", f"client-{tls}"),)
    body = bytes(range(256)) * 12_000
    with channel:
        stub = MessagingServiceStub(channel)
        sent = service_pb2.SendMessageRequest()
        message = sent.messages.add()
        message.topic.name, message.body, message.system_properties.message_id = "big", body, "m"
        assert stub.SendMessage(sent, metadata=metadata, timeout=30).status.code == OK

        said = service_pb2.TelemetryCommand()
        said.settings.subscription.group.name = f"g-{tls}"
        said.settings.subscription.subscriptions.add().topic.name = "big"
        stream = stub.Telemetry(iter([said]), metadata=metadata, timeout=30)
        assert next(stream).settings.subscription.receive_batch_size == 32
        assert not list(stream), "the client has said everything, and so has the server"

        asked = service_pb2.ReceiveMessageRequest(batch_size=1, auto_renew=True)
        asked.group.name, asked.message_queue.topic.name, asked.filter_expression.expression = f"g-{tls}", "big", "*"
        parts = list(stub.ReceiveMessage(asked, metadata=metadata, timeout=30))
        assert [part.message.body for part in parts if part.HasField("message")] == [body]
        unread = channel.unary_unary("/apache.rocketmq.v2.MessagingService/AckMessage")
        for call, code in (
            (unread, grpc.StatusCode.INTERNAL),
            (channel.unary_unary("/apache.rocketmq.v2.MessagingService/Other"), grpc.StatusCode.UNIMPLEMENTED),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                call(b"\xff" * 9, metadata=metadata, timeout=30)
            assert refused.value.code() == code
