"""A queue: what is handed out. Kafka says partition, RocketMQ message queue."""

from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from protocols.java import utf16_key

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
