"""The queues that events of a scenario name (``topic-number``, or ``topic-broker-number``) with a number for each: the
offsets of a commit, the records that are written."""

from collections.abc import Mapping
from typing import NamedTuple

from protocols.errors import UserError
from protocols.scenario.events import Commit, Produce


class NamedOffset(NamedTuple):
    """``broker`` is empty where the text names none: then ``number`` counts the topic's queues in the order written,
    as Kafka does."""

    topic: str
    broker: str
    number: int
    offset: int


class NamedCount(NamedTuple):
    """Records that are written to a queue; ``broker`` as above."""

    topic: str
    broker: str
    number: int
    records: int


def offsets_of(event: Commit, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedOffset, ...]:
    """The offsets of a commit, in the order written; none where it commits the member's own positions.

    ``topics``: topic to its queues per broker. Raises `UserError` for a queue that does not exist.
    """
    return tuple(_named(queue, offset, topics) for queue, offset in (event.offsets or {}).items())


def records_of(event: Produce, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedCount, ...]:
    """How many records each queue gets, in the order written. ``topics`` and errors as above."""
    found: list[NamedCount] = []
    for name, count in event.produce.items():
        if name in topics:
            queues = sum(topics[name].values())
            shares = [(count + queues - 1 - number) // queues for number in range(queues)]
            found += [NamedCount(name, "", number, share) for number, share in enumerate(shares) if share]
        else:
            found.append(NamedCount(*_queue(name, topics), count))
    return tuple(found)


def _named(queue: str, offset: int, topics: Mapping[str, Mapping[str, int]]) -> NamedOffset:
    if offset < 0:
        raise UserError(f"offset {offset} of {queue!r} is negative, expected 0 or more")
    return NamedOffset(*_queue(queue, topics), offset)


def _queue(queue: str, topics: Mapping[str, Mapping[str, int]]) -> tuple[str, str, int]:
    place, _, number = queue.rpartition("-")
    if number.isdecimal() and number.isascii() and len(number) < 10:
        if place in topics and int(number) < sum(topics[place].values()):
            return place, "", int(number)
        # Names of topics and of brokers may hold hyphens: the longest topic that fits is meant.
        for topic in sorted(topics, key=len, reverse=True):
            broker = place.removeprefix(f"{topic}-")
            if broker != place and int(number) < topics[topic].get(broker, 0):
                return topic, broker, int(number)
    raise UserError(f"unknown queue {queue!r}, expected topic-number or topic-broker-number of a topic that is there")
