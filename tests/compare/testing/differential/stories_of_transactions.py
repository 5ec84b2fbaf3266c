"""Transactions: what producers are answered, and what consumers read of them."""

from functools import partial
from typing import Any, Final

from confluent_kafka import TopicPartition

from tests.compare.testing.differential.plain import told
from tests.compare.testing.differential.probing import probe
from tests.compare.testing.differential.producers import reported, telling
from tests.compare.testing.differential.worlds import World

_MOCK_FENCES_NOBODY: Final = "the mock cluster lets both producers of one transactional.id go on"


def _read(world: World, count: int, **config: Any) -> list[Any]:
    consumer = world.consumer(**config)
    consumer.assign([world.partition(0, 0)])
    found = [(each.offset(), each.value()) for each in world.read(consumer, count)]
    return [found, consumer.get_watermark_offsets(world.partition(0), timeout=5)]


@probe()
def transaction_committed(world: World) -> Any:
    producer, reports = telling(world, transactional_id=world.name)
    producer.init_transactions()
    for value in ("a", "b"):
        producer.begin_transaction()
        producer.produce(world.topic, value, partition=0)
        producer.commit_transaction()
    return [reported(producer, reports), _read(world, 2)]


@probe()
def transaction_of_several_partitions(world: World) -> Any:
    producer, reports = telling(world, transactional_id=world.name)
    producer.init_transactions()
    producer.begin_transaction()
    for number in (0, 1):
        producer.produce(world.topic, "a", partition=number)
    producer.commit_transaction()
    consumer = world.consumer()
    return [reported(producer, reports), consumer.get_watermark_offsets(world.partition(1), timeout=5)]


@probe()
def transaction_aborted_in_the_queue(world: World) -> Any:
    producer, reports = telling(world, transactional_id=world.name, linger_ms=1000)
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(world.topic, "first", partition=0)
    producer.commit_transaction()
    producer.begin_transaction()
    producer.produce(world.topic, "x", partition=0)
    producer.abort_transaction()
    return [reported(producer, reports), _read(world, 1)]


@probe()
def transaction_empty(world: World) -> Any:
    producer = world.producer(transactional_id=world.name)
    producer.init_transactions()
    answers = []
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        answers.append(end())
    return [answers, told(producer.abort_transaction), world.consumer().get_watermark_offsets(world.partition(0), 5)]


@probe()
def transaction_with_a_failed_record(world: World) -> Any:
    producer = world.producer(transactional_id=world.name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(world.topic, "good", partition=0)
    producer.produce(world.topic, "bad", partition=9)
    failed = told(producer.commit_transaction)
    return [failed, told(producer.abort_transaction), told(producer.begin_transaction)]


@probe()
def transaction_with_a_report_that_raises(world: World) -> Any:
    def fail(error: Any, message: Any) -> None:
        raise ValueError("no")

    producer = world.producer(transactional_id=world.name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(world.topic, "x", on_delivery=fail)
    return told(producer.commit_transaction)


@probe()
def transaction_with_offsets(world: World) -> Any:
    producer, consumer = world.producer(transactional_id=world.name), world.consumer()
    metadata = consumer.consumer_group_metadata()
    producer.init_transactions()
    outside = told(lambda: producer.send_offsets_to_transaction([world.partition(0, 3)], metadata))
    producer.begin_transaction()
    inside = [
        told(partial(producer.send_offsets_to_transaction, offsets, metadata))
        for offsets in ([world.partition(0, 3)], [], [TopicPartition(world.topic, 0)])
    ]
    return [outside, inside, told(producer.commit_transaction)]


@probe()
def consumer_group_metadata(world: World) -> Any:
    consumer = world.consumer()
    before = consumer.consumer_group_metadata()
    consumer.close()
    return [before, told(consumer.consumer_group_metadata)]


@probe()
def consumer_group_metadata_of_a_member(world: World) -> Any:
    metadata = world.joined(world.consumer()).consumer_group_metadata()
    group, member, last = metadata[11:].split(b"\0")
    return [metadata[:7], group, bool(member), last]


@probe(mock=_MOCK_FENCES_NOBODY)
def transaction_of_a_fenced_producer(world: World) -> Any:
    older = world.producer(transactional_id=world.name)
    older.init_transactions()
    older.begin_transaction()
    older.produce(world.topic, "x", partition=0)
    world.producer(transactional_id=world.name).init_transactions()
    return told(older.commit_transaction)
