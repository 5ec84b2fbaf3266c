"""Two worlds in which a probe can run: the real client on librdkafka's mock cluster, and the double in virtual time."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from compare.testing import Group, kafka_group
from compare.testing.confluent.consumer import KafkaConsumer
from tests.compare.testing.differential.mock_cluster import MockCluster

PARTITIONS: Final = 2
"""Of the topic of a world."""
STEP: Final = 0.05
"""Seconds that one poll of `World.until` waits."""

_HEARTBEAT: Final = 12
_AS_IT_IS: Final = ("error_cb", "dr_cb", "on_delivery", "on_commit", "stats_cb", "throttle_cb")
"""Names of a configuration with an underscore."""


class World(ABC):
    """A broker with one topic of two partitions and a second topic of one; consumers of one group.

    Both are named after the probe, so that probes can share a broker.
    """

    def __init__(self, name: str) -> None:
        self.name, self.topic, self.more = name, f"t-{name}", f"m-{name}"
        self.group_id = f"g-{name}"
        self.made: list[Any] = []

    def config(self, **given: object) -> dict[str, object]:
        """A whole configuration; ``auto_offset_reset=...`` stands for ``auto.offset.reset``; None takes a name out."""
        config: dict[str, object] = {
            "bootstrap.servers": self.address,
            "group.id": self.group_id,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
            "fetch.wait.max.ms": 50,
            "partition.assignment.strategy": "range",
            **{name if name in _AS_IT_IS else name.replace("_", "."): value for name, value in given.items()},
        }
        return {name: value for name, value in config.items() if value is not None}

    def consumer(self, **given: object) -> Any:
        """A consumer with such a configuration."""
        return self.make(self.config(**given))

    def producer(self, **given: object) -> Any:
        """A producer; names as in `config`. Closed when the probe is over."""
        config = {name if name in _AS_IT_IS else name.replace("_", "."): value for name, value in given.items()}
        made = self._producer_class({"bootstrap.servers": self.address, "log_level": 0, **config})
        self.made.append(made)
        return made

    def make(self, *args: object, **kwargs: object) -> Any:
        """What the constructor makes of this; closed when the probe is over."""
        made = self._make(*args, **kwargs)
        self.made.append(made)
        return made

    def partition(self, number: int, *offset: int) -> TopicPartition:
        """A partition of the topic."""
        return TopicPartition(self.topic, number, *offset)

    def until(self, consumer: Any, stop: Callable[[Any], bool], polls: int = 80) -> list[Any]:
        """Poll until a message satisfies ``stop`` (None is asked, too); all messages."""
        found = []
        for _ in range(polls):
            message = consumer.poll(STEP)
            if message is not None:
                found.append(message)
            if stop(message):
                break
        return found

    def read(self, consumer: Any, count: int = 1) -> list[Any]:
        """Poll until so many messages came, or about four seconds passed."""
        found: list[Any] = []
        return self.until(
            consumer, lambda message: bool(found.append(message) if message else 0) or len(found) >= count
        )

    def joined(self, consumer: Any, **listeners: Any) -> Any:
        """The consumer, after it has subscribed to the topic and has an assignment."""
        consumer.subscribe([self.topic], **listeners)
        self.until(consumer, lambda message: bool(consumer.assignment()))
        return consumer

    def close(self) -> None:
        """Close what the probe has left open."""
        for each in self.made:
            try:
                each.close()
            except RuntimeError:
                continue  # The probe has closed it.

    @property
    @abstractmethod
    def address(self) -> str:
        """For ``bootstrap.servers``."""

    @property
    @abstractmethod
    def _producer_class(self) -> Any: ...

    @abstractmethod
    def _make(self, *args: object, **kwargs: object) -> Any: ...

    @abstractmethod
    def produce(self, number: int, count: int) -> None:
        """Records are written to a partition of the topic; they are there when this returns."""

    @abstractmethod
    def stop_brokers(self) -> None:
        """Every broker stops."""

    @abstractmethod
    def fence(self, consumer: Any) -> None:
        """The only consumer, which has the ``group.instance.id`` "one", is replaced by another one."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Time passes, outside of every consumer."""


class RealWorld(World):
    """The real client, on a mock cluster that it shares with other probes."""

    def __init__(self, name: str, cluster: MockCluster, producer: Producer) -> None:
        self._cluster, self._producer = cluster, producer
        super().__init__(name)
        self._ends = dict.fromkeys(range(PARTITIONS), 0)
        cluster.create_topic(self.topic, PARTITIONS)
        cluster.create_topic(self.more, 1)

    @property
    def address(self) -> str:
        return self._cluster.address

    @property
    def _producer_class(self) -> Any:
        return Producer

    def _make(self, *args: object, **kwargs: object) -> Any:
        return Consumer(*args, **kwargs)

    def produce(self, number: int, count: int) -> None:
        for offset in range(self._ends[number], self._ends[number] + count):
            self._producer.produce(self.topic, value=f"{self.topic}-{number}/{offset}".encode(), partition=number)
        self._ends[number] += count
        assert self._producer.flush(10) == 0

    def stop_brokers(self) -> None:
        self._cluster.stop()

    def fence(self, consumer: Any) -> None:
        self._cluster.answer_once(_HEARTBEAT, KafkaError.FENCED_INSTANCE_ID)

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


class DoubleWorld(World):
    """The double, in virtual time."""

    def __init__(self, name: str, settings: Mapping[str, object] | None = None) -> None:
        super().__init__(name)
        topics = {self.topic: PARTITIONS, self.more: 1}
        self.group: Group = kafka_group(topics=topics, produce=0, name=self.group_id, settings=settings or {})
        self.group.clock.advance(seconds=1)

    @property
    def address(self) -> str:
        return "127.0.0.1:9092"

    @property
    def _producer_class(self) -> Any:
        return self.group.confluent().Producer

    def _make(self, *args: object, **kwargs: object) -> Any:
        return KafkaConsumer(self.group, f"c{len(self.made) + 1}", *args, **kwargs)  # type: ignore[arg-type]

    def produce(self, number: int, count: int) -> None:
        self.group.produce(f"{self.topic}-{number}", count)

    def stop_brokers(self) -> None:
        self.group.happen(broker="broker-a", does="stop")

    def fence(self, consumer: Any) -> None:
        self.group.join("twin", instance_id="one", subscribe=[self.topic])

    def wait(self, seconds: float) -> None:
        self.group.clock.advance(seconds=seconds)
