"""The offsets that a commit of a scenario names: ``topic-number``, or ``topic-broker-number``."""

from collections.abc import Mapping
from typing import NamedTuple

from protocols.errors import UserError
from protocols.scenario.model import Commit


class NamedOffset(NamedTuple):
    """``broker`` is empty where the text names none: then ``number`` counts the topic's queues in the order written,
    as Kafka does."""

    topic: str
    broker: str
    number: int
    offset: int


def offsets_of(event: Commit, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedOffset, ...]:
    """The offsets of a commit, in the order written; none where it commits the member's own positions.

    ``topics``: topic to its queues per broker. Raises `UserError` for a queue that does not exist.
    """
    return tuple(_named(queue, offset, topics) for queue, offset in (event.offsets or {}).items())


def _named(queue: str, offset: int, topics: Mapping[str, Mapping[str, int]]) -> NamedOffset:
    if offset < 0:
        raise UserError(f"offset {offset} of {queue!r} is negative, expected 0 or more")
    place, _, number = queue.rpartition("-")
    if number.isdecimal() and number.isascii() and len(number) < 10:
        if place in topics and int(number) < sum(topics[place].values()):
            return NamedOffset(place, "", int(number), offset)
        # Names of topics and of brokers may hold hyphens: the longest topic that fits is meant.
        for topic in sorted(topics, key=len, reverse=True):
            broker = place.removeprefix(f"{topic}-")
            if broker != place and int(number) < topics[topic].get(broker, 0):
                return NamedOffset(topic, broker, int(number), offset)
    raise UserError(f"unknown queue {queue!r}, expected topic-number or topic-broker-number of a topic that is there")
