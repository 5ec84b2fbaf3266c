"""The keys of a topic's records: how often each comes, which queue its records go to, and which record has which.

A key's records go to one queue, which each system's producer chooses in its own way by the key's name (``key-0``,
``key-1``, ...): Kafka's by murmur2 modulo the number of partitions, RocketMQ's ``SelectMessageQueueByHash`` by Java's
``hashCode`` modulo the number of the queues that it lists, sorted by their brokers' names. Within its queue each
record's key is drawn, as often as it comes, from the seed and the record's place.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from protocols.engine.randomness import digest
from protocols.java import Queue, murmur2, string_hash, utf16_key

USUAL = 1000
"""Keys of a topic of which no number is said."""

MOST = 1_000_000

_TEXT = re.compile(r"\s*zipf\s+(\d+(?:\.\d+)?)(?:\s+of\s+(\d+))?\s*", re.ASCII)


def keys_text(given: object) -> str:
    """``zipf 1.2 of 1000`` or ``1000`` (each as often as the others) as written in full. Raises `ValueError`."""
    if isinstance(given, int) and not isinstance(given, bool):
        given = f"zipf 0 of {given}"
    elif isinstance(given, str) and given.strip().isdecimal():
        given = f"zipf 0 of {given.strip()}"
    match = _TEXT.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise ValueError(f"{given!r} is no spread of keys, expected one such as zipf 1.2, zipf 1.2 of 500 or 500")
    exponent, count = float(match[1]), int(match[2] or USUAL)
    if not 1 <= count <= MOST or exponent > 10:
        raise ValueError(f"{given!r}, expected 1 to {MOST:,} keys and an exponent of at most 10")
    return f"zipf {exponent:g} of {count}" if exponent else str(count)


class Partitioner(NamedTuple):
    """``choose``: of a key and a number of queues to the place of the queue in the producer's list, which is sorted
    ``by_broker``, or in the order of the queues' numbers."""

    choose: Callable[[str, int], int]
    by_broker: bool

    def order(self, brokers: Sequence[str]) -> Sequence[int]:
        """The producer's list. ``brokers``: of each queue its broker, in the order in which the queues came."""
        places = range(len(brokers))
        return sorted(places, key=lambda place: utf16_key(brokers[place])) if self.by_broker else places


def _by_hash_code(key: str, queues: int) -> int:
    hashed = string_hash(key)
    return (hashed if hashed < 1 << 31 else (1 << 32) - hashed) % queues


BY_MURMUR2 = Partitioner(lambda key, queues: murmur2(key.encode(), queues), by_broker=False)
BY_HASH_CODE = Partitioner(_by_hash_code, by_broker=True)


class KeyedQueues(NamedTuple):
    """A topic's records by key, for a number of queues in the order of the producer's list. ``shares``: of all records,
    each queue's; ``keys``: of each queue its keys' numbers, ``bounds`` how often they come, added up."""

    shares: tuple[float, ...]
    keys: tuple[tuple[int, ...], ...]
    bounds: tuple[tuple[float, ...], ...]

    def key_of(self, place: int, queue: Queue, offset: int, seed: int) -> int:
        """The key of the record with this offset of the queue, which is the ``place``-th of the list; -1 where no key
        goes there."""
        bounds = self.bounds[place]
        if not bounds:
            return -1
        drawn = int.from_bytes(digest("key", seed, *queue, offset, size=8), "big") / 2**64
        return self.keys[place][min(bisect_right(bounds, drawn * bounds[-1]), len(bounds) - 1)]


@lru_cache(maxsize=64)
def keyed_queues(text: str, queues: int, partitioner: Partitioner = BY_MURMUR2) -> KeyedQueues:
    """``text`` as `keys_text` writes it: the n-th of the keys comes 1 / n ** exponent times as often as the first."""
    words = text.split()
    exponent, count = (float(words[1]), int(words[3])) if len(words) > 1 else (0.0, int(text))
    weights = [(number + 1) ** -exponent for number in range(count)]
    total = sum(weights)
    keys: list[list[int]] = [[] for _ in range(queues)]
    for number in range(count):
        keys[partitioner.choose(f"key-{number}", queues)].append(number)
    bounds = [tuple(accumulate(weights[number] for number in own)) for own in keys]
    shares = tuple([each[-1] / total if each else 0.0 for each in bounds])
    return KeyedQueues(shares, tuple(map(tuple, keys)), tuple(bounds))


def split(rates: Sequence[float], brokers: Sequence[str], text: str, partitioner: Partitioner) -> tuple[float, ...]:
    """What each queue of a topic gets of what all would get without keys. ``brokers``: of each queue its broker."""
    if not rates:
        return ()
    shares = keyed_queues(text, len(rates), partitioner).shares
    gets = dict(zip(partitioner.order(brokers), shares, strict=True))
    return tuple([sum(rates) * gets[place] for place in range(len(rates))])
