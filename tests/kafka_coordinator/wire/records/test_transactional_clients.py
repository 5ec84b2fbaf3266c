"""Transactional producers and read_committed consumers that nobody here wrote, before our brokers."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kafka_coordinator.versions import VERSIONS
from tests.kafka_coordinator.wire.serving import AT_ONCE, Serving, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    topics = dict.fromkeys(("orders", "invoices", "letters"), 1)
    with serving(topics, AT_ONCE, version=VERSIONS["4.4"], brokers=("a", "b")) as made:
        yield made


def _consumer(server: Serving, topic: str, **more: Any) -> Consumer:
    values = {"bootstrap.servers": server.bootstrap, "group.id": uuid4().hex, "auto.offset.reset": "earliest"}
    consumer = Consumer({**values, "enable.auto.commit": False, **more})
    consumer.subscribe([topic])
    return consumer


def _values(consumer: Consumer, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
        found.append(message.value())
    return found


def test_confluents_producer_moves_orders_to_invoices_exactly_once(server: Serving) -> None:
    plain = Producer({"bootstrap.servers": server.bootstrap})
    for number in range(4):
        plain.produce("orders", str(number))
    plain.flush(10)
    source = _consumer(server, "orders")
    settings = {"bootstrap.servers": server.bootstrap, "transactional.id": "mover", "log_level": 0}
    mover = Producer(settings)
    mover.init_transactions(10)
    for commits in (False, True):
        orders = _values(source, 4 if commits else 2)
        mover.begin_transaction()
        for each in orders:
            mover.produce("invoices", each)
        mover.flush(10)  # what is aborted before it was sent is never sent
        positions = source.position(source.assignment())
        mover.send_offsets_to_transaction(positions, source.consumer_group_metadata(), 10)
        if commits:
            mover.commit_transaction(10)
        else:
            mover.abort_transaction(10)
            for each in source.committed(source.assignment(), 10):
                assert each.offset < 0
                source.seek(TopicPartition(each.topic, each.partition, 0))
    assert [each.offset for each in source.committed(source.assignment(), 10)] == [4]
    reader = _consumer(server, "invoices", **{"isolation.level": "read_committed"})
    assert _values(reader, 4) == [b"0", b"1", b"2", b"3"]
    careless = _consumer(server, "invoices", **{"isolation.level": "read_uncommitted"})
    assert _values(careless, 6) == [b"0", b"1", b"0", b"1", b"2", b"3"]

    mover.begin_transaction()
    mover.produce("invoices", b"by a zombie")
    Producer(settings).init_transactions(10)
    with pytest.raises(KafkaException) as fenced:
        mover.commit_transaction(10)
    assert fenced.value.args[0].code() == KafkaError._FENCED
    assert reader.poll(0.5) is None
    for each in (source, reader, careless):
        each.close()


def test_aiokafkas_producer_commits_and_aborts(server: Serving) -> None:
    async def run() -> list[bytes]:
        producer = AIOKafkaProducer(bootstrap_servers=server.bootstrap, transactional_id="aio")
        consumer = AIOKafkaConsumer(
            "letters",
            bootstrap_servers=server.bootstrap,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        )
        await producer.start()
        await consumer.start()
        async with producer.transaction():
            await producer.send_and_wait("letters", b"kept")
        await producer.begin_transaction()
        await producer.send_and_wait("letters", b"torn up")
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send_and_wait("letters", b"kept, too")
        found = [(await asyncio.wait_for(consumer.getone(), 10)).value for _ in range(2)]
        await consumer.stop()
        await producer.stop()
        return [each for each in found if each is not None]

    assert asyncio.run(run()) == [b"kept", b"kept, too"]
