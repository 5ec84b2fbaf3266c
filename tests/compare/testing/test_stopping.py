"""Interruptions at any moment, and code that catches what is meant to stop it."""

from typing import Any

import pytest

from compare.testing import Crashed, Group, kafka_group, rocketmq_group
from protocols.errors import UserError

EARLIEST = {"auto.offset.reset": "earliest"}


def loop(consumer: Any) -> None:
    consumer.subscribe(["orders"])
    while True:
        consumer.poll(1.0)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("when", ["before_call", "after_calls"])
def test_a_process_can_be_killed_before_it_is_a_member(number: int, when: str) -> None:
    group = kafka_group(members=["c2"]).settle()
    group.interrupt(lambda: group.crash("c1"), **{when: number})
    consumer = group.consumer("c1", EARLIEST)
    begun = group.clock.now
    group.run(lambda: loop(consumer), seconds=60)
    assert group.clock.now - begun < 5
    with pytest.raises(Crashed):
        consumer.poll(1)
    group.settle()
    assert "c1" not in group.members


def test_a_process_can_stand_still_before_it_is_a_member_and_then_joins() -> None:
    group = kafka_group()
    group.interrupt(lambda: group.hang("c1", seconds=20), before_call=1)
    group.run(lambda: loop(group.consumer("c1", EARLIEST)), seconds=40)
    joined = next(each for each in group.timeline.causes.happenings if each.text.startswith("c1 joins"))
    assert joined.at == 20_000


def test_what_can_only_happen_to_a_member_waits_until_it_is_one_and_those_who_are_gone_are_left_alone() -> None:
    group = kafka_group(members=["c2"])
    group.interrupt(lambda: group.leave("c1"), before_call=1)
    group.run(lambda: loop(group.consumer("c1", EARLIEST)), seconds=40)
    assert "c1 leaves" in group.story()
    group.interrupt(lambda: group.crash("c1"), after_calls=5)
    group.run(lambda: loop(group.consumer("c3", EARLIEST)), seconds=40)
    assert "c1 crashes" not in group.story()


def test_an_interruption_of_somebody_whom_nobody_knows_is_refused_in_the_end() -> None:
    group = kafka_group()
    group.interrupt(lambda: group.crash("c9"), after_calls=2)
    with pytest.raises(UserError, match="unknown member"):
        group.run(lambda: [group.consumer("c1", EARLIEST).poll(1) for _ in range(3)])


def test_a_listener_can_be_killed_before_it_is_started() -> None:
    group = rocketmq_group()
    consumer = group.push_consumer("c1")
    consumer.register_message_listener(lambda messages: None)
    group.crash("c1")
    with pytest.raises(Crashed):
        consumer.start()


def _swallows(consumer: Any) -> None:
    consumer.subscribe(["orders"])
    while True:
        try:
            consumer.poll(1.0)
        except:  # noqa: E722
            continue


def _swallows_twice(consumer: Any) -> None:
    consumer.subscribe(["orders"])
    while True:
        try:
            try:
                consumer.poll(1.0)
            except BaseException:
                continue
        except BaseException:
            continue


def _swallows_deep(consumer: Any) -> None:
    def step() -> None:
        try:
            consumer.poll(1.0)
        except BaseException:
            return

    consumer.subscribe(["orders"])
    while True:
        step()


@pytest.mark.parametrize("code", [_swallows, _swallows_twice, _swallows_deep])
@pytest.mark.parametrize("how", ["killed", "time"])
def test_a_loop_that_catches_everything_ends_and_the_failure_names_the_line(code: Any, how: str) -> None:
    group = kafka_group()
    if how == "killed":
        group.interrupt(lambda: group.crash("c1"), after_calls=10)
    with pytest.raises(AssertionError) as failure:
        group.run(lambda: code(group.consumer("c1", EARLIEST)), seconds=30)
    kind = "Crashed: c1 was killed" if how == "killed" else "TimeIsUp"
    assert str(failure.value).startswith(kind)
    assert "test_stopping.py:" in str(failure.value)
    assert group.handling.calls < 250


def test_code_may_clean_up_when_it_is_stopped() -> None:
    def code(consumer: Any) -> None:
        try:
            loop(consumer)
        except BaseException:
            consumer.commit()
        finally:
            consumer.close()

    group = kafka_group()
    group.run(lambda: code(group.consumer("c1", EARLIEST)), seconds=30)
    assert group.members == []


def test_a_loop_around_a_closed_consumer_ends() -> None:
    def code(consumer: Any) -> None:
        consumer.close()
        while True:
            try:
                consumer.poll(1.0)
            except Exception:
                continue

    group = kafka_group()
    with pytest.raises(AssertionError, match="RuntimeError: Consumer closed"):
        group.run(lambda: code(group.consumer("c1", EARLIEST)))


def test_an_assertion_of_the_test_cannot_be_swallowed() -> None:
    def code(consumer: Any) -> None:
        consumer.subscribe(["orders"])
        for _ in range(100):
            try:
                consumer.poll(1.0)
            except Exception:
                return

    def failing(group: Group) -> None:
        raise AssertionError("as it should be")

    group = kafka_group()
    group.clock.at(5, lambda: failing(group))
    with pytest.raises(AssertionError, match="as it should be"):
        group.run(lambda: code(group.consumer("c1", EARLIEST)))


def test_an_exception_that_is_raised_on_purpose_may_be_caught() -> None:
    caught: list[BaseException] = []

    def code(consumer: Any) -> None:
        consumer.subscribe(["orders"])
        for _ in range(20):
            try:
                consumer.poll(1.0)
            except RuntimeError as error:
                caught.append(error)

    group = kafka_group()
    group.interrupt(RuntimeError("on purpose"), before_call=5)
    group.run(lambda: code(group.consumer("c1", EARLIEST)))
    assert [str(each) for each in caught] == ["on purpose"]
