"""A program that uses confluent-kafka runs unchanged on `Group.confluent`, in virtual time."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from compare.testing import Group, kafka_group
from compare.testing.confluent.door import real_package
from compare.testing.handling import Crashed
from protocols.errors import UserError
from protocols.java import murmur2

CONFIG: dict[str, Any] = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "group",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}


class OwnConsumer(Consumer):
    """A subclass of a program's own, made when its module was imported."""

    def __init__(self, group_id: str) -> None:
        super().__init__({**CONFIG, "group.id": group_id})

    def values(self, count: int) -> list[bytes | None]:
        """So many values."""
        return [each.value() for each in super().consume(count, 10)]


@pytest.fixture
def group() -> Iterator[Group]:
    made = kafka_group(topics={"orders": 2, "out": 1}, produce=0)
    with made.confluent().installed():
        yield made


def _reader(topic: str, **config: Any) -> Any:
    """A consumer that reads a topic's first partition as nobody's member."""
    made = confluent_kafka.Consumer({**CONFIG, **{name.replace("_", "."): value for name, value in config.items()}})
    made.assign([TopicPartition(topic, 0, 0)])
    return made


def _transactional(name: str = "tx", **config: Any) -> Any:
    made = confluent_kafka.Producer({"bootstrap.servers": "x", "transactional.id": name, **config})
    made.init_transactions()
    return made


def _code(call: Any, *args: Any) -> tuple[str, bool, bool]:
    with pytest.raises(KafkaException) as failure:
        call(*args)
    error = failure.value.args[0]
    return error.name(), error.fatal(), error.txn_requires_abort()


# Names are replaced, and come back.


def test_classes_are_replaced_wherever_they_were_imported_and_come_back() -> None:
    program = ModuleType("program_of_the_user")
    program.Client = Consumer  # type: ignore[attr-defined]
    sys.modules[program.__name__] = program
    real = Consumer, Producer, OwnConsumer, confluent_kafka.admin.AdminClient
    try:
        with kafka_group().confluent().installed() as double:
            assert program.Client is double.Consumer is confluent_kafka.Consumer  # type: ignore[attr-defined]
            assert confluent_kafka.admin.AdminClient is double.AdminClient
            assert confluent_kafka.KafkaException is double.KafkaException is KafkaException
        assert program.Client is real[0]  # type: ignore[attr-defined]
        assert (Consumer, Producer, OwnConsumer, AdminClient) == real
        assert confluent_kafka.Consumer is real[0]
    finally:
        del sys.modules[program.__name__]


def test_a_subclass_that_was_made_before_is_one_of_the_double(group: Group) -> None:
    group.produce("orders", 4)
    consumer = OwnConsumer("group")
    consumer.subscribe(["orders"])
    assert sorted(consumer.values(4)) == [b"orders-0/0", b"orders-0/1", b"orders-1/0", b"orders-1/1"]
    assert isinstance(consumer, confluent_kafka.Consumer)


def test_every_consumer_is_a_member_with_a_name_of_its_own(group: Group) -> None:
    consumers = [
        confluent_kafka.Consumer(CONFIG),
        confluent_kafka.Consumer({**CONFIG, "client.id": "billing"}),
        confluent_kafka.Consumer({**CONFIG, "client.id": "billing"}),
        confluent_kafka.Consumer(**{"group.id": "group"}),
    ]
    for each in consumers:
        each.subscribe(["orders"])
    for _ in range(40):
        for each in consumers:
            each.poll(0.5)
    assert sorted(group.members) == ["billing", "billing-1", "c1", "c2"]
    assert sum(len(each.assignment()) for each in consumers) == 2


def test_without_the_package_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(Exception, match="pip install confluent-kafka"):
        real_package()


# Producers.


def test_murmur2_is_javas(subtests: pytest.Subtests) -> None:
    """As Kafka's own UtilsTest says; signs are taken away before partitions are counted off."""
    for key, hashed in [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        ("abc", 479470107),
    ]:
        with subtests.test(key=key, hashed=hashed):
            assert murmur2(key.encode(), 2**31) == hashed & 0x7FFFFFFF
            assert murmur2(key.encode(), 7) == (hashed & 0x7FFFFFFF) % 7


def test_a_topic_that_is_not_there_fails_after_its_time(group: Group) -> None:
    told: list[Any] = []
    producer = confluent_kafka.Producer({"bootstrap.servers": "x", "topic.metadata.propagation.max.ms": 2000})
    producer.produce("nowhere", "x", on_delivery=lambda error, _: told.append(error))
    assert producer.flush(1.0) == 1
    assert producer.flush() == 0
    assert told[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert 2.0 <= group.clock.now < 2.2
    assert _code(producer.produce, "nowhere", "x")[0] == "UNKNOWN_TOPIC_OR_PART"


def test_records_wait_while_no_broker_runs(group: Group) -> None:
    told: list[Any] = []
    producer = confluent_kafka.Producer({"bootstrap.servers": "x", "message.timeout.ms": 5000})
    producer.produce("orders", "first", on_delivery=lambda error, _: told.append(error))
    producer.flush()
    group.stop_broker("broker-a")
    group.clock.advance(seconds=1)
    producer.produce("orders", "late", on_delivery=lambda error, _: told.append(error))
    assert producer.flush(1) == 1
    group.return_broker("broker-a")
    assert producer.flush() == 0
    group.stop_broker("broker-a")
    group.clock.advance(seconds=1)
    producer.produce("orders", "never", on_delivery=lambda error, _: told.append(error))
    assert producer.flush() == 0
    assert [error and error.name() for error in told] == [None, None, "_MSG_TIMED_OUT"]
    assert sorted(each.value for _, _, each in group.records.of("orders")) == [b"first", b"late"]


def test_a_crash_takes_the_producers_queue_along(group: Group) -> None:
    consumer, producer = confluent_kafka.Consumer(CONFIG), confluent_kafka.Producer({"linger.ms": 1000})
    consumer.subscribe(["orders"])
    consumer.poll(30)
    producer.produce("orders", "lost")
    group.crash("c1")
    with pytest.raises(Crashed):
        producer.flush()
    group.clock.advance(seconds=10)
    assert group.records.of("orders") == []


def test_a_record_of_another_producer_wakes_poll(group: Group) -> None:
    producer, reader = confluent_kafka.Producer({"linger.ms": 1500}), _reader("out")
    producer.produce("out", "x")
    before = group.clock.now
    message = reader.poll(60)
    assert message.value() == b"x"
    assert group.clock.now - before < 2


# Transactions.


def test_read_committed_waits_for_open_transactions_and_hides_aborted_ones(group: Group) -> None:
    committed, everything = _reader("out"), _reader("out", isolation_level="read_uncommitted")
    producer = _transactional()
    producer.begin_transaction()
    producer.produce("out", "aborted")
    producer.flush()
    assert committed.poll(5) is None
    assert everything.poll(5).value() == b"aborted"
    assert committed.get_watermark_offsets(TopicPartition("out", 0))[1] == 1
    producer.abort_transaction()
    producer.begin_transaction()
    producer.produce("out", "good")
    producer.commit_transaction()
    got = committed.poll(5), everything.poll(5)
    assert [(each.value(), each.offset()) for each in got] == [(b"good", 2), (b"good", 2)]
    assert committed.poll(5) is None
    assert [each.value for _, _, each in group.records.of("out")] == [b"good"]
    assert group.records.end_offset(group.topics["out"][0]) == 4


def test_offsets_are_committed_with_the_transaction_or_not_at_all(group: Group) -> None:
    group.produce("orders", 6)
    consumer, producer = confluent_kafka.Consumer(CONFIG), _transactional()
    consumer.subscribe(["orders"])
    for commit in (False, True):
        messages = consumer.consume(3, 10)
        producer.begin_transaction()
        for each in messages:
            producer.produce("out", each.value())
        position = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata())
        assert {each.offset for each in consumer.committed(position)} == {-1001}
        if commit:
            producer.commit_transaction()
            assert [each.offset for each in consumer.committed(position)] == [each.offset for each in position]
        else:
            producer.abort_transaction()
    assert len(group.records.of("out")) == 3


def test_offsets_of_another_generation_are_refused_and_the_transaction_must_be_aborted(group: Group) -> None:
    consumer, producer = confluent_kafka.Consumer(CONFIG), _transactional()
    consumer.subscribe(["orders"])
    consumer.poll(30)
    metadata, offsets = consumer.consumer_group_metadata(), [TopicPartition("orders", 0, 1)]
    group.join("c9")
    for _ in range(60):
        consumer.poll(1)
    producer.begin_transaction()
    assert _code(producer.send_offsets_to_transaction, offsets, metadata) == ("ILLEGAL_GENERATION", False, True)
    assert _code(producer.commit_transaction)[0] == "ILLEGAL_GENERATION"
    producer.abort_transaction()
    producer.begin_transaction()
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata())
    producer.commit_transaction()
    assert consumer.committed(offsets)[0].offset == 1


def test_a_newer_producer_fences_an_older_one_and_aborts_what_it_has_open(group: Group) -> None:
    older = _transactional()
    older.begin_transaction()
    older.produce("out", "of the older one")
    older.flush()
    newer = _transactional()
    assert _code(older.commit_transaction) == ("_FENCED", True, False)
    assert _code(older.begin_transaction)[0] == "_FENCED"
    newer.begin_transaction()
    newer.produce("out", "of the newer one")
    newer.commit_transaction()
    assert _reader("out").poll(5).value() == b"of the newer one"


def test_a_transaction_that_takes_too_long_is_aborted(group: Group) -> None:
    producer = _transactional(**{"transaction.timeout.ms": 10_000})
    producer.begin_transaction()
    producer.produce("out", "late")
    producer.flush()
    group.clock.advance(seconds=11)
    assert _code(producer.commit_transaction)[0] == "_FENCED"
    assert _reader("out").poll(5) is None


def test_control_records_are_not_missed(group: Group) -> None:
    producer, consumer = _transactional(), confluent_kafka.Consumer(CONFIG)
    consumer.subscribe(["out"])
    for value in ("a", "b"):
        producer.begin_transaction()
        producer.produce("out", value)
        producer.commit_transaction()
    for _ in range(2):
        consumer.commit(consumer.poll(30), asynchronous=False)
    assert group.never_handled() == group.handled_twice() == []


@pytest.mark.parametrize("name", ["AdminClient", "DeserializingConsumer", "SerializingProducer"])
def test_a_class_without_a_double_says_what_to_take_instead(group: Group, name: str) -> None:
    home = confluent_kafka.admin if name == "AdminClient" else confluent_kafka
    for kind in (getattr(home, name), getattr(group.confluent(), name)):
        with pytest.raises(UserError, match=f"^confluent-kafka's {name} has no double any more: .* kafka_broker, see"):
            kind(CONFIG)
