"""A user's listener on the double of RocketMQ's push consumer."""

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from compare.testing import Group, GroupPair, rocketmq_group
from compare.testing.rocketmq.push_consumer import (
    CONSUME_SUCCESS,
    RECONSUME_LATER,
    SUCCESS,
    SUSPEND_CURRENT_QUEUE_A_MOMENT,
    MessageExt,
    PushConsumer,
)
from protocols.errors import UserError
from rocketmq_selfbalance.cluster.cluster import RocketMQCluster
from rocketmq_selfbalance.codes import DLQ_PREFIX


def _started(group: Group, listener: Any, member: str = "c1", *, orderly: bool = False) -> PushConsumer:
    consumer = group.push_consumer(member, orderly=orderly)
    consumer.subscribe("orders", "*")
    consumer.register_message_listener(listener)
    consumer.start()
    return consumer


def _succeeding(take: Callable[[list[MessageExt]], object]) -> Any:
    """A listener that does this and succeeds."""

    def listen(messages: list[MessageExt]) -> Any:
        take(messages)
        return CONSUME_SUCCESS

    return listen


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
        if message.body != b"orders-0/9":
            return CONSUME_SUCCESS
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


@pytest.mark.parametrize(("returned", "orderly"), [(None, False), (None, True), (False, False), ("done", True)])
def test_what_is_no_status_comes_again_as_null_does_in_java_and_a_failure_says_so(returned: Any, orderly: bool) -> None:
    group = rocketmq_group(topics={"orders": 1}, produce=0)
    tries: list[int] = []

    def listen(messages: list[MessageExt]) -> Any:
        tries.append(messages[0].reconsume_times)
        return returned

    _started(group, listen, orderly=orderly)
    group.settle().produce("orders", 1)
    group.clock.advance(seconds=45)
    assert tries[:3] == [0, 1, 2]
    later = "SUSPEND_CURRENT_QUEUE_A_MOMENT" if orderly else "RECONSUME_LATER"
    with pytest.raises(
        AssertionError, match=f"c1 returned {returned!r} at .* takes for {later}: its records come again"
    ):
        group.assert_at_least_once(within=10)


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
    consumer.register_message_listener(_succeeding(lambda messages: sizes.append(len(messages))))
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


@pytest.mark.parametrize("orderly", [False, True])
def test_misuse_in_a_listener_ends_the_test_whoever_catches_it(orderly: bool) -> None:
    """So does shutdown() of an orderly consumer in its listener, which is not modelled."""
    group = rocketmq_group(topics={"orders": 1}, produce=1)
    consumer = group.push_consumer("c1", orderly=orderly)

    def listener(messages: list[MessageExt]) -> None:
        with suppress(Exception):
            consumer.shutdown() if orderly else group.crash("nobody")

    consumer.subscribe("orders", "*")
    consumer.register_message_listener(listener)
    consumer.start()
    with pytest.raises(UserError, match="keeps the locks" if orderly else "unknown member 'nobody'"):
        group.clock.advance(seconds=20)


def test_subscriptions_change_at_run_time() -> None:
    group = rocketmq_group(topics={"orders": 2, "more": 2}, produce=2)
    seen: set[str] = set()
    consumer = _started(group, _succeeding(lambda messages: seen.update(each.topic for each in messages)))
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
    _started(group, _succeeding(lambda messages: times.append(group.clock.now)))
    group.clock.advance(seconds=20)
    group.hang("c1", seconds=10)
    group.clock.advance(seconds=20)
    assert not [at for at in times if 20.5 < at < 29.5]
    assert [at for at in times if at > 30]


@pytest.mark.parametrize("bad", [SUSPEND_CURRENT_QUEUE_A_MOMENT, ZeroDivisionError()])
def test_an_orderly_listener_gets_what_fails_again_before_anything_else_of_the_queue(bad: Any) -> None:
    group = rocketmq_group(topics={"orders": 2}, produce=2)
    seen: list[tuple[int, int, int, float]] = []

    def listen(messages: list[MessageExt]) -> Any:
        (message,) = messages
        seen.append((message.queue_id, message.queue_offset, message.reconsume_times, group.clock.now))
        if (message.queue_id, message.queue_offset) == (0, 9) and message.reconsume_times < 3:
            if isinstance(bad, Exception):
                raise bad
            return bad
        return SUCCESS

    _started(group, listen, orderly=True)
    group.clock.advance(seconds=40)
    tries = [(offset, times) for queue, offset, times, _ in seen if queue == 0]
    at = tries.index((9, 0))
    assert tries[at : at + 5] == [(9, 0), (9, 1), (9, 2), (9, 3), (10, 0)]
    pauses = [
        later - earlier
        for earlier, later in pairwise(now for queue, offset, _, now in seen if (queue, offset) == (0, 9))
    ]
    assert pauses == pytest.approx([1.0] * 3, abs=0.01)
    others = [offset for queue, offset, _, _ in seen if queue == 1]
    assert others == list(range(others[0], others[0] + len(others)))
    assert group.handled_twice() == group.never_handled() == []


@pytest.mark.parametrize(("most", "size"), [(0, 1), (2, 1), (2, 3)])
def test_an_orderly_consumer_gives_a_record_up_after_so_many_tries(most: int, size: int) -> None:
    group = rocketmq_group(topics={"orders": 1}, produce=2)
    consumer = group.push_consumer("c1", orderly=True)
    seen: list[list[int]] = []

    def listen(messages: list[MessageExt]) -> Any:
        seen.append([message.queue_offset for message in messages])
        return SUSPEND_CURRENT_QUEUE_A_MOMENT if 9 in seen[-1] else SUCCESS

    consumer.subscribe("orders")
    consumer.set_max_reconsume_times(most)
    consumer.set_consume_message_batch_max_size(size)
    consumer.register_message_listener(listen)
    consumer.start()
    group.clock.advance(seconds=40)
    failed = [batch for batch in seen if 9 in batch]
    # A record that joins its batch later has its tries then.
    assert len(failed) == most + (1 if size == 1 else 2)
    at = seen.index(failed[0])
    assert seen[at : at + len(failed)] == failed
    assert seen[at + len(failed)][0] == failed[-1][-1] + 1
    cluster = group.world.cluster
    assert isinstance(cluster, RocketMQCluster)
    broker = cluster.broker(group.topics["orders"][0].broker)
    assert broker is not None
    dead = broker.disk.store.queue(DLQ_PREFIX + group.name, 0)
    assert dead is not None
    assert [record.origin_offset for record in dead.records] == failed[-1]


def test_every_record_of_a_batch_that_failed_comes_again() -> None:
    group = rocketmq_group(topics={"orders": 1}, produce=2)
    consumer = group.push_consumer("c1")
    good: set[int] = set()
    seen: set[int] = set()

    def listen(messages: list[MessageExt]) -> Any:
        written = {int(message.body.rpartition(b"/")[2]): message.reconsume_times for message in messages}
        seen.update(written)
        if any(offset % 5 == times == 0 for offset, times in written.items()):
            return RECONSUME_LATER
        good.update(written)
        return CONSUME_SUCCESS

    consumer.subscribe("orders")
    consumer.set_consume_message_batch_max_size(3)
    consumer.register_message_listener(listen)
    consumer.start()
    group.clock.advance(seconds=70)
    assert set(range(100)) <= seen
    assert {offset for offset in seen if offset < 60} <= good


def test_an_orderly_consumer_that_is_killed_keeps_its_queues_locked_for_a_minute() -> None:
    group = rocketmq_group(topics={"orders": 2}, produce=2)
    for member in ("c1", "c2"):
        _started(group, lambda messages: SUCCESS, member, orderly=True)
    group.settle()
    group.clock.advance(seconds=30)
    group.crash("c1")
    group.settle()
    assert 30_000 < max((gap.until or 0.0) - gap.since for gap in group.timeline.gaps) < 61_000
    assert group.never_handled() == []


@pytest.mark.parametrize("orderly", [False, True])
def test_as_many_records_come_as_the_test_puts_there(orderly: bool) -> None:
    group = rocketmq_group(
        topics={"orders": {"broker-a": 2, "broker-b": 1}}, brokers=["broker-a", "broker-b"], produce=0
    )
    seen: list[tuple[str, int, int]] = []

    def listen(messages: list[MessageExt]) -> Any:
        seen.extend((each.broker_name, each.queue_id, each.queue_offset) for each in messages)
        return SUCCESS

    _started(group, listen, orderly=orderly)
    group.settle()
    group.produce("orders", 7)
    group.clock.advance(seconds=1)
    counts = {("broker-a", 0): 3, ("broker-a", 1): 2, ("broker-b", 0): 2}
    assert sorted(seen) == [(*queue, offset) for queue, count in counts.items() for offset in range(count)]
    seen.clear()
    group.produce("orders-broker-b-0", 1).produce("orders-0", 2)
    group.clock.advance(seconds=1)
    assert sorted(seen) == [("broker-a", 0, 3), ("broker-a", 0, 4), ("broker-b", 0, 2)]
    assert "produce" in group.scenario_text()


def test_what_cannot_be_is_refused(group_pair: GroupPair) -> None:
    consumer = group_pair.rocketmq.push_consumer("c1")
    with pytest.raises(UserError, match="without a listener"):
        consumer.start()
    with pytest.raises(UserError, match="selects by tags"):
        consumer.subscribe("orders", "TagA")
    with pytest.raises(UserError, match="has no confluent-kafka consumer"):
        group_pair.rocketmq.consumer("c1")


def test_a_listener_that_takes_its_time_may_come_further_than_the_test_let_it(group_pair: GroupPair) -> None:
    group, clock = group_pair(topics={"orders": 2}, members=["c2"]).rocketmq, group_pair.rocketmq.clock
    called: list[float] = []

    def listen(messages: list[MessageExt]) -> Any:
        called.append(clock.now)
        clock.advance(seconds=7)
        return CONSUME_SUCCESS

    _started(group, listen)
    clock.advance(seconds=20)
    assert 20 <= clock.now < 27
    assert all(later - earlier >= 7 for earlier, later in pairwise(called))
    group.settle()
    clock.advance(minutes=1)
    group.crash("c2").settle()
    assert len(group.owners()["c1"]) == 2


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(
    ("what", "does"),
    [
        ("maxReconsumeTimes", lambda consumer: consumer.set_max_reconsume_times(1)),
        ("another listener", lambda consumer: consumer.register_message_listener(lambda messages: SUCCESS)),
        (r"start\(\)", lambda consumer: consumer.start()),
    ],
)
def test_a_consumer_starts_once_as_it_is(what: str, does: Callable[[PushConsumer], object], closed: bool) -> None:
    consumer = _started(rocketmq_group(topics={"orders": 1}), lambda messages: CONSUME_SUCCESS)
    if closed:
        consumer.shutdown()
        consumer.shutdown()
    with pytest.raises(UserError, match=rf"^c1: {what} after start\(\), expected before it$"):
        does(consumer)


@pytest.mark.parametrize("orderly", [False, True])
def test_six_records_are_given_as_javas_client_gives_them(orderly: bool) -> None:
    """As recorded with RocketMQ 5.5.0 and at most three tries more: two nulls, two exceptions, two and then endless
    wishes for later, and what is where: one that was sent back lies in the retry topic."""
    group = rocketmq_group(topics={"orders": 1}, produce=0)
    given: list[tuple[str, int, int]] = []
    later = SUSPEND_CURRENT_QUEUE_A_MOMENT if orderly else RECONSUME_LATER

    def listen(messages: list[MessageExt]) -> Any:
        (message,) = messages
        given.append((message.body.decode()[-1], message.queue_offset, message.reconsume_times))
        if message.body == b"orders-0/2" and message.reconsume_times < 2:
            raise ZeroDivisionError
        if message.body == b"orders-0/4":
            return later
        answer = {b"orders-0/1": None, b"orders-0/3": later}.get(message.body, SUCCESS)
        return answer if message.reconsume_times < 2 else SUCCESS

    consumer = group.push_consumer("c1", orderly=orderly)
    consumer.subscribe("orders", None)
    consumer.set_max_reconsume_times(3)
    consumer.register_message_listener(listen)
    consumer.start()
    group.settle().produce("orders", 6)
    group.clock.advance(seconds=150)
    told = " ".join(f"{body}@{offset}r{times}" for body, offset, times in given)
    if orderly:
        assert told == ("0@0r0 1@1r0 1@1r1 1@1r2 2@2r0 2@2r1 2@2r2 3@3r0 3@3r1 3@3r2 4@4r0 4@4r1 4@4r2 4@4r3 5@5r0")
    else:
        assert told == "0@0r0 1@1r0 2@2r0 3@3r0 4@4r0 5@5r0 1@0r1 2@1r1 3@2r1 4@3r1 1@4r2 2@5r2 3@6r2 4@7r2 4@8r3"
    assert [str(record) for record in group.never_handled()] == ["orders-broker-a-0/4"]


def test_an_orderly_queue_goes_on_at_once_after_a_record_that_came_again() -> None:
    group = rocketmq_group(topics={"orders": 1}, produce=0)
    times: list[float] = []

    def listen(messages: list[MessageExt]) -> Any:
        times.append(group.clock.now)
        return SUSPEND_CURRENT_QUEUE_A_MOMENT if len(times) == 1 else SUCCESS

    _started(group, listen, orderly=True)
    group.settle().produce("orders", 4)
    group.clock.advance(seconds=10)
    assert [time - times[0] for time in times] == pytest.approx([0, 1, 1, 1, 1], abs=0.01)


def test_records_of_a_broadcasting_group_are_not_judged_as_a_groups() -> None:
    group = rocketmq_group(topics={"orders": 1}, settings={"messageModel": "BROADCASTING"})
    _started(group, lambda messages: RECONSUME_LATER)
    group.clock.advance(seconds=30)
    for judge in (group.assert_nothing_lost, group.assert_at_least_once, group.handled_twice):
        with pytest.raises(UserError, match=r"^group: c1 is BROADCASTING, each handles all records for itself"):
            judge()


@pytest.mark.parametrize("orderly", [False, True])
def test_a_dead_letter_is_a_record_that_nobody_handles(orderly: bool) -> None:
    group = rocketmq_group(topics={"orders": 1}, produce=0)
    consumer = group.push_consumer("c1", orderly=orderly)
    consumer.subscribe("orders")
    consumer.set_max_reconsume_times(1)
    consumer.register_message_listener(
        lambda messages: RECONSUME_LATER if messages[0].body == b"orders-0/1" else SUCCESS
    )
    consumer.start()
    group.settle().produce("orders", 3)
    group.clock.advance(milliseconds=500)
    assert group.never_handled() == []
    group.clock.advance(minutes=2)
    assert [str(record) for record in group.never_handled()] == ["orders-broker-a-0/1"]
    if not orderly:
        assert "record 1 of orders-broker-a-0 is given up by group" in group.story()
