"""The coroutine on aiokafka, in virtual time."""

import asyncio

import pytest

pytest.importorskip("aiokafka")

from billing.async_consumer import bill
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.testing import kafka_group as make_group


async def book(record):
    await asyncio.sleep(0.01)


def test_every_record_is_booked_once_in_quiet_times(kafka_group):
    with kafka_group.aiokafka().installed():
        kafka_group.run(bill(kafka_group.watch(book)), seconds=60)
    assert kafka_group.handled_twice() == []
    assert kafka_group.never_handled() == []


def test_a_second_instance_takes_half_of_the_work(kafka_group):
    group = kafka_group(members=["c2"]).settle()
    with group.aiokafka("c1").installed():
        group.run(bill(group.watch(book)), seconds=30)
    assert {record.by[0] for record in group.handled_twice()} <= {"c1", "c2"}
    assert group.never_handled() == []


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 60))
def test_no_crash_between_any_two_calls_loses_a_record(calls):
    group = make_group(members=["c2"]).settle()
    group.interrupt(lambda: group.crash("c1"), after_calls=calls)
    with group.aiokafka("c1").installed():
        group.run(bill(group.watch(book)), seconds=60)
    group.settle()
    assert group.never_handled() == []
