"""What a client hands out: records and errors, the lines of its log, what it knows of the cluster.

Messages and metadata are of confluent-kafka's own classes where it is installed, else of doubles of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from logging import WARNING
from typing import Final, TypedDict, Unpack, cast

from compare.testing.clock import Clock
from compare.testing.confluent import errors
from compare.testing.confluent.configuration import Configuration, Logger
from compare.testing.confluent.properties import OF_PRODUCERS
from compare.testing.contents import Headers
from compare.testing.faults import as_the_client
from kafka_coordinator.cluster import KafkaCluster

TIMESTAMP_NOT_AVAILABLE, TIMESTAMP_CREATE_TIME = 0, 1
EPOCH: Final = 0
"""The leader's epoch of every partition: it never changes here."""
CLUSTER_ID: Final = "simulated"
_LINE: Final = "%s [%s] %s"
_PORT: Final = 9092


class Message:
    """A record, or an error that poll() returns: what `confluent_kafka.Message` answers."""

    def __init__(
        self,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Headers | None = None,
        error: errors.KafkaErrorDouble | None = None,
        timestamp: tuple[int, int] | None = None,
        latency: float | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        self._topic, self._partition, self._offset = topic, partition, offset
        self._key, self._value, self._headers, self._error = key, value, headers, error
        self._timestamp, self._latency, self._leader_epoch = timestamp, latency, leader_epoch
        self.handed_to = ""
        """The member whose poll() returned it."""

    def __len__(self) -> int:
        return len(self._value or b"")

    def topic(self) -> str | None:
        return self._topic

    def partition(self) -> int | None:
        return self._partition

    def offset(self) -> int | None:
        return self._offset

    def value(self) -> bytes | None:
        return self._value

    def key(self) -> bytes | None:
        return self._key

    def headers(self) -> Headers | None:
        """Its headers; None for a record without."""
        return self._headers

    def error(self) -> errors.KafkaErrorDouble | None:
        """The error that this is instead of a record; None for a record."""
        return self._error

    def timestamp(self) -> tuple[int, int]:
        """The kind of the time, and milliseconds of virtual time when it was written."""
        return self._timestamp or (TIMESTAMP_NOT_AVAILABLE, 0)

    def latency(self) -> float | None:
        """None: only what was produced here has one."""
        return self._latency

    def leader_epoch(self) -> int | None:
        return self._leader_epoch

    def set_key(self, key: bytes | None) -> None:
        self._key = key

    def set_value(self, value: bytes | None) -> None:
        self._value = value

    def set_headers(self, headers: Headers | None) -> None:
        self._headers = headers

    def set_topic(self, topic: str | None) -> None:
        self._topic = topic

    def set_error(self, error: errors.KafkaErrorDouble | None) -> None:
        self._error = error


def _installed() -> type[Message] | None:
    """A class on confluent-kafka's own, where it is installed and can be made by anybody; else None."""
    try:
        from confluent_kafka import Message as Real

        Real()
    except (ImportError, TypeError):
        return None

    class HandedOut(Real):  # type: ignore[misc]
        handed_to = ""

    HandedOut.__name__ = HandedOut.__qualname__ = "Message"
    return cast(type[Message], HandedOut)


_REAL = _installed()
MESSAGES: Final[tuple[type, ...]] = (Message,) if _REAL is None else (Message, _REAL.__mro__[1])
"""What counts as a message."""


class Fields(TypedDict, total=False):
    """What a message is made of."""

    topic: str | None
    partition: int | None
    offset: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers | None
    error: errors.KafkaErrorDouble | None
    timestamp: tuple[int, int]
    latency: float
    leader_epoch: int | None


def made(handed_to: str, **fields: Unpack[Fields]) -> Message:
    """A message for this member: of confluent-kafka's class where it can be, which takes no None."""
    given = cast(Fields, {name: value for name, value in fields.items() if value is not None})
    message = (_REAL or Message)(**given)
    message.handed_to = handed_to
    return message


def error_message(
    name: str, reason: str, where: tuple[str, int | None, int | None] | None = None, *, fatal: bool = False
) -> Message:
    """An error that poll() returns; ``where``: the topic, partition and offset that it is about. Of no offset: an error
    of the client itself."""
    topic, partition, offset = where or (None, None, None)
    return made(
        "",
        topic=topic,
        partition=0 if partition is None else partition,
        offset=offset,
        value=reason.encode(),
        error=errors.error(name, reason, fatal=fatal),
        timestamp=(TIMESTAMP_NOT_AVAILABLE, 0),
        leader_epoch=None if offset is None else EPOCH,
    )


class Log:
    """What a ``logger`` is told, line by line as librdkafka tells it; poll(), consume() and close() call it."""

    def __init__(self, configuration: Configuration, clock: Clock) -> None:
        clock.clients += 1
        self._turn = clock.turn
        self._client = f"{configuration.given.get('client.id', 'rdkafka')}#consumer-{clock.clients}"
        self._logger: Logger | None = configuration.logger
        self._group_id = configuration.group_id
        self._lines: list[tuple[int, str, str]] = []
        known = {_REAL_NAMES.get(name, name) for name in configuration.given}
        for name in [name for name in OF_PRODUCERS if name in known]:
            said = f"Configuration property {name} is a producer property and will be ignored by this consumer instance"
            self.note(WARNING, "CONFWARN", said, "app")

    def note(self, level: int, facility: str, text: str, thread: str = "main") -> None:
        """A line that the next poll() tells; ``thread``: the one of librdkafka's that would have written it."""
        if self._logger is not None:
            self._lines.append((level, facility, f"[thrd:{thread}]: {text}"))

    def refused(self, why: str) -> None:
        """A change of the assignment was refused."""
        self.note(WARNING, "ASSIGN", f'Group "{self._group_id}": application *assign() call failed: {why}')

    def serve(self) -> None:
        """Call the logger with every line since the last time."""
        lines, self._lines = self._lines, []
        for level, facility, text in lines:
            with as_the_client():
                log = cast(Logger, self._logger).log
            self._turn.lend(log, level, _LINE, facility, self._client, text)


_REAL_NAMES: Final[Mapping[str, str]] = {
    "acks": "request.required.acks",
    "compression.type": "compression.codec",
    "delivery.timeout.ms": "message.timeout.ms",
    "linger.ms": "queue.buffering.max.ms",
    "retries": "message.send.max.retries",
}
"""Other names of properties to the ones that librdkafka knows them by."""


@dataclass
class BrokerMetadataDouble:
    """A broker; ids count from 1."""

    id: int = -1
    host: str | None = None
    port: int = -1


@dataclass
class PartitionMetadataDouble:
    """A partition and the id of the broker that has it; -1 where none has now."""

    id: int = -1
    leader: int = -1
    replicas: list[int] = field(default_factory=list)
    isrs: list[int] = field(default_factory=list)
    error: errors.KafkaErrorDouble | None = None


@dataclass
class TopicMetadataDouble:
    """A topic; without partitions and with an error, where there is none of this name."""

    topic: str | None = None
    partitions: dict[int, PartitionMetadataDouble] = field(default_factory=dict)
    error: errors.KafkaErrorDouble | None = None


@dataclass
class ClusterMetadataDouble:
    """Brokers and topics."""

    cluster_id: str | None = None
    controller_id: int = -1
    brokers: dict[int, BrokerMetadataDouble] = field(default_factory=dict)
    topics: dict[str, TopicMetadataDouble] = field(default_factory=dict)
    orig_broker_id: int = -1
    orig_broker_name: str | None = None


try:
    from confluent_kafka import admin as _real
except ImportError:
    _real = None
BrokerMetadata: type[BrokerMetadataDouble] = BrokerMetadataDouble if _real is None else _real.BrokerMetadata
PartitionMetadata: type[PartitionMetadataDouble] = PartitionMetadataDouble if _real is None else _real.PartitionMetadata
TopicMetadata: type[TopicMetadataDouble] = TopicMetadataDouble if _real is None else _real.TopicMetadata
ClusterMetadata: type[ClusterMetadataDouble] = ClusterMetadataDouble if _real is None else _real.ClusterMetadata


def metadata_of(cluster: KafkaCluster, topic: str | None) -> ClusterMetadataDouble:
    """All topics, or this one alone. Raises `KafkaException` where no broker runs, `TypeError` for no name."""
    if topic is not None and not isinstance(topic, str):
        raise TypeError(f"argument 1 must be str or None, not {type(topic).__name__}")
    ids = {broker: number for number, broker in enumerate(cluster.scenario.brokers, start=1)}
    state = cluster.controller.state
    alive = {number: broker for broker, number in ids.items() if broker in state.brokers}
    if not alive:
        raise errors.exception("_TRANSPORT", f"Failed to get metadata: {errors.said('_TRANSPORT')}")
    cluster_metadata = ClusterMetadata()
    cluster_metadata.cluster_id = CLUSTER_ID
    cluster_metadata.controller_id = cluster_metadata.orig_broker_id = min(alive)
    cluster_metadata.orig_broker_name = f"{alive[min(alive)]}:{_PORT}/{min(alive)}"
    for number, name in alive.items():
        cluster_metadata.brokers[number] = broker = BrokerMetadata()
        broker.id, broker.host, broker.port = number, name, _PORT
    for name in state.topics if topic is None else (topic,):
        cluster_metadata.topics[name] = _topic(name, state.topics.get(name), ids, list(alive))
    return cluster_metadata


def _topic(
    name: str, leaders: Sequence[str | None] | None, ids: Mapping[str, int], alive: list[int]
) -> TopicMetadataDouble:
    topic = TopicMetadata()
    topic.topic = name
    if leaders is None:
        topic.error = errors.error("UNKNOWN_TOPIC_OR_PART", errors.said("UNKNOWN_TOPIC_OR_PART"))
        return topic
    for number, leader in enumerate(leaders):
        topic.partitions[number] = partition = PartitionMetadata()
        partition.id, partition.leader = number, -1 if leader is None else ids.get(leader, -1)
        partition.replicas, partition.isrs = list(ids.values()), list(alive)
    return topic
