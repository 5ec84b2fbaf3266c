"""Java's string order, hash codes and HashMap iteration order, as far as the systems' answers depend on them.

Both systems are Java programs: they compare strings by UTF-16 code unit, and some of their
answers follow the iteration order of ``java.util.HashMap`` (spec kafka 5.1).

A queue: what is handed out. Kafka says partition, RocketMQ message queue.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter, mul
from typing import NamedTuple, TypeVar

_MASK = 0xFFFFFFFF

T = TypeVar("T", bound=Hashable)


def utf16_key(text: str) -> bytes:
    """Sort key that orders strings as Java's ``String.compareTo`` does (by UTF-16 code unit)."""
    return text.encode("utf-16-be", "surrogatepass")


def sorted_as_java(texts: Iterable[str]) -> list[str]:
    """The strings in ``String.compareTo`` order; plain code-point order where that is the same."""
    listed = list(texts)
    if all(map(str.isascii, listed)):
        return sorted(listed)
    return sorted(listed, key=utf16_key)


def sorted_pairs(pairs: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Pairs of a text and a number, such as Kafka's partitions: by the text as `sorted_as_java`, then by number."""
    listed = list(pairs)
    if len(listed) < 2:
        return listed
    # A pair is compared with C's speed as long as code-point order is the right one.
    if all(map(str.isascii, {text for text, _ in listed})):
        return sorted(listed)
    return sorted(listed, key=lambda pair: (utf16_key(pair[0]), pair[1]))


_POWERS = [pow(31, exponent, 1 << 32) for exponent in range(255, -1, -1)]


@lru_cache(maxsize=1 << 16)
def string_hash(text: str) -> int:
    """``String.hashCode`` as an unsigned 32-bit number."""
    if text.isascii() and len(text) <= len(_POWERS):
        whole: int = sum(map(mul, text.encode("ascii"), _POWERS[len(_POWERS) - len(text) :]))
        return whole & _MASK
    value, units = 0, utf16_key(text)
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = value * 31 + (high << 8 | low) & _MASK
    return value


def topic_partition_hash(topic: str, partition: int) -> int:
    """``hashCode`` of Kafka's TopicPartition as an unsigned 32-bit number."""
    return 31 * (31 + partition) + string_hash(topic) & _MASK


def spread(hash_code: int) -> int:
    """HashMap's spreading of an unsigned 32-bit hash code before it picks a bin."""
    return hash_code ^ hash_code >> 16


def grown_size(count: int, start: int = 16) -> int:
    """Table size of a HashMap that held up to ``count`` entries and started with ``start`` bins."""
    size = start
    while count > size * 3 // 4 if size >= 4 else count > size * 0.75:
        size *= 2
    return size


def size_for_set_of(count: int) -> int:
    """Start size of a HashSet built from a collection of ``count`` elements."""
    return _power_of_two(max(int(count / 0.75) + 1, 16))


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()


def entry_order(keys: Sequence[T], hash_code: Callable[[T], int], start: int = 16) -> list[T]:
    """Iteration order of a HashMap into which ``keys`` (all different) were put in this order.

    Bins ascending, within a bin in order of insertion; trees (bins of more than eight) are not modelled.
    """
    mask = grown_size(len(keys), start) - 1
    codes = map(hash_code, keys)
    bins = {key: (code ^ code >> 16) & mask for key, code in zip(keys, codes, strict=True)}
    return sorted(keys, key=bins.__getitem__)


def number_entry_order(numbers: Sequence[int]) -> list[int]:
    """`entry_order` of integers that are not negative: their hash code is themselves."""
    if len(numbers) < 2:
        return list(numbers)
    mask = grown_size(len(numbers), 16) - 1
    if max(numbers) <= mask:
        return sorted(numbers)
    return sorted(numbers, key=lambda number: spread(number) & mask)


def string_entry_order(keys: Sequence[str], start: int = 16) -> list[str]:
    return entry_order(keys, string_hash, start)


_MULTIPLIER, _SHIFT, _SEED, _POSITIVE = 0x5BD1E995, 24, 0x9747B28C, 0x7FFFFFFF


def murmur2(key: bytes, partitions: int) -> int:
    """The partition of a key by MurmurHash2, as Kafka's Java producer takes it."""
    hashed = (_SEED ^ len(key)) & _MASK
    whole = len(key) // 4 * 4
    for start in range(0, whole, 4):
        word = int.from_bytes(key[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> _SHIFT) * _MULTIPLIER & _MASK
        hashed = hashed * _MULTIPLIER & _MASK ^ word
    if whole < len(key):
        hashed = (hashed ^ int.from_bytes(key[whole:], "little")) * _MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _MASK
    return ((hashed ^ hashed >> 15) & _POSITIVE) % partitions


_TOPIC, _BROKER = itemgetter(0), itemgetter(1)


class Queue(NamedTuple):
    """Topic, broker name (empty for Kafka) and number. Sorts as both systems sort their queues:

    topic, then broker name, both by UTF-16 code unit, then number.
    """

    topic: str
    broker: str
    number: int

    def __lt__(self, other: object) -> bool:
        if isinstance(other, Queue):
            return queue_key(self) < queue_key(other)
        return NotImplemented

    def __gt__(self, other: object) -> bool:
        if isinstance(other, Queue):
            return queue_key(self) > queue_key(other)
        return NotImplemented

    def __le__(self, other: object) -> bool:
        return NotImplemented if not isinstance(other, Queue) else not self > other

    def __ge__(self, other: object) -> bool:
        return NotImplemented if not isinstance(other, Queue) else not self < other


def queue_key(queue: Queue) -> tuple[bytes, bytes, int]:
    """Sort key of a queue in the systems' order."""
    return utf16_key(queue.topic), utf16_key(queue.broker), queue.number


def sort_queues(queues: Iterable[Queue]) -> tuple[Queue, ...]:
    """The queues in the systems' order."""
    listed = list(queues)
    # Tuples compare by code point, which differs from UTF-16 order only outside of ASCII.
    if all(map(str.isascii, {*map(_TOPIC, listed), *map(_BROKER, listed)})):
        return tuple(sorted(listed, key=tuple))
    return tuple(sorted(listed, key=queue_key))
