"""What the assertions about records demand, and the stories that they tell: of user's code and of simulated members."""

from typing import Any

import pytest

from compare.testing import (
    Group,
    GroupPair,
    assert_at_least_once,
    assert_handled_once,
    assert_nothing_lost,
    kafka_group,
    rocketmq_group,
)
from compare.testing.rocketmq.push_consumer import CONSUME_SUCCESS

EARLIEST = {"auto.offset.reset": "earliest", "enable.auto.commit": False}


def commits_first(consumer: Any, handle: Any) -> None:
    consumer.subscribe(["orders"])
    while True:
        message = consumer.poll(1.0)
        if message is not None:
            consumer.commit(message, asynchronous=False)
            handle(message)


def handles_first(consumer: Any, handle: Any) -> None:
    consumer.subscribe(["orders"])
    while True:
        message = consumer.poll(1.0)
        if message is not None:
            handle(message)
            consumer.commit(message, asynchronous=False)


def _crashed(loop: Any, **when: int) -> Group:
    group = kafka_group(topics={"orders": 2}, members=["c2"]).settle()
    group.interrupt(lambda: group.crash("c1"), **when)
    group.run(lambda: loop(group.consumer("c1", EARLIEST), group.watch(lambda message: None)), seconds=60)
    return group.settle()


def _story(assertion: Any, group: Group) -> list[str]:
    with pytest.raises(AssertionError) as failure:
        assertion(group)
    return str(failure.value).splitlines()


def test_a_lost_record_is_told_with_commit_crash_and_successor() -> None:
    told = _story(assert_nothing_lost, _crashed(commits_first, after_calls=21))
    assert "1 record was lost: orders-0/14 lies before the committed offset" in told[0]
    expected = [
        "c1 begins to read orders-0 at offset 6 (the committed offset)",
        "c1 is given orders-0/14, and has not handled it up to now",
        "c1 commits offset 15 of orders-0 (generation 2)",
        "c1 crashes",
        "a rebalance begins: session of c1 timed out",
        "c2 begins to read orders-0 at offset 15 (the committed offset)",
        "so nobody reads orders-0/14 again",
    ]
    assert [line.split(" s  ")[-1].strip() for line in told[1:]] == expected
    times = [float(line.split()[0]) for line in told[1:-1]]
    assert times == sorted(times)


def test_a_record_handled_twice_is_told_with_the_offset_that_was_committed() -> None:
    group = _crashed(handles_first, before_call=23)
    group.assert_nothing_lost()
    group.assert_at_least_once()
    told = _story(assert_handled_once, group)
    assert "1 record was handled more than once: orders-0/15" in told[0]
    whole = "\n".join(told)
    for line in ("c1 commits offset 15", "c1 handles orders-0/15", "c1 crashes", "at offset 15 (the committed offset)"):
        assert line in whole
    assert told[-1].endswith("c2 handles orders-0/15 again")


def test_records_that_wait_are_told_with_who_would_have_to_read_them() -> None:
    group = kafka_group(topics={"orders": 2})
    group.interrupt(lambda: group.crash("c1"), before_call=20)
    group.run(lambda: handles_first(group.consumer("c1", EARLIEST), group.watch(lambda message: None)), seconds=60)
    group.assert_at_least_once()
    group.clock.advance(seconds=60)
    group.assert_nothing_lost()
    told = _story(assert_at_least_once, group)
    assert "not handled, 5 s and longer after being written: orders-0/" in told[0]
    assert told[-1].strip() == "no member owns it now"
    group.assert_at_least_once(within=100)


def test_records_that_a_reset_has_skipped_are_lost() -> None:
    group = kafka_group(topics={"orders": 1}, settings={"auto.offset.reset": "latest"})
    consumer = group.consumer("c1", {"auto.offset.reset": "latest", "enable.auto.commit": False})
    group.run(lambda: _reads(consumer))
    group.clock.advance(seconds=30)
    group.join("c2").settle()
    told = _story(assert_nothing_lost, group)
    assert any("(reset to the end)" in line for line in told)


def _reads(consumer: Any) -> None:
    consumer.subscribe(["orders"])
    for _ in range(10):
        consumer.poll(1.0)
    consumer.close()


def test_partitions_that_come_later_are_the_groups_from_their_first_record_on() -> None:
    group = kafka_group(topics={"orders": 1}, members=["c1"], settings={"auto.offset.reset": "latest"}).settle()
    group.assert_nothing_lost()
    group.add_queues("orders", 1)
    group.clock.advance(minutes=10)
    told = _story(assert_nothing_lost, group)
    assert "orders-1/0" in told[0]


def test_simulated_members_of_both_systems_are_judged(group_pair: GroupPair) -> None:
    pair = group_pair(members=["c1", "c2"]).settle()
    pair.join("c3").settle()
    pair.clock.advance(seconds=30)
    pair.assert_nothing_lost()
    pair.assert_at_least_once(within=10)
    pair.kafka.assert_handled_once()


def test_a_listener_that_gives_a_record_up_loses_it() -> None:
    group = rocketmq_group(topics={"orders": 1})
    consumer = group.push_consumer("c1")
    consumer.set_max_reconsume_times(0)
    consumer.subscribe("orders")

    def listener(messages: Any) -> Any:
        if messages[0].queue_offset == 7:
            raise ConnectionError
        return CONSUME_SUCCESS

    consumer.register_message_listener(listener)
    consumer.start()
    group.clock.advance(seconds=60)
    group.assert_handled_once()
    told = _story(assert_nothing_lost, group)
    assert "orders-broker-a-0/7" in told[0]
    assert told[-1].strip() == "orders-broker-a-0/7 was given up and lies among the dead letters, which no member reads"
