"""Two worlds in which a probe can run: the real client on librdkafka's mock cluster, and the double in virtual time."""

import ctypes
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from compare.testing import Group, kafka_group
from compare.testing.confluent.consumer import KafkaConsumer

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


_PRODUCER = 0
_REASON_BYTES = 512


def _library() -> Any:
    """librdkafka as the wheel of confluent-kafka brings it."""
    beside = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    (path,) = beside.glob("librdkafka*")
    library = ctypes.CDLL(str(path))
    library.rd_kafka_new.restype = ctypes.c_void_p
    library.rd_kafka_new.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    library.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_new.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    library.rd_kafka_mock_cluster_bootstraps.argtypes = [ctypes.c_void_p]
    library.rd_kafka_mock_topic_create.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    library.rd_kafka_mock_group_initial_rebalance_delay_ms.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    library.rd_kafka_mock_broker_set_down.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    library.rd_kafka_mock_push_request_errors.argtypes = [ctypes.c_void_p, ctypes.c_int16, ctypes.c_size_t]
    library.rd_kafka_mock_cluster_destroy.argtypes = [ctypes.c_void_p]
    library.rd_kafka_destroy.argtypes = [ctypes.c_void_p]
    return library


class MockCluster:
    """librdkafka's own mock cluster, in this process and on 127.0.0.1: one broker, whose groups wait for nobody when
    they form. confluent-kafka has no call for it; librdkafka's own are called, out of the library that it has loaded.
    """

    def __init__(self) -> None:
        self._library = _library()
        reason = ctypes.create_string_buffer(_REASON_BYTES)
        self._client = self._library.rd_kafka_new(_PRODUCER, None, reason, _REASON_BYTES)
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._client, 1)
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)
        self.address: str = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        """Host and port, as ``bootstrap.servers`` wants them."""

    def create_topic(self, name: str, partitions: int) -> None:
        """A topic with so many partitions."""
        failed = self._library.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, 1)
        assert not failed, f"topic {name}: error {failed}"

    def stop(self) -> None:
        """The broker stops: connections break, new ones are refused."""
        self._library.rd_kafka_mock_broker_set_down(self._cluster, 1)

    def answer_once(self, request: int, error: int) -> None:
        """The next request of this kind (Kafka's number of it) is answered with this error."""
        self._library.rd_kafka_mock_push_request_errors(self._cluster, request, 1, ctypes.c_int(error))

    def close(self) -> None:
        """Stop the broker's thread."""
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)


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
