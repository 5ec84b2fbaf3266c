"""librdkafka's share consumer before a served broker: acknowledgements of each type, locks, ends of members."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, Consumer, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from compare.testing.brokers import KafkaBroker
from protocols.facts import Acquired, Available, Ended
from tests.kafka_coordinator.wire.broker_answers import steady_answers
from tests.kafka_coordinator.wire.broker_cases import Ask
from tests.kafka_coordinator.wire.serving import serving
from tests.kafka_coordinator.wire.share_cases import ACCEPT, Share
from tests.waiting import until

SOON = {"group.share.min.heartbeat.interval.ms": 100, "group.share.heartbeat.interval.ms": 100}


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    made = KafkaBroker({"orders": 1}, settings=SOON)
    made.configure_group("g", {"share.auto.offset.reset": "earliest"})
    yield made
    made.close()


def consumer(broker: KafkaBroker, name: str, mode: str = "explicit") -> ShareConsumer:
    made = ShareConsumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "client.id": name,
            "share.acknowledgement.mode": mode,
            "log_level": 0,
        }
    )
    made.subscribe(["orders"])
    return made


def polled(one: ShareConsumer, count: int) -> list[Any]:
    """So many records, or more."""
    found: list[Any] = []

    def enough() -> bool:
        found.extend(one.poll(0.2))
        return len(found) >= count

    until(enough)
    return found


def offsets(broker: KafkaBroker) -> list[tuple[int, int]]:
    return [(each.partition, at) for each in broker.hidden("g") for at in range(each.first, each.last + 1)]


def facts(broker: KafkaBroker, kind: type[Any]) -> list[Any]:
    timeline = broker.group("g").timeline
    return [each.fact for each in timeline.facts if isinstance(each.fact, kind)]


def test_each_type_of_acknowledgement(broker: KafkaBroker) -> None:
    broker.produce("orders", "v", count=4)
    one = consumer(broker, "one")
    records = polled(one, 4)
    assert offsets(broker) == [(0, at) for at in range(4)]
    assert {(each.member, each.deliveries) for each in broker.hidden("g")} == {("one", 1)}
    for record, kind in zip(
        records, (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT), strict=False
    ):
        one.acknowledge(record, kind)
    assert set(one.commit_sync(5.0).values()) == {None}
    assert offsets(broker) == [(0, 3)]
    one.acknowledge(records[3])
    again = polled(one, 1)
    assert [(record.offset(), each.deliveries) for record, each in zip(again, broker.hidden("g"), strict=True)] == [
        (1, 2)
    ]
    one.acknowledge(again[0])
    one.close()
    assert offsets(broker) == []
    ended = {(each.first, each.how) for each in facts(broker, Ended)}
    assert ended == {(0, "acknowledged"), (1, "acknowledged"), (2, "archived"), (3, "acknowledged")}


def test_a_lock_that_has_ended_lets_others_have_the_record(broker: KafkaBroker) -> None:
    broker.produce("orders", "v")
    one = consumer(broker, "one")
    (record,) = polled(one, 1)
    two = consumer(broker, "two")
    assert list(two.poll(1.0)) == []
    broker.expire_locks("g")
    (again,) = polled(two, 1)
    assert again.offset() == record.offset()
    one.acknowledge(record)
    refused = list(one.commit_sync(5.0).values())
    assert [each.args[0].name() for each in refused] == ["INVALID_RECORD_STATE"]
    two.acknowledge(again)
    two.close()
    one.close()
    assert [(each.member, each.attempt) for each in facts(broker, Acquired)] == [("one", 1), ("two", 2)]
    assert [(each.member, each.why) for each in facts(broker, Available)] == [("one", "lock timeout")]


def test_implicitly_the_next_poll_accepts_and_the_end_of_a_connection_releases(broker: KafkaBroker) -> None:
    broker.produce("orders", "v", count=3)
    one = consumer(broker, "one", "implicit")
    assert len(polled(one, 3)) == 3
    one.poll(0.2)
    until(lambda: offsets(broker) == [])
    broker.produce("orders", "w", count=2)
    assert len(polled(one, 2)) == 2
    broker.disconnect("one")
    two = consumer(broker, "two", "implicit")
    given = polled(two, 2)
    assert [record.offset() for record in given[:2]] == [3, 4]
    two.close()
    one.close()
    assert "session closed" in {each.why for each in facts(broker, Available)}


@pytest.mark.parametrize(
    ("level", "first", "then"),
    [("read_committed", ["a", "b"], ["e", "f", "g"]), ("read_uncommitted", ["a", "b", "c", "d", "e", "f"], ["g"])],
)
def test_a_group_that_reads_only_what_is_committed(
    broker: KafkaBroker, level: str, first: list[str], then: list[str]
) -> None:
    """Aborted records are given to nobody, nor anything behind the first record of an open transaction, until it ends.
    So did a real 4.4.0 (`tests/slow/test_share_conversations.py`). An administrator sets the level."""
    own = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in (("share.isolation.level", level), ("share.auto.offset.reset", "earliest"))
    ]
    group = ConfigResource(ConfigResource.Type.GROUP, "g", incremental_configs=own)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.incremental_alter_configs([group])[group].result(10)
    producers = [Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name}) for name in "pq"]
    for producer in producers:
        producer.init_transactions(10)

    def write(producer: Producer, *values: str) -> None:
        producer.begin_transaction()
        for value in values:
            producer.produce("orders", value)
        producer.flush(10)

    one, two = producers
    write(one, "a", "b")
    one.commit_transaction(10)
    write(one, "c", "d")
    one.abort_transaction(10)
    write(two, "e")
    broker.produce("orders", "f")
    reader = consumer(broker, "one", "implicit")
    assert [record.value().decode() for record in polled(reader, len(first))] == first
    assert list(reader.poll(1.0)) == []
    two.commit_transaction(10)
    broker.produce("orders", "g")
    assert [record.value().decode() for record in polled(reader, len(then))] == then
    reader.close()
    assert offsets(broker) == []


@pytest.mark.parametrize("copies", ["false", "true"])
def test_dead_records_are_told_as_a_real_broker_tells_them(broker: KafkaBroker, copies: str) -> None:
    """As 4.4.0 wrote them when librdkafka's consumer rejected one record and released the other to its limit."""
    dead = NewTopic("dead", 3, config={"errors.deadletterqueue.group.enable": "true"})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([dead])["dead"].result(10)
    own = {"errors.deadletterqueue.topic.name": "dead", "errors.deadletterqueue.copy.record.enable": copies}
    broker.configure_group("g", {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": 2, **own})
    broker.produce("orders", "v0", key="k0", headers=[("h", b"x")])
    broker.produce("orders", "v1", key="k1")
    one = consumer(broker, "one")
    for _ in range(2):
        for record in polled(one, 1):
            rejected = record.value() == b"v0"
            one.acknowledge(record, AcknowledgeType.REJECT if rejected else AcknowledgeType.RELEASE)
        one.commit_sync(5.0)
    until(lambda: len(facts(broker, Ended)) == 2)
    assert {each.how for each in facts(broker, Ended)} == {"dead letter"}
    one.close()
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "r", "auto.offset.reset": "earliest"})
    reader.assign([TopicPartition("dead", 0, 0)])
    told = [reader.poll(10.0) for _ in range(2)]
    reader.close()
    reasons = ("1", "Offset rejected by client."), ("2", "Offset delivery count exceeded the threshold.")
    for offset, (each, (count, why)) in enumerate(zip(told, reasons, strict=True)):
        where = ("topic", "orders"), ("partition", "0"), ("offset", str(offset)), ("group", "g")
        more = ("delivery.count", count), ("message", why)
        assert each.headers() == [(f"__dlq.errors.{name}", text.encode()) for name, text in (*where, *more)]
        copied = (f"k{offset}".encode(), f"v{offset}".encode())
        assert (each.key(), each.value()) == (copied if copies == "true" else (None, None))


def test_an_acknowledgement_that_reaches_from_before_the_first_record_to_behind_the_last_fails_as_a_whole() -> None:
    """As a real 4.4.0 answered it, whose code throws there."""

    def conversation(ask: Ask, topic: str) -> list[Any]:
        it = Share(ask, topic)
        it.join()
        it.produce(b"a", b"b")
        it.fetch(0)
        it.acknowledge(1, (0, 1, [ACCEPT]))
        return [it.acknowledge(2, (0, 5, [ACCEPT])), it.acknowledge(3, (0, 0, [ACCEPT]))]

    with serving({}) as ours:
        failed, behind = steady_answers(ours.bootstrap, conversation, "gone")
    assert (failed["error_code"], failed["acquisition_lock_timeout"], failed["responses"]) == (
        "unknown_server_error",
        0.0,
        [],
    )
    assert (behind["error_code"], behind["responses"][0]["partitions"][0]["error_code"]) == ("none", "none")
