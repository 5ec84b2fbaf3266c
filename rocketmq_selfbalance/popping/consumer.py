"""A push consumer of RocketMQ's 5.x line (Java 5.2) as a node: it asks for records, handles them, acknowledges each.

In Java ``PushConsumerImpl``, ``ProcessQueueImpl``, ``StandardConsumeService`` and ``FifoConsumeService`` (spec pop 5).
A *process queue* here is one standing request: for a topic at one broker, or, in a group that is served in order, for
each of its queues there. It is asked again at once until enough records wait.
"""

from dataclasses import dataclass, field
from typing import Final

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.facts import PassedOver, StandsStill
from rocketmq_selfbalance.client.commands import Shutdown
from rocketmq_selfbalance.pop import retry_delay
from rocketmq_selfbalance.popping.client import (
    AGAIN,
    AGAIN_MS,
    DONE,
    END,
    FIRST_MS,
    HEARTBEAT,
    LATE,
    REQUEST_TIMEOUT_MS,
    ROUTES,
    Asking,
    ProxyClient,
    Record,
    Work,
)
from rocketmq_selfbalance.popping.messages import (
    AckMessage,
    Assignment,
    ChangeInvisibleDuration,
    ForwardToDeadLetterQueue,
    QueryAssignment,
    Received,
    ReceiveMessage,
)

ASSIGNMENTS, RETRY = "assignments", "retry"
_ASSIGNMENTS_EVERY_MS: Final = 5_000.0
_END_MS: Final = 1_000.0
"""close() waits so long after its listeners have ended."""


@dataclass(slots=True, eq=False)
class PushConsumer(ProxyClient):
    """A running push consumer."""

    assigned: dict[Asking, bool] = field(default_factory=dict)
    """Process queues, and whether the assignment has them still."""
    cached: dict[Asking, int] = field(default_factory=dict)
    """Process queue to the records that wait or are handled."""
    assignments: dict[int, str] = field(default_factory=dict)
    """Numbers of open questions, and their topics."""

    def begin(self, now: Time, out: Outbox) -> None:
        out.set_timer(ASSIGNMENTS, now + FIRST_MS)

    def answered(self, now: Time, asking: Asking | None, message: Message, out: Outbox) -> None:
        if isinstance(message, Assignment):
            self._assignment(now, message, out)
        elif isinstance(message, Received) and asking is not None:
            self._received(now, asking, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if timer == HEARTBEAT:
            self.beat(now, out)
        elif timer == ROUTES:
            self.ask_routes_again(now, out)
        elif timer == ASSIGNMENTS:
            self.assignments.clear()
            for topic in self.config.topics:
                self.assignments[self.ask(QueryAssignment, None, out, topic, self.config.group)] = topic
            out.set_timer(ASSIGNMENTS, now + _ASSIGNMENTS_EVERY_MS)
        elif timer == END:
            self.end(out)
        elif timer[0] == DONE:
            self._finished(now, timer[1], out)
        elif timer[0] == AGAIN:
            self._receive(now, timer[1], out)
        elif timer[0] == LATE:
            self.failed(now, timer[1], timer[2], out)
        else:
            self._begin_again(now, timer[1], out)

    def _assignment(self, now: Time, message: Assignment, out: Outbox) -> None:
        if self.assignments.pop(message.correlation, None) != message.topic or message.brokers is None:
            return
        topic, ordered = message.topic, self.config.settings.consume_message_orderly
        there = [(topic, broker, at) for broker, queues in message.brokers for at in range(queues if ordered else 1)]
        for known in self.assigned:
            if known[0] == topic:
                self.assigned[known] = known in there
        for new in there:
            if new not in self.assigned:
                self.assigned[new] = True
                self._receive(now, new, out)

    def _receive(self, now: Time, asking: Asking, out: Outbox) -> None:
        """Ask for records, unless too many wait or the process queue is gone."""
        settings = self.config.settings
        if self.closing or not self.assigned.get(asking):
            self.assigned.pop(asking, None)
            return
        if self.cached.get(asking, 0) >= max(1, settings.max_cache_message_count // len(self.assigned)):
            out.set_timer((AGAIN, asking), now + AGAIN_MS)
            return
        group, member = self.config.group, self.config.member
        topic, broker, _ = asking
        wants = settings.receive_batch_size, settings.polling_ms, settings.invisible_ms
        ordered = settings.consume_message_orderly
        number = self.ask(ReceiveMessage, asking, out, group, member, topic, broker, *wants, ordered, None)
        out.set_timer((LATE, asking, number), now + settings.polling_ms + REQUEST_TIMEOUT_MS)

    def failed(self, now: Time, asking: Asking, number: int, out: Outbox) -> None:
        self.asked.pop(number, None)
        out.cancel_timer((LATE, asking, number))
        if self.closing:
            self._end_if_done(now, out)
        else:
            out.set_timer((AGAIN, asking), now + AGAIN_MS)

    def _received(self, now: Time, asking: Asking, message: Received, out: Outbox) -> None:
        if not message.ok:
            self.failed(now, asking, message.correlation, out)
            return
        out.cancel_timer((LATE, asking, message.correlation))
        self.waiting += [Record(asking, handle) for handle in message.handles]
        self.cached[asking] = self.cached.get(asking, 0) + len(message.handles)
        self.hand_out(now, out)
        self._receive(now, asking, out)
        self._end_if_done(now, out)

    # The user's code.

    def hand_out(self, now: Time, out: Outbox) -> None:
        """Threads that are free turn to records that wait; in order, one of each process queue at a time."""
        threads, ordered = self.config.settings.consumption_thread_count, self.config.settings.consume_message_orderly
        busy = {work.record.asking for work in self.work.values()} if ordered else ()
        at = 0
        while len(self.work) < threads and at < len(self.waiting) and not self.away:
            if self.waiting[at].asking in busy:
                at += 1
                continue
            record = self.waiting.pop(at)
            if ordered:
                busy = {*busy, record.asking}
            self.take(now, record, out)

    def _finished(self, now: Time, number: int, out: Outbox) -> None:
        """The user's code has returned, or thrown."""
        work = self.work.pop(number)
        record, config = work.record, self.config
        whose, attempt = self.whose(record), record.handle.record.times + 1 + work.tries
        if self.works(record, attempt):
            self.tell_handled(now, work, out)
            self.ask(AckMessage, None, out, *whose, record.handle)
        elif not config.settings.consume_message_orderly:
            delay = retry_delay(attempt)
            self.ask(ChangeInvisibleDuration, None, out, *whose, record.handle, delay)
        elif attempt <= config.settings.retry_max_times:
            out.observe(StandsStill(config.group, config.member, record.queue, record.offset))
            self.work[number] = Work(record, now, now, work.tries + 1, rests=True)
            out.set_timer((RETRY, number), now + retry_delay(attempt))
            return
        else:
            why = f"given to the dead letters after {attempt} attempts"
            out.observe(PassedOver(config.group, config.member, record.queue, record.offset, why))
            self.ask(ForwardToDeadLetterQueue, None, out, *whose, record.handle)
        self.cached[record.asking] -= 1
        self.hand_out(now, out)
        self._end_if_done(now, out)

    def _begin_again(self, now: Time, number: int, out: Outbox) -> None:
        """In order: a record that failed is tried again by the same client."""
        work = self.work[number]
        self.try_record(now, number, Work(work.record, now, now + self.config.handle, work.tries), out)
        if self.away:
            self.hold(now, number, out)

    def topics_changed(self, topic: str, out: Outbox) -> None:
        for asking in self.assigned:
            if asking[0] == topic and topic not in self.config.topics:
                self.assigned[asking] = False

    def shut_down(self, now: Time, command: Shutdown, out: Outbox) -> None:
        """close(): nothing more is asked for; what is open ends first, and what has come is handled."""
        if not self.closing:
            self.closing = True
            out.cancel_timer(ASSIGNMENTS)
            for asking in self.assigned:
                out.cancel_timer((AGAIN, asking))
            self._end_if_done(now, out)

    def _end_if_done(self, now: Time, out: Outbox) -> None:
        if self.closing and not self.work and not self.waiting and not any(self.asked.values()):
            for timer in (HEARTBEAT, ROUTES):
                out.cancel_timer(timer)
            out.set_timer(END, now + _END_MS)
