"""Record batches of magic 2: what their headers tell, what is wrong with them, what a broker writes into them; and a
batch from plain keys and values, uncompressed, for those who write records without a client.

The bytes after the header are never touched: compression, keys, headers and values stay as they came. The base offset
and the partition's leader epoch stand before the part that the checksum covers.

| bytes | field | bytes | field |
|---|---|---|---|
| 0-7 | base offset | 23-26 | last offset delta |
| 8-11 | length after this field | 27-34 | base timestamp |
| 12-15 | partition leader epoch | 35-42 | greatest timestamp |
| 16 | magic | 43-50 | producer id |
| 17-20 | CRC-32C of all that follows | 51-52 | producer epoch |
| 21-22 | attributes | 53-56 | base sequence |
| | | 57-60 | number of records |

In Kafka `DefaultRecordBatch`, `ByteBufferLogInputStream`, `ProduceRequest.validateRecords`.
"""

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c
from kio.schema.errors import ErrorCode

from kafka_coordinator.wire.entities import RefusedError

_HEADER: Final = Struct(">qiibIhiqqqhii")
_PLACE: Final = Struct(">qii")
_CHECKED: Final = Struct(">hiqq")
HEADER_BYTES: Final = _HEADER.size
_BEFORE_LENGTH, _MAGIC_END, _LEAST_LENGTH = 12, 17, 14
_CRC_START, _CHECKED_START = 17, 21

COMPRESSIONS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
ZSTD: Final = 4
ZSTD_SINCE: Final = 7
"""The version of Produce from which on batches may be compressed by zstd."""


class Header(NamedTuple):
    """The header's fields, in their order; timestamps are Unix time in milliseconds."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int

    @property
    def compression(self) -> int:
        """Index in `COMPRESSIONS`."""
        return self.attributes & 7

    @property
    def has_append_time(self) -> bool:
        """Whether the greatest timestamp is that of all records: the broker's time when it took them."""
        return bool(self.attributes & 8)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & 16)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & 32)

    @property
    def last_sequence(self) -> int:
        """Of the last record; sequence numbers begin again at 0 after 2^31 - 1."""
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


def header_of(batch: bytes) -> Header:
    """The header of a whole batch of magic 2."""
    return Header._make(_HEADER.unpack_from(batch))


def only_batch(content: bytes | None, version: int) -> tuple[bytes, Header]:
    """The one batch that a Produce request of this version may have for a partition. Raises `RefusedError`."""
    batch, rest = _first(content or b"")
    if batch is None or batch[16] != 2 or (rest and _first(rest)[0] is not None):
        raise RefusedError(ErrorCode.invalid_record)  # none at all, an older message, or more than one
    if len(batch) < HEADER_BYTES:
        raise RefusedError(ErrorCode.corrupt_message)
    header = header_of(batch)
    if version < ZSTD_SINCE and header.compression == ZSTD:
        raise RefusedError(ErrorCode.unsupported_compression_type)
    return batch, header


def is_transactional(content: bytes | None) -> bool:
    """Whether the first batch belongs to a transaction."""
    return content is not None and len(content) >= HEADER_BYTES and content[16] == 2 and bool(content[22] & 16)


def has_unknown_compression(content: bytes | None) -> bool:
    """Whether the first batch says that it is compressed in a way that nobody knows."""
    if content is None or len(content) < HEADER_BYTES or content[16] != 2:
        return False
    return content[22] & 7 >= len(COMPRESSIONS)


def has_right_crc(batch: bytes, header: Header) -> bool:
    """Whether the batch is as its producer wrote it."""
    return crc32c(memoryview(batch)[_CHECKED_START:]) == header.crc


def placed(batch: bytes, offset: int, leader_epoch: int) -> bytes:
    """The batch with the offset of its first record and the epoch in which it was taken."""
    return _PLACE.pack(offset, len(batch) - _BEFORE_LENGTH, leader_epoch) + memoryview(batch)[16:]


def with_append_time(batch: bytes, header: Header, time: int) -> tuple[bytes, Header]:
    """The batch with the broker's time (Unix, milliseconds) as that of all its records, and its header."""
    attributes = header.attributes | 8
    checked = _CHECKED.pack(attributes, header.last_offset_delta, header.base_timestamp, time)
    rest = memoryview(batch)[_CHECKED_START + _CHECKED.size :]
    crc = crc32c(rest, crc32c(checked))
    stamped = b"".join((batch[:_CRC_START], crc.to_bytes(4, "big"), checked, rest))
    return stamped, header._replace(attributes=attributes, max_timestamp=time, crc=crc)


def _first(content: bytes) -> tuple[bytes | None, bytes]:
    """The first whole batch or older message, and what follows it; None where there is none."""
    if len(content) < _BEFORE_LENGTH:
        return None, b""
    length = int.from_bytes(content[8:12], "big", signed=True)
    if length < _LEAST_LENGTH:
        raise RefusedError(
            ErrorCode.corrupt_message,
            f"Record size {length} is less than the minimum record overhead ({_LEAST_LENGTH})",
        )
    if len(content) < _MAGIC_END:
        return None, b""
    if content[16] > 2:
        raise RefusedError(ErrorCode.corrupt_message, f"Invalid magic found in record: {content[16]}")
    end = _BEFORE_LENGTH + length
    if len(content) < end:
        return None, b""
    return (content, b"") if len(content) == end else (content[:end], content[end:])


_FROM_ATTRIBUTES: Final = Struct(">hiqqqhii")
_TO_CHECKSUM: Final = Struct(">qiibI")
_NO_PRODUCER: Final = (-1, -1, -1)
_MARKER: Final = 16 | 32
"""Attributes of a control batch of a transaction."""
_MARKER_KEY: Final = Struct(">hh")
_MARKER_VALUE: Final = Struct(">hi")


class NewRecord(NamedTuple):
    """A record; ``timestamp`` is Unix time in milliseconds."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp: int = 0


def batch(records: Sequence[NewRecord], attributes: int = 0, producer: tuple[int, int, int] = _NO_PRODUCER) -> bytes:
    """The batch of these records (at least one), with offsets from 0 on. ``producer``: id, epoch, first sequence."""
    base = records[0].timestamp
    written = b"".join([_record(number, record, base) for number, record in enumerate(records)])
    newest = max(record.timestamp for record in records)
    checked = _FROM_ATTRIBUTES.pack(attributes, len(records) - 1, base, newest, *producer, len(records)) + written
    length = _TO_CHECKSUM.size - 12 + len(checked)
    return _TO_CHECKSUM.pack(0, length, -1, 2, crc32c(checked)) + checked


def marker(producer_id: int, epoch: int, time: int, *, commits: bool, coordinator_epoch: int = 0) -> bytes:
    """The control batch that ends a transaction (spec 12.6); ``time`` is Unix time in milliseconds."""
    key, value = _MARKER_KEY.pack(0, commits), _MARKER_VALUE.pack(0, coordinator_epoch)
    return batch([NewRecord(value, key, timestamp=time)], _MARKER, (producer_id, epoch, -1))


def _record(number: int, record: NewRecord, base: int) -> bytes:
    parts = [b"\0", _varint(record.timestamp - base), _varint(number), _bytes(record.key), _bytes(record.value)]
    parts.append(_varint(len(record.headers)))
    parts += _headers(record.headers)
    content = b"".join(parts)
    return _varint(len(content)) + content


def _headers(headers: Iterable[tuple[str, bytes | None]]) -> list[bytes]:
    return [part for name, value in headers for part in (_bytes(name.encode()), _bytes(value))]


def _bytes(content: bytes | None) -> bytes:
    return _varint(-1) if content is None else _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """A number in zigzag encoding."""
    left = (value << 1) ^ (value >> 63)
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)
