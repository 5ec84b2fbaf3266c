"""Bugs that consumers have, each beside the correct version: the assertion tells the cause, and the correct one passes.
Those of `examples/classic-bugs` are left out.

As a tester writes them, for the doubles of both systems: the code under test knows nothing of this package.
"""

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from compare.testing import Group, kafka_group, rocketmq_group
from compare.testing.rocketmq.push_consumer import CONSUME_SUCCESS, RECONSUME_LATER

pytest_plugins = ["pytester"]

CONFIG: dict[str, object] = {"auto.offset.reset": "earliest", "enable.auto.commit": False}
Handle = Callable[[Any], object]


def told(assertion: Callable[[], None]) -> str:
    """What a failure says."""
    with pytest.raises(AssertionError) as failure:
        assertion()
    return str(failure.value)


def judge(is_buggy: bool, assertion: Callable[[], None], *words: str) -> None:
    """The assertion holds, or for the buggy version fails with all of these words."""
    if not is_buggy:
        return assertion()
    text = told(assertion)
    assert [word for word in words if word not in text] == [], text
    return None


both = pytest.mark.parametrize("is_buggy", [True, False], ids=["buggy", "correct"])


def poison(message: Any) -> None:
    """A handler that cannot handle one record, for two tries."""
    value = message.value() if callable(getattr(message, "value", None)) else message.body
    if value == b"orders-0/3" and getattr(message, "reconsume_times", 0) < 2:
        raise ConnectionError("no database")


@both
def test_a_loop_that_swallows_what_its_handler_raises(is_buggy: bool) -> None:
    def work(consumer: Any, handle: Handle, dead_letters: list[Any]) -> None:
        consumer.subscribe(["orders"])
        while True:
            message = consumer.poll(1.0)
            if message is None:
                continue
            try:
                handle(message)
            except Exception:
                if not is_buggy:
                    dead_letters.append(message)
                    give_up(message)
            consumer.commit(message)

    group = kafka_group(topics={"orders": 1}, produce=0).produce("orders", 9)
    give_up = group.watch(lambda message: None)
    group.run(lambda: work(group.consumer("c1", CONFIG), group.watch(poison), []), seconds=60)
    judge(is_buggy, group.assert_nothing_lost, "the handler of c1 raises ConnectionError: no database on orders-0/3")


@both
@pytest.mark.parametrize("orderly", [False, True])
def test_a_listener_that_swallows_what_its_handler_raises(is_buggy: bool, orderly: bool) -> None:
    group = rocketmq_group(topics={"orders": 1}, produce=0)
    handle = group.watch(poison)

    def listener(messages: list[Any]) -> Any:
        try:
            for message in messages:
                handle(message)
        except Exception:
            return CONSUME_SUCCESS if is_buggy else RECONSUME_LATER
        return CONSUME_SUCCESS

    consumer = group.push_consumer("c1", orderly=orderly)
    consumer.subscribe("orders")
    consumer.register_message_listener(listener)
    consumer.start()
    group.settle().produce("orders", 9)
    group.clock.advance(minutes=2)
    words = "1 record was lost: orders-broker-a-0/3", "the handler of c1 raises ConnectionError: no database"
    judge(is_buggy, group.assert_nothing_lost, *words)
    group.assert_handled_once()


@both
def test_a_callback_that_blocks(is_buggy: bool) -> None:
    group = kafka_group(topics={"orders": 2}, members=["c2"], settings={"max.poll.interval.ms": 60_000}).settle()

    def revoked(consumer: Any, partitions: list[Any]) -> None:
        group.clock.advance(seconds=30 if is_buggy else 0.1)  # all work is finished here

    def work(consumer: Any, handle: Handle) -> None:
        consumer.subscribe(["orders"], on_revoke=revoked)
        while True:
            message = consumer.poll(1.0)
            if message is not None:
                handle(message)
                consumer.commit(message)

    group.clock.at(40, lambda: group.join("c3"))
    group.run(lambda: work(group.consumer("c1", CONFIG), group.watch(lambda message: None)), seconds=120)
    judge(is_buggy, lambda: group.assert_no_gap(longer_than=10), "on_revoke of c1 took 30.0 s")


@both
def test_records_that_are_handled_again_after_a_rebalance(is_buggy: bool) -> None:
    group = kafka_group(topics={"orders": 2})

    def revoked(consumer: Any, partitions: list[Any]) -> None:
        if not is_buggy:
            consumer.commit(asynchronous=False)

    def work(consumer: Any, handle: Handle) -> None:
        consumer.subscribe(["orders"], on_revoke=revoked)
        for number in range(1000):
            message = consumer.poll(1.0)
            if message is not None:
                handle(message)
            if number % 40 == 39:
                consumer.commit()

    group.clock.at(19, lambda: group.join("c2"))
    group.run(lambda: work(group.consumer("c1", CONFIG), group.watch(lambda message: None)), seconds=60)
    judge(is_buggy, group.assert_handled_once, "a rebalance begins: c2 joined", "is revoked for c1", "again")


@both
def test_a_handler_that_is_too_slow(is_buggy: bool) -> None:
    group = kafka_group(topics={"orders": 2}, members=["c2"], settings={"max.poll.interval.ms": 60_000}).settle()
    slow = iter([0.0] * 20 + [90.0 if is_buggy else 50.0])

    def work(consumer: Any, handle: Handle) -> None:
        consumer.subscribe(["orders"])
        while True:
            message = consumer.poll(1.0)
            if message is not None and not message.error():
                handle(message)
                consumer.commit(message)

    handle = group.watch(lambda message: group.clock.advance(next(slow, 0.0)))
    group.run(lambda: work(group.consumer("c1", CONFIG), handle), seconds=200)
    words = (
        "c1 was too slow: at ",
        "not polled for max.poll.interval.ms (60s)",
        "polled again 90.0 s after",
    )
    for assertion in (group.assert_handled_once, lambda: group.assert_no_double_ownership(1)):
        judge(is_buggy, assertion, *words, "its handler took 90.0 s with orders-")


@both
def test_a_pause_that_is_never_ended(is_buggy: bool) -> None:
    group = kafka_group(topics={"orders": 2})
    busy = iter([False] * 20 + [True])

    def work(consumer: Any, handle: Handle) -> None:
        consumer.subscribe(["orders"])
        while True:
            message = consumer.poll(1.0)
            if message is None:
                paused = consumer.assignment()
                consumer.resume(paused[:1] if is_buggy else paused)
                continue
            if next(busy, False):
                consumer.pause(consumer.assignment())
            handle(message)
            consumer.commit(message)

    group.run(lambda: work(group.consumer("c1", CONFIG), group.watch(lambda message: None)), seconds=60)
    judge(is_buggy, group.assert_at_least_once, "c1 owns orders-1 now; c1 has paused it and not resumed it")


@both
def test_a_consumer_that_threads_share(is_buggy: bool) -> None:
    group = kafka_group(topics={"orders": 1}, produce=0).produce("orders", 9)
    consumer: Any = group.consumer("c1", CONFIG)
    handle = group.watch(lambda message: None)
    consumer.subscribe(["orders"])

    def take() -> Any:
        return consumer.poll(10.0)

    first = take()
    if is_buggy:  # another worker is faster
        second: list[Any] = []
        other = Thread(target=lambda: second.append(take()))
        other.start()
        other.join()
        handle(second[0])
        consumer.commit(second[0], asynchronous=False)
    else:
        handle(first)
        consumer.commit(first, asynchronous=False)
    group.crash("c1").join("c2").settle()
    words = "orders-0/0 lies before the committed offset", "c1 commits offset 2", "2 threads have called the consumer"
    judge(is_buggy, group.assert_nothing_lost, *words)


# Faults: errors of this package or of the test, which code under test swallows.


def test_a_listener_may_be_watched_in_both_ways() -> None:
    group = rocketmq_group(topics={"orders": 1}, produce=0)
    one, many = group.watch(lambda message: CONSUME_SUCCESS), group.watch(lambda messages: CONSUME_SUCCESS)
    consumer = group.push_consumer("c1")
    consumer.subscribe("orders")
    consumer.register_message_listener(lambda found: one(found[0]) if found[0].queue_offset % 2 else many(found))
    consumer.start()
    group.settle().produce("orders", 9)
    group.clock.advance(seconds=30)
    group.assert_handled_once()
    group.assert_at_least_once(within=0)


def _loop(consumer: Any, **callbacks: Any) -> None:
    consumer.subscribe(["orders"], **callbacks)
    for _ in range(30):
        try:
            consumer.poll(1.0)
        except Exception:
            continue


def _mistaken(group: Group) -> Callable[..., None]:
    return lambda *given: group.watch(print)("no message")


def test_a_fault_in_a_callback_or_listener_ends_the_test(subtests: pytest.Subtests) -> None:
    def in_callback(group: Group, name: str) -> None:
        group.clock.at(10, lambda: group.join("c2"))
        group.run(lambda: _loop(group.consumer("c1", CONFIG), **{name: _mistaken(group)}))

    def in_listener(group: Group, orderly: bool) -> None:
        consumer = group.push_consumer("c1", orderly=orderly)
        consumer.subscribe("orders")
        consumer.register_message_listener(_mistaken(group))
        consumer.start()
        group.clock.advance(seconds=30)

    for name in ("on_assign", "on_revoke"):
        with subtests.test(name), pytest.raises(Exception, match=r"print was called with str, expected a client's"):
            in_callback(kafka_group(produce=0), name)
    for orderly in (False, True):
        with subtests.test(orderly=orderly), pytest.raises(Exception, match="print was called with str"):
            in_listener(rocketmq_group(), orderly)


def break_it(group: Group) -> None:
    """Let our own code fail."""
    group.world.cluster = None  # type: ignore[assignment]
    _ = group.known


def test_an_inner_error_is_no_failure_of_the_listener() -> None:
    group = rocketmq_group(topics={"orders": 1})
    consumer = group.push_consumer("c1")
    consumer.subscribe("orders")
    consumer.register_message_listener(lambda messages: break_it(group))
    consumer.start()
    with pytest.raises(AttributeError) as failure:
        group.clock.advance(seconds=30)
    assert "not of the code under test" in str(failure.value.__notes__)


def test_a_failed_action_of_the_test_is_not_for_the_code_under_test() -> None:
    group = kafka_group()
    group.clock.at(5, lambda: group.cras("c1"))  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match="has no attribute 'cras'; the code of c1 catches this at test_planted"):
        group.run(lambda: _loop(group.consumer("c1", CONFIG)))


def test_what_user_code_raises_is_its_own_whatever_it_is_made_of() -> None:
    from unittest.mock import Mock

    group = rocketmq_group(topics={"orders": 1}, produce=0)
    consumer = group.push_consumer("c1")
    listener = Mock(side_effect=[ValueError("once"), {}.__getitem__, CONSUME_SUCCESS])
    consumer.subscribe("orders")
    consumer.register_message_listener(group.watch(listener))
    consumer.start()
    group.settle().produce("orders", 1)
    group.clock.advance(minutes=3)
    assert listener.call_count == 3
    group.assert_nothing_lost()


def test_code_that_swallows_an_inner_error_fails_its_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(kafka_group):
            consumer = kafka_group.consumer("c1", {})
            consumer.subscribe(["orders"])
            kafka_group.world.cluster = None
            try:
                consumer.poll(1)
            except Exception:
                pass

        def test_the_next_one(kafka_group):
            kafka_group.join("c1").settle().assert_no_gap()
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:randomly")
    done.assert_outcomes(failed=1, passed=1)
