"""What the consumer's constructor takes and what it refuses; confluent-kafka's own classes, and the doubles that stand
for them where that package is not installed."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import confluent_kafka

from compare.testing.confluent import errors, messages
from tests.compare.testing.differential.probing import add, told
from tests.compare.testing.differential.worlds import RealWorld, World


def nothing(*args: object) -> None:
    """A callback."""


GIVEN: Final[dict[str, dict[str, object]]] = {
    "no-group": {"group.id": None},
    "unknown-name": {"session.timeoutt.ms": 6000},
    "java-name": {"max.poll.records": 5, "key.deserializer": "x"},
    "java-boolean-class": {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"},
    "sticky": {"partition.assignment.strategy": "sticky"},
    "mixed-protocols": {"partition.assignment.strategy": "range,cooperative-sticky"},
    "mixed-eager": {"partition.assignment.strategy": "range,roundrobin"},
    "no-such-assignor": {"partition.assignment.strategy": "fair"},
    "poll-below-session": {"max.poll.interval.ms": 5000},
    "poll-is-session": {"max.poll.interval.ms": 6000},
    "heartbeat-above-session": {"heartbeat.interval.ms": 7000},
    "no-boolean": {"enable.auto.commit": "maybe"},
    "one": {"enable.auto.commit": 1},
    "a-text-of-one": {"enable.auto.commit": "1"},
    "t": {"enable.auto.commit": "t"},
    "yes": {"enable.auto.commit": "yes"},
    "True": {"enable.auto.commit": "TRUE"},
    "none-boolean": {"enable.auto.commit": [1]},
    "fraction": {"session.timeout.ms": 6000.7},
    "text-number": {"session.timeout.ms": "6000"},
    "text-fraction": {"session.timeout.ms": "6000.7"},
    "no-number": {"session.timeout.ms": "soon"},
    "negative": {"session.timeout.ms": -1},
    "zero": {"session.timeout.ms": 0},
    "too-large": {"session.timeout.ms": 10**9},
    "boolean-number": {"session.timeout.ms": True},
    "interval-too-large": {"auto.commit.interval.ms": 10**9},
    "no-interval": {"auto.commit.interval.ms": 0},
    "earliest": {"auto.offset.reset": "earliest"},
    "smallest": {"auto.offset.reset": "smallest"},
    "beginning": {"auto.offset.reset": "beginning"},
    "largest": {"auto.offset.reset": "largest"},
    "end": {"auto.offset.reset": "end"},
    "error": {"auto.offset.reset": "error"},
    "none": {"auto.offset.reset": "none"},
    "Earliest": {"auto.offset.reset": "Earliest"},
    "on-commit": {"on_commit": nothing},
    "on-commit-none": {"on_commit": None},
    "on-commit-number": {"on_commit": 1},
    "error-cb-number": {"error_cb": 1},
    "stats-cb-number": {"stats_cb": 1},
    "throttle-cb-number": {"throttle_cb": 1},
    "error-cb": {"error_cb": nothing, "stats_cb": nothing, "throttle_cb": nothing},
    "logger-number": {"logger": 1},
    "name-of-bytes": {b"client.id": "c"},  # type: ignore[dict-item]
    "name-of-number": {1: "c"},  # type: ignore[dict-item]
    "client-id": {"client.id": "c"},
    "instance": {"group.instance.id": "one"},
    "isolation": {"isolation.level": "read_committed"},
    "no-isolation": {"isolation.level": "whatever"},
    "no-protocol": {"security.protocol": "nothing"},
    "consumer-protocol": {"group.protocol": "next"},
    "producers-name": {"acks": "all"},
    "topic-config": {"default.topic.config": {"auto.offset.reset": "earliest"}},
    "session-of-topic": {"default.topic.config": {"session.timeout.ms": 1}},
    "fetch-min": {"fetch.min.bytes": 0},
    "value-of-none": {"client.id": None},
    "value-of-list": {"client.id": ["c"]},
    "debug": {"debug": "nothing"},
}


def _made(given: dict[str, object]) -> Any:
    def run(world: World) -> Any:
        config: dict[Any, object] = {**world.config(), **given}
        if given.get("group.id", "") is None:
            del config["group.id"]
        world.make(config)
        return "made"

    return run


for _name, _given in GIVEN.items():
    add(f"configured-{_name}", _made(_given))


add("configured-with-nothing", lambda world: world.make({}) and "made")
add("configured-without-an-argument", lambda world: world.make() and "made")
add("configured-with-a-text", lambda world: world.make("no") and "made")
add("configured-by-keywords", lambda world: world.make(**{"group.id": world.group_id}) and "made")

# Classes.

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
