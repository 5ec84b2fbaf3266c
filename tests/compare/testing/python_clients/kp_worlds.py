"""Two worlds for a probe: kafka-python on librdkafka's mock cluster, and the double in virtual time."""

import time
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

import kafka
from confluent_kafka import Producer
from kafka.structs import OffsetAndMetadata

from compare.testing import kafka_group
from tests.compare.testing.differential.mock_cluster import MockCluster
from tests.compare.testing.python_clients.plain import plain

PARTITIONS: Final = 2
_MORE_POLLS: Final = 5
VERSION: Final = (2, 3)
"""The mock cluster does not answer the question for its versions as kafka-python asks it."""
AS_THE_MOCK: Final = {"group.initial.rebalance.delay.ms": 0}


class World:
    """A topic of two partitions, another of one, and consumers of one group, all named after the probe."""

    def __init__(self, name: str, names: Any, address: str) -> None:
        self.name, self.topic, self.more, self.k = name, f"t-{name}", f"m-{name}", names
        self.address = address
        self.made: list[Any] = []

    def part(self, number: int = 0, topic: str = "") -> Any:
        """A partition of the topic."""
        return kafka.TopicPartition(topic or self.topic, number)

    def at(self, offset: int, metadata: str = "") -> Any:
        """An offset as commits want it."""
        return OffsetAndMetadata(offset, metadata, -1)

    def make(self, *topics: str, **given: Any) -> Any:
        """A consumer; None takes an argument out."""
        arguments = {
            "bootstrap_servers": self.address,
            "group_id": f"g-{self.name}",
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "fetch_max_wait_ms": 30,
            "session_timeout_ms": 6000,
            "heartbeat_interval_ms": 200,
            "api_version": VERSION,
            **given,
        }
        made = self.k.KafkaConsumer(*topics, **{name: each for name, each in arguments.items() if each is not None})
        self.made.append(made)
        return made

    def joined(self, **given: Any) -> Any:
        """One that is subscribed and has its assignment, also after the mock cluster has shared anew."""
        consumer = self.make(self.topic, **given)
        self.until(consumer, lambda: bool(consumer.assignment()))
        for _ in range(_MORE_POLLS):
            consumer.poll(timeout_ms=50, update_offsets=False)
        return consumer

    def reading(self, *numbers: int, **given: Any) -> Any:
        """One to which partitions were assigned by hand; the first, if none is named."""
        consumer = self.make(**given)
        consumer.assign([self.part(each) for each in numbers or (0,)])
        return consumer

    def until(self, consumer: Any, there: Callable[[], bool], polls: int = 200) -> list[Any]:
        """Poll until something holds; what came meanwhile."""
        found: list[Any] = []
        for _ in range(polls):
            for records in consumer.poll(timeout_ms=50).values():
                found += records
            if there():
                break
        return found

    def drain(self, consumer: Any, count: int) -> list[Any]:
        """So many records, by partition and offset."""
        found: list[Any] = []
        for _ in range(200):
            for records in consumer.poll(timeout_ms=50).values():
                found += records
            if len(found) >= count:
                break
        return sorted(found, key=lambda each: (each.partition, each.offset))

    def close(self) -> None:
        """Whatever was made is closed."""
        for each in self.made:
            with suppress(Exception):
                each.close()


class RealWorld(World):
    """kafka-python itself."""

    def __init__(self, name: str, cluster: MockCluster, producer: Producer) -> None:
        names = SimpleNamespace(**{each: getattr(kafka, each) for each in dir(kafka) if each[0] != "_"})
        super().__init__(name, names, cluster.address)
        self._producer = producer
        self._ends = [0] * PARTITIONS
        cluster.create_topic(self.topic, PARTITIONS)
        cluster.create_topic(self.more, 1)

    def produce(self, number: int, count: int) -> None:
        """Records are written to a partition."""
        for offset in range(self._ends[number], self._ends[number] + count):
            self._producer.produce(self.topic, value=f"{self.topic}-{number}/{offset}".encode(), partition=number)
        self._ends[number] += count
        assert self._producer.flush(10) == 0

    def wait(self, seconds: float) -> None:
        """Time passes, outside of every consumer."""
        time.sleep(seconds)


class DoubleWorld(World):
    """The double."""

    def __init__(self, name: str) -> None:
        topics = {f"t-{name}": PARTITIONS, f"m-{name}": 1}
        self.group = kafka_group(topics=topics, produce=0, name=f"g-{name}", settings=AS_THE_MOCK)
        self.group.clock.advance(seconds=1)
        super().__init__(name, self.group.kafka_python(), "127.0.0.1:9092")

    def produce(self, number: int, count: int) -> None:
        """Records are written to a partition."""
        self.group.produce(f"{self.topic}-{number}", count)

    def wait(self, seconds: float) -> None:
        """Time passes, outside of every consumer."""
        self.group.clock.advance(seconds=seconds)


def answer(probe: Callable[[Any], Any], world: World) -> Any:
    """What a probe tells in a world."""
    try:
        return said(lambda: probe(world))
    finally:
        world.close()


def said(call: Callable[[], Any]) -> Any:
    """What a call answers, or what it raises."""
    try:
        return plain(call())
    except Exception as error:
        return plain(error)
