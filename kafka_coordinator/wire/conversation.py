"""One connection with a Kafka client: frames (a length of four bytes, then so many bytes of a request or an answer) to
messages for the broker, its answers to frames.

The requests of a connection are handled one at a time and answered in their order, as Kafka's brokers do it: while a
JoinGroup waits for the others, nothing that came after it is looked at.

In Kafka `SocketServer`, `NetworkReceive`, `RequestHeader`, `RequestChannel` and the parsing in `AbstractRequest`.
"""

from collections.abc import Callable, Generator, Sequence
from functools import cache
from struct import Struct, error
from typing import Final, NamedTuple

from kio.static.protocol import Entity

from kafka_coordinator.wire.apis import APIS_OF, Api, codec
from kafka_coordinator.wire.entities import Kind, response
from kafka_coordinator.wire.lengths import Raw, after_tags, one_line
from kafka_coordinator.wire.names import Names
from kafka_coordinator.wire.requests import ApiVersions, AskedNothing, Work, answered
from kafka_coordinator.wire.state import Asked, BrokerState, connection_of
from kafka_coordinator.wire.writing import LONG, content, is_long, pieces
from protocols.engine.connection import LATER, SMALL, Making, WireError, check_preface
from protocols.engine.nodes import Message

LENGTH: Final = Struct(">i")
_HEADER: Final = Struct(">hhih")
"""API key, version, correlation, length of the client id."""

_SERVED: Final = "Kafka's protocol is served, in plain text only (security.protocol=PLAINTEXT)"

_LONG_FRAME: Final = 64 * 1024
"""Bytes of a request of which others may have their turn between the steps of reading it."""

PIPELINED: Final = 1024 * 1024
"""Bytes that a client may send ahead, beside one request of the greatest length, before they are handled."""


class Frames:
    """What was read on a connection, cut into requests. ``most``: bytes that a request may have."""

    __slots__ = ("_at", "_most", "_read")

    def __init__(self, most: int) -> None:
        self._read = bytearray()
        self._at = 0
        """Where the next frame begins."""
        self._most = most

    def feed(self, data: bytes) -> None:
        """Take what was read. Raises `WireError` for more than may wait."""
        self._read += data
        if len(self._read) - self._at > self._most + PIPELINED:
            raise WireError(
                f"more than {self._most + PIPELINED} bytes of requests wait for earlier ones to be answered"
            )

    @property
    def waiting(self) -> int:
        """Bytes that were read and are not cut yet."""
        return len(self._read) - self._at

    def next(self) -> Raw | None:
        """The content of the next frame, a long one without a copy; None where it has not come yet. Raises `WireError`
        for a length that cannot be."""
        read, at = self._read, self._at
        if len(read) - at < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(read, at)
        if not 0 <= length <= self._most:
            check_preface(bytes(read[at : at + LENGTH.size]), _SERVED)
            raise WireError(f"a request of {length} bytes, expected 0 to {self._most} (socket.request.max.bytes)")
        end = at + LENGTH.size + length
        if len(read) < end:
            return None
        content = memoryview(read).toreadonly()[at + LENGTH.size : end]
        if length > SMALL and end == len(read):
            self._read, self._at = bytearray(), 0
            return content
        frame = bytes(content)
        content.release()
        if end == len(read):
            read.clear()
            self._at = 0
        elif end > 65_536:
            del read[:end]
            self._at = 0
        else:
            self._at = end
        return frame


class Header(NamedTuple):
    """The header of a request, without the tagged fields at the end of its second version."""

    key: int
    version: int
    correlation: int
    client_id: str | None
    end: int
    """Where in the frame the rest begins: tagged fields in the second version, else the body."""


def header_of(frame: Raw) -> Header:
    """Raises `WireError` where the frame has none."""
    try:
        key, version, correlation, length = _HEADER.unpack_from(frame)
    except error:
        raise WireError(f"a request of {len(frame)} bytes, which is shorter than its header") from None
    if length < 0:
        return Header(key, version, correlation, None, _HEADER.size)
    end = _HEADER.size + length
    if end > len(frame):
        raise WireError(f"a client id of {length} bytes in a request of {len(frame)}")
    try:
        return Header(key, version, correlation, str(frame[_HEADER.size : end], "utf-8"), end)
    except UnicodeDecodeError:
        raise WireError("a client id that is not UTF-8") from None


_CORRELATION: Final = Struct(">i")
_API_VERSIONS: Final = 18


class _Pending:
    """The request that is being handled."""

    __slots__ = ("answers", "api", "asked", "body", "correlation", "given", "messages")

    def __init__(self, api: Api, correlation: int, asked: Asked, body: object, messages: Sequence[Message]) -> None:
        self.api, self.correlation, self.asked, self.body = api, correlation, asked, body
        self.messages = messages
        self.given = 0
        """How many of the messages the broker has been given."""
        self.answers: dict[int, Message] = {}


class KafkaConversation:
    """A conversation (`protocols.engine.connection.Conversation`) of one broker with the client ``peer``. ``writes`` is
    given what the broker answers, with the name of the connection."""

    def __init__(
        self, peer: str, state: BrokerState, names: Names, writes: Callable[[str, Message], None] | None = None
    ) -> None:
        self._state, self._names, self._writes = state, names, writes
        self._connection = connection_of(state, peer)
        self._frames = Frames(state.settings.socket_request_max_bytes)
        self._pending: _Pending | None = None
        self._reading: Generator[None, None, _Pending] | None = None
        self._number = 0
        self.client_id = ""
        """What the client called itself last."""

    @property
    def waiting(self) -> int:
        return self._frames.waiting

    def feed(self, data: bytes) -> None:
        """Take what was read. Raises `WireError` where too much of it waits."""
        self._frames.feed(data)

    def next(self) -> Message | None:
        """The next message for the broker, `LATER` where it takes long to read; None while one before it is to be
        answered, or none has come whole."""
        pending = self._pending
        if pending is None:
            if self._reading is None:
                frame = self._frames.next()
                if frame is None:
                    return None
                self._reading = self._read(frame)
            try:
                next(self._reading)
                return LATER
            except StopIteration as done:
                pending, self._reading = done.value, None
            self._pending = pending
        elif pending.given == len(pending.messages):
            return None
        message = pending.messages[pending.given]
        pending.given += 1
        return message

    def encode(self, message: Message) -> Sequence[bytes] | Making:
        """The frame that answers the request, when the broker has answered all that was asked; in pieces, where it is
        long."""
        if self._writes is not None:
            self._writes(self._connection, message)
        pending = self._pending
        if pending is None or not 0 <= message[0] - pending.asked.first < len(pending.messages):
            return ()  # of a request that somebody else has answered already
        pending.answers[message[0]] = message
        if len(pending.answers) < len(pending.messages):
            return ()
        entity = _later(pending) if len(pending.messages) > LONG or _is_long(message) else _answer(pending)
        if entity is not None and (isinstance(entity, Generator) or is_long(entity)):
            return self._in_pieces(pending, entity)
        self._pending = None
        return () if entity is None else _framed(pending, [content(entity)])  # none: a Produce that wants no answer

    def _in_pieces(self, pending: _Pending, entity: Entity | Work) -> Making:
        made = (yield from entity) if isinstance(entity, Generator) else entity
        written: list[bytes] = []
        for piece in pieces(made) if made is not None else ():
            written.append(piece)
            yield
        self._pending = None
        return () if made is None else _framed(pending, written)

    def _read(self, frame: Raw) -> Generator[None, None, _Pending]:
        header = header_of(frame)
        api = APIS_OF[self._state.version].get(header.key)
        if api is None:
            raise WireError(f"a request of the API {header.key}, which is not served")
        first = self._number + 1
        self.client_id = header.client_id or ""
        asked = Asked(header.version, self.client_id, self._connection, first, self._state, self._names)
        if not api.versions[0] <= header.version <= api.versions[1]:
            if api.key != _API_VERSIONS:
                raise WireError(
                    f"{api.name} of version {header.version}, expected {api.versions[0]} to {api.versions[1]}"
                )
            self._number = first
            asked = asked._replace(version=0)
            return _Pending(api, header.correlation, asked, None, [ApiVersions(first, 0, asked.client_id, None)])
        takes_long = len(frame) > _LONG_FRAME
        if takes_long:
            yield
        body = _body(api, header, frame)
        if api.translation is not None and api.translation.prepare is not None:
            yield from api.translation.prepare(body, asked)
        if takes_long:
            yield
        messages = _messages(api, asked, body)
        self._number += len(messages)
        return _Pending(api, header.correlation, asked, body, messages)


def _body(api: Api, header: Header, frame: Raw) -> Entity:
    read, is_flexible = codec(api.key, header.version)
    try:
        return read(frame, after_tags(frame, header.end) if is_flexible else header.end)
    except WireError as error:
        why = str(error)
    except Exception as error:  # whatever the codec raises: it is given bytes from outside
        why = one_line(error)
    raise WireError(f"{api.name} of version {header.version} that cannot be read: {why}")


def _messages(api: Api, asked: Asked, body: Entity) -> Sequence[Message]:
    if api.translation is not None:
        return api.translation.read(body, asked) or [AskedNothing(asked.first, asked.version, asked.client_id, None)]
    assert api.request is not None
    return [api.request(asked.first, asked.version, asked.client_id, body)]


def _is_long(answer: Message) -> bool:
    """Whether the coordinator's answer tells of many partitions or members."""
    return any(type(field) is tuple and len(field) > LONG for field in answer)


def _later(pending: _Pending) -> Work:
    """What is answered, made when others have had their turn."""
    yield
    made = _answer(pending)
    return (yield from made) if isinstance(made, Generator) else made


def _answer(pending: _Pending) -> Entity | Work | None:
    api, asked = pending.api, pending.asked
    answers = [pending.answers[asked.first + place] for place in range(len(pending.messages))]
    if api.translation is None:
        body: Entity | Work | None = answers[0][1]
        return body
    if isinstance(pending.messages[0], AskedNothing):
        answers = []
    made = api.translation.write(response(api.key, asked.version), pending.body, asked, answers)
    return answered(pending.correlation, made).body if isinstance(made, Generator) else made


def _framed(pending: _Pending, written: Sequence[bytes]) -> Sequence[bytes]:
    head = _head(response(pending.api.key, pending.asked.version))
    length = _CORRELATION.size + len(head) + sum(map(len, written))
    return [LENGTH.pack(length), _CORRELATION.pack(pending.correlation), head, *written]


@cache
def _head(kind: Kind) -> bytes:
    """What follows the correlation in the header of an answer: no tagged fields, where it may have some."""
    return b"\0" if kind.__header_schema__.__version__ >= 1 else b""
