"""One connection with a client or a tool: frames to messages of the nodes, and what the nodes answer to frames.

Every request gets a number of the conversation's own, because nothing keeps a client from using an opaque number
twice. Headers are read in both forms and written as JSON, as real servers do. Requests are handed on at once, whatever
still waits for its answer, and answered in any order. A frame that cannot be read ends the connection; fields that
cannot be read are answered with an error, as real servers do.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from protocols.engine.connection import MakeConversation, Making, WireError, check_preface
from protocols.engine.nodes import Message
from rocketmq_selfbalance.remoting import NUMBERS, ONEWAY, Frame, FrameError, decode, encode, length_of
from rocketmq_selfbalance.wire import answers, messages
from rocketmq_selfbalance.wire.requests import Decoder
from rocketmq_selfbalance.wire.served import WireSettings

_LENGTH = _WORD = 4
_HEADER = 256 * 1024
"""Bytes of a header: a record's properties, of which a broker takes 32 KiB, and some more."""
_SERVED = "RocketMQ's remoting protocol is served, in plain text only; clients of the 5.x line (gRPC) go to the proxy"


class _Pending(NamedTuple):
    """A request that waits for its answer."""

    opaque: int
    request: Message


class Conversation:
    """Of a server's node named ``server``, of this ``version``; ``decoders`` are those of its kind (`requests`)."""

    def __init__(self, decoders: Mapping[int, Decoder], server: str, settings: WireSettings, version: str) -> None:
        self._decoders, self._server, self._settings = decoders, server, settings
        self._number = NUMBERS[version]
        self._read = bytearray()
        self._count = self._opaque = 0
        self._pending: dict[int, _Pending] = {}
        self._asked: dict[int, int] = {}
        """Opaque number of a question to the client to the node's number of it."""
        self._language = "JAVA"
        self._last: tuple[bytes, str, int, messages.ClientHeartbeat] | None = None
        """Body, language and version of the last heartbeat, and what it says: most are like the one before."""

    @property
    def waiting(self) -> int:
        return len(self._read)

    def feed(self, data: bytes) -> None:
        self._read += data

    def next(self) -> Message | None:
        while (frame := self._frame()) is not None:
            if frame.is_answer:
                question = self._asked.pop(frame.opaque, None)
                if question is not None:
                    return messages.ClientAnswer(question, frame.code, frame.body, frame.remark)
            else:
                return self._request(frame)
        return None

    def encode(self, message: Message) -> Sequence[bytes] | Making:
        try:
            if answers.is_answer(message):
                pending = self._pending.pop(message[0], None)
                if pending is None:
                    return ()
                frame, body = answers.frame_of(pending.opaque, answers.answered(pending.request, message))
                frame = frame._replace(version=self._number)
                return _in_turns(frame, body) if isinstance(body, Iterator) else _written(frame, body)
            self._opaque += 1
            notice = answers.notice(message, self._opaque, for_c=self._language != "JAVA")
            if notice is None:
                raise WireError(f"RocketMQ's servers do not say {type(message).__name__}")
            if isinstance(message, messages.AskClient):
                self._asked[self._opaque] = message.question
                if len(self._asked) > self._settings.most_unanswered:
                    del self._asked[next(iter(self._asked))]
            return (encode(notice._replace(version=self._number)),)
        except FrameError as error:
            raise WireError(str(error)) from None

    def _frame(self) -> Frame | None:
        read = self._read
        if len(read) < _LENGTH:
            return None
        first = bytes(read[:_LENGTH])
        check_preface(first, _SERVED)
        try:
            end = _LENGTH + length_of(first)
            if end > self._settings.most_frame_bytes:
                raise FrameError(f"a frame of {end} bytes, allowed are {self._settings.most_frame_bytes}")
            if (
                len(read) >= _LENGTH + _WORD
                and (header := int.from_bytes(read[_LENGTH + 1 : _LENGTH + _WORD])) > _HEADER
            ):
                raise FrameError(f"a header of {header} bytes, allowed are {_HEADER}")
            if len(read) < end:
                return None
            frame = decode(bytes(read[_LENGTH:end]))
        except FrameError as error:
            raise WireError(str(error)) from None
        del read[:end]
        return frame

    def _request(self, frame: Frame) -> Message:
        self._count += 1
        request = self._decoded(frame)
        if not frame.flag & ONEWAY:
            if len(self._pending) >= self._settings.most_unanswered:
                raise WireError(f"{len(self._pending)} requests wait for their answers, and another one comes")
            self._pending[self._count] = _Pending(frame.opaque, request)
        return request

    def _decoded(self, frame: Frame) -> Message:
        decoder = self._decoders.get(frame.code)
        if decoder is None:
            return messages.Unsupported(self._count, frame.code)
        if self._last is not None and frame.code == _HEARTBEAT and self._last[:3] == _identity(frame):
            before = self._last[3]
            return before._replace(correlation=self._count, beat=before.beat._replace(correlation=self._count))
        try:
            request = decoder(self._count, frame, self._server)
        except (messages.FieldError, UnicodeError) as error:
            return messages.Malformed(self._count, str(error))
        if isinstance(request, messages.ClientHeartbeat):
            self._language = request.language
            self._last = *_identity(frame), request
        return request


_HEARTBEAT = 34


def _identity(frame: Frame) -> tuple[bytes, str, int]:
    return frame.body, frame.language, frame.version


def _written(frame: Frame, body: Sequence[bytes]) -> Sequence[bytes]:
    """The bytes of a frame whose body comes in parts."""
    raw = encode(frame)
    length = sum(map(len, body))
    if not length:
        return (raw,)
    return (int.from_bytes(raw[:_LENGTH]) + length).to_bytes(_LENGTH) + raw[_LENGTH:], *body


def _in_turns(frame: Frame, parts: Iterator[bytes]) -> Making:
    """The same, of parts that take longer."""
    body: list[bytes] = []
    for part in parts:
        body.append(part)
        yield
    return _written(frame, body)


def maker(decoders: Mapping[int, Decoder], server: str, settings: WireSettings, version: str) -> MakeConversation:
    """What makes the conversations of a server's node of this version of RocketMQ."""
    return lambda peer: Conversation(decoders, server, settings, version)
