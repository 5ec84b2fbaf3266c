"""The double of the 5.x client's ``SimpleConsumer``: the user's code asks for messages and acks each."""

from collections.abc import Mapping
from concurrent.futures import Future

from compare.testing.faults import as_the_client, whole
from compare.testing.rocketmq.popping import Taken
from compare.testing.rocketmq.v5.consumer import Consumer, invisible_time
from compare.testing.rocketmq.v5.doubles import FilterExpression, Message
from compare.testing.rocketmq.v5.types import completed, illegal_argument, illegal_state
from protocols.engine.nodes import TICK, Time
from protocols.engine.randomness import number_below
from rocketmq_selfbalance.cluster import polling_time

_SIMPLE_CONSUMER = 3


class SimpleConsumer(Consumer):
    """Receives up to so many messages of one topic from one broker at a time: topics take turns, brokers by chance."""

    kind = "SIMPLE_CONSUMER"

    def __init__(
        self,
        client_configuration: object,
        consumer_group: str,
        subscription: Mapping[str, FilterExpression] | None = None,
        await_duration: int = 20,
        client_type: int = _SIMPLE_CONSUMER,
        tls_enable: bool = False,
    ) -> None:
        if await_duration is None:
            raise illegal_argument("awaitDuration should not be null")
        super().__init__(client_configuration, consumer_group, subscription)
        self.await_duration = await_duration
        self.client_type = client_type
        self._receives = 0

    def receive(self, max_message_num: int, invisible_duration: int) -> list[Message]:
        """Messages that nobody else gets for ``invisible_duration`` seconds (10 at least); waits for ``await_duration``
        (from 5 to 20 seconds), then an empty list. A record that comes back wakes nobody who waits."""
        with self._handling.call(self):
            taken = self._receive(max_message_num, invisible_duration)
            for each in taken:
                self._popping.delivered(self.member, each)
            return [self._message(each) for each in taken]

    def receive_async(self, max_message_num: int, invisible_duration: int) -> Future[list[Message]]:
        """The same as a future that is done."""
        self._check(max_message_num)
        return completed(lambda: self.receive(max_message_num, invisible_duration))

    def _check(self, max_message_num: int) -> None:
        if not self.is_running:
            raise illegal_state("consumer is not running now.")
        if not self._subscriptions:
            raise illegal_argument("There is no topic to receive message")
        with as_the_client():
            wants_none = max_message_num <= 0
        if wants_none:
            raise illegal_argument("max_message_num must be greater than 0")

    def _receive(self, max_message_num: int, invisible_duration: int) -> list[Taken]:
        self._check(max_message_num)
        topics = list(self._subscriptions)
        topic = topics[self._receives % len(topics)]
        self._receives += 1
        queues = self._route(topic)
        chosen = number_below(len(queues), self._group.plan.seed, self.member, "queue", self._receives)
        broker, most = queues[chosen].broker, whole(max_message_num)
        return self._poll(topic, broker, most, invisible_time(invisible_duration))

    def _poll(self, topic: str, broker: str, most: int, invisible: Time) -> list[Taken]:
        clock = self._group.clock
        until = clock.time + polling_time(self.await_duration * 1000.0)
        until = min(until, max(clock.limit, clock.time))
        while True:
            found = self._take(topic, broker, most, invisible)
            if found is not None or clock.time >= until or not self.is_alive:
                return found or []
            arrival = self._popping.next_arrival(topic, broker)
            due = until if arrival is None else min(until, max(arrival, clock.time + TICK))
            self._live(due, lambda: self._popping.has_new(topic, broker) or self._is_hung)
            self.wake()

    def ack(self, message: Message) -> None:
        """The message is done and does not come again."""
        with self._handling.call(self):
            self._ack(message)

    def ack_async(self, message: Message) -> None:
        """The same without its outcome: the real method returns nothing, too."""
        self._check_running("ack message")
        with self._handling.call(self):
            completed(lambda: self._ack(message))

    def change_invisible_duration(self, message: Message, invisible_duration: int) -> None:
        """The message comes back so many seconds from now on, unless it is acked before."""
        with self._handling.call(self):
            self._change(message, invisible_duration)

    def change_invisible_duration_async(self, message: Message, invisible_duration: int) -> None:
        """The same without its outcome."""
        self._check_running("change invisible duration")
        with self._handling.call(self):
            completed(lambda: self._change(message, invisible_duration))
