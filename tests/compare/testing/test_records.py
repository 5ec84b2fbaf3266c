"""What producers of a test write is in the model's queues, with its content, in both systems."""

import pytest

from compare.testing import Group, kafka_group, rocketmq_group
from compare.testing.contents import Content
from compare.testing.rocketmq.push_consumer import CONSUME_SUCCESS, MessageExt
from compare.testing.standalone import play
from protocols import Queue
from protocols.errors import UserError

ORDERS = Queue("orders", "", 0)
ROCKET = Queue("orders", "broker-a", 1)


def _deliveries(group: Group) -> int:
    return sum(each.end - each.first for each in group.timeline.counted_deliveries)


def test_a_written_record_takes_the_next_offset_and_every_member_reads_it() -> None:
    group = kafka_group(topics={"orders": 2}, members=["c1"], produce=0).settle()
    group.produce("orders-0", 2)
    assert group.records.write([(ORDERS, Content(b"a", b"k")), (ORDERS, Content(b"b"))]) == [2, 3]
    group.produce("orders-0", 1)
    assert group.records.write([(ORDERS, Content(b"c"))]) == [5]
    group.clock.advance(seconds=5)
    assert _deliveries(group) == 6
    assert group.records.end_offset(ORDERS) == 6


def test_a_consumer_gets_contents_of_both_kinds_in_order() -> None:
    group = kafka_group(topics={"orders": 1}, produce=0, value=lambda topic, number, offset: f"plan {offset}".encode())
    group.produce("orders-0", 1)
    group.clock.advance(seconds=3)
    group.records.write([(ORDERS, Content(b"mine", b"k", [("h", b"1")], 777)), (ORDERS, Content(b"now"))])
    group.produce("orders-0", 1)
    consumer = group.consumer("c1", {"auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    got = consumer.consume(4, timeout=20)
    assert [each.value() for each in got] == [b"plan 0", b"mine", b"now", b"plan 3"]
    assert (got[1].key(), got[1].headers(), got[1].timestamp()[1]) == (b"k", [("h", b"1")], 777)
    assert got[2].timestamp()[1] == 3000


def test_records_stand_between_those_that_come_evenly() -> None:
    group = kafka_group(topics={"orders": 1}, produce=1)
    group.clock.advance(seconds=2.5)
    assert group.records.write([(ORDERS, Content(b"mine"))]) == [2]
    group.clock.advance(seconds=1)
    assert group.records.end_offset(ORDERS) == 4
    assert [group.records.content(ORDERS, offset).value for offset in range(4)] == [
        b"orders-0/0",
        b"orders-0/1",
        b"mine",
        b"orders-0/3",
    ]


def test_a_listener_of_rocketmq_gets_what_was_written() -> None:
    group = rocketmq_group(topics={"orders": 2}, produce=0)
    got: list[MessageExt] = []

    def listener(messages: list[MessageExt]) -> object:
        got.extend(messages)
        return CONSUME_SUCCESS

    consumer = group.push_consumer("c1")
    consumer.subscribe("orders")
    consumer.register_message_listener(listener)
    consumer.start()
    group.settle()
    assert group.records.write([(ROCKET, Content(b"mine", b"k")), (ROCKET, Content(b"more"))]) == [0, 1]
    group.clock.advance(seconds=5)
    assert [(each.queue_id, each.queue_offset, each.body, each.keys) for each in got] == [
        (1, 0, b"mine", "k"),
        (1, 1, b"more", ""),
    ]


def test_nobody_takes_records_for_a_queue_whose_broker_is_down() -> None:
    group = rocketmq_group(topics={"orders": 2}, produce=0).stop_broker("broker-a")
    assert group.records.write([(ROCKET, Content(b"lost"))]) == [None]
    group.return_broker("broker-a")
    group.clock.advance(seconds=60)
    assert group.records.write([(ROCKET, Content(b"kept"))]) == [0]
    assert [content.value for _, _, content in group.records.of("orders")] == [b"kept"]


def test_a_deleted_topic_takes_its_records_along() -> None:
    group = kafka_group(topics={"orders": 1}, produce=0)
    group.records.write([(ORDERS, Content(b"old"))])
    group.delete_topic("orders").add_topic("orders", 1)
    assert group.records.of("orders") == []
    assert group.records.write([(ORDERS, Content(b"new"))]) == [0]


def test_a_queue_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="is no queue"):
        kafka_group(topics={"orders": 1}).records.write([(Queue("orders", "", 1), Content(b""))])


def test_written_records_are_part_of_the_scenario() -> None:
    group = kafka_group(topics={"orders": 1}, members=["c1"], produce=0).settle()
    group.records.write([(ORDERS, Content(b"a")), (ORDERS, Content(b"b"))])
    group.join("c2")
    group.clock.advance(seconds=30)
    assert _deliveries(play(group.scenario())) == _deliveries(group) == 2
