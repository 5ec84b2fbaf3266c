"""To which partition a record goes that names none: by the hash of its key, as Kafka's own producer takes it."""

from random import Random
from typing import Final

_MASK: Final = 0xFFFFFFFF
_MULTIPLIER: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C
_SHIFT: Final = 24


def murmur2(data: bytes) -> int:
    """The 32 bits of MurmurHash2 with Kafka's seed."""
    hashed = _SEED ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> _SHIFT) * _MULTIPLIER & _MASK
        hashed = hashed * _MULTIPLIER & _MASK ^ word
    rest = data[whole:]
    if rest:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * _MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _MASK
    return hashed ^ hashed >> 15


def by_key(key: bytes, partitions: int) -> int:
    """The number of the partition of a key."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class Partitioner:
    """Keys by their hash; records without a key by chance, which ``seed`` decides."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def __call__(self, key: bytes | None, all_partitions: list[int], available: list[int]) -> int:
        """One of the numbers."""
        if key is None:
            return self._random.choice(available or all_partitions)
        return all_partitions[by_key(key, len(all_partitions))]
