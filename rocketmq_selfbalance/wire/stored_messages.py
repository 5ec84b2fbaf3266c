"""A record as RocketMQ's commit log stores it and as pulls carry it: ``MessageDecoder``'s layout.

Numbers are big-endian: total size, magic, CRC of the body, queue number, flag, queue offset, physical offset, system
flag, born time, born host, store time, store host, reconsume times, prepared transaction offset, body, topic,
properties. Times are milliseconds since 1970. Hosts are address and port; bits of the system flag say that they are
IPv6. Properties are ``name 0x01 value 0x02`` one after the other.
"""

import struct
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from ipaddress import ip_address
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from protocols.java import string_hash

_MAGIC, _MAGIC_LONG_TOPIC = 0xDAA320A7, 0xDAA320AB
_LONGEST_SHORT_TOPIC = 127
_BORN_V6, _STORED_V6 = 1 << 4, 1 << 5
_HEAD = Struct(">IIIiiqqiq")
_TAIL = Struct(">iqi")
_TIME = Struct(">q")
_BATCHED = Struct(">iiiii")
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
    return f"{_in_hex(store_host)}{position:016X}"


@lru_cache(maxsize=64)
def _in_hex(store_host: bytes) -> str:
    return store_host.hex().upper()


def parse_properties(text: str) -> dict[str, str]:
    """Properties by their names; what is none is left out."""
    return dict([part.split(_NAME, 1) for part in text.split(_END) if _NAME in part])


def properties_text(properties: Mapping[str, str]) -> str:
    return "".join(f"{name}{_NAME}{value}{_END}" for name, value in properties.items())


def tags_code(properties: Mapping[str, str]) -> int:
    """The hash of a record's tags by which a broker filters, 0 without tags: Java's ``hashCode``, signed."""
    tags = properties.get("TAGS")
    return signed_hash(tags) if tags else 0


def signed_hash(text: str) -> int:
    """``String.hashCode``."""
    code = string_hash(text)
    return code - (1 << 32) if code >> 31 else code


class Envelope:
    """What the records of one request have in common, from which the bytes of each follow quickly.

    ``model``: a record of them, whose flag, body and properties are left out; ``stored``: when they are stored.
    """

    __slots__ = ("_born", "_hosts", "_layout", "_number", "_sys_flag", "_times", "_topic")

    def __init__(self, model: Record, stored: int, store_host: bytes) -> None:
        topic = model.topic.encode()
        long_topic = len(topic) > _LONGEST_SHORT_TOPIC
        self._topic = len(topic).to_bytes(2 if long_topic else 1) + topic
        self._layout = _layout(len(model.born_host), len(store_host)), _MAGIC_LONG_TOPIC if long_topic else _MAGIC
        sys_flag = model.sys_flag & ~(_BORN_V6 | _STORED_V6)
        sys_flag |= (_BORN_V6 if len(model.born_host) > 8 else 0) | (_STORED_V6 if len(store_host) > 8 else 0)
        self._number, self._sys_flag, self._born = model.queue_number, sys_flag, model.born
        self._hosts, self._times = (model.born_host, store_host), (stored, model.reconsume_times)

    def fill(self, flag: int, body: bytes, properties: bytes, offset: int, position: int) -> bytes:
        """The bytes of a record at this offset of its queue and this position of the commit log."""
        (layout, magic), (born_host, store_host), (stored, reconsume_times) = self._layout, self._hosts, self._times
        topic, length = self._topic, len(body)
        head = layout.pack(
            layout.size + length + len(topic) + 2 + len(properties),
            magic,
            crc32(body) & 0x7FFFFFFF,
            self._number,
            flag,
            offset,
            position,
            self._sys_flag,
            self._born,
            born_host,
            stored,
            store_host,
            reconsume_times,
            0,
            length,
        )
        return b"".join((head, body, topic, len(properties).to_bytes(2), properties))


@cache
def _layout(born_host: int, store_host: int) -> Struct:
    return Struct(f"{_HEAD.format}{born_host}sq{store_host}siqi")


def encode(record: Record, offset: int, position: int, stored: int, store_host: bytes) -> bytes:
    """The bytes of a record at this offset of its queue and this position of the commit log; ``stored`` is when."""
    envelope = Envelope(record, stored, store_host)
    return envelope.fill(record.flag, record.body, record.properties.encode(), offset, position)


class Stored(NamedTuple):
    """A stored record, read again."""

    record: Record
    offset: int
    position: int
    crc: int
    stored: int
    store_host: bytes


def decode(content: bytes) -> Stored:
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


def split_batch(body: bytes) -> Iterator[tuple[int, bytes, str]]:
    """The records in the body of a batch: flag, body, properties of each; `ValueError` where anything else comes.

    Each is its total size, magic, CRC, flag, length and body, length (2 bytes) and properties.
    """
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
        yield flag, body[start:end], body[end + 2 : at + size].decode()
        at += size
    if not body:
        raise ValueError("a batch without records")
