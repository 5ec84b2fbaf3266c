"""Which partition a record goes to: librdkafka's partitioners."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias
from zlib import crc32

Partitioner: TypeAlias = Callable[[bytes, int], int]
"""From a key and the number of partitions to a partition."""

_MULTIPLIER, _SHIFT, _SEED = 0x5BD1E995, 24, 0x9747B28C
_FNV_PRIME, _FNV_BEGINNING = 0x01000193, 0x811C9DC5
_LARGEST, _POSITIVE = 0xFFFFFFFF, 0x7FFFFFFF


def consistent(key: bytes, partitions: int) -> int:
    """By CRC-32."""
    return crc32(key) % partitions


def murmur2(key: bytes, partitions: int) -> int:
    """By MurmurHash2, as Java's producer."""
    hashed = (_SEED ^ len(key)) & _LARGEST
    whole = len(key) // 4 * 4
    for start in range(0, whole, 4):
        word = int.from_bytes(key[start : start + 4], "little") * _MULTIPLIER & _LARGEST
        word = (word ^ word >> _SHIFT) * _MULTIPLIER & _LARGEST
        hashed = hashed * _MULTIPLIER & _LARGEST ^ word
    if whole < len(key):
        hashed = (hashed ^ int.from_bytes(key[whole:], "little")) * _MULTIPLIER & _LARGEST
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _LARGEST
    return ((hashed ^ hashed >> 15) & _POSITIVE) % partitions


def fnv1a(key: bytes, partitions: int) -> int:
    """By FNV-1a, as Sarama's producer: the hash as a signed number, without its sign."""
    hashed = _FNV_BEGINNING
    for byte in key:
        hashed = (hashed ^ byte) * _FNV_PRIME & _LARGEST
    signed = hashed - (_LARGEST + 1) if hashed > _POSITIVE else hashed
    return abs(signed) % partitions


KEYED: Final[Mapping[str, tuple[Partitioner | None, bool, bool]]] = {
    "random": (None, True, True),
    "consistent": (consistent, False, False),
    "consistent_random": (consistent, True, True),
    "murmur2": (murmur2, False, False),
    "murmur2_random": (murmur2, True, False),
    "fnv1a": (fnv1a, False, False),
    "fnv1a_random": (fnv1a, True, False),
}
"""Name of a partitioner to what it does with keys, and whether records without one, and with an empty one, go
anywhere."""

DEFAULT: Final = "consistent_random"


def partition_of(name: str, key: bytes | None, partitions: int) -> int | None:
    """Where a record with this key goes; None: anywhere."""
    keyed, without_anywhere, empty_anywhere = KEYED[name]
    if keyed is None or (key is None and without_anywhere) or (key == b"" and empty_anywhere):
        return None
    return keyed(key or b"", partitions)
