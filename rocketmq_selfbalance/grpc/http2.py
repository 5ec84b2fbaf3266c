"""A server's side of one HTTP/2 connection (RFC 9113), as far as gRPC needs it: streams that clients open, their data,
answers within the client's windows. It neither reads nor writes: `Http2.feed` takes what has come, `Http2.said` gives
what is to go out.

What a client is told about its windows keeps it from sending more than it may; what is kept for a client that opens
no windows is bounded.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from protocols.engine.connection import WireError, check_preface
from rocketmq_selfbalance.grpc.headers import MOST_BYTES, HeaderError, HeaderReader, is_request

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME: Final = Struct(">BHBBL")
"""Length in two parts, kind, flags, stream."""
_HEAD: Final = _FRAME.size
_LONGEST: Final = 16_384
"""Bytes of a frame: the default of the protocol, which is kept in both directions."""
_DATA, _HEADERS, _PRIORITY, _RESET, _SETTINGS, _PUSH, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = range(10)
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _WITH_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
_ENABLE_PUSH, _MOST_STREAMS, _INITIAL_WINDOW, _MOST_FRAME, _MOST_HEADERS = range(2, 7)
"""Numbers of settings."""
_ALLOWED: Final = {_ENABLE_PUSH: range(2), _INITIAL_WINDOW: range(1 << 31), _MOST_FRAME: range(_LONGEST, 1 << 24)}
"""What a client may set them to; those that are not here, to anything."""
_PRIORITY_BYTES: Final = 5
_WINDOW: Final = 65_535
"""Bytes that either side may send before the other one says more."""
_OURS: Final = 1024 * 1024
"""The windows that clients are given, of a stream and of a connection."""
_RETURNED: Final = 32 * 1024
"""So many bytes that have come are told together: half of the smallest window."""
_MOST_WINDOW: Final = (1 << 31) - 1
STREAMS: Final = 4_096
"""Open at once."""
_EVENT: Final = 256
"""Bytes that an event takes beside its data."""
MOST_HELD: Final = 256 * 1024 * 1024
"""Bytes that wait for the windows of one client."""
_PROTOCOL_ERROR, _FLOW_CONTROL, _STREAM_CLOSED, _REFUSED, _TOO_MUCH = 1, 3, 5, 7, 11
"""Codes of errors."""


class Opened(NamedTuple):
    """A client opens a stream. ``ended``: it says nothing more on it."""

    stream: int
    headers: Mapping[str, str]
    ended: bool


class Came(NamedTuple):
    """Data of a stream."""

    stream: int
    data: bytes
    ended: bool


class Reset(NamedTuple):
    """A stream is over at once."""

    stream: int


Event: TypeAlias = Opened | Came | Reset


class _Stream:
    """One that is open. ``window``: what the client takes beyond the window at first; ``unreturned``: what has come and
    was not told yet; ``held`` waits for the window, and ``tail`` after it; ``ended``: the client says nothing more."""

    __slots__ = ("ended", "held", "tail", "unreturned", "window")

    def __init__(self, *, ended: bool) -> None:
        self.window, self.ended = 0, ended
        self.unreturned = 0
        self.held = bytearray()
        self.tail = b""


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    length = len(content)
    return _FRAME.pack(length >> 16, length & 0xFFFF, kind, flags, stream) + content


def _padless(flags: int, content: bytes) -> bytes:
    """The content without its padding."""
    if not flags & _PADDED:
        return content
    if not content or content[0] >= len(content):
        raise WireError("a frame of padding alone")
    return content[1 : len(content) - content[0]]


class Http2:
    """One connection."""

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self._came = 0
        """Bytes of data in them."""
        self._read = b""
        self._began = False
        self._out: list[bytes] = []
        self._headers = HeaderReader()
        self._streams: dict[int, _Stream] = {}
        self._highest = 0
        """Number of the stream that was opened last."""
        self._window, self._initial = _WINDOW, _WINDOW
        """What the client still takes on all streams, and at first on a new one."""
        self._grown = False
        """Whether windows have grown since what waits for them was looked at."""
        self._unreturned = 0
        self._block: tuple[int, int, bytearray] | None = None
        """Stream and flags of a header block that is not whole yet."""
        self._held = 0
        self._takers: Mapping[int, Callable[[int, int, bytes], None]] = {
            _DATA: self._data,
            _HEADERS: self._opening,
            _PRIORITY: self._priority,
            _RESET: self._reset,
            _SETTINGS: self._settings,
            _PUSH: self._forbidden,
            _PING: self._ping,
            _GOAWAY: self._goaway,
            _WINDOW_UPDATE: self._window_update,
            _CONTINUATION: self._forbidden,
        }

    @property
    def waiting(self) -> int:
        """Bytes that have come and are not handed on; an event counts as at least `_EVENT` of them."""
        return len(self._read) + self._came + _EVENT * len(self.events)

    @property
    def held(self) -> int:
        """Bytes that wait for the client's windows."""
        return self._held

    def ended(self) -> None:
        """The client is gone. What was held for it is let go at once, not when the cycles of this object are found."""
        self._streams.clear()
        self._out.clear()
        self._held = 0

    def is_open(self, number: int) -> bool:
        """Whether anything said on this stream is heard."""
        return number in self._streams

    def next_event(self) -> Event | None:
        """What the client has said first, which is given once."""
        event = self.events.popleft() if self.events else None
        if isinstance(event, Came):
            self._came -= len(event.data)
        return event

    def said(self) -> Sequence[bytes]:
        """What is to go out, which is given once."""
        out, self._out = self._out, []
        return out

    # What comes.

    def feed(self, data: bytes) -> None:
        """Take what has come; ``events`` tell what it says. Raises `WireError` for what is no HTTP/2."""
        self._read += data
        if not self._began and not self._begin():
            return
        read, at, end = self._read, 0, len(self._read)
        while end - at >= _HEAD:
            high, low, kind, flags, stream = _FRAME.unpack_from(read, at)
            length = high << 16 | low
            if length > _LONGEST:
                raise WireError(f"a frame of {length} bytes, allowed are {_LONGEST}")
            after = at + _HEAD + length
            if after > end:
                break
            self._take(kind, flags, stream & _MOST_WINDOW, read[at + _HEAD : after])
            at = after
        self._read = read[at:]
        if self._grown:
            self._grown = False
            self._release()

    def _begin(self) -> bool:
        if not PREFACE.startswith(self._read[: len(PREFACE)]):
            check_preface(self._read[:4], "gRPC is served here")
            raise WireError("a client speaks another protocol here; gRPC is served")
        if len(self._read) < len(PREFACE):
            return False
        self._read = self._read[len(PREFACE) :]
        settings = ((_MOST_STREAMS, STREAMS), (_INITIAL_WINDOW, _OURS), (_MOST_HEADERS, MOST_BYTES))
        content = b"".join(number.to_bytes(2) + value.to_bytes(4) for number, value in settings)
        self._out.append(_frame(_SETTINGS, 0, 0, content))
        self._out.append(_frame(_WINDOW_UPDATE, 0, 0, (_OURS - _WINDOW).to_bytes(4)))
        self._began = True
        return True

    def _take(self, kind: int, flags: int, stream: int, content: bytes) -> None:
        if self._block is not None:
            if kind != _CONTINUATION or stream != self._block[0]:
                raise WireError("a header block is not continued")
            self._continue(flags, content)
            return
        take = self._takers.get(kind)
        if take is not None:  # others are to be passed over
            take(flags, stream, content)

    def _forbidden(self, flags: int, stream: int, content: bytes) -> None:
        raise WireError("a frame that no client may send here")

    def _data(self, flags: int, number: int, content: bytes) -> None:
        if not number or number > self._highest:
            raise WireError(f"data for stream {number}, which was never opened")
        size = len(content)
        content = _padless(flags, content)
        self._unreturned += size
        if self._unreturned >= _RETURNED:
            self._out.append(_frame(_WINDOW_UPDATE, 0, 0, self._unreturned.to_bytes(4)))
            self._unreturned = 0
        stream = self._streams.get(number)
        if stream is None or stream.ended:
            self._abandon(number, _STREAM_CLOSED)
            return
        stream.ended = bool(flags & _END_STREAM)
        stream.unreturned += size
        if stream.unreturned >= _RETURNED and not stream.ended:
            self._out.append(_frame(_WINDOW_UPDATE, 0, number, stream.unreturned.to_bytes(4)))
            stream.unreturned = 0
        self._came += len(content)
        self.events.append(Came(number, content, stream.ended))

    def _opening(self, flags: int, number: int, content: bytes) -> None:
        content = _padless(flags, content)
        if flags & _WITH_PRIORITY:
            self._priority(0, number, content[:_PRIORITY_BYTES])
            content = content[_PRIORITY_BYTES:]
        if flags & _END_HEADERS:
            self._opened(flags, number, content)
        else:
            self._block = number, flags, bytearray(content)

    def _priority(self, flags: int, number: int, content: bytes) -> None:
        """Which stream another one depends on; the order of answers does not follow it."""
        if not number or len(content) != _PRIORITY_BYTES:
            raise WireError("a priority that is none")
        if int.from_bytes(content[:4]) & _MOST_WINDOW == number:
            raise WireError(f"stream {number} depends on itself")

    def _continue(self, flags: int, content: bytes) -> None:
        assert self._block is not None
        number, first, block = self._block
        block += content
        if len(block) > MOST_BYTES:
            raise WireError(f"a header block of more than {MOST_BYTES} bytes")
        if flags & _END_HEADERS:
            self._block = None
            self._opened(first, number, bytes(block))

    def _opened(self, flags: int, number: int, block: bytes) -> None:
        try:
            headers = self._headers.read(block)
        except HeaderError as error:
            raise WireError(str(error)) from None
        ended = bool(flags & _END_STREAM)
        stream = self._streams.get(number)
        if stream is not None and not stream.ended and ended:  # trailers, which say nothing here
            stream.ended = True
            self.events.append(Came(number, b"", ended=True))
            return
        if not number & 1 or number <= self._highest:
            raise WireError(f"a client opens stream {number} after {self._highest}: its numbers are odd and grow")
        self._highest = number
        if len(self._streams) >= STREAMS or not is_request(headers):
            self._abandon(number, _REFUSED if len(self._streams) >= STREAMS else _PROTOCOL_ERROR)
            return
        self._streams[number] = _Stream(ended=ended)
        self.events.append(Opened(number, dict(headers), ended))

    def _reset(self, flags: int, number: int, content: bytes) -> None:
        if len(content) != 4 or not number or number > self._highest:
            raise WireError("a stream is reset that was never opened")
        stream = self._streams.pop(number, None)
        if stream is not None:
            self._held -= len(stream.held)
            self.events.append(Reset(number))

    def _settings(self, flags: int, number: int, content: bytes) -> None:
        if number or len(content) % 6 or (flags & _ACK and content):
            raise WireError("settings that are none")
        if flags & _ACK:
            return
        for at in range(0, len(content), 6):
            setting, value = int.from_bytes(content[at : at + 2]), int.from_bytes(content[at + 2 : at + 6])
            if setting in _ALLOWED and value not in _ALLOWED[setting]:
                raise WireError(f"setting {setting} cannot be {value}")
            if setting == _INITIAL_WINDOW:
                self._initial, self._grown = value, True
        self._out.append(_frame(_SETTINGS, _ACK, 0, b""))

    def _ping(self, flags: int, number: int, content: bytes) -> None:
        if number or len(content) != 8:
            raise WireError("a ping that is none")
        if not flags & _ACK:
            self._out.append(_frame(_PING, _ACK, 0, content))

    def _goaway(self, flags: int, number: int, content: bytes) -> None:
        """The client opens no more streams, and will close the connection."""
        if number:
            raise WireError("a GOAWAY on a stream")

    def _window_update(self, flags: int, number: int, content: bytes) -> None:
        more = int.from_bytes(content) & _MOST_WINDOW
        if len(content) != 4 or not more or number > self._highest:
            raise WireError("a window that does not grow")
        if number:
            stream = self._streams.get(number)
            if stream is None:
                return
            stream.window += more
            if stream.window + self._initial > _MOST_WINDOW:
                self._give_up(number, stream, _FLOW_CONTROL)
        else:
            self._window += more
            if self._window > _MOST_WINDOW:
                raise WireError(f"a window of {self._window} bytes")
        self._grown = True

    # What goes out.

    def respond(self, number: int, head: bytes, data: bytes, tail: bytes) -> None:
        """Say this on a stream: a block of headers, data, a block of trailers that ends it; each may be empty. Nothing
        happens where the stream is over."""
        stream = self._streams.get(number)
        if stream is None:
            return
        if head:
            self._out.append(_frame(_HEADERS, _END_HEADERS, number, head))
        size = len(data)
        if stream.held or size > self._window or size > stream.window + self._initial or size > _LONGEST:
            self._held += size
            stream.held += data
            stream.tail = tail
            self._release_of(number, stream)
            if self._held > MOST_HELD:
                self._give_up(number, stream, _TOO_MUCH)
            return
        if size:
            self._window -= size
            stream.window -= size
            self._out.append(_frame(_DATA, 0, number, data))
        if tail:
            self._end(number, stream, tail)

    def _release(self) -> None:
        """Windows have grown: what waits goes out as far as it may."""
        if self._held:
            for number, stream in list(self._streams.items()):
                if stream.held:
                    self._release_of(number, stream)

    def _release_of(self, number: int, stream: _Stream) -> None:
        while (
            stream.held and (size := min(self._window, stream.window + self._initial, len(stream.held), _LONGEST)) > 0
        ):
            self._window -= size
            stream.window -= size
            self._held -= size
            self._out.append(_frame(_DATA, 0, number, bytes(stream.held[:size])))
            del stream.held[:size]
        if not stream.held and stream.tail:
            self._end(number, stream, stream.tail)

    def _end(self, number: int, stream: _Stream, tail: bytes) -> None:
        del self._streams[number]
        self._out.append(_frame(_HEADERS, _END_HEADERS | _END_STREAM, number, tail))
        if not stream.ended:  # the answer does not need the rest
            self._abandon(number, 0)

    def _abandon(self, number: int, code: int) -> None:
        """Nothing more is said on the stream, nor listened to."""
        self._out.append(_frame(_RESET, 0, number, code.to_bytes(4)))

    def _give_up(self, number: int, stream: _Stream, code: int) -> None:
        """The stream is over, and whoever answers on it is told."""
        del self._streams[number]
        self._held -= len(stream.held)
        self._abandon(number, code)
        self.events.append(Reset(number))
