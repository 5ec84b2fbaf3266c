"""The listener in RocketMQ: what fails comes again until it is booked."""

from billing.listener import BillingListener

from compare.testing.rocketmq.push_consumer import CONSUME_SUCCESS, RECONSUME_LATER


def test_what_could_not_be_booked_comes_again(rocketmq_group, clock):
    tries = []

    def book(message):
        if message.body == b"orders-0/5":
            tries.append(message.reconsume_times)
            if len(tries) == 1:
                raise ConnectionError

    consumer = rocketmq_group(topics={"orders": 1}).push_consumer("c1")
    group = consumer.group
    consumer.subscribe("orders")
    consumer.register_message_listener(BillingListener(book, CONSUME_SUCCESS, RECONSUME_LATER))
    consumer.start()
    clock.advance(seconds=60)
    assert tries == [0, 1]
    assert group.never_handled() == []
