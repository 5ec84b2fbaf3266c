"""The double of confluent-kafka's consumer outside of a group, the calls that loops make beside poll and commit, and
calls from several threads, which are served one after the other."""

from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Thread
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka import Message as RealMessage

from compare.testing import Group, kafka_group
from compare.testing.confluent.consumer import KafkaConsumer
from compare.testing.confluent.messages import Message
from compare.testing.confluent.producer import KafkaProducer
from compare.testing.confluent.reading import written_at
from protocols.errors import UserError
from protocols.load import Production

EARLIEST = {"auto.offset.reset": "earliest"}


def _public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def _filled(**plan: Any) -> Group:
    """Two partitions with ten records each, and nothing more to come."""
    group = kafka_group(topics={"orders": 2}, produce=0, **plan)
    group.clock.advance(seconds=1)
    return group.produce("orders", 20)


def test_the_doubles_have_every_call_of_the_real_clients() -> None:
    assert _public(Consumer) <= _public(KafkaConsumer)
    assert _public(Producer) <= _public(KafkaProducer)
    changes_it = {name for name in _public(RealMessage) if name.startswith("set_")}
    assert _public(RealMessage) - _public(Message) - changes_it <= {
        "delivery_count",
        "deserialized_key",
        "deserialized_value",
    }


def test_who_reads_alone_commits_as_nobodys_member_and_begins_there_the_next_time() -> None:
    group = _filled()
    first: Any = group.consumer("first", {**EARLIEST, "enable.auto.commit": False})
    first.assign([TopicPartition("orders", 0)])
    for _ in range(4):
        last = first.poll(1)
    assert first.committed([TopicPartition("orders", 0)])[0].offset == OFFSET_INVALID
    assert first.commit(message=last, asynchronous=False) == [TopicPartition("orders", 0, 4)]
    first.close()
    second: Any = group.consumer("second", EARLIEST)
    second.assign([TopicPartition("orders", 0)])
    assert second.poll(1).offset() == 4
    second.close()
    third: Any = group.consumer("third", EARLIEST)
    third.assign([TopicPartition("orders", 0)])
    assert third.poll(1).offset() == 5  # the second one committed when it closed


def test_a_group_with_members_refuses_the_commit_of_somebody_outside() -> None:
    group = _filled(members=["c1"]).settle()
    reader: Any = group.consumer("reader", EARLIEST)
    reader.assign([TopicPartition("orders", 0, OFFSET_BEGINNING)])
    assert reader.poll(1).offset() == 0
    with pytest.raises(KafkaException) as refused:
        reader.commit(asynchronous=False)
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    assert reader.poll(1).offset() == 1
    assert len(group.owners()["c1"]) == 2


def test_offsets_are_found_by_time_and_topics_are_listed() -> None:
    group = kafka_group(topics={"orders": 2}, produce=2, brokers=["b1", "b2"])
    reader: Any = group.consumer("reader", EARLIEST)
    topics = reader.list_topics("orders").topics
    reader.assign([TopicPartition("orders", number) for number in topics["orders"].partitions])
    assert [each.leader for each in topics["orders"].partitions.values()] == [1, 2]
    assert reader.list_topics("nothing").topics["nothing"].error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    group.clock.advance(seconds=10)
    asked = [TopicPartition("orders", 0, 5000), TopicPartition("orders", 1, 60_000)]
    first, later = reader.offsets_for_times(asked)
    assert (first.offset, later.offset) == (9, OFFSET_END)
    reader.seek(TopicPartition("orders", 0, first.offset))
    reader.pause([TopicPartition("orders", 1)])
    message = reader.poll(1)
    assert (message.offset(), message.timestamp()[1]) == (9, 5000)


def test_records_have_the_keys_and_headers_that_the_test_wants() -> None:
    group = kafka_group(
        topics={"orders": 1},
        value=lambda topic, partition, offset: None if offset == 1 else b"{}",
        key=lambda topic, partition, offset: f"customer-{offset % 2}".encode(),
        headers=lambda topic, partition, offset: [("trace", str(offset).encode())],
    )
    consumer: Any = group.consumer("c1", EARLIEST)
    consumer.subscribe(["orders"])
    first, second = consumer.consume(2, timeout=30)
    assert (first.key(), first.value(), first.headers()) == (b"customer-0", b"{}", [("trace", b"0")])
    assert (second.key(), second.value(), len(second)) == (b"customer-1", None, 0)


@pytest.mark.parametrize("per_second", [0.0, 3.0])
def test_every_record_of_a_burst_was_written_when_it_came(per_second: float) -> None:
    production = Production(per_second, 0.0, 0, ((1000.0, 5), (2000.0, 2)))
    end = production.end_offset(4000.0)
    assert end == 7 + int(4 * per_second)
    times = [written_at(production, offset) for offset in range(end)]
    assert times == sorted(times)  # type: ignore[type-var]
    for offset, at in enumerate(times):
        assert at is not None
        assert production.end_offset(at) > offset >= production.end_offset(at - 1)


# Several threads.

RECORDS = 200


def test_a_worker_commits_what_the_loop_reads() -> None:
    group = kafka_group(topics={"orders": 2}, produce=0).produce("orders", RECORDS)
    consumer: Any = group.consumer("c1", {**EARLIEST, "enable.auto.commit": False})
    work: Queue[Any] = Queue()

    def commit() -> None:
        while (message := work.get()) is not None:
            consumer.commit(message=message, asynchronous=False)

    worker = Thread(target=commit)
    worker.start()
    consumer.subscribe(["orders"])
    seen = 0
    while seen < RECORDS:
        message = consumer.poll(1.0)
        if message is not None:
            seen += 1
            work.put(message)
    work.put(None)
    worker.join(timeout=30)
    assert not worker.is_alive()
    assert sum(each.offset for each in consumer.committed(consumer.assignment())) == RECORDS
    consumer.close()


def test_a_callback_may_wait_for_another_thread_that_calls() -> None:
    group = kafka_group(topics={"orders": 2}, produce=0)
    consumer: Any = group.consumer("c1", {**EARLIEST, "enable.auto.commit": False})
    answers: list[Any] = []
    with ThreadPoolExecutor(1) as pool:

        def assigned(consumer: Any, partitions: list[Any]) -> None:
            answers.append(pool.submit(consumer.committed, partitions).result(timeout=30))

        consumer.subscribe(["orders"], on_assign=assigned)
        group.run(lambda: [consumer.poll(1.0) for _ in range(10)])
    assert [[each.partition for each in found] for found in answers] == [[0, 1]]


def test_two_consumers_live_in_threads_of_their_own() -> None:
    group = kafka_group(topics={"orders": 4}, produce=0).produce("orders", RECORDS)

    found: set[tuple[int, int]] = set()

    def read(name: str) -> None:
        consumer: Any = group.consumer(name, {**EARLIEST, "enable.auto.commit": False})
        consumer.subscribe(["orders"])
        # Which thread comes first is the machine's choice: both go on polling until all is read.
        for _ in range(20 * RECORDS):
            message = consumer.poll(0.1)
            if message is not None:
                found.add((message.partition(), message.offset()))
            if len(found) == RECORDS:
                return

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(read, ["c1", "c2"]))
    assert len(found) == RECORDS
    group.settle().assert_no_double_ownership()


def test_consumers_of_one_group_name_one_group_id() -> None:
    group = kafka_group(topics={"orders": 1})
    address = {"bootstrap.servers": "kafka:9092"}
    group.consumer("c1", {**address, "group.id": "billing"})
    group.consumer("c2", {**address, "group.id": "billing"})
    with pytest.raises(UserError, match=r"group.id is 'shipping' in a group whose group.id is 'billing'"):
        group.consumer("c3", {**address, "group.id": "shipping"})


def test_a_group_that_has_a_name_is_of_this_group_id() -> None:
    group = kafka_group(topics={"orders": 1}, name="billing")
    with pytest.raises(UserError, match=r"expected one group.id for all of them, or a group of its own"):
        group.consumer("c1", {"bootstrap.servers": "kafka:9092", "group.id": "shipping"})
