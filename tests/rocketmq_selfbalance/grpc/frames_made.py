"""Frames of HTTP/2 and calls of RocketMQ's service, as a client might send them."""

from collections.abc import Mapping
from enum import IntEnum
from itertools import count
from random import Random
from struct import pack
from typing import Any

from rocketmq_selfbalance.grpc.headers import block_of
from rocketmq_selfbalance.proxy.definitions import Duration, Resource, Timestamp
from rocketmq_selfbalance.proxy.protobuf import encode, fields_of
from rocketmq_selfbalance.proxy.requests import METHODS, SERVICE, TelemetryCommand

DATA, HEADERS, RESET, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + pack(">BHBBL", 0, 0, SETTINGS, 0, 0)

_TEXTS = (
    *("orders", "g", "*", "a || b", "m1", "", " ", "x" * 300, "%DLQ%g", "ü", "a\x01b\x02c", "1.5"),
    *("0 1700000000000 60000 1 0 broker-a 0 0 0", "0 5 -1 999 1 b 0 9223372036854775807 7", "broker-a"),
    "0 99999999999999 60000 1 2 broker-a 0 0 0",
)
_NUMBERS = (0, 1, 2, 5, 32, 60, 1_700_000_000, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))


_USUAL: Mapping[str, tuple[object, ...]] = {
    "topic": (Resource(name="orders"),),
    "group": (Resource(name="g"),),
    "tag": ("a", None),
    "keys": (("k",), ()),
    "message_id": ("m1", "m2"),
    "message_group": (None, "k"),
    "priority": (None,),
    "delivery_timestamp": (None, Timestamp(1_700_000_005)),
    "body": (b"x",),
    "user_properties": ({"a": "b"}, {}),
    "receipt_handle": _TEXTS[-3:],
    "long_polling_timeout": (Duration(5),),
    "invisible_duration": (Duration(15),),
}
"""Field to what it often says."""


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return pack(">BHBBL", len(content) >> 16, len(content) & 0xFFFF, kind, flags, stream) + content


def any_record(record: type[Any], random: Random, depth: int = 0) -> Any:
    """A record whose fields are there, missing, or extreme."""
    values = [field.default for field in fields_of(record)]
    for field, name in zip(fields_of(record), record._fields, strict=True):
        if name in _USUAL and random.random() < 0.9:
            values[field.place] = random.choice(_USUAL[name])
        elif depth < 6 and random.random() < 0.8:
            one = [_value(field.one, random, depth) for _ in range(random.choice((1, 1, 2)))]
            values[field.place] = tuple(one) if field.many else one[0]
    return record(*values)


def _value(kind: Any, random: Random, depth: int) -> object:
    if kind is Mapping:
        return {random.choice(_TEXTS): random.choice(_TEXTS) for _ in range(random.randrange(3))}
    if kind is str:
        return random.choice(_TEXTS)
    if kind is bytes:
        return random.randbytes(random.randrange(20))
    if kind is float:
        return random.choice((0.0, 1.5, float("inf"), float("nan")))
    if issubclass(kind, bool):
        return random.random() < 0.5
    if issubclass(kind, IntEnum):
        return random.choice(list(kind))
    return random.choice(_NUMBERS) if issubclass(kind, int) else any_record(kind, random, depth + 1)


def message(content: bytes) -> bytes:
    """With gRPC's prefix."""
    return b"\0" + len(content).to_bytes(4) + content


def head(method: str, client_id: str, timeout: str = "30S") -> bytes:
    """The header block of a call."""
    said = {
        ":method": "POST",
        ":scheme": "http",
        ":path": f"/{SERVICE}/{method}",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    return block_of({**said, "grpc-timeout": timeout, "x-mq-client-id": client_id})


_METHODS = (*METHODS, "Telemetry", "Telemetry", "SendMessage", "ReceiveMessage", "PullMessage")
_streams = count(1, 2)


def any_call(random: Random, mutated: Any) -> bytes:
    """A call or a command on a stream, most often with something wrong in its message, its headers or its frames."""
    method, stream = random.choice(_METHODS), next(_streams)
    known = METHODS.get(method)
    content = encode(any_record(known.request if known is not None else TelemetryCommand, random))
    block = head(method, random.choice(("c1",) * 8 + ("c2", "")), random.choice(("30S",) * 9 + ("9" * 5_000 + "S",)))
    how = random.randrange(20)
    if how < 8:
        content = mutated(content, random)
    said = message(content) if how != 8 else mutated(message(content), random)
    block = mutated(block, random) if how == 9 else block
    ended = END_STREAM if random.random() < 0.9 else 0
    opened = frame(HEADERS, END_HEADERS, stream, block)
    if how == 10:
        opened = frame(HEADERS, 0, stream, block[:9]) + frame(CONTINUATION, END_HEADERS, stream, block[9:])
    raw = opened + frame(DATA, ended, stream, said)
    if how == 11:
        kind, flags = random.randrange(12), random.randrange(64)
        raw += frame(kind, flags, random.choice((0, stream, stream + 2)), random.randbytes(random.choice((0, 4, 6, 8))))
    elif how == 12:
        raw += frame(RESET, 0, stream, bytes(4))
    elif how in (13, 14):
        raw = mutated(raw, random)
    return raw
