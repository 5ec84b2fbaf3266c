"""Kafka's frames: a length of four bytes, then so many bytes of a request or an answer; and the header of a request.

In Kafka `NetworkReceive` and `RequestHeader`.
"""

from struct import Struct, error
from typing import Final, NamedTuple

from protocols.engine.connection import WireError

LENGTH: Final = Struct(">i")
_HEADER: Final = Struct(">hhih")
"""API key, version, correlation, length of the client id."""

_TLS_HANDSHAKE: Final = b"\x16\x03"
_OTHER_PROTOCOLS: Final = {b"GET ": "HTTP", b"POST": "HTTP", b"PUT ": "HTTP", b"HEAD": "HTTP", b"SSH-": "SSH"}

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

    def next(self) -> bytes | None:
        """The content of the next frame; None where it has not come yet. Raises `WireError` for a length that cannot
        be."""
        read, at = self._read, self._at
        if len(read) - at < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(read, at)
        if not 0 <= length <= self._most:
            raise WireError(self._wrong(bytes(read[at : at + LENGTH.size]), length))
        end = at + LENGTH.size + length
        if len(read) < end:
            return None
        frame = bytes(memoryview(read)[at + LENGTH.size : end])
        if end == len(read):
            read.clear()
            self._at = 0
        elif end > 65_536:
            del read[:end]
            self._at = 0
        else:
            self._at = end
        return frame

    def _wrong(self, first: bytes, length: int) -> str:
        if first.startswith(_TLS_HANDSHAKE):
            return "a TLS handshake, but only connections in plain text are served (security.protocol=PLAINTEXT)"
        other = _OTHER_PROTOCOLS.get(first)
        if other is not None:
            return f"a request of {other}, which is not Kafka's protocol"
        return f"a request of {length} bytes, expected 0 to {self._most} (socket.request.max.bytes)"


class Header(NamedTuple):
    """The header of a request, without the tagged fields at the end of its second version."""

    key: int
    version: int
    correlation: int
    client_id: str | None
    end: int
    """Where in the frame the rest begins: tagged fields in the second version, else the body."""


def header_of(frame: bytes) -> Header:
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
        return Header(key, version, correlation, frame[_HEADER.size : end].decode(), end)
    except UnicodeDecodeError:
        raise WireError("a client id that is not UTF-8") from None


def after_tags(frame: bytes, at: int) -> int:
    """Where the tagged fields that begin at ``at`` end; they are passed over. Raises `WireError`."""
    if at < len(frame) and frame[at] == 0:
        return at + 1
    try:
        count, at = _varint(frame, at)
        for _ in range(count):
            _, at = _varint(frame, at)
            size, at = _varint(frame, at)
            at += size
    except IndexError:
        at = len(frame) + 1
    if at > len(frame):
        raise WireError("a header whose tagged fields are longer than the request")
    return at


def _varint(frame: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = frame[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 28:
            raise WireError("a number in the header that is longer than five bytes")
