"""The double of the 5.x client's ``PushConsumer``: it receives by itself and calls the user's listener.

The listener is called while time passes, one message at a time. What it cannot handle is made invisible for the
group's next delay; in a group that consumes in order the consumer tries it again itself, and the rest of its message
group waits.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from compare.testing.rocketmq.popping import SHARDING_KEY, Taken, properties_of
from compare.testing.rocketmq.v5.consumer import Consumer
from compare.testing.rocketmq.v5.doubles import FilterExpression, Message, MessageListener
from compare.testing.rocketmq.v5.types import CLASSES, illegal_argument
from protocols.engine.nodes import TICK, Time
from rocketmq_selfbalance.cluster import DEFAULT_INVISIBLE_MS, MOST_AT_ONCE, MOST_POLLING_MS, WakeAt, retry_delay

_PUSH_CONSUMER = 2
_FIRST_SCAN_MS = 1_000.0
_NO_SETTINGS_MS = 10_000.0
"""So long a start waits for the proxy's settings, which never come where none of its topics is there."""


@dataclass(slots=True)
class _Work:
    """Messages that are handled one after the other; ``attempt`` of the first one, not before ``due``."""

    taken: list[Taken]
    due: Time
    attempt: int = 1


class PushConsumer(Consumer):
    """A member whose listener is the user's."""

    kind = "PUSH_CONSUMER"
    ACK_MESSAGE_FAILURE_BACKOFF_DELAY = 1
    DEFAULT_CONSUME_ATTEMPTS = 17
    RECEIVE_RETRY_DELAY = 1

    def __init__(
        self,
        client_configuration: object,
        consumer_group: str,
        message_listener: MessageListener,
        subscription: Mapping[str, FilterExpression],
        max_cache_message_count: int = 1024,
        max_cache_message_size: int = 64 * 1024 * 1024,
        consumption_thread_count: int = 20,
        tls_enable: bool = False,
        client_type: int = _PUSH_CONSUMER,
    ) -> None:
        if not message_listener:
            raise illegal_argument("message_listener should not be null")
        if not subscription:
            raise illegal_argument("subscription should not be null")
        super().__init__(client_configuration, consumer_group, subscription)
        self._listener, self.client_type = message_listener, client_type
        self._polls: dict[tuple[str, str], Time] = {}
        """Topic and broker to when the request that waits there is answered at the latest."""
        self._works: list[_Work] = []
        self._serving = False
        self._wakes_at: Time | None = None

    @property
    def fifo(self) -> bool:
        """Whether the group consumes in order."""
        return self._popping.fifo

    def _start(self) -> None:
        if not self._known_topics():
            self._live(self._group.clock.time + _NO_SETTINGS_MS, lambda: False)
            raise AttributeError("'NoneType' object has no attribute 'shutdown'")
        first = self._node is None
        super()._start()
        if first:
            self._first_scan = self._group.clock.time + _FIRST_SCAN_MS
            self._group.world.servants.append(self._serve)

    # What the world calls after every step.

    def _serve(self) -> bool:
        """Receive, and call the listener for all that waits for it; whether there was anything."""
        served = False
        while self._step():
            served = True
        return served

    def _step(self) -> bool:
        now = self._group.world.now
        if not self.is_running or not self.is_alive or self._is_hung:
            return False
        if now < self._first_scan or self._handling.standing.get(self.member, 0.0) > now:
            self._wake_at(max(self._first_scan, self._handling.standing.get(self.member, 0.0)))
            return False
        self._group.clock.keep_up(now)
        work = None if self._serving else next((each for each in self._works if each.due <= now), None)
        if work is None:
            return self._receive(now) and not self._serving  # It receives while the listener works, too.
        self._serving = True
        try:
            self._consume(work)
        finally:
            self._serving = False
        return True

    def _receive(self, now: Time) -> bool:
        """Answer the requests that wait, as far as they are answered now."""
        wanted = {(topic, queue.broker) for topic in self._subscriptions for queue in self._popping.queues(topic)}
        self._polls = {key: at for key, at in self._polls.items() if key in wanted}
        due = min((work.due for work in self._works if work.due > now), default=now + MOST_POLLING_MS)
        messages: list[Taken] = []
        for topic, broker in sorted(wanted):
            begins = (topic, broker) not in self._polls
            if begins or now >= self._polls[topic, broker] or self._popping.has_new(topic, broker):
                self._polls[topic, broker] = now + MOST_POLLING_MS
                messages += self._take(topic, broker, MOST_AT_ONCE, DEFAULT_INVISIBLE_MS) or []
            arrival = self._popping.next_arrival(topic, broker)
            due = min([due, self._polls[topic, broker], *([] if arrival is None else [arrival])])
        self._works += self._as_works(messages, now)
        self._wake_at(due)
        return bool(messages)

    def _wake_at(self, time: Time) -> None:
        """Be asked again then, though nothing else may happen."""
        time = max(time, self._group.world.now + TICK)
        if self._wakes_at != time:
            self._wakes_at = time
            self._group.world.tell(self._place, WakeAt(time))

    def _as_works(self, found: list[Taken], now: Time) -> list[_Work]:
        if not self.fifo:
            return [_Work([taken], now) for taken in found]
        together: dict[str | None, list[Taken]] = {}
        for taken in found:
            together.setdefault(properties_of(taken.content).get(SHARDING_KEY), []).append(taken)
        return [_Work(each, now) for each in together.values()]

    def _consume(self, work: _Work) -> None:
        taken = work.taken[0]
        message = self._message(taken)
        self._popping.delivered(self.member, taken)
        self._handling.gives(self.member, taken.queue, taken.offset)
        returned, result = self._handling.serve(self, self._listener.consume, message)
        success = returned and result == CLASSES["ConsumeResult"].SUCCESS
        if success:
            self._handling.acknowledged(self.member, taken.queue, taken.offset)
        if not self.is_alive or not self.is_running:
            return
        if success or not self.fifo:
            self._settle(work, message, success)
        elif work.attempt > self._popping.retry_max_times:
            self._popping.give_up(taken)
            self._next(work)
        else:
            work.due = self._group.clock.time + retry_delay(work.attempt)
            work.attempt += 1

    def _settle(self, work: _Work, message: Message, success: bool) -> None:
        """Tell the broker how it came out. A handle that is expired is given up."""
        try:
            if success:
                self._ack(message)
            else:
                self._change(message, int(retry_delay(message.delivery_attempt or 1) / 1000))
        except CLASSES["BadRequestException"]:
            pass
        self._next(work)

    def _next(self, work: _Work) -> None:
        del work.taken[0]
        work.attempt = 1
        if not work.taken:
            self._works.remove(work)
