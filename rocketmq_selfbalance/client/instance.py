"""The client instance: what all its consumers share, its threads, and what it tells the observer (spec 3.1).

The parts see it as their `World`. What to do with steps, calls and answers is in the tables that the node gives it.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeAlias

from protocols.engine.nodes import Message, Outbox, Time
from protocols.facts import Callback, Granted, Owns, Position, Transition
from protocols.queues import Queue, sort_queues
from rocketmq_selfbalance.client.calls import AwaitConsumeLock, Call, Failure, Sleep
from rocketmq_selfbalance.client.consumer import LITE_PULL, PUSH, Consumer
from rocketmq_selfbalance.client.outstanding import Asked, Pulled, SentBack
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.service import RebalanceService
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.client.threads import Handlers, Step, Thread, answer, run
from rocketmq_selfbalance.codes import MASTER_ID
from rocketmq_selfbalance.messages.locks import UnlockBatchMq
from rocketmq_selfbalance.messages.nameserver import Route
from rocketmq_selfbalance.messages.offsets import UpdateConsumerOffset
from rocketmq_selfbalance.states import (
    ABANDONED,
    ABSENT,
    DROP,
    LOCATING,
    LOCKING,
    PROCESS_QUEUE,
    RUNNING,
)

WAIT: Any = "wait"
"""What the beginning of a call gives where the thread has to wait; anything else is the answer."""

Begin: TypeAlias = Callable[["Instance", str, Thread, Any], Any]
"""Instance, thread's name, thread and call to the answer or `WAIT`."""

Understand: TypeAlias = Callable[["Instance", Any, Any], Any]
"""Instance, call and the message that answers it to the value that the call has."""


class Tables(NamedTuple):
    """Who takes what: steps of threads, calls, messages that answer calls."""

    steps: Handlers
    calls: Mapping[type[Any], Begin]
    answers: Mapping[type[Any], Understand]


class Instance:
    """State shared by the consumers of one client instance. ``now`` and ``out`` are those of the event at hand."""

    __slots__ = (
        "addresses",
        "askable",
        "asked",
        "client_id",
        "connections",
        "consumers",
        "correlation",
        "created",
        "dirty",
        "ended",
        "granted",
        "heartbeating",
        "life_of",
        "name_server",
        "name_servers",
        "now",
        "out",
        "owned",
        "pulled",
        "routes",
        "running",
        "sent_back",
        "service",
        "settings",
        "tables",
        "task_due",
        "threads",
        "watched",
    )

    def __init__(self, client_id: str, name_servers: tuple[str, ...], settings: ClientSettings, tables: Tables) -> None:
        self.client_id, self.name_servers, self.settings, self.tables = client_id, name_servers, settings, tables
        self.created: Time = 0.0
        self.now: Time = 0.0
        self.out: Outbox
        self.consumers: dict[str, Consumer] = {}
        """Group to its registered consumer, in the order of registration."""
        self.running = False
        """Whether the instance's own threads run."""
        self.ended = False
        """Whether the last consumer has shut down."""
        self.routes: dict[str, Route] = {}
        self.addresses: dict[str, dict[int, str]] = {}
        """Broker name to broker id to address."""
        self.askable: dict[str, tuple[Mapping[int, str], ...]] = {}
        """Topic to the brokers that can be asked for its members: broker id to address."""
        self.name_server = 0
        """Which of the name servers is asked: the same one until it fails."""
        self.connections: set[str] = set()
        self.threads: dict[str, Thread] = {}
        """Name to what it has still to do; a thread without work is not there."""
        self.watched: dict[str, Time] = {}
        """Thread to when the timer of its requests fires. It is not moved with each of them, but set again when it
        fires too early."""
        self.correlation = 0
        self.asked: dict[int, Asked] = {}
        self.pulled: dict[int, Pulled] = {}
        self.sent_back: dict[int, SentBack] = {}
        self.heartbeating = False
        """Whether a thread holds the heartbeat lock."""
        self.service = RebalanceService()
        self.task_due: dict[str, Time] = {}
        # What was told, for the observer alone.
        self.dirty: dict[str, None] = {}
        self.owned: dict[str, tuple[Queue, ...]] = {}
        self.granted: dict[str, dict[str, tuple[Queue, ...]]] = {}
        self.life_of: dict[tuple[str, Queue], str] = {}

    # Threads.

    def run(self, name: str, *steps: Step) -> None:
        """Let the thread of this name do these steps, after what it has still to do."""
        thread = self.threads.get(name)
        if thread is not None:
            thread.left[:0] = reversed(steps)
            return
        thread = self.threads[name] = Thread(*steps)
        self._drive(name, thread, run(self, thread, self.tables.steps))

    def resume(self, name: str, value: Any) -> None:
        """The call that the thread waits for has this answer."""
        thread = self.threads[name]
        self._drive(name, thread, answer(self, thread, value, self.tables.steps))

    def _drive(self, name: str, thread: Thread, call: Call | None) -> None:
        tables = self.tables
        while call is not None:
            value = tables.calls[type(call)](self, name, thread, call)
            if value is WAIT:
                return
            call = answer(self, thread, value, tables.steps)
        if self.threads.get(name) is thread:
            del self.threads[name]

    def stop(self, name: str) -> None:
        """End the thread where it stands."""
        if self.threads.pop(name, None) is not None:
            self.watched.pop(name, None)
            self.out.cancel_timer(("thread", name))
            for correlation in [number for number, asked in self.asked.items() if asked.thread == name]:
                del self.asked[correlation]

    def ask(self, thread: str, address: str, timeout: Time, kind: Callable[..., Message], *fields: Any) -> Any:
        """Send a request of this kind for this thread, which then waits for the answer. ``fields``: of the request,
        after its number."""
        correlation = self.next_correlation()
        until = self.now + timeout
        self.asked[correlation] = Asked(thread, address, until)
        due = self.watched.get(thread)
        if due is None or due > until:
            self._watch(thread, until)
        self.out.send(address, kind(correlation, *fields))
        return WAIT

    def _watch(self, thread: str, until: Time) -> None:
        self.watched[thread] = until
        self.out.set_timer(("thread", thread), until)

    def wait(self, thread: str, duration: Time) -> Any:
        """This thread waits so many milliseconds, or until it is told to go on."""
        self.watched.pop(thread, None)
        self.out.set_timer(("thread", thread), self.now + duration)
        return WAIT

    def answered(self, message: Any) -> None:
        """An answer has come in; nobody waits any more for one that is late."""
        asked = self.asked.pop(message.correlation, None)
        if asked is not None:
            call = self.threads[asked.thread].waiting
            self.resume(asked.thread, self.tables.answers[type(message)](self, call, message))

    def failed(self, addresses: Collection[str]) -> None:
        """Whoever waits for one of these addresses now waits in vain."""
        for correlation in [number for number, asked in self.asked.items() if asked.address in addresses]:
            asked = self.asked.pop(correlation, None)
            if asked is not None and asked.thread in self.threads:
                self.resume(asked.thread, Failure.FAILED)

    def is_overdue(self, name: str) -> bool:
        """The timer of a thread is due: whether it has waited long enough."""
        if self.watched.pop(name, None) is None:
            return True
        until = min((asked.until for asked in self.asked.values() if asked.thread == name), default=None)
        if until is not None and until > self.now:
            self._watch(name, until)
        return until is not None and until <= self.now

    def waited_enough(self, name: str) -> None:
        """A thread has waited long enough."""
        thread = self.threads.get(name)
        if thread is None:
            return
        for correlation in [number for number, asked in self.asked.items() if asked.thread == name]:
            del self.asked[correlation]
        match thread.waiting:
            case Sleep():
                self.resume(name, None)
            case AwaitConsumeLock():
                self.resume(name, False)
            case _:
                self.resume(name, Failure.FAILED)

    def abandon(self, group: str) -> None:
        """The consumer of this group is on its way out: nobody but the thread that ends it works for it any more."""
        for name, thread in self.threads.items():
            if name != "main":
                thread.left = [step for step in thread.left if getattr(step, "group", None) != group]
        for (of, queue), state in list(self.life_of.items()):
            if of == group and state in (LOCKING, LOCATING):
                self.life(self.consumers[group], queue, ABANDONED)

    def active(self) -> list[Consumer]:
        """The consumers that are registered and not on their way out."""
        return [consumer for consumer in self.consumers.values() if consumer.state == RUNNING]

    def next_correlation(self) -> int:
        """A number for the next request."""
        self.correlation += 1
        return self.correlation

    # The world of the parts.

    def consumer(self, group: str) -> Consumer:
        return self.consumers[group]

    def master(self, broker: str) -> str | None:
        return self.addresses.get(broker, {}).get(MASTER_ID)

    def replica(self, broker: str) -> str | None:
        return next(iter(self.addresses.get(broker, {}).values()), None)

    def has_route(self, topic: str) -> bool:
        return topic in self.routes

    def commit(self, consumer: Consumer, queue: Queue, offset: int, address: str) -> None:
        number = self.next_correlation()
        self.out.send(address, UpdateConsumerOffset(number, consumer.group, queue, offset, True))

    def unlock(self, consumer: Consumer, queues: tuple[Queue, ...], address: str) -> None:
        self.out.send(address, UnlockBatchMq(self.next_correlation(), consumer.group, self.client_id, queues, True))

    def unlock_later(self, consumer: Consumer, queue: Queue, delay: Time) -> None:
        self.out.set_timer(("unlock", consumer.group, queue), self.now + delay)

    def pull(self, consumer: Consumer, queue: Queue, offset: int, delay: Time) -> None:
        consumer.table[queue].next_offset = offset
        self.out.set_timer(("pull", consumer.group, queue), self.now + delay)

    def listener(self, consumer: Consumer, topic: str, all_queues: tuple[Queue, ...], own: tuple[Queue, ...]) -> None:
        self.out.observe(Callback(consumer.group, consumer.member, "assigned", own))
        if consumer.kind != PUSH:
            # Their own listener begins to pull what is new.
            self.out.set_timer(("assigned", consumer.group), self.now)

    def rebalance_later(self, delay: Time) -> None:
        self.out.set_timer(("wake", "a lock was refused"), self.now + delay)

    # What is told.

    def computed(self, consumer: Consumer, topic: str, target: tuple[Queue, ...]) -> None:
        granted = self.granted.setdefault(consumer.group, {})
        if granted.get(topic, ()) == target:
            return
        self.service.begin(self, consumer)
        granted[topic] = target
        self._tell_granted(consumer, granted)

    def _tell_granted(self, consumer: Consumer, granted: Mapping[str, tuple[Queue, ...]]) -> None:
        queues = sort_queues({queue for target in granted.values() for queue in target})
        self.out.observe(Granted(consumer.group, consumer.member, queues, None))

    def forget_granted(self, consumer: Consumer, topics: Mapping[str, Any]) -> None:
        """Only of these topics anything is computed any more."""
        granted = self.granted.get(consumer.group, {})
        gone = [topic for topic in granted if topic not in topics]
        for topic in gone:
            del granted[topic]
        if gone:
            self._tell_granted(consumer, granted)

    def drop(self, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, why: str) -> None:
        if not process_queue.dropped:
            process_queue.dropped = True
            self.life(consumer, queue, DROP)
            self.dirty[consumer.group] = None
            self.out.cancel_timer(("pull", consumer.group, queue))
            self.out.cancel_timer(("pull timeout", consumer.group, queue))
            # What comes after the drop is never delivered.
            of = consumer.group, queue, process_queue.number
            for number in [number for number, pulled in self.pulled.items() if pulled[:3] == of]:
                del self.pulled[number]

    def added(self, consumer: Consumer, queue: Queue, offset: int, why: str) -> None:
        self.dirty[consumer.group] = None
        if consumer.kind != LITE_PULL:
            self.out.observe(Position(consumer.group, consumer.member, queue, offset, why))

    def life(self, consumer: Consumer, queue: Queue, event: str, guard: str = "") -> None:
        key = consumer.group, queue
        before = self.life_of.get(key, ABSENT)
        after = PROCESS_QUEUE.next_state(before, event, guard)
        if after == before:
            return
        if after == ABSENT:
            del self.life_of[key]
        else:
            self.life_of[key] = after
        of = f"{consumer.member} {queue.topic}-{queue.broker}-{queue.number}"
        self.out.observe(Transition(PROCESS_QUEUE.name, of, before, event, after))

    def tell_owned(self) -> None:
        """Tell whose belief has changed by the event at hand."""
        for group in self.dirty:
            consumer = self.consumers.get(group)
            if consumer is None:
                continue
            queues = sort_queues(consumer.holds())
            if queues != self.owned.get(group, ()):
                self.owned[group] = queues
                self.service.begin(self, consumer)
                self.service.changed.add(group)
                self.out.observe(Owns(group, consumer.member, queues, None))
        self.dirty.clear()
