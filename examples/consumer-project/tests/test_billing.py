"""The service's loop in Kafka: nothing is lost, whatever happens to its group."""

from billing.consumer import Billing
from billing.settings import CONSUMER
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.testing import kafka_group as make_group


def test_every_record_is_booked_once_in_quiet_times(kafka_group):
    billing = Billing(kafka_group.consumer("c1", CONSUMER), kafka_group.watch(lambda message: None))
    kafka_group.run(lambda: billing.run(["orders"]), seconds=60)
    assert kafka_group.handled_twice() == []
    assert kafka_group.never_handled() == []
    assert billing.refused == 0


def test_exactly_the_records_that_came_are_booked(kafka_group):
    group = kafka_group(members=["c2"], produce=0).settle()
    group.clock.at(20, lambda: group.produce("orders", 60))
    booked = []
    billing = Billing(group.consumer("c1", CONSUMER), group.watch(lambda message: booked.append(message.value())))
    group.run(lambda: billing.run(["orders"]), seconds=60)
    assert len(booked) == len(set(booked)) == 30  # c2 has the other half


def test_a_slow_booking_makes_a_record_come_twice_but_loses_none(kafka_group, clock):
    group = kafka_group(members=["c2"], settings={"max.poll.interval.ms": 60_000}).settle()

    def book(message):
        if message.offset() == 20:
            clock.advance(seconds=90)  # a database that hangs

    billing = Billing(group.consumer("c1", CONSUMER), group.watch(book))
    group.run(lambda: billing.run(["orders"]), seconds=120)
    assert billing.refused
    assert group.handled_twice()
    assert group.never_handled() == []


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 80))
def test_no_crash_between_any_two_calls_loses_a_record(calls):
    group = make_group(members=["c2"]).settle()
    billing = Billing(group.consumer("c1", CONSUMER), group.watch(lambda message: None))
    group.interrupt(lambda: group.crash("c1"), after_calls=calls)
    group.run(lambda: billing.run(["orders"]), seconds=60)
    group.settle()
    assert group.never_handled() == []
    group.assert_no_gap(longer_than=50)
