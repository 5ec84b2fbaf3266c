"""Members with the Python clients of RocketMQ in a group of a test: crashes, records lost or handled twice, events."""

import sys
from types import ModuleType
from typing import Any

import pytest

from compare.testing import Group, kafka_group, rocketmq_group
from protocols.errors import UserError


def _group(**more: Any) -> Group:
    return rocketmq_group(**{"topics": {"orders": 2}, "produce": 0, "name": "billing", **more})


def _simple(mq: Any, **more: Any) -> Any:
    made = mq.SimpleConsumer(
        mq.ClientConfiguration("127.0.0.1:8081", mq.Credentials()),
        "billing",
        {"orders": mq.FilterExpression(more.pop("expression", "*"))},
        **more,
    )
    made.startup()
    return made


def _send(mq: Any, *bodies: bytes, **fields: Any) -> list[Any]:
    producer = mq.Producer(mq.ClientConfiguration("127.0.0.1:8081", mq.Credentials()))
    producer.startup()
    receipts = []
    for body in bodies:
        message = mq.Message()
        message.topic, message.body = "orders", body
        for name, value in fields.items():
            setattr(message, name, value)
        receipts.append(producer.send(message))
    return receipts


def test_a_crash_between_receive_and_ack_brings_the_messages_to_another_member() -> None:
    group = _group()
    mq = group.rocketmq_v5("one", "other")
    one, other = _simple(mq), _simple(mq)
    _send(mq, b"a", b"b", b"c")
    group.interrupt(lambda: group.crash("one"), before_call=group.handling.calls + 2)

    def loop(consumer: Any) -> None:
        while True:
            for message in consumer.receive(10, 30):
                consumer.ack(message)

    group.run(lambda: loop(one), seconds=100)
    assert not one.is_alive
    group.run(lambda: loop(other), seconds=60)
    assert {each.by for each in group.handled_twice()} == {("one", "other")}
    assert len(group.handled_twice()) == 3
    assert group.never_handled() == []


def test_an_ack_before_handling_loses_what_the_crash_interrupts() -> None:
    group = _group()
    mq = group.rocketmq_v5()
    consumer = _simple(mq)
    _send(mq, b"a", b"b")
    handle = group.watch(lambda message: None)
    group.interrupt(lambda: group.crash("c1"), after_calls=3)

    def loop() -> None:
        for message in consumer.receive(10, 30):
            consumer.ack(message)
            handle(message)

    group.run(loop)
    assert len(group.never_handled()) == 1


def test_a_handler_that_is_watched_says_what_is_handled() -> None:
    group = _group()
    mq = group.rocketmq_v5()
    consumer = _simple(mq)
    _send(mq, b"a")
    handle = group.watch(lambda message: None)
    (message,) = consumer.receive(10, 10)
    handle(message)
    group.clock.advance(seconds=20)
    (again,) = consumer.receive(10, 10)
    handle(again)
    assert [each.by for each in group.handled_twice()] == [("c1", "c1")]


def test_what_fails_too_often_goes_to_the_dead_letters_and_counts_as_never_handled() -> None:
    group = _group()
    mq = group.rocketmq_v5(retry_max_times=2)

    class Listener(mq.MessageListener):  # type: ignore[misc, name-defined]
        def consume(self, message: Any) -> Any:
            return mq.ConsumeResult.FAILURE if message.body == b"bad" else mq.ConsumeResult.SUCCESS

    consumer = mq.PushConsumer(
        mq.ClientConfiguration("127.0.0.1:8081", mq.Credentials()),
        "billing",
        Listener(),
        {"orders": mq.FilterExpression()},
    )
    consumer.startup()
    _send(mq, b"bad", b"good")
    group.clock.advance(minutes=5)
    assert len(group.popping.dead_letters) == len(group.never_handled()) == 1
    assert group.handled_twice() == []
    assert group.settle().members == ["c1"]


def test_tags_select() -> None:
    group = _group()
    mq = group.rocketmq_v5()
    consumer = _simple(mq, expression="a || b", await_duration=5)
    _send(mq, b"1", tag="a")
    _send(mq, b"2", tag="c")
    _send(mq, b"3", tag="b")
    found = [each for _ in range(3) for each in consumer.receive(10, 60)]
    assert sorted((each.body, each.tag) for each in found) == [(b"1", "a"), (b"3", "b")]
    for each in found:
        consumer.ack(each)
    group.clock.advance(seconds=100)
    assert consumer.receive(10, 10) == group.never_handled() == []


def test_a_transaction_is_seen_once_it_commits_and_never_after_a_rollback() -> None:
    group = _group()
    mq = group.rocketmq_v5()

    class Checker(mq.TransactionChecker):  # type: ignore[misc, name-defined]
        def check(self, message: Any) -> Any:
            return mq.TransactionResolution.COMMIT

    producer = mq.Producer(mq.ClientConfiguration("127.0.0.1:8081", mq.Credentials()), ["orders"], Checker())
    producer.startup()
    consumer = _simple(mq, await_duration=5)
    for body, ends in ((b"yes", "commit"), (b"no", "rollback")):
        message = mq.Message()
        message.topic, message.body = "orders", body
        transaction = producer.begin_transaction()
        receipt = producer.send(message, transaction)
        assert consumer.receive(10, 10) == []
        getattr(transaction, ends)()
        seen = consumer.receive(10, 60)
        assert [each.body for each in seen] == ([body] if ends == "commit" else [])
        assert all(each.message_id == receipt.message_id for each in seen)


def test_a_hung_member_receives_nothing_until_it_goes_on() -> None:
    group = _group()
    mq = group.rocketmq_v5()
    consumer = _simple(mq)
    _send(mq, b"a")
    group.hang("c1", seconds=50)
    assert [each.body for each in consumer.receive(1, 10)] == [b"a"]
    assert group.clock.now >= 50


def test_produced_records_come_without_a_producer() -> None:
    group = _group(produce=2)
    mq = group.rocketmq_v5()
    consumer = _simple(mq)
    seen = []
    for _ in range(20):
        for message in consumer.receive(10, 30):
            seen.append(message.body)
            consumer.ack(message)
    assert len(seen) == len(set(seen)) >= 20
    assert group.clock.now < 20


def test_consumers_of_another_group_and_in_kafka_are_refused() -> None:
    mq = _group().rocketmq_v5()
    configuration = mq.ClientConfiguration("127.0.0.1:8081", mq.Credentials())
    with pytest.raises(UserError, match="make the test's group with name='other'"):
        mq.SimpleConsumer(configuration, "other")
    with pytest.raises(UserError, match="has no POP"):
        kafka_group().rocketmq_v5()


def test_doubles_stand_where_a_program_imports_the_package() -> None:
    group, before = _group(), set(sys.modules)
    with group.rocketmq_v5().installed() as clients:
        from rocketmq import ConsumeResult, SimpleConsumer  # type: ignore[import-not-found]

        assert SimpleConsumer is clients.SimpleConsumer
        assert ConsumeResult is clients.ConsumeResult
    assert not [
        name
        for name, module in sys.modules.items()
        if name.startswith("rocketmq.") and name not in before and type(module) is ModuleType
    ]
