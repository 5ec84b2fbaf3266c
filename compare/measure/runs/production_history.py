"""What is written to every queue in the course of a run."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil, floor

from compare.scenarios.run_variant import RunResult
from compare.scenarios.systems import system_of
from protocols import Queue
from protocols.engine.nodes import TICK, Time
from protocols.load import Production
from protocols.scenario.events import Event
from protocols.scenario.model import Scenario
from protocols.scenario.queue_placement import Brokers, brokers_of, queue_index
from protocols.scenario.rates import Rates
from protocols.scenario.replication import Replicas
from protocols.scenario.systems import split_system
from protocols.timeline.lifetimes import Numbering, first_topics, topics_after


@dataclass(frozen=True, slots=True)
class ProductionHistory:
    """``parts``: times of even production, one after the other, since the queue began with offset 0."""

    parts: tuple[Production, ...]

    @property
    def since(self) -> Time:
        """When offset 0 was the next to be written."""
        return self.parts[0].since

    def end_offset(self, now: Time) -> int:
        """Offset of the next record to be written."""
        return next((each.end_offset(now) for each in reversed(self.parts) if each.since <= now), 0)

    def arrival(self, offset: int, latest: Time) -> Time:
        """When the record with this offset is there, to a tick; ``latest`` where it is not there before that."""
        early, late = self.since, latest
        if self.end_offset(late) <= offset:
            return late
        while late - early > TICK:
            middle = (early + late) / 2
            early, late = (middle, late) if self.end_offset(middle) <= offset else (early, middle)
        return ceil(late / TICK) * TICK

    def silences(self, since: Time, until: Time) -> list[tuple[Time, Time]]:
        """When nothing could be written, of a queue to which records are written at other times."""
        ends = [*(each.since for each in self.parts[1:]), until]
        spans = [(max(since, part.since), min(until, end)) for part, end in zip(self.parts, ends, strict=True)]
        silent = [part.per_second <= 0 for part in self.parts]
        return [span for span, each in zip(spans, silent, strict=True) if each and span[0] < span[1]]

    @property
    def rate(self) -> float:
        """Records per second, while they can be written."""
        return max(each.per_second for each in self.parts)

    def refused(self, since: Time, until: Time) -> int:
        """Records of the even production that could not be written between two times."""
        return sum(floor((end - start) * self.rate / 1000) for start, end in self.silences(since, until))

    def goes_on(self, now: Time, per_second: float) -> "ProductionHistory":
        """From now on so many records come per second."""
        last = self.parts[-1]
        if last.per_second == per_second:
            return self
        return ProductionHistory((*self.parts, Production(per_second, now, last.end_offset(now))))

    def gets(self, now: Time, count: int) -> "ProductionHistory":
        """So many records come at once, beside those that come evenly."""
        last = self.parts[-1]
        return ProductionHistory((*self.parts[:-1], last._replace(bursts=(*last.bursts, (now, count)))))


def productions(result: RunResult) -> dict[Queue, ProductionHistory]:
    """What is written to every queue of the run; of one that was deleted and made anew, to the new one. Nothing where
    the scenario has no load."""
    scenario = result.variant.scenario
    if not scenario.load.writes and not any(event.writes_records for event in scenario.events):
        return {}
    system, _ = split_system(result.variant.part.system)
    replicas = Replicas(scenario.brokers, scenario.replication[system]) if system in scenario.replication else None
    producers = _Producers.of(scenario, system_of(result.variant.part.system).numbering, replicas)
    for event in scenario.events:
        producers.live_through(event)
    return producers.written


@dataclass(slots=True)
class _Producers:
    """They write to every queue that there is, but not to one that nobody serves: whose broker is down (RocketMQ), or
    all of whose ``replicas`` are (Kafka, where the scenario says how many there are; else a partition always gets
    another leader)."""

    rates: Rates
    numbering: Numbering
    topics: dict[str, tuple[Queue, ...]]
    brokers: dict[str, Brokers]
    """Topic to the broker of each of its queues."""
    written: dict[Queue, ProductionHistory]
    replicas: Replicas | None
    down: set[str] = field(default_factory=set)
    deleted: set[Queue] = field(default_factory=set)

    @classmethod
    def of(cls, scenario: Scenario, numbering: Numbering, replicas: Replicas | None) -> "_Producers":
        topics = first_topics(scenario, numbering)
        brokers = {topic: brokers_of(part.queues) for topic, part in scenario.topics.items()}
        made = cls(Rates(scenario), numbering, topics, brokers, {}, replicas)
        made._write(0.0)
        return made

    def live_through(self, event: Event) -> None:
        """What the event changes. Records for a queue whose broker is down are refused."""
        if event.writes_records:
            there: Mapping[str, Mapping[str, int]] = {topic: Counter(at) for topic, at in self.brokers.items()}
            for topic, broker, number, count in event.written(there):
                queue = self.topics[topic][queue_index(self.brokers[topic], broker, number)]
                if self._is_served(queue):
                    self.written[queue] = self.written[queue].gets(event.at, count)
        for broker, runs in event.broker_changes().items():
            (self.down.discard if runs else self.down.add)(broker)
            if self.replicas is not None:
                (self.replicas.returns if runs else self.replicas.ends)(broker)
        for topic, per_broker in event.queue_changes().items():
            if per_broker is None:
                self.deleted.update(self.topics.get(topic, ()))
                self.brokers.pop(topic, None)
            else:
                self.brokers[topic] = self.numbering.placed(self.brokers.get(topic, ()), per_broker)
        self.rates.change(event.queue_changes())
        if event.broker_changes() or event.queue_changes():
            self.topics = topics_after(self.topics, event, self.numbering)
            self._write(event.at)

    def _is_served(self, queue: Queue) -> bool:
        if self.replicas is None or queue.broker:
            return queue.broker not in self.down
        return self.replicas.serve(self.brokers[queue.topic][queue.number])

    def _write(self, now: Time) -> None:
        there = {queue: rate for topic, queues in self.topics.items() for queue, rate in self._rates_of(topic, queues)}
        for queue in {**dict.fromkeys(self.written), **there}:
            per_second = there[queue] if queue in there and self._is_served(queue) else 0.0
            before = self.written.get(queue)
            if before is None or (queue in there and queue in self.deleted):
                self.deleted.discard(queue)
                self.written[queue] = ProductionHistory((Production(per_second, now),))
            else:
                self.written[queue] = before.goes_on(now, per_second)

    def _rates_of(self, topic: str, queues: tuple[Queue, ...]) -> Iterator[tuple[Queue, float]]:
        """Each queue with its records per second."""
        brokers = dict.fromkeys(queue.broker for queue in queues)
        rates = {broker: self.rates.at(topic, broker) if broker else self.rates.of(topic) for broker in brokers}
        for queue in queues:
            yield queue, rates[queue.broker][queue.number]
