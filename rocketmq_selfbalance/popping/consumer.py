"""A push consumer of RocketMQ's 5.x line (Java 5.2) as a node: it asks for records, handles them, acknowledges each.

In Java ``PushConsumerImpl``, ``ProcessQueueImpl``, ``StandardConsumeService`` and ``FifoConsumeService`` (spec pop 5).
A *process queue* here is one standing request: for a topic at one broker, or, in a group that is served in order, for
each of its queues there. It is asked again at once until enough records wait.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from protocols.engine.nodes import OPERATOR, TICK, Message, Outbox, Time, TimerName
from protocols.facts import Delivered, PassedOver, StandsStill
from protocols.java import Queue
from protocols.load import PoisonRecord, PoisonRecords, poison_ahead, quickly_made
from protocols.node_state import NodeState
from rocketmq_selfbalance.client.commands import (
    GoOn,
    KnowPoison,
    Shutdown,
    StopPolling,
    Subscribe,
    TakeFor,
    Unsubscribe,
)
from rocketmq_selfbalance.messages.requests import Answer
from rocketmq_selfbalance.pop import Handle, retry_delay
from rocketmq_selfbalance.popping.messages import (
    AckMessage,
    Assignment,
    ChangeInvisibleDuration,
    ClientHeartbeat,
    Done,
    ForwardToDeadLetterQueue,
    NotifyClientTermination,
    QueryAssignment,
    Received,
    ReceiveMessage,
)
from rocketmq_selfbalance.popping.settings import PopSettings

HEARTBEAT, ASSIGNMENTS, END = "heartbeat", "assignments", "end"
DONE, AGAIN, LATE, RETRY = "done", "again", "late", "retry"
"""First parts of timers' names."""
_FIRST_MS: Final = 1_000.0
_HEARTBEAT_EVERY_MS: Final = 10_000.0
_ASSIGNMENTS_EVERY_MS: Final = 5_000.0
_AGAIN_MS: Final = 1_000.0
"""A request that failed is asked again after so long, and so is one that found the cache full."""
_REQUEST_TIMEOUT_MS: Final = 3_000.0
_END_MS: Final = 1_000.0
"""close() waits so long after its listeners have ended."""

_delivered = quickly_made(Delivered)

Asking: TypeAlias = tuple[str, str, int]
"""Topic, broker, and which of several requests: a process queue."""


class PopConfig(NamedTuple):
    """A push consumer as the user's program sets it up. ``handle``: milliseconds for one record."""

    group: str
    member: str
    topics: tuple[str, ...]
    settings: PopSettings
    proxy: str
    handle: Time = 0.0
    poison: PoisonRecords[Queue] = MappingProxyType({})


class Record(NamedTuple):
    """A record that waits or is handled: by which process queue it came."""

    asking: Asking
    handle: Handle

    @property
    def queue(self) -> Queue:
        return Queue(self.asking[0], self.asking[1], self.handle.record.number)

    @property
    def offset(self) -> int:
        return self.handle.record.offset


@dataclass(slots=True)
class Work(NodeState):
    """A thread at a record; ``left``: milliseconds that it still takes where the user's code stands still. ``tries``:
    how often this client tried it before, in order; ``rests``: it waits for its next try."""

    record: Record
    since: Time
    until: Time
    tries: int = 0
    left: Time | None = None
    rests: bool = False


@dataclass(slots=True, eq=False)
class PushConsumer(NodeState):
    """A running push consumer. Commands: `rocketmq_selfbalance.client.commands`."""

    config: PopConfig
    correlation: int = 0
    asked: dict[int, Asking | None] = field(default_factory=dict)
    """Number of a request that is open to its process queue; None of one whose answer changes nothing."""
    assigned: dict[Asking, bool] = field(default_factory=dict)
    """Process queues, and whether the assignment has them still."""
    waiting: list[Record] = field(default_factory=list)
    cached: dict[Asking, int] = field(default_factory=dict)
    """Process queue to the records that wait or are handled."""
    work: dict[int, Work] = field(default_factory=dict)
    begun: int = 0
    away: bool = False
    closing: bool = False
    is_over: bool = False
    client_id: str = ""
    assignments: dict[int, str] = field(default_factory=dict)
    """Numbers of open questions, and their topics."""

    def start(self, now: Time, out: Outbox) -> None:
        self.client_id = out.new_id(self.config.member)
        self._say(ClientHeartbeat, out)
        out.set_timer(HEARTBEAT, now + _FIRST_MS)
        out.set_timer(ASSIGNMENTS, now + _FIRST_MS)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if not self.is_over:
            if sender == OPERATOR:
                _COMMANDS[type(message)](self, now, message, out)
            elif message[0] in self.asked:
                asking = self.asked.pop(message[0])
                _ANSWERS[type(message)](self, now, asking, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if timer == HEARTBEAT:
            self._say(ClientHeartbeat, out)
            out.set_timer(HEARTBEAT, now + _HEARTBEAT_EVERY_MS)
        elif timer == ASSIGNMENTS:
            self.assignments.clear()
            for topic in self.config.topics:
                self.assignments[self._ask(QueryAssignment, None, out, topic)] = topic
            out.set_timer(ASSIGNMENTS, now + _ASSIGNMENTS_EVERY_MS)
        elif timer == END:
            self._say(NotifyClientTermination, out)
            self.is_over = True
            out.close(self.config.proxy)
        elif timer[0] == DONE:
            self._finished(now, timer[1], out)
        elif timer[0] == AGAIN:
            self._receive(now, timer[1], out)
        elif timer[0] == LATE:
            self._failed(now, timer[1], timer[2], out)
        else:
            self._begin_again(now, timer[1], out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing waits for a connection."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """The connection to the proxy was cut: what was asked has failed."""
        if not self.is_over:
            for number, asking in list(self.asked.items()):
                if asking is None:
                    del self.asked[number]
                else:
                    self._failed(now, asking, number, out)

    # Requests.

    def _ask(self, kind: type[Any], asking: Asking | None, out: Outbox, *more: object) -> int:
        self.correlation += 1
        self.asked[self.correlation] = asking
        out.send(self.config.proxy, kind(self.correlation, *more))
        return self.correlation

    def _say(self, kind: type[ClientHeartbeat | NotifyClientTermination], out: Outbox) -> None:
        who = (self.config.group, self.config.member, self.client_id) if kind is ClientHeartbeat else ()
        self._ask(kind, None, out, *who)

    def _assignment(self, now: Time, asking: Asking | None, message: Assignment, out: Outbox) -> None:
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
            out.set_timer((AGAIN, asking), now + _AGAIN_MS)
            return
        group, member = self.config.group, self.config.member
        topic, broker, _ = asking
        wants = settings.receive_batch_size, settings.polling_ms, settings.invisible_ms
        ordered = settings.consume_message_orderly
        number = self._ask(ReceiveMessage, asking, out, group, member, topic, broker, *wants, ordered, None)
        out.set_timer((LATE, asking, number), now + settings.polling_ms + _REQUEST_TIMEOUT_MS)

    def _failed(self, now: Time, asking: Asking, number: int, out: Outbox) -> None:
        self.asked.pop(number, None)
        out.cancel_timer((LATE, asking, number))
        if self.closing:
            self._end_if_done(now, out)
        else:
            out.set_timer((AGAIN, asking), now + _AGAIN_MS)

    def _received(self, now: Time, asking: Asking | None, message: Received, out: Outbox) -> None:
        assert asking is not None
        if not message.ok:
            self._failed(now, asking, message.correlation, out)
            return
        out.cancel_timer((LATE, asking, message.correlation))
        self.waiting += [Record(asking, handle) for handle in message.handles]
        self.cached[asking] = self.cached.get(asking, 0) + len(message.handles)
        self._hand_out(now, out)
        self._receive(now, asking, out)
        self._end_if_done(now, out)

    def _done(self, now: Time, asking: Asking | None, message: Done, out: Outbox) -> None:
        """Nobody waits for it: an acknowledgement that comes too late has no effect."""

    # The user's code.

    def _hand_out(self, now: Time, out: Outbox) -> None:
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
            self.begun += 1
            self._begin(now, self.begun, Work(record, now, now + self.config.handle), out)

    def _begin(self, now: Time, number: int, work: Work, out: Outbox) -> None:
        self.work[number] = work
        out.set_timer((DONE, number), work.until)

    def _finished(self, now: Time, number: int, out: Outbox) -> None:
        """The user's code has returned, or thrown."""
        work = self.work.pop(number)
        record, config = work.record, self.config
        poison = self._poison(record)
        whose = config.group, config.member, *record.asking[:2]
        attempt = record.handle.record.times + 1 + work.tries
        if poison is None or (poison.attempts is not None and attempt > poison.attempts):
            what = record.queue, record.offset, record.offset + 1, work.since
            out.observe(_delivered((config.group, config.member, *what, 1, config.handle or TICK, config.handle, 0.0)))
            self._ask(AckMessage, None, out, *whose, record.handle)
        elif not config.settings.consume_message_orderly:
            delay = retry_delay(attempt)
            self._ask(ChangeInvisibleDuration, None, out, *whose, record.handle, delay)
        elif attempt <= config.settings.retry_max_times:
            out.observe(StandsStill(config.group, config.member, record.queue, record.offset))
            self.work[number] = Work(record, now, now, work.tries + 1, rests=True)
            out.set_timer((RETRY, number), now + retry_delay(attempt))
            return
        else:
            why = f"given to the dead letters after {attempt} attempts"
            out.observe(PassedOver(config.group, config.member, record.queue, record.offset, why))
            self._ask(ForwardToDeadLetterQueue, None, out, *whose, record.handle)
        self.cached[record.asking] -= 1
        self._hand_out(now, out)
        self._end_if_done(now, out)

    def _begin_again(self, now: Time, number: int, out: Outbox) -> None:
        """In order: a record that failed is tried again by the same client."""
        work = self.work[number]
        self._begin(now, number, Work(work.record, now, now + self.config.handle, work.tries), out)
        if self.away:
            self._hold(now, number, out)

    def _poison(self, record: Record) -> PoisonRecord | None:
        poison = poison_ahead(self.config.poison, record.queue, record.offset)
        return poison if poison is not None and poison.offset == record.offset else None

    def _hold(self, now: Time, number: int, out: Outbox) -> None:
        work = self.work[number]
        work.left = max(0.0, work.until - now)
        out.cancel_timer((DONE, number))

    # Commands.

    def _stop_polling(self, now: Time, command: StopPolling, out: Outbox) -> None:
        self.away = True
        for number, work in self.work.items():
            if not work.rests:
                self._hold(now, number, out)

    def _go_on(self, now: Time, command: GoOn, out: Outbox) -> None:
        self.away = False
        for number, work in self.work.items():
            if work.left is not None:
                work.until, work.left = now + work.left, None
                out.set_timer((DONE, number), work.until)
        self._hand_out(now, out)

    def _take_for(self, now: Time, command: TakeFor, out: Outbox) -> None:
        self.config = self.config._replace(handle=command.handle)

    def _know_poison(self, now: Time, command: KnowPoison, out: Outbox) -> None:
        self.config = self.config._replace(poison=command.poison)

    def _subscribe(self, now: Time, command: Subscribe, out: Outbox) -> None:
        self.config = self.config._replace(topics=(*self.config.topics, command.topic))

    def _unsubscribe(self, now: Time, command: Unsubscribe, out: Outbox) -> None:
        topics = tuple(topic for topic in self.config.topics if topic != command.topic)
        self.config = self.config._replace(topics=topics)
        for asking in self.assigned:
            if asking[0] == command.topic:
                self.assigned[asking] = False

    def _shut_down(self, now: Time, command: Shutdown, out: Outbox) -> None:
        """close(): nothing more is asked for; what is open ends first, and what has come is handled."""
        if not self.closing:
            self.closing = True
            out.cancel_timer(ASSIGNMENTS)
            for asking in self.assigned:
                out.cancel_timer((AGAIN, asking))
            self._end_if_done(now, out)

    def _end_if_done(self, now: Time, out: Outbox) -> None:
        if self.closing and not self.work and not self.waiting and not any(self.asked.values()):
            out.cancel_timer(HEARTBEAT)
            out.set_timer(END, now + _END_MS)


_ANSWERS: Final[Mapping[type[Message], Callable[[PushConsumer, Time, Asking | None, Any, Outbox], None]]] = {
    Answer: lambda consumer, now, asking, message, out: None,
    Assignment: PushConsumer._assignment,
    Received: PushConsumer._received,
    Done: PushConsumer._done,
}

_COMMANDS: Final[Mapping[type[Message], Callable[[PushConsumer, Time, Any, Outbox], None]]] = {
    StopPolling: PushConsumer._stop_polling,
    GoOn: PushConsumer._go_on,
    TakeFor: PushConsumer._take_for,
    KnowPoison: PushConsumer._know_poison,
    Subscribe: PushConsumer._subscribe,
    Unsubscribe: PushConsumer._unsubscribe,
    Shutdown: PushConsumer._shut_down,
}
