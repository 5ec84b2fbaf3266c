"""One connection with a Kafka client: frames to messages for the broker, its answers to frames.

The requests of a connection are handled one at a time and answered in their order, as Kafka's brokers do it: while a
JoinGroup waits for the others, nothing that came after it is looked at.

In Kafka `SocketServer`, `RequestChannel` and the parsing in `AbstractRequest`.
"""

import io
from collections.abc import Sequence
from functools import cache
from struct import Struct
from typing import Final

from kio.serial import entity_writer
from kio.static.protocol import Entity

from kafka_coordinator.wire.apis import APIS, Api, codec
from kafka_coordinator.wire.entities import Kind, lacks, response
from kafka_coordinator.wire.frames import LENGTH, Frames, Header, after_tags, header_of
from kafka_coordinator.wire.names import Names
from kafka_coordinator.wire.requests import ApiVersions, AskedNothing
from kafka_coordinator.wire.state import Asked, BrokerState, connection_of
from protocols.engine.connection import WireError
from protocols.engine.nodes import Message

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
    """A conversation (`protocols.engine.connection.Conversation`) of one broker with the client ``peer``."""

    def __init__(self, peer: str, state: BrokerState, names: Names) -> None:
        self._state, self._names = state, names
        self._connection = connection_of(state, peer)
        self._frames = Frames(state.settings.socket_request_max_bytes)
        self._pending: _Pending | None = None
        self._number = 0
        self.client_id = ""
        """What the client called itself last."""

    def feed(self, data: bytes) -> None:
        """Take what was read. Raises `WireError` where too much of it waits."""
        self._frames.feed(data)

    def next(self) -> Message | None:
        """The next message for the broker; None while one before it is to be answered, or none has come whole."""
        pending = self._pending
        if pending is None:
            frame = self._frames.next()
            if frame is None:
                return None
            pending = self._pending = self._read(frame)
        elif pending.given == len(pending.messages):
            return None
        message = pending.messages[pending.given]
        pending.given += 1
        return message

    def encode(self, message: Message) -> Sequence[bytes]:
        """The frame that answers the request, when the broker has answered all that was asked."""
        pending = self._pending
        if pending is None or not 0 <= message[0] - pending.asked.first < len(pending.messages):
            return ()  # of a request that somebody else has answered already
        pending.answers[message[0]] = message
        if len(pending.answers) < len(pending.messages):
            return ()
        self._pending = None
        return _written(pending)

    def _read(self, frame: bytes) -> _Pending:
        header = header_of(frame)
        api = APIS.get(header.key)
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
        body = _body(api, header, frame)
        messages = _messages(api, asked, body)
        self._number += len(messages)
        return _Pending(api, header.correlation, asked, body, messages)


def _body(api: Api, header: Header, frame: bytes) -> Entity:
    read, is_flexible = codec(api.key, header.version)
    at = after_tags(frame, header.end) if is_flexible else header.end
    try:
        body, _ = read(frame, at)  # bytes after its end are passed over, as Kafka does it: librdkafka sends some
    except Exception as error:  # whatever the codec raises: it is given bytes from outside
        raise WireError(f"{api.name} of version {header.version} that cannot be read: {_line(error)}") from None
    missing = lacks(body)
    if missing is not None:
        raise WireError(f"{api.name} of version {header.version} that cannot be read: {missing} is null")
    return body


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__} {error}".split())[:200]


def _messages(api: Api, asked: Asked, body: Entity) -> Sequence[Message]:
    if api.translation is not None:
        return api.translation.read(body, asked) or [AskedNothing(asked.first, asked.version, asked.client_id, None)]
    assert api.request is not None
    return [api.request(asked.first, asked.version, asked.client_id, body)]


def _written(pending: _Pending) -> Sequence[bytes]:
    api, asked = pending.api, pending.asked
    kind = response(api.key, asked.version)
    answers = [pending.answers[asked.first + place] for place in range(len(pending.messages))]
    if api.translation is None:
        entity = answers[0][1]
        if entity is None:
            return ()  # a Produce that wants no answer
    else:
        if isinstance(pending.messages[0], AskedNothing):
            answers = []
        entity = api.translation.write(kind, pending.body, asked, answers)
    content = _content(entity)
    head = _head(kind)
    return [
        LENGTH.pack(_CORRELATION.size + len(head) + len(content)),
        _CORRELATION.pack(pending.correlation),
        head,
        content,
    ]


@cache
def _head(kind: Kind) -> bytes:
    """What follows the correlation in the header of an answer: no tagged fields, where it may have some."""
    return b"\0" if kind.__header_schema__.__version__ >= 1 else b""


def _content(entity: Entity) -> bytes:
    buffer = io.BytesIO()
    try:
        entity_writer(type(entity))(buffer, entity)
    except Exception as error:
        raise WireError(f"{type(entity).__name__}: {_line(error)}") from error
    return buffer.getvalue()
