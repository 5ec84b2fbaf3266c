"""The callback of RocketMQ's older Python client: what fails comes again, unless the callback lets an exception out."""

import pytest
from billing.rocketmq_callback import callback, careless_callback


@pytest.fixture
def group(rocketmq_group):
    return rocketmq_group(topics={"invoices": 2}, produce=1, name="billing")


def started(group, make_callback, book):
    mq = group.rocketmq_client()
    consumer = mq.PushConsumer("billing")
    consumer.set_name_server_address("127.0.0.1:9876")
    consumer.subscribe("invoices", make_callback(book, mq.ConsumeStatus))
    consumer.start()
    group.settle()


def fails_once_at(offset):
    failed = []

    def book(message):
        if message.queue_offset == offset and message.queue_id not in failed:
            failed.append(message.queue_id)
            raise ConnectionError

    return book


def test_what_could_not_be_booked_comes_again(group, clock):
    started(group, callback, fails_once_at(5))
    clock.advance(seconds=60)
    assert group.never_handled() == group.handled_twice() == []


def test_an_exception_out_of_the_callback_loses_the_message(group, clock):
    started(group, careless_callback, fails_once_at(5))
    clock.advance(seconds=60)
    assert [record.offset for record in group.never_handled()] == [5, 5]
