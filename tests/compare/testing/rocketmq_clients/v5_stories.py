"""Stories of messages, the same for the double and for the released 5.x client on a real proxy: what came when.

Each takes surroundings and returns (seconds since its beginning, what) in order.
"""

from collections.abc import Callable
from typing import Any

from tests.compare.testing.rocketmq_clients.v5_calls import Surroundings, outcome

Told = list[tuple[float, Any]]


def _bodies(messages: list[Any]) -> list[list[Any]]:
    return sorted([each.body.decode(), each.delivery_attempt] for each in messages)


class _Story:
    def __init__(self, s: Surroundings) -> None:
        self.s, self.told, self._begin = s, [], s.now()
        self.told: Told

    def tell(self, what: Any) -> None:
        self.told.append((round(self.s.now() - self._begin, 1), what))


def what_is_not_acked_comes_back(s: Surroundings) -> Told:
    producer, consumer = s.producer(), s.simple()
    for body in (b"a", b"b", b"c"):
        producer.send(s.message(body))
    story = _Story(s)
    received = consumer.receive(10, 10)
    story.tell(_bodies(received))
    story.tell(outcome(lambda: consumer.ack(received[0])))
    for _ in range(4):
        again = consumer.receive(10, 30)
        story.tell(_bodies(again))
    story.tell(outcome(lambda: consumer.ack(received[1])))
    consumer.shutdown()
    producer.shutdown()
    return story.told


def a_changed_invisible_time_counts_from_the_change(s: Surroundings) -> Told:
    producer, consumer = s.producer(), s.simple()
    producer.send(s.message(b"long"))
    story = _Story(s)
    (message,) = consumer.receive(1, 10)
    old = message.receipt_handle
    story.tell(outcome(lambda: consumer.change_invisible_duration(message, 20)))
    story.tell(message.receipt_handle != old)
    for _ in range(6):
        story.tell(_bodies(consumer.receive(1, 30)))
    consumer.shutdown()
    producer.shutdown()
    return story.told


def two_consumers_share_the_messages_of_one_queue(s: Surroundings) -> Told:
    producer, one, other = s.producer(), s.simple(), s.simple()
    for number in range(6):
        producer.send(s.message(f"m{number}".encode()))
    story = _Story(s)
    first, second = one.receive(2, 10), other.receive(10, 10)
    story.tell(_bodies(first))
    story.tell(_bodies(second))
    story.tell(outcome(lambda: other.ack(first[0])))
    for each in second:
        other.ack(each)
    for _ in range(4):
        story.tell(_bodies(other.receive(10, 30)))
    for each in (one, other, producer):
        each.shutdown()
    return story.told


def a_new_message_ends_the_wait(s: Surroundings) -> Told:
    producer, consumer = s.producer(), s.simple(20)
    story = _Story(s)
    story.tell(_bodies(consumer.receive(1, 10)))
    producer.send(s.message(b"now"))
    story.tell(_bodies(consumer.receive(1, 10)))
    consumer.shutdown()
    producer.shutdown()
    return story.told


def a_listener_that_fails_gets_it_later_and_later(s: Surroundings) -> Told:
    story: list[_Story] = []

    def consume(message: Any) -> Any:
        if story:
            story[0].tell([message.body.decode(), message.delivery_attempt])
        good = message.body != b"bad" or message.delivery_attempt == 4
        return s.api.ConsumeResult.SUCCESS if good else s.api.ConsumeResult.FAILURE

    consumer, producer = s.pushed(consume), s.producer()
    s.sleep(8)
    story.append(_Story(s))
    for body in (b"bad", b"good"):
        producer.send(s.message(body))
    s.sleep(75)
    consumer.shutdown()
    producer.shutdown()
    return sorted(story[0].told, key=lambda each: (round(each[0]), each[1]))


def a_listener_that_raises_or_returns_nothing_has_failed(s: Surroundings) -> Told:
    story: list[_Story] = []

    def consume(message: Any) -> Any:
        story[0].tell([message.body.decode(), message.delivery_attempt])
        if message.delivery_attempt == 1:
            if message.body == b"raises":
                raise ZeroDivisionError
            return None
        return s.api.ConsumeResult.SUCCESS

    consumer, producer = s.pushed(consume), s.producer()
    s.sleep(8)
    story.append(_Story(s))
    for body in (b"none", b"raises"):
        producer.send(s.message(body))
    s.sleep(45)
    consumer.shutdown()
    producer.shutdown()
    return sorted(story[0].told, key=lambda each: (round(each[0]), each[1]))


def a_listener_slower_than_the_invisible_time_gets_it_twice(s: Surroundings) -> Told:
    story: list[_Story] = []

    def consume(message: Any) -> Any:
        story[0].tell([message.body.decode(), message.delivery_attempt])
        if message.delivery_attempt == 1:
            s.sleep(75)
        return s.api.ConsumeResult.SUCCESS

    consumer, producer = s.pushed(consume), s.producer()
    s.sleep(8)
    story.append(_Story(s))
    producer.send(s.message(b"slow"))
    s.sleep(100)
    consumer.shutdown()
    producer.shutdown()
    return story[0].told


STORIES: list[Callable[[Surroundings], Told]] = [
    what_is_not_acked_comes_back,
    a_changed_invisible_time_counts_from_the_change,
    two_consumers_share_the_messages_of_one_queue,
    a_new_message_ends_the_wait,
    a_listener_that_fails_gets_it_later_and_later,
    a_listener_that_raises_or_returns_nothing_has_failed,
    a_listener_slower_than_the_invisible_time_gets_it_twice,
]


def few_tries(s: Surroundings) -> Told:
    """In a group with ``retryMaxTimes`` 1."""
    producer, consumer = s.producer(), s.simple()
    producer.send(s.message(b"poison"))
    story = _Story(s)
    for _ in range(8):
        story.tell(_bodies(consumer.receive(1, 10)))
    consumer.shutdown()
    producer.shutdown()
    return story.told


def in_order(s: Surroundings) -> Told:
    """In a group that consumes in order; the topic takes FIFO messages."""
    producer, one, other = s.producer(), s.simple(), s.simple()
    for number in range(4):
        producer.send(s.message(f"m{number}".encode(), message_group="g"))
    story = _Story(s)
    first = one.receive(2, 15)
    story.tell(_bodies(first))
    story.tell(_bodies(other.receive(10, 15)))
    story.tell(outcome(lambda: one.ack(first[0])))
    story.tell(_bodies(other.receive(10, 15)))
    s.sleep(8)
    second = other.receive(10, 15)
    story.tell(_bodies(second))
    for each in second:
        story.tell(outcome(lambda each=each: other.ack(each)))  # type: ignore[misc]
    producer.send(s.message(b"m4", message_group="g"))
    story.tell(_bodies(one.receive(10, 15)))
    for each in (one, other, producer):
        each.shutdown()
    return story.told


def in_its_time(s: Surroundings) -> Told:
    """The topic takes delayed messages; the time is told in whole seconds."""
    producer, consumer = s.producer(), s.simple()
    story = _Story(s)
    message = s.message(b"later")
    message.delivery_timestamp = int(s.now()) + 8
    receipt = producer.send(message)
    story.tell(bool(receipt.recall_handle))
    story.tell(outcome(lambda: producer.recall_message(s.topic, receipt.recall_handle)))
    for _ in range(2):
        story.tell(_bodies(consumer.receive(1, 10)))
    consumer.shutdown()
    producer.shutdown()
    return story.told


SPECIAL: dict[str, Callable[[Surroundings], Told]] = {"few": few_tries, "fifo": in_order, "delay": in_its_time}
"""Kind of the topic or group to a story in it."""
