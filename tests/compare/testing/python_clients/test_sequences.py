"""Random sequences of calls: the doubles and the real clients answer every one of them alike; what producers tell."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("aiokafka")
pytest.importorskip("kafka")

import aiokafka
import kafka

from tests.compare.testing.differential.again import TIMES
from tests.compare.testing.differential.mock_cluster import MockCluster
from tests.compare.testing.python_clients import aio_worlds, kp_worlds

RECORDS: Final = 4
_QUICK: Final = {"max_examples": 8, "deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
Broker = tuple[MockCluster, Producer, Iterator[int]]

AWAITED: Final[dict[str, Callable[[Any, Any, int], Any]]] = {
    "read": lambda w, c, k: c.getmany(timeout_ms=250, max_records=1),
    "seek to the beginning": lambda w, c, k: c.seek_to_beginning(w.part()),
    "seek to the end": lambda w, c, k: c.seek_to_end(w.part()),
    "seek to committed": lambda w, c, k: c.seek_to_committed(w.part()),
    "commit": lambda w, c, k: c.commit(),
    "commit an offset": lambda w, c, k: c.commit({w.part(): k}),
    "committed": lambda w, c, k: c.committed(w.part()),
    "position": lambda w, c, k: c.position(w.part()),
    "ends": lambda w, c, k: c.end_offsets([w.part()]),
}
AT_ONCE: Final[dict[str, Callable[[Any, Any, int], Any]]] = {
    "seek": lambda w, c, k: c.seek(w.part(), k),
    "pause": lambda w, c, k: c.pause(w.part()),
    "resume": lambda w, c, k: c.resume(w.part()),
    "paused": lambda w, c, k: c.paused(),
    "assignment": lambda w, c, k: c.assignment(),
}
PLAIN: Final[dict[str, Callable[[Any, Any, int], Any]]] = {
    **AT_ONCE,
    "read": lambda w, c, k: c.poll(timeout_ms=250, max_records=1),
    "seek to the beginning": lambda w, c, k: c.seek_to_beginning(w.part()),
    "seek to the end": lambda w, c, k: c.seek_to_end(w.part()),
    "commit": lambda w, c, k: c.commit(),
    "commit an offset": lambda w, c, k: c.commit({w.part(): w.at(k)}),
    "committed": lambda w, c, k: c.committed(w.part()),
    "position": lambda w, c, k: c.position(w.part()),
    "ends": lambda w, c, k: c.end_offsets([w.part()]),
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A mock cluster, who writes to it, and numbers for the worlds that share it."""
    cluster = MockCluster()
    producer = Producer({"bootstrap.servers": cluster.address, "linger.ms": 0, "log_level": 0})
    yield cluster, producer, count()
    producer.flush(1)
    cluster.close()


def steps(names: list[str]) -> st.SearchStrategy[list[tuple[str, int]]]:
    """Calls by name, with an offset each."""
    return st.lists(st.tuples(st.sampled_from(names), st.integers(0, RECORDS - 1)), min_size=2, max_size=7)


async def _awaited(world: Any, listed: list[tuple[str, int]]) -> list[Any]:
    world.produce(0, RECORDS)
    consumer = await world.reading()
    await consumer.position(world.part())
    answers = []
    for name, k in listed:
        if name in AWAITED:
            answers.append(await aio_worlds.told(AWAITED[name](world, consumer, k)))
        else:
            answers.append(aio_worlds.said(lambda name=name, k=k: AT_ONCE[name](world, consumer, k)))
    await world.close()
    return answers


def _plain(world: Any, listed: list[tuple[str, int]]) -> list[Any]:
    world.produce(0, RECORDS)
    consumer = world.reading()
    consumer.position(world.part())
    answers = [kp_worlds.said(lambda name=name, k=k: PLAIN[name](world, consumer, k)) for name, k in listed]
    world.close()
    return answers


@settings(**_QUICK)  # type: ignore[arg-type]
@given(steps(sorted({**AWAITED, **AT_ONCE})))
def test_aiokafka_answers_a_sequence_alike(broker: Broker, listed: list[tuple[str, int]]) -> None:
    cluster, producer, numbers = broker
    for _ in range(1 + TIMES):
        name = f"aio-{next(numbers)}"
        double = aio_worlds.DoubleWorld(name)
        answers = double.group.run(_awaited(double, listed))
        real = asyncio.run(_awaited(aio_worlds.RealWorld(name, cluster, producer), listed))
        if answers == real:
            break
    assert answers == real


@settings(**_QUICK)  # type: ignore[arg-type]
@given(steps(sorted(PLAIN)))
def test_kafka_python_answers_a_sequence_alike(broker: Broker, listed: list[tuple[str, int]]) -> None:
    cluster, producer, numbers = broker
    for _ in range(1 + TIMES):
        name = f"plain-{next(numbers)}"
        real = _plain(kp_worlds.RealWorld(name, cluster, producer), listed)
        answers = _plain(kp_worlds.DoubleWorld(name), listed)
        if answers == real:
            break
    assert answers == real


# Producers: where records go, what is told of them and what is refused.

SENT: Final[dict[str, dict[str, Any]]] = {
    "by key": {"value": b"v", "key": b"some key"},
    "by another key": {"value": b"v", "key": b"k2"},
    "key only": {"key": b"k"},
    "to a partition": {"value": b"v", "partition": 1},
    "with headers": {"value": b"v", "partition": 0, "headers": [("a", b"b")]},
    "to no partition": {"value": b"v", "partition": 7},
    "to a partition below": {"value": b"v", "partition": -1},
    "nothing": {},
    "too large": {"value": b"v" * 2_000_000, "partition": 0},
}
REFUSED_BY_PLAIN: Final[dict[str, dict[str, Any]]] = {
    "text": {"value": "v"},
    "text as key": {"value": b"v", "key": "k"},
    "headers of text": {"value": b"v", "headers": [("a", "b")]},
    "headers of a dictionary": {"value": b"v", "headers": {"a": b"b"}},
}
PLAIN_CONFIGURATIONS: Final[dict[str, dict[str, Any]]] = {
    "unknown": {"no_such": 1},
    "codec": {"compression_type": "rar"},
    "conflict": {"enable_idempotence": True, "acks": 1},
    "no retries": {"enable_idempotence": True, "retries": 0},
}
AIO_CONFIGURATIONS: Final[dict[str, dict[str, Any]]] = {
    "unknown": {"no_such": 1},
    "codec": {"compression_type": "rar"},
    "acks": {"acks": 7},
    "conflict": {"enable_idempotence": True, "acks": 1},
}


def _where(answer: Any) -> Any:
    """Of a record's metadata what does not depend on time."""
    return (type(answer).__name__, answer.topic, answer.partition, answer.offset, answer.topic_partition)


def _kind(error: Exception) -> str:
    return type(error).__name__


async def _sends(names: Any, world: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, given_ in AIO_CONFIGURATIONS.items():
        try:
            names.AIOKafkaProducer(bootstrap_servers=world.address, **given_)
        except Exception as error:
            found[f"configuration {name}"] = _kind(error)
    producer = names.AIOKafkaProducer(bootstrap_servers=world.address)
    await producer.start()
    for name, given_ in SENT.items():
        try:
            found[name] = _where(await producer.send_and_wait(world.topic, **given_))
        except (Exception, AssertionError) as error:
            found[name] = _kind(error)
    found["partitions"] = await producer.partitions_for(world.topic)
    await producer.stop()
    await producer.stop()
    try:
        await producer.send(world.topic, b"v", partition=0)
    except Exception as error:
        found["closed"] = _kind(error)
    return found


def test_aiokafkas_producer_tells_and_refuses_alike(broker: Broker) -> None:
    cluster, producer, numbers = broker
    name = f"aio-{next(numbers)}"
    real = asyncio.run(_sends(aiokafka, aio_worlds.RealWorld(name, cluster, producer)))
    double = aio_worlds.DoubleWorld(name)
    assert double.group.run(_sends(double.k, double)) == real


def _plain_sends(names: Any, world: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    arguments = {"bootstrap_servers": world.address, "api_version": kp_worlds.VERSION, "enable_idempotence": False}
    for name, given_ in PLAIN_CONFIGURATIONS.items():
        try:
            names.KafkaProducer(**{**arguments, **given_})
        except Exception as error:
            found[f"configuration {name}"] = _kind(error)
    producer = names.KafkaProducer(**arguments)
    for name, given_ in {**SENT, **REFUSED_BY_PLAIN}.items():
        try:
            future = producer.send(world.topic, **given_)
            found[name] = _where(future.get(timeout=10)), future.is_done, future.succeeded()
        except (Exception, AssertionError) as error:
            found[name] = _kind(error)
    found["partitions"] = producer.partitions_for(world.topic)
    producer.flush()
    producer.close()
    try:
        producer.send(world.topic, b"v")
    except Exception as error:
        found["closed"] = _kind(error)
    return found


def test_kafka_pythons_producer_tells_and_refuses_alike(broker: Broker) -> None:
    cluster, producer, numbers = broker
    name = f"plain-{next(numbers)}"
    real = _plain_sends(kafka, kp_worlds.RealWorld(name, cluster, producer))
    double = kp_worlds.DoubleWorld(name)
    assert _plain_sends(double.k, double) == real
