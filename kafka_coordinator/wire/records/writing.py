"""A record batch of magic 2 from plain keys and values, uncompressed: for those who write records without a client.

In Kafka `MemoryRecordsBuilder` and `DefaultRecord.writeTo`.
"""

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

_CHECKED: Final = Struct(">hiqqqhii")
_BEFORE: Final = Struct(">qiibI")
_NO_PRODUCER: Final = (-1, -1, -1)


class NewRecord(NamedTuple):
    """A record; ``timestamp`` is Unix time in milliseconds."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp: int = 0


def batch(records: Sequence[NewRecord]) -> bytes:
    """The batch of these records (at least one), with offsets from 0 on."""
    base = records[0].timestamp
    written = b"".join([_record(number, each, base) for number, each in enumerate(records)])
    newest = max(each.timestamp for each in records)
    checked = _CHECKED.pack(0, len(records) - 1, base, newest, *_NO_PRODUCER, len(records)) + written
    length = _BEFORE.size - 12 + len(checked)
    return _BEFORE.pack(0, length, -1, 2, crc32c(checked)) + checked


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
