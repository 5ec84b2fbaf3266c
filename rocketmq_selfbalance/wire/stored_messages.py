"""A record as RocketMQ's commit log stores it and as pulls carry it: ``MessageDecoder``'s layout.

Numbers are big-endian: total size, magic, CRC of the body, queue number, flag, queue offset, physical offset, system
flag, born time, born host, store time, store host, reconsume times, prepared transaction offset, body, topic,
properties. Times are milliseconds since 1970. Hosts are address and port; bits of the system flag say that they are
IPv6. Properties are ``name 0x01 value 0x02`` one after the other.
"""

import struct
import zlib
from collections.abc import Mapping
from ipaddress import ip_address
from typing import NamedTuple

from protocols.java import string_hash

_MAGIC, _MAGIC_LONG_TOPIC = 0xDAA320A7, 0xDAA320AB
_LONGEST_SHORT_TOPIC = 127
_BORN_V6, _STORED_V6 = 1 << 4, 1 << 5
_HEAD = struct.Struct(">IIIiiqqiq")
_TAIL = struct.Struct(">iqi")
_TIME = struct.Struct(">q")
_BATCHED = struct.Struct(">iiiii")
_NAME, _END = "\x01", "\x02"


class Record(NamedTuple):
    """What a producer wrote, before the broker gives it a place."""

    topic: str
    queue_number: int
    flag: int
    sys_flag: int
    born: int
    born_host: bytes
    reconsume_times: int
    properties: str
    body: bytes


def host(address: str, port: int) -> bytes:
    """A host as records hold it."""
    return ip_address(address).packed + port.to_bytes(4)


def host_of(peer: str) -> bytes:
    """The host of a client named ``address:port`` or ``[address]:port``; zeros for any other name."""
    address, _, port = peer.rpartition(":")
    try:
        return host(address.strip("[]"), int(port))
    except ValueError:
        return bytes(8)


def message_id(store_host: bytes, position: int) -> str:
    """The id that a broker gives a record: its host and where it stands in the commit log."""
    return (store_host + position.to_bytes(8)).hex().upper()


def parse_properties(text: str) -> dict[str, str]:
    """Properties by their names; what is none is left out."""
    pairs = (each.partition(_NAME) for each in text.split(_END))
    return {name: value for name, found, value in pairs if found}


def properties_text(properties: Mapping[str, str]) -> str:
    """Properties as they stand in a record."""
    return "".join(f"{name}{_NAME}{value}{_END}" for name, value in properties.items())


def tags_code(properties: Mapping[str, str]) -> int:
    """The hash of a record's tags by which a broker filters, 0 without tags: Java's ``hashCode``, signed."""
    tags = properties.get("TAGS")
    return signed_hash(tags) if tags else 0


def signed_hash(text: str) -> int:
    """``String.hashCode``."""
    code = string_hash(text)
    return code - (1 << 32) if code >> 31 else code


def size_of(record: Record, store_host: bytes) -> int:
    """How many bytes the stored record has."""
    topic = len(record.topic.encode())
    hosts = len(record.born_host) + len(store_host)
    fixed = _HEAD.size + _TIME.size + _TAIL.size + hosts + (2 if topic > _LONGEST_SHORT_TOPIC else 1) + 2
    return fixed + len(record.body) + topic + len(record.properties.encode())


def encode(record: Record, offset: int, position: int, stored: int, store_host: bytes) -> bytes:
    """The bytes of a record at this offset of its queue and this position of the commit log; ``stored`` is when."""
    topic, properties = record.topic.encode(), record.properties.encode()
    long_topic = len(topic) > _LONGEST_SHORT_TOPIC
    sys_flag = record.sys_flag & ~(_BORN_V6 | _STORED_V6)
    sys_flag |= (_BORN_V6 if len(record.born_host) > 8 else 0) | (_STORED_V6 if len(store_host) > 8 else 0)
    rest = b"".join(
        (
            record.born_host,
            _TIME.pack(stored),
            store_host,
            _TAIL.pack(record.reconsume_times, 0, len(record.body)),
            record.body,
            len(topic).to_bytes(2 if long_topic else 1),
            topic,
            len(properties).to_bytes(2),
            properties,
        )
    )
    head = _HEAD.pack(
        _HEAD.size + len(rest),
        _MAGIC_LONG_TOPIC if long_topic else _MAGIC,
        zlib.crc32(record.body) & 0x7FFFFFFF,
        record.queue_number,
        record.flag,
        offset,
        position,
        sys_flag,
        record.born,
    )
    return head + rest


class Stored(NamedTuple):
    """A stored record, read again."""

    record: Record
    offset: int
    position: int
    crc: int
    stored: int
    store_host: bytes


def decode(content: bytes) -> Stored:
    """A stored record."""
    _, magic, crc, number, flag, offset, position, sys_flag, born = _HEAD.unpack_from(content)
    at = _HEAD.size
    born_host, at = _taken(content, at, 20 if sys_flag & _BORN_V6 else 8)
    (stored,) = _TIME.unpack_from(content, at)
    store_host, at = _taken(content, at + _TIME.size, 20 if sys_flag & _STORED_V6 else 8)
    reconsume_times, _, length = _TAIL.unpack_from(content, at)
    body, at = _taken(content, at + _TAIL.size, length)
    size, at = _taken(content, at, 2 if magic == _MAGIC_LONG_TOPIC else 1)
    topic, at = _taken(content, at, int.from_bytes(size))
    size, at = _taken(content, at, 2)
    properties, at = _taken(content, at, int.from_bytes(size))
    record = Record(topic.decode(), number, flag, sys_flag, born, born_host, reconsume_times, properties.decode(), body)
    return Stored(record, offset, position, crc, stored, store_host)


def _taken(content: bytes, at: int, length: int) -> tuple[bytes, int]:
    return content[at : at + length], at + length


def split_batch(body: bytes) -> list[tuple[int, bytes, str]]:
    """The records in the body of a batch: flag, body, properties of each; `ValueError` for anything else.

    Each is its total size, magic, CRC, flag, length and body, length (2 bytes) and properties.
    """
    found: list[tuple[int, bytes, str]] = []
    at = 0
    while at < len(body):
        try:
            size, _, _, flag, length = _BATCHED.unpack_from(body, at)
            start = at + _BATCHED.size
            end = start + length
            properties = int.from_bytes(body[end : end + 2])
        except struct.error:
            raise ValueError("a batch that ends within a record") from None
        if not (length >= 0 and end + 2 + properties == at + size <= len(body)):
            raise ValueError(f"a record of {size} bytes in a batch that holds another number")
        found.append((flag, body[start:end], body[end + 2 : at + size].decode()))
        at += size
    if not found:
        raise ValueError("a batch without records")
    return found
