"""confluent-kafka's own classes and the doubles that stand for them where that package is not installed."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import confluent_kafka

from compare.testing.confluent import errors, messages
from tests.compare.testing.differential.plain import told
from tests.compare.testing.differential.probing import add
from tests.compare.testing.differential.worlds import RealWorld, World

_DOUBLES: Final = SimpleNamespace(
    KafkaError=errors.KafkaErrorDouble,
    KafkaException=errors.KafkaExceptionDouble,
    TopicPartition=errors.TopicPartitionDouble,
    Message=messages.Message,
)


def _fields(error: Any) -> list[Any]:
    texts = [error.code(), error.name(), error.str(), repr(error)]
    return [*texts, error.fatal(), error.retriable(), error.txn_requires_abort()]


def _content(message: Any) -> list[Any]:
    where = [message.topic(), message.partition(), message.offset(), message.leader_epoch()]
    return [*where, message.key(), message.value(), message.headers(), message.timestamp(), message.latency()]


def _where(partition: Any) -> list[Any]:
    fields = [partition.topic, partition.partition, partition.offset, partition.metadata, partition.leader_epoch]
    return [*fields, partition.error, repr(partition), str(partition)]


PARTITIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "fields": lambda k: _where(k.TopicPartition("a", 1, 5)),
    "defaults": lambda k: _where(k.TopicPartition("a")),
    "all": lambda k: _where(k.TopicPartition("a", 1, 5, "who", 7)),
    "equal": lambda k: k.TopicPartition("a", 1, 5) == k.TopicPartition("a", 1, 6),
    "unequal": lambda k: k.TopicPartition("a", 1) == k.TopicPartition("a", 2),
    "another-type": lambda k: k.TopicPartition("a", 1) == "a",
    "hash": lambda k: len({k.TopicPartition("a", 1), k.TopicPartition("a", 1, 4)}),
    "order": lambda k: (
        sorted([k.TopicPartition("b", 0), k.TopicPartition("a", 2), k.TopicPartition("a", 1)])[0].partition
    ),
    "less": lambda k: [
        k.TopicPartition("a", 1) < k.TopicPartition("a", 2),
        k.TopicPartition("a", 1) >= k.TopicPartition("a", 2),
        k.TopicPartition("a", 1) != k.TopicPartition("a", 1),
    ],
    "number": lambda k: type(told(lambda: k.TopicPartition(1))),
    "text": lambda k: told(lambda: k.TopicPartition("a", "b")),
    "fraction": lambda k: told(lambda: k.TopicPartition("a", 1.5))[:2],
    "nothing": lambda k: told(lambda: k.TopicPartition())[:2],
}
ERRORS: Final[dict[str, Callable[[Any], Any]]] = {
    "reason": lambda k: _fields(k.KafkaError(25, "no")),
    "no-reason": lambda k: _fields(k.KafkaError(k.KafkaError.UNKNOWN_MEMBER_ID)),
    "of-no-offset": lambda k: _fields(k.KafkaError(k.KafkaError._NO_OFFSET)),
    "of-fencing": lambda k: _fields(k.KafkaError(k.KafkaError.FENCED_INSTANCE_ID)),
    "of-state": lambda k: _fields(k.KafkaError(k.KafkaError._STATE)),
    "of-a-topic": lambda k: _fields(k.KafkaError(k.KafkaError.UNKNOWN_TOPIC_OR_PART)),
    "of-a-generation": lambda k: _fields(k.KafkaError(k.KafkaError.ILLEGAL_GENERATION)),
    "of-a-rebalance": lambda k: _fields(k.KafkaError(k.KafkaError.REBALANCE_IN_PROGRESS)),
    "fatal": lambda k: _fields(k.KafkaError(82, "no", True)),
    "equal": lambda k: [k.KafkaError(25) == k.KafkaError(25), k.KafkaError(25) == 25, k.KafkaError(25) == 26],
    "raised": lambda k: _fields(k.KafkaException(k.KafkaError(22, "no")).args[0]),
    "an-exception": lambda k: issubclass(k.KafkaException, Exception),
}
MESSAGES: Final[dict[str, Callable[[Any], Any]]] = {
    "nothing": lambda k: _content(k.Message()),
    "fields": lambda k: _content(k.Message("a", 1, 2, b"k", b"v", [("h", b"1")])),
    "timestamp": lambda k: _content(k.Message(topic="a", timestamp=(1, 2000), latency=0.5, leader_epoch=3)),
    "length": lambda k: [len(k.Message(value=b"four")), len(k.Message())],
    "no-error": lambda k: k.Message().error(),
}


def _probe(make: Callable[[Any], Any]) -> Callable[[World], Any]:
    return lambda world: make(confluent_kafka if isinstance(world, RealWorld) else _DOUBLES)


for _kind, _makers in (("partition", PARTITIONS), ("error", ERRORS), ("message", MESSAGES)):
    for _name, _make in _makers.items():
        add(f"{_kind}-{_name}", _probe(_make))
