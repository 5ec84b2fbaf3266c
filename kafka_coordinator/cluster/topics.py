"""The topics of a scenario as Kafka has them: partitions are numbered in the order written, and never taken away."""

from math import inf
from types import MappingProxyType

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.cluster.controller import Controller
from kafka_coordinator.cluster.outages import Outages
from kafka_coordinator.consumer.settings import Load
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.load import PoisonRecord, Production, with_poison
from protocols.scenario.events import AddTopic, DeleteTopic, Event, Poison, Produce, Queues, Reset
from protocols.scenario.events.records import records_of
from protocols.scenario.fields import NamedCount, NamedOffset, TopicPart, after_growth, brokers_of, queue_index
from protocols.scenario.model import Scenario
from protocols.scenario.rates import Rates


class TopicTable:
    """Topics with the broker of every partition, and what is written to them. Tells the controller of changes.

    Producers begin to write when it is made, at ``now``. Raises `UserError` then, if an event will take partitions
    away.
    """

    def __init__(self, scenario: Scenario, controller: Controller, outages: Outages, where: str, now: Time) -> None:
        self._controller, self._outages = controller, outages
        self._brokers_of: dict[str, tuple[str, ...]] = {}
        self._per_second = scenario.load.produce
        self._rates = Rates(scenario)
        self._unlike: dict[Partition, float] = {}
        """The rates of partitions that get more or less than most do."""
        self._changed: dict[Partition, tuple[Time, int]] = {}
        self._earlier: dict[Partition, tuple[Production, ...]] = {}
        """What was written before a partition's rate changed, the latest first."""
        self._since: dict[Partition, Time] = {}
        self._bursts: dict[Partition, tuple[tuple[Time, int], ...]] = {}
        self._poison: dict[Partition, tuple[PoisonRecord, ...]] = {}
        _check(scenario, where)
        for topic, part in scenario.topics.items():
            self._put_new(topic, part, now)

    @property
    def load(self) -> Load:
        load = Load(
            self._per_second,
            MappingProxyType(dict(self._since)),
            MappingProxyType(dict(self._bursts)),
            MappingProxyType(dict(self._unlike)),
            MappingProxyType(dict(self._poison)),
            changed=MappingProxyType(dict(self._changed)),
        )
        return self._outages.on(load)

    @property
    def per_broker(self) -> dict[str, dict[str, int]]:
        return {
            topic: {broker: brokers.count(broker) for broker in dict.fromkeys(brokers)}
            for topic, brokers in self._brokers_of.items()
        }

    def partition(self, named: NamedOffset | NamedCount) -> Partition:
        """The partition that an event names by topic and number, or as the n-th of a broker."""
        return named.topic, queue_index(self._brokers_of[named.topic], named.broker, named.number)

    def write(self, event: Produce, now: Time) -> None:
        for record in records_of(event, self.per_broker):
            self._add(self.partition(record), now, record.records)

    def _add(self, partition: Partition, now: Time, records: int) -> None:
        bursts = self._bursts.get(partition, ())
        if bursts and bursts[-1][0] == now:
            bursts, records = bursts[:-1], bursts[-1][1] + records
        self._bursts[partition] = (*bursts, (now, records))

    def write_poison(self, event: Poison, now: Time) -> None:
        """A record is written that nobody can handle."""
        (named,) = event.written(self.per_broker)
        partition = self.partition(named)
        written = self.load.production(partition)._replace(held=())
        record = PoisonRecord(written.end_offset(now), event.attempts, event.pause)
        self._poison = with_poison(self._poison, partition, record)
        self._add(partition, now, named.records)

    def is_served(self, partition: Partition) -> bool:
        """Whether records that are written to the partition now can be read at once."""
        return self._outages.takes(partition)

    def per_second(self, partition: Partition) -> float:
        """Records that producers send to it."""
        return self._unlike.get(partition, self._per_second)

    def offsets_at(self, topic: str, time: Time) -> tuple[tuple[Partition, int], ...]:
        """Of each partition the offset of the first record that was sent at this time or later."""
        partitions = [(topic, number) for number in range(len(self._brokers_of.get(topic, ())))]
        return tuple([(partition, self._sent(partition, time).end_offset(time)) for partition in partitions])

    def _sent(self, partition: Partition, time: Time) -> Production:
        """What producers sent to the partition at this time."""
        now = self.load.production(partition)._replace(held=())
        earlier = self._earlier.get(partition, ())
        return next((each for each in (now, *earlier) if each.since <= time), (now, *earlier)[-1])

    def grow(self, event: Queues, now: Time) -> None:
        """Topics have more partitions; those that they had keep their numbers and brokers."""
        self._rates.change(event.queue_changes())
        for topic, per_broker in event.queues.items():
            if topic in self._brokers_of:
                self._put(topic, after_growth(self._brokers_of[topic], per_broker), now)

    def add(self, event: AddTopic, now: Time) -> None:
        self._rates.change(event.queue_changes())
        for topic, part in event.add_topic.items():
            self._put_new(topic, part, now)

    def delete(self, event: DeleteTopic) -> None:
        self._rates.change(event.queue_changes())
        brokers = self._brokers_of.pop(event.delete_topic, ())
        self._since.update(((event.delete_topic, number), inf) for number in range(len(brokers)))
        for kept in (self._bursts, self._unlike, self._poison, self._changed, self._earlier):
            for partition in [each for each in kept if each[0] == event.delete_topic]:
                del kept[partition]
        self._controller.delete_topic(event.delete_topic)
        self._outages.forget(event.delete_topic)

    def _put_new(self, topic: str, part: TopicPart, now: Time) -> None:
        if part.min_insync_replicas is not None:
            self._outages.of_topic[topic] = part.min_insync_replicas
        self._put(topic, brokers_of(part.queues), now, part.replica_racks)

    def _put(
        self, topic: str, brokers: tuple[str, ...], now: Time, racks: tuple[tuple[str, ...], ...] | None = None
    ) -> None:
        before = len(self._brokers_of.get(topic, ()))
        for number, rate in enumerate(self._rates.of(topic)):
            partition = topic, number
            if number < before:
                self._change(partition, rate, now)
                continue
            if now or partition in self._since:
                self._since[partition] = now
            if rate != self._per_second:
                self._unlike[partition] = rate
        self._brokers_of[topic] = brokers
        self._controller.put_topic(topic, brokers, racks)

    def _change(self, partition: Partition, rate: float, now: Time) -> None:
        """Its keys are others from now on, and with them its rate."""
        if rate != self.per_second(partition):
            written = self._sent(partition, now)
            self._earlier[partition] = (written, *self._earlier.get(partition, ()))
            self._changed[partition] = now, written._replace(bursts=()).end_offset(now)
            self._unlike[partition] = rate


def _check(scenario: Scenario, where: str) -> None:
    counts = {topic: sum(part.queues.values()) for topic, part in scenario.topics.items()}
    for event in scenario.events:
        _count(event, counts, where)


def _count(event: Event, counts: dict[str, int], where: str) -> None:
    for topic, per_broker in event.queue_changes().items():
        if per_broker is None:
            counts.pop(topic, None)
            continue
        wanted = sum(per_broker.values())
        if wanted < counts.get(topic, 0):
            raise UserError(
                f"{where}: topic {topic} from {counts[topic]} to {wanted} partitions: Kafka cannot remove"
                f" partitions, expected at least {counts[topic]}"
            )
        counts[topic] = wanted
    if isinstance(event, Reset) and event.via == "client":
        raise UserError(f"{where}: offsets are reset through clients in RocketMQ only, expected via: broker")
