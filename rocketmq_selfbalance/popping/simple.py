"""A simple consumer of RocketMQ's 5.x line (Java 5.2) as a node: the user's own loop receives records, handles them and
acknowledges each (``SimpleConsumerImpl``; spec grpc 3, 4).

A call of ``receive`` asks one broker: topics take turns, and of a topic its queues do, so that records of other brokers
wait meanwhile. Nobody renews anything: a record whose time is over before it is acknowledged comes again. What the
user's code does, which RocketMQ has no setting for: it receives again when all that it got is done, handles what comes
while it closes, and after an error calls again a second later.
"""

from dataclasses import dataclass, field

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from rocketmq_selfbalance.client.commands import Shutdown
from rocketmq_selfbalance.popping.client import (
    AGAIN,
    AGAIN_MS,
    DONE,
    HEARTBEAT,
    LATE,
    REQUEST_TIMEOUT_MS,
    ROUTES,
    Asking,
    ProxyClient,
    Record,
)
from rocketmq_selfbalance.popping.messages import (
    AckMessage,
    ChangeInvisibleDuration,
    Received,
    ReceiveMessage,
    TopicRoute,
)
from rocketmq_selfbalance.popping.settings import LEAST_POLLING_MS


@dataclass(slots=True, eq=False)
class SimpleConsumer(ProxyClient):
    """A running simple consumer with the loop of its user."""

    routes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Topic to the broker of each of its readable queues, as far as they are known."""
    topic_turn: int = 0
    queue_turns: dict[str, int] = field(default_factory=dict)
    """Topic to how many of its queues had their turn; it begins at random."""

    def begin(self, now: Time, out: Outbox) -> None:
        self.topic_turn = out.choose("first topic", range(len(self.config.topics))) if self.config.topics else 0

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if timer == HEARTBEAT:
            self.beat(now, out)
        elif timer == ROUTES:
            self.ask_routes_again(now, out)
        elif timer[0] == DONE:
            self._finished(now, timer[1], out)
        elif timer[0] == AGAIN:
            self.hand_out(now, out)
        else:
            assert timer[0] == LATE
            self.failed(now, timer[1], timer[2], out)

    def answered(self, now: Time, asking: Asking | None, message: Message, out: Outbox) -> None:
        if isinstance(message, TopicRoute):
            self._route(now, message, out)
        elif isinstance(message, Received) and asking is not None:
            out.cancel_timer((LATE, asking, message.correlation))
            if message.ok:
                self.waiting += [Record(asking, handle) for handle in message.handles]
                self.hand_out(now, out)
            else:
                self.failed(now, asking, message.correlation, out)

    # Requests.

    def _route(self, now: Time, message: TopicRoute, out: Outbox) -> None:
        if message.brokers is None:
            return
        brokers = tuple(broker for broker, queues in message.brokers for _ in range(queues))
        self.routes[message.topic] = brokers
        if message.topic not in self.queue_turns and brokers:
            self.queue_turns[message.topic] = out.choose("first queue", range(len(brokers)))
            self.hand_out(now, out)

    def _receive(self, now: Time, out: Outbox) -> None:
        """``receive``: of the next topic the next queue's broker."""
        config, settings = self.config, self.config.settings
        topics = [topic for topic in config.topics if self.routes.get(topic)]
        if not topics:
            out.set_timer((AGAIN,), now + AGAIN_MS)
            return
        topic, brokers = topics[self.topic_turn % len(topics)], self.routes[topics[self.topic_turn % len(topics)]]
        broker = brokers[self.queue_turns[topic] % len(brokers)]
        self.topic_turn += 1
        self.queue_turns[topic] += 1
        polling = min(max(settings.await_ms, LEAST_POLLING_MS), settings.polling_ms)
        wants = min(settings.max_message_num, settings.receive_batch_size), polling, settings.simple_invisible_ms
        whose, ordered = (config.group, config.member, topic, broker), settings.consume_message_orderly
        number = self.ask(ReceiveMessage, (topic, broker, 0), out, *whose, *wants, ordered, None, auto_renew=False)
        out.set_timer((LATE, (topic, broker, 0), number), now + settings.await_ms + REQUEST_TIMEOUT_MS)

    def failed(self, now: Time, asking: Asking, number: int, out: Outbox) -> None:
        self.asked.pop(number, None)
        out.cancel_timer((LATE, asking, number))
        if self.closing:
            self._go_on_or_end(now, out)
        else:
            out.set_timer((AGAIN,), now + AGAIN_MS)

    # The user's code.

    def hand_out(self, now: Time, out: Outbox) -> None:
        while self.waiting and len(self.work) < self.config.settings.user_threads and not self.away:
            self.take(now, self.waiting.pop(0), out)
        self._go_on_or_end(now, out)

    def _go_on_or_end(self, now: Time, out: Outbox) -> None:
        """The loop's next turn, where the last one is over."""
        if self.work or self.waiting or any(self.asked.values()) or self.away:
            return
        out.cancel_timer((AGAIN,))
        if self.closing:
            self.end(out)
            for timer in (HEARTBEAT, ROUTES):
                out.cancel_timer(timer)
        else:
            self._receive(now, out)

    def _finished(self, now: Time, number: int, out: Outbox) -> None:
        work = self.work.pop(number)
        record, settings = work.record, self.config.settings
        if self.works(record, record.handle.record.times + 1):
            self.tell_handled(now, work, out)
            self.ask(AckMessage, None, out, *self.whose(record), record.handle)
        elif settings.change_ms:
            self.ask(ChangeInvisibleDuration, None, out, *self.whose(record), record.handle, settings.change_ms)
        self.hand_out(now, out)

    # Commands.

    def topics_changed(self, topic: str, out: Outbox) -> None:
        if topic in self.config.topics:
            self.ask_routes([topic], out)
        else:
            self.routes.pop(topic, None)
            self.queue_turns.pop(topic, None)

    def shut_down(self, now: Time, command: Shutdown, out: Outbox) -> None:
        """The loop ends with its present turn, then close()."""
        self.closing = True
        self._go_on_or_end(now, out)
