"""One connection with a client of the 5.x line: gRPC's calls on its streams to what the proxy's node takes, and what
the node answers to messages on them.

Every call and every stream of telemetry gets a number that none of another connection has. Whatever cannot be read
ends its call alone, with gRPC's own code; frames that are none end the connection.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from protocols.engine.connection import LATER, MakeConversation, Making
from protocols.engine.nodes import Message, Time
from rocketmq_selfbalance.grpc.headers import block_of
from rocketmq_selfbalance.grpc.http2 import Came, Http2, Opened
from rocketmq_selfbalance.proxy.protobuf import MalformedError, decode, encode, pieces
from rocketmq_selfbalance.proxy.requests import (
    METHODS,
    SERVICE,
    Answered,
    Call,
    Cancelled,
    Method,
    StreamClosed,
    StreamRefused,
    Telemetry,
    TelemetryCommand,
    Told,
)

MOST_BYTES: Final = 32 * 1024 * 1024
"""Of one message."""
_PREFIX: Final = 5
"""Bytes before a message: whether it is compressed, and its length."""
_NO_DEADLINE_MS: Final[Time] = 3_000.0
_TELEMETRY: Final = "Telemetry"
_INVALID_ARGUMENT, _TOO_LARGE, _UNIMPLEMENTED, _INTERNAL = 3, 8, 12, 13
"""gRPC's codes."""
_UNREADABLE: Final = "Invalid protobuf byte sequence"
_UNITS: Final = {"H": 3_600_000.0, "M": 60_000.0, "S": 1_000.0, "m": 1.0, "u": 0.001, "n": 0.000_001}
"""Of a deadline, in milliseconds."""
_MOST_DIGITS: Final = 8
"""Of a deadline."""

_HEAD: Final = block_of({":status": "200", "content-type": "application/grpc"})
_TAIL: Final = block_of({"grpc-status": "0"})
_NO_GRPC: Final = block_of({":status": "415"})


def _refusal(code: int, why: str, *, alone: bool) -> bytes:
    """The trailers of a call that fails; ``alone``: nothing was said before them."""
    text = "".join(
        each if " " <= each <= "~" and each != "%" else "".join(f"%{byte:02X}" for byte in each.encode())
        for each in why
    )
    said = {"grpc-status": str(code), "grpc-message": text}
    return block_of({":status": "200", "content-type": "application/grpc", **said} if alone else said)


class _Refused(NamedTuple):
    """Why a call is no call."""

    code: int
    why: str


class _Open:
    """A call that is not answered, or a stream of telemetry (``method`` is None). ``said``: whether anything was
    answered."""

    __slots__ = ("body", "client_id", "deadline", "method", "name", "number", "said", "stream")

    def __init__(self, stream: int, number: int, name: str, method: Method | None, headers: Mapping[str, str]) -> None:
        self.stream, self.number, self.name, self.method = stream, number, name, method
        self.client_id = headers.get("x-mq-client-id", "")
        self.deadline = _deadline(headers.get("grpc-timeout", ""))
        self.body = bytearray()
        self.said = False


def _deadline(text: str) -> Time:
    number, unit = text[:-1], _UNITS.get(text[-1:])
    if unit is None or not number.isdecimal() or len(number) > _MOST_DIGITS:
        return _NO_DEADLINE_MS
    return int(number) * unit


class GrpcConversation:
    """``numbers`` gives the next number of a call or stream."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._http, self._numbers = Http2(), numbers
        self._open: dict[int, _Open] = {}
        """Stream to what is open on it."""
        self._streams: dict[int, _Open] = {}
        """Number of a call or stream to the same."""
        self._bytes = 0
        self._making = 0
        """Long answers that are being encoded: no further request is handed on before them."""

    @property
    def waiting(self) -> int:
        return self._http.waiting + self._bytes

    @property
    def held(self) -> int:
        return self._http.held

    def feed(self, data: bytes) -> None:
        self._http.feed(data)

    def ended(self) -> None:
        self._http.ended()

    def said(self) -> Sequence[bytes]:
        return self._http.said()

    def next(self) -> Message | None:
        event = None if self._making else self._http.next_event()
        if event is None:
            return None
        if isinstance(event, Opened):
            self._opened(event)
            if not event.ended:
                return LATER
            event = Came(event.stream, b"", ended=True)
        found = self._open.get(event.stream)
        if found is None:
            return LATER
        if not isinstance(event, Came):
            self._forget(found)
            return (Cancelled if found.method is not None else StreamClosed)(found.number)
        found.body += event.data
        self._bytes += len(event.data)
        told = self._command(found, event) if found.method is None else self._call(found, event)
        if isinstance(told, _Refused):
            self._refuse(found, told)
            return StreamClosed(found.number) if found.method is None else LATER
        return told or LATER

    def encode(self, message: Message) -> Sequence[bytes] | Making:
        if isinstance(message, Answered):
            found = self._streams.get(message.correlation)
            if found is not None:
                if not isinstance(message.made, tuple) or any(map(_is_long, message.made)):
                    self._making += 1
                    return self._in_pieces(found, message)
                self._forget(found)
                self._http.respond(found.stream, _HEAD, b"".join(map(_message, message.made)), _TAIL)
        elif isinstance(message, Told):
            found = self._streams.get(message.correlation)
            if found is not None:
                self._http.respond(found.stream, b"" if found.said else _HEAD, _message(message.command), b"")
                found.said = True
        elif isinstance(message, StreamRefused) and (found := self._streams.get(message.correlation)) is not None:
            self._refuse(found, _Refused(_INVALID_ARGUMENT, message.why))
        return self._http.said()

    def _in_pieces(self, found: _Open, message: Answered) -> Making:
        """An answer that takes long. It gives nothing itself: frames of a stream must keep their order among those
        that windows release, so `said` gives them all, and each response as soon as it is made."""
        head = _HEAD
        for response in message.made if isinstance(message.made, tuple) else message.made():
            if not self._http.is_open(found.stream):
                break
            parts = []
            for part in pieces(response):
                parts.append(part)
                yield
            self._http.respond(found.stream, head, _prefixed(b"".join(parts)), b"")
            head = b""
        self._making -= 1
        self._forget(found)
        self._http.respond(found.stream, head, b"", _TAIL)
        return ()

    def _opened(self, event: Opened) -> None:
        headers, stream = event.headers, event.stream
        service, _, name = headers.get(":path", "").removeprefix("/").partition("/")
        method = METHODS.get(name)
        if not headers.get("content-type", "").startswith("application/grpc"):
            self._http.respond(stream, b"", b"", _NO_GRPC)
        elif service != SERVICE or (method is None and name != _TELEMETRY):
            why = f"Method {service}/{name} is unimplemented"
            self._http.respond(stream, b"", b"", _refusal(_UNIMPLEMENTED, why, alone=True))
        else:
            found = _Open(stream, next(self._numbers), name, method, headers)
            self._open[stream] = self._streams[found.number] = found

    def _call(self, found: _Open, event: Came) -> Message | _Refused | None:
        """The call, when all of its request has come."""
        body, refused = self._first(found)
        if refused is not None or not event.ended:
            return refused
        if body is None or len(found.body) > _PREFIX + len(body):
            return _Refused(_INTERNAL, "a call with no whole message, or with more than one")
        assert found.method is not None
        try:
            request = decode(found.method.request, body)
        except MalformedError:
            return _Refused(_INTERNAL, _UNREADABLE)
        self._take(found, len(found.body))
        return Call(found.number, found.client_id, found.name, request, found.deadline)

    def _command(self, found: _Open, event: Came) -> Message | _Refused | None:
        """What a client says on its stream: one command at a time."""
        body, refused = self._first(found)
        if refused is not None:
            return refused
        if body is not None:
            self._take(found, _PREFIX + len(body))
            try:
                command = decode(TelemetryCommand, body)
            except MalformedError:
                return _Refused(_INVALID_ARGUMENT, _UNREADABLE)
            if found.body or event.ended:
                self._http.events.appendleft(Came(found.stream, b"", event.ended))
            return Telemetry(found.number, found.client_id, command)
        if event.ended:
            self._forget(found)
            head = b"" if found.said else _HEAD
            self._http.respond(found.stream, head, b"", _TAIL)
            return StreamClosed(found.number)
        return None

    def _first(self, found: _Open) -> tuple[bytes | None, _Refused | None]:
        """The first message that has come on a stream; None where it is not whole."""
        body = found.body
        if len(body) < _PREFIX:
            return None, None
        length = int.from_bytes(body[1:_PREFIX])
        if body[0]:
            return None, _Refused(_UNIMPLEMENTED, "compressed messages are not served")
        if length > MOST_BYTES:
            return None, _Refused(_TOO_LARGE, f"a message of {length} bytes, allowed are {MOST_BYTES}")
        return (bytes(body[_PREFIX : _PREFIX + length]) if len(body) >= _PREFIX + length else None), None

    def _take(self, found: _Open, size: int) -> None:
        del found.body[:size]
        self._bytes -= size

    def _refuse(self, found: _Open, refused: _Refused) -> None:
        self._forget(found)
        self._http.respond(found.stream, b"", b"", _refusal(*refused, alone=not found.said))

    def _forget(self, found: _Open) -> None:
        """It is answered, or over."""
        self._open.pop(found.stream, None)
        self._streams.pop(found.number, None)
        self._take(found, len(found.body))


_LONG: Final = 1_000
"""Items of a field, from which on an answer is encoded in pieces."""


def _is_long(response: tuple[object, ...]) -> bool:
    return any(isinstance(value, tuple) and len(value) >= _LONG for value in response)


def _message(response: tuple[object, ...]) -> bytes:
    return _prefixed(encode(response))


def _prefixed(content: bytes) -> bytes:
    return b"\0" + len(content).to_bytes(4) + content


def maker(numbers: Iterator[int]) -> MakeConversation:
    """What makes the conversations of a proxy's node."""
    return lambda peer: GrpcConversation(numbers)
