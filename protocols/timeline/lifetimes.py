"""When each queue exists: topics come, go, grow and shrink by events of the scenario.

A queue of a stopped broker goes on existing: that nobody reads it is what there is to see.
"""

from collections.abc import Mapping
from math import inf
from typing import TypeAlias

from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.scenario.events import Event
from protocols.scenario.fields import Brokers, after_growth, brokers_of
from protocols.scenario.keys import BY_HASH_CODE, BY_MURMUR2, Partitioner
from protocols.scenario.model import Scenario

Lifetimes: TypeAlias = Mapping[Queue, tuple[tuple[Time, Time], ...]]
"""Queue to when it exists, in order: (from, to) in milliseconds, ``to`` infinite where it outlives the run. A queue
that is not in it exists always."""


class Numbering:
    """How a system names the queues of a topic, and which of them its producers choose by a record's key."""

    def __init__(self, per_broker: bool, partitioner: Partitioner) -> None:
        self._per_broker, self.partitioner = per_broker, partitioner

    def queues(self, topic: str, per_broker: Mapping[str, int]) -> tuple[Queue, ...]:
        """The topic's queues: numbered on each broker (RocketMQ), or through all of them as written (Kafka)."""
        if self._per_broker:
            return tuple(Queue(topic, broker, n) for broker, count in per_broker.items() for n in range(count))
        return tuple(Queue(topic, "", n) for n in range(sum(per_broker.values())))

    def after(self, topic: str, before: tuple[Queue, ...], per_broker: Mapping[str, int]) -> tuple[Queue, ...]:
        """The topic's queues once their number was changed; partitions never become fewer."""
        changed = self.queues(topic, per_broker)
        return changed if self._per_broker or len(changed) > len(before) else before

    def placed(self, before: Brokers, per_broker: Mapping[str, int]) -> Brokers:
        """The broker of each of the topic's queues once their number was changed."""
        return brokers_of(per_broker) if self._per_broker else after_growth(before, per_broker)


PER_BROKER = Numbering(per_broker=True, partitioner=BY_HASH_CODE)
THROUGHOUT = Numbering(per_broker=False, partitioner=BY_MURMUR2)


def topics_after(
    topics: Mapping[str, tuple[Queue, ...]], event: Event, numbering: Numbering
) -> dict[str, tuple[Queue, ...]]:
    changed = dict(topics)
    for topic, per_broker in event.queue_changes().items():
        if per_broker is None:
            changed.pop(topic, None)
        else:
            changed[topic] = numbering.after(topic, changed.get(topic, ()), per_broker)
    return changed


def first_topics(scenario: Scenario, numbering: Numbering) -> dict[str, tuple[Queue, ...]]:
    return {topic: numbering.queues(topic, part.queues) for topic, part in scenario.topics.items()}


def last_topics(scenario: Scenario, numbering: Numbering) -> dict[str, tuple[Queue, ...]]:
    topics = first_topics(scenario, numbering)
    for event in scenario.events:
        if event.at <= scenario.run.for_:
            topics = topics_after(topics, event, numbering)
    return topics


def lifetimes(scenario: Scenario, numbering: Numbering) -> Lifetimes:
    """The queues that do not exist all the time; empty for most scenarios."""
    topics = first_topics(scenario, numbering)
    since: dict[Queue, Time] = {queue: 0.0 for queues in topics.values() for queue in queues}
    found: dict[Queue, tuple[tuple[Time, Time], ...]] = {}
    for event in scenario.events:
        after = topics_after(topics, event, numbering)
        if after == topics:
            continue
        there = {queue: None for queues in after.values() for queue in queues}
        for queue in [queue for queue in since if queue not in there]:
            found[queue] = (*found.get(queue, ()), (since.pop(queue), event.at))
        for queue in there:
            since.setdefault(queue, event.at)
        topics = after
    for queue, at in since.items():
        if at > 0 or queue in found:
            found[queue] = (*found.get(queue, ()), (at, inf))
    return found


def time_existing(lives: Lifetimes, queue: Queue, since: Time, until: Time) -> Time:
    """Milliseconds between two times during which the queue exists."""
    spans = lives.get(queue)
    if spans is None:
        return until - since
    return sum((max(0.0, min(until, end) - max(since, start)) for start, end in spans), 0.0)


def life_at(lives: Lifetimes, queue: Queue, now: Time) -> int:
    """The number of the queue's life whose records are handled now: it had begun before. A topic that is created again
    has other records; 0 for a queue that exists always."""
    spans = lives.get(queue) if lives else None
    return sum([start < now for start, _ in spans]) if spans else 0
