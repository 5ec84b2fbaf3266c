"""A batch of ``consume`` over a rebalance: the double purges what the real client purges, on a broker of its own."""

import time
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import pytest
from confluent_kafka import Consumer

from compare.testing import kafka_group
from compare.testing.brokers import KafkaBroker

RECORDS = 5
CONFIG: dict[str, object] = {"auto.offset.reset": "earliest", "enable.auto.commit": False}
Told = list[tuple[str, int, object]]


def listeners(told: Told) -> dict[str, Callable[[Any, list[Any]], None]]:
    """Callbacks that note what they are told, and what a commit without arguments would commit."""

    def note(kind: str, consumer: Any, partitions: list[Any]) -> None:
        try:
            committed: object = [each.offset for each in consumer.commit(asynchronous=False)]
        except Exception as error:
            committed = error.args[0].name()
        told.append((kind, len(partitions), committed if kind == "revoked" else None))

    kinds = {"on_assign": "assigned", "on_revoke": "revoked"}
    return {name: lambda c, p, kind=kind: note(kind, c, p) for name, kind in kinds.items()}  # type: ignore[misc]


def judged(consumer: Any, told: Told, batch: list[Any]) -> list[object]:
    """How many records of each partition that it still has, from where, and where the consumer stands."""
    mine = sorted(each.partition for each in consumer.assignment())
    offsets = {number: [each.offset() for each in batch if each.partition() == number] for number in (0, 1)}
    positions = [each.offset for each in consumer.position(consumer.assignment())]
    return [told[:3], {("kept" if number in mine else "revoked"): of for number, of in offsets.items()}, positions]


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    made = KafkaBroker()
    yield made
    made.close()


def real(broker: KafkaBroker, strategy: str) -> list[object]:
    topic = f"orders-{strategy}"
    broker.create_topic(topic, 2)
    for number in (0, 1):
        broker.produce(topic, b"x", partition=number, count=RECORDS)
    config = {**CONFIG, "bootstrap.servers": broker.bootstrap, "group.id": topic, "log_level": 0}
    config |= {"partition.assignment.strategy": strategy, "heartbeat.interval.ms": 200}
    told: Told = []
    first, over = Consumer(config), Event()
    first.subscribe([topic], **listeners(told))

    def second() -> None:
        time.sleep(1.0)
        with Consumer(config) as consumer:
            consumer.subscribe([topic])
            while not over.is_set():
                consumer.poll(0.1)

    other = Thread(target=second)
    other.start()
    try:
        return judged(first, told, first.consume(100, timeout=3.5))
    finally:
        over.set()
        other.join()
        first.close()


def double(strategy: str) -> list[object]:
    group = kafka_group(topics={"orders": 2}, produce=0, assignor=strategy).produce("orders", 2 * RECORDS)
    told: Told = []
    consumer = group.consumer("c1", CONFIG)
    consumer.subscribe(["orders"], **listeners(told))
    group.clock.at(8, lambda: group.join("c2"))
    return judged(consumer, told, consumer.consume(100, timeout=20))


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_batch_holds_nothing_that_a_rebalance_has_outdated(strategy: str, broker: KafkaBroker) -> None:
    found = double(strategy)
    assert found[1:] == [{"kept": list(range(RECORDS)), "revoked": []}, [RECORDS]]
    assert found == real(broker, strategy)


def test_a_worker_that_handles_and_commits_batches_handles_everything_once() -> None:
    group = kafka_group(topics={"orders": 4})

    def work(consumer: Any, handle: Callable[[Any], object]) -> None:
        consumer.subscribe(["orders"])
        while True:
            batch = consumer.consume(1000, timeout=3.0)
            if batch:
                handle(batch)
                consumer.commit(asynchronous=False)

    group.clock.at(20.5, lambda: group.join("c2"))
    group.clock.at(40.5, lambda: group.leave("c2"))
    group.run(lambda: work(group.consumer("c1", CONFIG), group.watch(lambda batch: None)), seconds=90)
    group.assert_handled_once()
    group.assert_nothing_lost()
