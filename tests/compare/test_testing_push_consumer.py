"""A user's listener on the double of RocketMQ's push consumer."""

from itertools import pairwise
from typing import Any

import pytest

from compare.testing import Group, GroupPair, rocketmq_group
from compare.testing.rocketmq_consumer import CONSUME_SUCCESS, RECONSUME_LATER, MessageExt, PushConsumer
from protocols.errors import UserError


def _started(group: Group, listener: Any, member: str = "c1") -> PushConsumer:
    consumer = group.push_consumer(member)
    consumer.subscribe("orders", "*")
    consumer.register_message_listener(listener)
    consumer.start()
    return consumer


def test_the_listener_gets_every_record_once_and_in_virtual_time() -> None:
    group = rocketmq_group(topics={"orders": 2}, produce=2)
    seen: list[tuple[int, int, float]] = []

    def listen(messages: list[MessageExt]) -> Any:
        assert len(messages) == 1
        seen.extend((each.queue_id, each.queue_offset, group.clock.now) for each in messages)
        return CONSUME_SUCCESS

    _started(group, listen)
    group.clock.advance(seconds=60)
    for number in (0, 1):
        offsets = [offset for queue, offset, _ in seen if queue == number]
        assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))
        assert len(offsets) > 100
    assert all(offset / 2 <= at for _, offset, at in seen)
    assert [at for _, _, at in seen] == sorted(at for _, _, at in seen)
    assert group.handled_twice() == group.never_handled() == []


@pytest.mark.parametrize("bad", [RECONSUME_LATER, ZeroDivisionError()])
def test_what_fails_comes_again_later_and_later(bad: Any) -> None:
    group = rocketmq_group(topics={"orders": 1}, produce=1)
    tries: list[tuple[int, float]] = []

    def listen(messages: list[MessageExt]) -> Any:
        (message,) = messages
        if message.queue_offset != 9:
            return None
        assert message.topic == "orders"
        tries.append((message.reconsume_times, group.clock.now))
        if len(tries) < 3:
            if isinstance(bad, Exception):
                raise bad
            return bad
        return CONSUME_SUCCESS

    _started(group, listen)
    group.clock.advance(seconds=100)
    assert [times for times, _ in tries] == [0, 1, 2]
    pauses = [later - earlier for (_, earlier), (_, later) in pairwise(tries)]
    assert 9 < pauses[0] < 14
    assert 29 < pauses[1] < 34
    assert group.handled_twice() == group.never_handled() == []


def test_a_crash_between_two_calls_makes_records_come_twice() -> None:
    group = rocketmq_group(topics={"orders": 2}, members=["c2"], produce=5).settle()
    consumer = _started(group, lambda messages: CONSUME_SUCCESS)
    group.settle()
    group.interrupt(lambda: group.crash("c1"), after_calls=10)
    group.clock.advance(seconds=60)
    assert group.members == ["c2"]
    assert not consumer.is_alive
    assert group.handled_twice()
    assert {member for record in group.handled_twice() for member in record.by} == {"c1", "c2"}
    assert group.never_handled() == []


def test_a_listener_can_get_several_records_at_once() -> None:
    group = rocketmq_group(topics={"orders": 1}, produce=20)
    sizes: list[int] = []
    consumer = group.push_consumer("c1")
    consumer.set_consume_message_batch_max_size(4)
    consumer.subscribe("orders")
    consumer.register_message_listener(lambda messages: sizes.append(len(messages)))
    group.clock.advance(seconds=5)
    consumer.start()
    group.clock.advance(seconds=20)
    assert max(sizes) <= 4
    assert group.never_handled() == []


def test_shutdown_hands_the_queues_over() -> None:
    group = rocketmq_group(topics={"orders": 4}, members=["c2"]).settle()
    consumer = _started(group, lambda messages: CONSUME_SUCCESS)
    group.settle()
    assert len(group.owners()["c1"]) == 2
    consumer.shutdown()
    group.settle()
    assert list(group.owners()) == ["c2"]


def test_subscriptions_change_at_run_time() -> None:
    group = rocketmq_group(topics={"orders": 2, "more": 2}, produce=2)
    seen: set[str] = set()
    consumer = _started(group, lambda messages: seen.update(each.topic for each in messages))
    group.settle()
    consumer.subscribe("more")
    group.clock.advance(seconds=60)
    assert seen == {"orders", "more"}
    consumer.unsubscribe("orders")
    group.clock.advance(seconds=60)
    assert {queue.topic for queue in group.owners()["c1"]} == {"more"}


def test_a_frozen_process_calls_no_listener() -> None:
    group = rocketmq_group(topics={"orders": 1}, produce=2)
    times: list[float] = []
    _started(group, lambda messages: times.append(group.clock.now))
    group.clock.advance(seconds=20)
    group.hang("c1", seconds=10)
    group.clock.advance(seconds=20)
    assert not [at for at in times if 20.5 < at < 29.5]
    assert [at for at in times if at > 30]


def test_what_cannot_be_is_refused(group_pair: GroupPair) -> None:
    consumer = group_pair.rocketmq.push_consumer("c1")
    with pytest.raises(UserError, match="without a listener"):
        consumer.start()
    with pytest.raises(UserError, match="selects by tags"):
        consumer.subscribe("orders", "TagA")
    with pytest.raises(UserError, match="has no confluent-kafka consumer"):
        group_pair.rocketmq.consumer("c1")
