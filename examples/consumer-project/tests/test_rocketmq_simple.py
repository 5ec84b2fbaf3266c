"""The worker with RocketMQ's 5.x client: crashes and slow work, as POP answers them."""

import pytest
from billing.rocketmq_simple import INVISIBLE_S, BillingWorker


@pytest.fixture
def group(rocketmq_group):
    return rocketmq_group(topics={"invoices": 2}, produce=0, name="billing")


@pytest.fixture
def mq(group):
    return group.rocketmq_v5()


def worker(group, mq, book=lambda message: None):
    configuration = mq.ClientConfiguration("127.0.0.1:8081", mq.Credentials())
    consumer = mq.SimpleConsumer(configuration, "billing", {"invoices": mq.FilterExpression()})
    return BillingWorker(consumer, group.watch(book))


def send(mq, *bodies):
    producer = mq.Producer(mq.ClientConfiguration("127.0.0.1:8081", mq.Credentials()))
    producer.startup()
    for body in bodies:
        message = mq.Message()
        message.topic, message.body = "invoices", body
        producer.send(message)


def test_what_could_not_be_booked_comes_again(group, mq):
    tries = []

    def book(message):
        tries.append((message.delivery_attempt, group.clock.now))
        if message.delivery_attempt < 3:
            raise ConnectionError

    send(mq, b"invoice 1")
    group.run(worker(group, mq, book).run, seconds=120)
    assert [attempt for attempt, _ in tries] == [1, 2, 3]
    assert tries[1][1] >= INVISIBLE_S
    assert group.never_handled() == group.handled_twice() == []


@pytest.mark.parametrize("calls", range(2, 7))
def test_a_crash_at_any_call_loses_nothing(group, mq, calls):
    send(mq, *(f"invoice {number}".encode() for number in range(5)))
    group.interrupt(lambda: group.crash("c1"), before_call=calls)
    group.run(worker(group, mq).run, seconds=60)
    group.run(worker(group, mq).run, seconds=120)
    assert group.never_handled() == []
    assert len(group.handled_twice()) == 1  # booked, not yet acknowledged


def test_booking_slower_than_the_invisible_time_books_twice(group, mq):
    send(mq, b"invoice 1")

    def book(message):
        group.clock.advance(seconds=50)

    with pytest.raises(mq.BadRequestException, match="INVALID_RECEIPT_HANDLE"):
        group.run(worker(group, mq, book).run, seconds=100)
    group.run(worker(group, mq).run, seconds=60)
    assert [record.by for record in group.handled_twice()] == [("c1", "c2")]
