"""The records inside a batch, where somebody asks for a time or a key: decompressed for that, and forgotten again.

Compression by snappy, lz4 and zstd needs the package ``cramjam`` (extra ``serve``).

In Kafka `DefaultRecordBatch.iterator`, `DefaultRecord`, `Compression`.
"""

import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kafka_coordinator.wire.records.batches import COMPRESSIONS, HEADER_BYTES, Header, NewRecord

_CRAMJAM: Any
try:
    import cramjam
except ImportError:  # pragma: no cover - the extra brings it
    _CRAMJAM = None
else:
    _CRAMJAM = cramjam

MOST_BYTES: Final = 8 * 1024 * 1024
MOST_RECORDS: Final = 50_000
"""A batch that is longer when decompressed, or has more records, is not looked into: others wait meanwhile."""

_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16


class UnreadableError(Exception):
    """The records cannot be read: they are damaged, too long, or nothing here decompresses them."""


class Record(NamedTuple):
    """What is asked of a record: its offset's and timestamp's difference from the batch's, whether it has a key."""

    offset_delta: int
    timestamp_delta: int
    has_key: bool


def records(content: bytes, header: Header) -> Iterator[Record]:
    """The records of a batch in their order. Raises `UnreadableError`."""
    for data, begin, end in _places(content, header):
        timestamp, at = _varint(data, begin)
        offset, at = _varint(data, at)
        key_length, at = _varint(data, at)
        if at > end:
            raise UnreadableError("a record is longer than its batch")
        yield Record(offset, timestamp, key_length >= 0)


def keys_and_values(content: bytes, header: Header) -> Iterator[tuple[int, NewRecord]]:
    """The records of a batch without their headers, each after its offset's difference from the batch's. Raises
    `UnreadableError`."""
    for data, begin, end in _places(content, header):
        reader = _Reader(data[:end], begin)
        timestamp, offset = header.base_timestamp + reader.number(), reader.number()
        key, value = reader.content(), reader.content()
        yield offset, NewRecord(value, key, timestamp=timestamp)


def _places(content: bytes, header: Header) -> Iterator[tuple[bytes, int, int]]:
    """The records' bytes, with where in them each begins (behind its attributes) and ends."""
    if header.records > MOST_RECORDS:
        raise UnreadableError(f"a batch has more than {MOST_RECORDS} records")
    data = _plain(content[HEADER_BYTES:], COMPRESSIONS[header.compression])
    position = 0
    for _ in range(header.records):
        length, begin = _varint(data, position)
        position = begin + length
        if not begin < position <= len(data):
            raise UnreadableError("a record is longer than its batch")
        yield data, begin + 1, position


class _Reader:
    """Reads one record after the other part of it."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    def number(self) -> int:
        found, self._at = _varint(self._data, self._at)
        return found

    def content(self) -> bytes | None:
        length = self.number()
        if length < 0:
            return None
        found = self._data[self._at : self._at + length]
        if len(found) < length:
            raise UnreadableError("a record ends in its middle")
        self._at += length
        return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number in zigzag encoding, and where it ends."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise UnreadableError("a record ends in its middle")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift > 63:
            raise UnreadableError("a number has more than ten bytes")


def _plain(data: bytes, compression: str) -> bytes:
    if compression == "none":
        return data
    try:
        if compression == "gzip":
            unzip = zlib.decompressobj(wbits=31)
            plain = unzip.decompress(data, MOST_BYTES)
            if not unzip.eof:
                raise UnreadableError(f"a batch is longer than {MOST_BYTES} bytes, or cut")
            return plain
        if _CRAMJAM is None:
            raise UnreadableError(f"compressed by {compression}, which needs the package cramjam")
        if compression == "snappy":
            return _unsnapped(data)
        return _limited(getattr(_CRAMJAM, compression), data)
    except UnreadableError:
        raise
    except Exception as error:  # each decompressor has errors of its own
        raise UnreadableError(f"{compression}: {error}") from error


def _limited(codec: Any, data: bytes) -> bytes:
    """Decompressed into a buffer that does not grow above the most."""
    plain = bytearray(min(MOST_BYTES, max(1024, 8 * len(data))))
    while True:
        try:
            length = codec.decompress_into(data, plain)
        except Exception:
            if len(plain) >= MOST_BYTES:
                raise
            plain = bytearray(min(MOST_BYTES, 4 * len(plain)))
        else:
            return bytes(memoryview(plain)[:length])


def _unsnapped(data: bytes) -> bytes:
    """Snappy, in the frames of Java's library or without any."""
    if not data.startswith(_XERIAL):
        return _snappy_block(data)
    parts, at, total = [], _XERIAL_HEADER_BYTES, 0
    while at + 4 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        parts.append(_snappy_block(data[at + 4 : at + 4 + length]))
        total += len(parts[-1])
        if total > MOST_BYTES:
            raise UnreadableError(f"a batch is longer than {MOST_BYTES} bytes")
        at += 4 + length
    return b"".join(parts)


def _snappy_block(data: bytes) -> bytes:
    if _CRAMJAM.snappy.decompress_raw_len(data) > MOST_BYTES:
        raise UnreadableError(f"a batch is longer than {MOST_BYTES} bytes")
    return bytes(_CRAMJAM.snappy.decompress_raw(data))
