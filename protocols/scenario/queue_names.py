"""The queues that events of a scenario name (``topic-number``, or ``topic-broker-number``), each with a number: the
offset of a commit, the records that are written.

The broker of every queue of a topic, in the order in which Kafka numbers partitions.
"""

from collections.abc import Mapping
from typing import NamedTuple

from protocols.errors import UserError


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


def named_queue(queue: str, topics: Mapping[str, Mapping[str, int]]) -> tuple[str, str, int]:
    """Topic, broker (empty where the name has none) and number of a queue.

    ``topics``: topic to its queues per broker. Raises `UserError` for a queue that does not exist.
    """
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


Brokers = tuple[str, ...]


def brokers_of(per_broker: Mapping[str, int]) -> Brokers:
    """The broker of every queue, in the order written."""
    return tuple([broker for broker, count in per_broker.items() for _ in range(count)])


def after_growth(before: Brokers, per_broker: Mapping[str, int]) -> Brokers:
    """More queues: those that there were keep their places, new ones go to the brokers that are to have more, in the
    order written."""
    extra = max(0, sum(per_broker.values()) - len(before))
    wanted = [broker for broker, count in per_broker.items() for _ in range(count - before.count(broker))]
    return (*before, *wanted[:extra])


def queue_index(brokers: Brokers, broker: str, number: int) -> int:
    """The place of the n-th queue of a broker; of all of them, where ``broker`` is empty."""
    return [at for at, each in enumerate(brokers) if broker in ("", each)][number]
