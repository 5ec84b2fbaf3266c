"""Commands of the user, the administrator and the scenario to a 0.8 consumer or ZooKeeper, without any network.

In Kafka 0.8 `ConsumerConnector.shutdown` and `commitOffsets`.

The topics of a Kafka 0.8 cluster, and what producers write to their partitions.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from kafka_coordinator.zookeeper.messages import NodeData
from kafka_coordinator.zookeeper.settings import ConsumerSettings
from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.load import PoisonRecord, PoisonRecords, Production, with_poison
from protocols.scenario.events import AddTopic, DeleteTopic, Poison, Produce, Queues
from protocols.scenario.events.records import records_of
from protocols.scenario.fields import NamedCount, after_growth, brokers_of, queue_index
from protocols.scenario.model import Scenario
from protocols.scenario.rates import Rates


class Shutdown(NamedTuple):
    """Close the consumer properly."""


class Reopen(NamedTuple):
    """Close the consumer properly and begin anew with this (0.8 cannot change a running one)."""

    topics: tuple[str, ...]
    pattern: str | None
    settings: ConsumerSettings


class TakeFor(NamedTuple):
    """The user's code takes so many milliseconds for each record from now on."""

    handle: float


class Freeze(NamedTuple):
    """The user's loop stands still from now on."""


class Thaw(NamedTuple):
    """The user's loop continues."""


class CommitNow(NamedTuple):
    """Commit the positions, or these offsets."""

    offsets: tuple[tuple[str, int, int], ...] | None
    """Topic, number, offset."""


class NewLoad(NamedTuple):
    """What producers write from now on."""

    production: Mapping[Queue, Production]
    poison: PoisonRecords[Queue]
    """Those among the records that the user's code cannot handle. Neither is changed once it was sent."""


class ReportDelivered(NamedTuple):
    """Report what the user has handled so far."""


class SetPersistent(NamedTuple):
    """To ZooKeeper: write a persistent node."""

    path: str
    data: NodeData


class RemoveNode(NamedTuple):
    """To ZooKeeper: remove a node, if it is there."""

    path: str


class TopicTable:
    """Topics with the broker of every partition, and what is written to them."""

    def __init__(self, scenario: Scenario, now: Time) -> None:
        self._rates = Rates(scenario)
        self._brokers_of = {topic: brokers_of(part.queues) for topic, part in scenario.topics.items()}
        self._production: dict[Queue, Production] = {}
        self._poison: dict[Queue, tuple[PoisonRecord, ...]] = {}
        self._begin(now)

    @property
    def load(self) -> NewLoad:
        return NewLoad(dict(self._production), dict(self._poison))

    @property
    def counts(self) -> Mapping[str, int]:
        return {topic: len(brokers) for topic, brokers in self._brokers_of.items()}

    def grow(self, event: Queues, now: Time) -> Mapping[str, int]:
        """Topics have more partitions; which, and how many."""
        self._rates.change(event.queue_changes())
        for topic, per_broker in event.queues.items():
            self._brokers_of[topic] = after_growth(self._brokers_of[topic], per_broker)
        self._begin(now)
        return {topic: len(self._brokers_of[topic]) for topic in event.queues}

    def add(self, event: AddTopic, now: Time) -> Mapping[str, int]:
        self._rates.change(event.queue_changes())
        self._brokers_of.update({topic: brokers_of(part.queues) for topic, part in event.add_topic.items()})
        self._begin(now)
        return {topic: len(self._brokers_of[topic]) for topic in event.add_topic}

    def delete(self, event: DeleteTopic) -> None:
        self._rates.change(event.queue_changes())
        topic = event.delete_topic
        self._brokers_of.pop(topic, None)
        self._production = {queue: each for queue, each in self._production.items() if queue.topic != topic}
        self._poison = {queue: each for queue, each in self._poison.items() if queue.topic != topic}

    def write(self, event: Produce, now: Time) -> None:
        for named in records_of(event, self._per_broker()):
            self._write(self._queue(named), now, named.records)

    def write_poison(self, event: Poison, now: Time) -> None:
        """A record is written that nobody can handle."""
        (named,) = event.written(self._per_broker())
        queue = self._queue(named)
        record = PoisonRecord(self._production[queue].end_offset(now), event.attempts, event.pause)
        self._poison = with_poison(self._poison, queue, record)
        self._write(queue, now, named.records)

    def offsets_at(self, topic: str, time: Time) -> Mapping[int, int]:
        """Number of each partition to the offset of the first record written at this time or later."""
        count = len(self._brokers_of.get(topic, ()))
        return {number: self._production[Queue(topic, "", number)].end_offset(time) for number in range(count)}

    def _per_broker(self) -> dict[str, Counter[str]]:
        return {topic: Counter(brokers) for topic, brokers in self._brokers_of.items()}

    def _queue(self, named: NamedCount) -> Queue:
        return Queue(named.topic, "", queue_index(self._brokers_of[named.topic], named.broker, named.number))

    def _write(self, queue: Queue, now: Time, records: int) -> None:
        written = self._production[queue]
        self._production[queue] = written._replace(bursts=(*written.bursts, (now, records)))

    def _begin(self, now: Time) -> None:
        """What is written to queues that are new now, and to those the keys of which are others from now on."""
        for topic in self.counts:
            for number, rate in enumerate(self._rates.of(topic)):
                queue = Queue(topic, "", number)
                before = self._production.get(queue)
                if before is None or before.per_second != rate:
                    self._production[queue] = Production(rate, now, before.end_offset(now) if before else 0)
