"""Two worlds for the coroutines of a probe: aiokafka on librdkafka's mock cluster, and the double in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

import aiokafka
import aiokafka.errors
import aiokafka.structs
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from confluent_kafka import Producer

from compare.testing import kafka_group
from tests.compare.testing.differential.mock_cluster import MockCluster
from tests.compare.testing.python_clients.plain import plain

PARTITIONS: Final = 2
AS_THE_MOCK: Final = {"group.initial.rebalance.delay.ms": 0}
"""Settings of the double's broker."""
_LONGEST_S: Final = 10.0


class World:
    """A topic of two partitions, another of one, and consumers of one group, all named after the probe."""

    def __init__(self, name: str, names: Any, address: str) -> None:
        self.name, self.topic, self.more, self.k = name, f"t-{name}", f"m-{name}", names
        self.address = address
        self.made: list[Any] = []

    def part(self, number: int = 0, topic: str = "") -> Any:
        """A partition of the topic."""
        return aiokafka.TopicPartition(topic or self.topic, number)

    def make(self, *topics: str, **given: Any) -> Any:
        """A consumer that has not been started; None takes an argument out."""
        arguments = {
            "bootstrap_servers": self.address,
            "group_id": f"g-{self.name}",
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "fetch_max_wait_ms": 30,
            "session_timeout_ms": 6000,
            "heartbeat_interval_ms": 200,
            **given,
        }
        made = self.k.AIOKafkaConsumer(*topics, **{name: each for name, each in arguments.items() if each is not None})
        self.made.append(made)
        return made

    async def joined(self, **given: Any) -> Any:
        """One that is subscribed and has its assignment."""
        consumer = self.make(self.topic, **given)
        await consumer.start()
        return consumer

    async def reading(self, *numbers: int, **given: Any) -> Any:
        """One to which partitions were assigned by hand; the first, if none is named."""
        consumer = self.make(**given)
        await consumer.start()
        consumer.assign([self.part(each) for each in numbers or (0,)])
        return consumer

    async def close(self) -> None:
        """Whatever was made is stopped."""
        for each in self.made:
            with suppress(Exception):  # what aiokafka's own tasks ended with
                await asyncio.wait_for(each.stop(), _LONGEST_S)


class RealWorld(World):
    """aiokafka itself."""

    def __init__(self, name: str, cluster: MockCluster, producer: Producer) -> None:
        names = SimpleNamespace(
            **{each: getattr(aiokafka, each) for each in dir(aiokafka) if each[0] != "_"},
            RangePartitionAssignor=RangePartitionAssignor,
            RoundRobinPartitionAssignor=RoundRobinPartitionAssignor,
        )
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


class DoubleWorld(World):
    """The double."""

    def __init__(self, name: str) -> None:
        topics = {f"t-{name}": PARTITIONS, f"m-{name}": 1}
        self.group = kafka_group(topics=topics, produce=0, name=f"g-{name}", settings=AS_THE_MOCK)
        self.group.clock.advance(seconds=1)
        super().__init__(name, self.group.aiokafka(), "127.0.0.1:9092")

    def produce(self, number: int, count: int) -> None:
        """Records are written to a partition."""
        self.group.produce(f"{self.topic}-{number}", count)


async def answer(probe: Callable[[Any], Awaitable[Any]], world: World) -> Any:
    """What a probe tells in a world."""
    try:
        return await told(asyncio.wait_for(probe(world), _LONGEST_S))
    finally:
        await world.close()


async def told(call: Awaitable[Any]) -> Any:
    """What awaiting answers, or what it raises."""
    try:
        return plain(await call)
    except Exception as error:
        return plain(error)


def said(call: Callable[[], Any]) -> Any:
    """The same of a plain call."""
    try:
        return plain(call())
    except Exception as error:
        return plain(error)
