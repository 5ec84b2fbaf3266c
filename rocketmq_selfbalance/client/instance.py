"""The client instance: what all its consumers share (RocketMQ's ``MQClientInstance``; spec 3.1), its client id
(``ClientConfig.buildMQClientId``), and its requests that were not answered yet (``responseTable``).

The parts see it as their `World`; how its threads run is in `blocking`. `Observed` is what the observer was told last:
nothing in RocketMQ corresponds to it, and nothing that the client does depends on it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Callback, Granted, Owns, Position, Transition
from protocols.java import Queue, sort_queues
from protocols.load import quickly_made
from protocols.node_state import Apart, NodeState
from rocketmq_selfbalance.client.consumer import LITE_PULL, PUSH, Consumer, RebalanceService
from rocketmq_selfbalance.client.process_queue import PopProcessQueue, ProcessQueue
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.client.threads import Thread
from rocketmq_selfbalance.codes import BROADCASTING, CLUSTERING, MASTER_ID
from rocketmq_selfbalance.messages.nameserver import Route
from rocketmq_selfbalance.messages.offsets import UpdateConsumerOffset
from rocketmq_selfbalance.messages.requests import UnlockBatchMq
from rocketmq_selfbalance.states import ABANDONED, ABSENT, DROP, LOCATING, LOCKING, PROCESS_QUEUE, RUNNING

_transition = quickly_made(Transition)


@dataclass(slots=True, eq=False)
class Observed(NodeState):
    """``life_of``: group and queue to the state of `PROCESS_QUEUE`, where it is not ``ABSENT``."""

    dirty: dict[str, None] = field(default_factory=dict)
    """Groups whose consumer's belief may have changed by the event at hand."""
    owned: dict[str, tuple[Queue, ...]] = field(default_factory=dict)
    granted: dict[str, dict[str, tuple[Queue, ...]]] = field(default_factory=dict)
    """Group to topic to the queues that the last pass computed."""
    life_of: dict[tuple[str, Queue], str] = field(default_factory=dict)

    def computed(
        self, service: RebalanceService, consumer: Consumer, topic: str, target: tuple[Queue, ...], out: Outbox
    ) -> None:
        """The consumer is to own this of the topic, and is about to act on it."""
        granted = self.granted.setdefault(consumer.group, {})
        if granted.get(topic, ()) == target:
            return
        service.begin(consumer, out)
        granted[topic] = target
        _tell_granted(consumer, granted, out)

    def forget_granted(self, consumer: Consumer, topics: Collection[str], out: Outbox) -> None:
        """Only of these topics anything is computed any more."""
        granted = self.granted.get(consumer.group, {})
        gone = [topic for topic in granted if topic not in topics]
        for topic in gone:
            del granted[topic]
        if gone:
            _tell_granted(consumer, granted, out)

    def life(self, consumer: Consumer, queue: Queue, event: str, out: Outbox, guard: str = "") -> None:
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
        out.observe(_transition((PROCESS_QUEUE.name, of, before, event, after)))

    def abandon(self, consumer: Consumer, out: Outbox) -> None:
        """Nobody goes on to lock and locate queues for this consumer."""
        for (group, queue), state in list(self.life_of.items()):
            if group == consumer.group and state in (LOCKING, LOCATING):
                self.life(consumer, queue, ABANDONED, out)

    def tell_owned(self, service: RebalanceService, consumers: Mapping[str, Consumer], out: Outbox) -> None:
        for group in self.dirty:
            consumer = consumers.get(group)
            if consumer is None:
                continue
            queues = sort_queues(consumer.holds())
            if queues != self.owned.get(group, ()):
                self.owned[group] = queues
                service.begin(consumer, out)
                service.changed.add(group)
                out.observe(Owns(group, consumer.member, queues, None))
        self.dirty.clear()


def _tell_granted(consumer: Consumer, granted: Mapping[str, tuple[Queue, ...]], out: Outbox) -> None:
    queues = sort_queues({queue for target in granted.values() for queue in target})
    out.observe(Granted(consumer.group, consumer.member, queues, None))


Queues: TypeAlias = tuple[Queue, ...]

DEFAULT_INSTANCE = "DEFAULT"


def client_id(
    ip: str,
    instance_name: str = DEFAULT_INSTANCE,
    *,
    message_model: str = CLUSTERING,
    pid: int = 1,
    nano_time: int = 0,
    unit_name: str | None = None,
    stream: bool = False,
    version: str = "5.3",
) -> str:
    """``ip@instanceName[@unitName][@STREAM]``.

    The instance name ``DEFAULT`` of a CLUSTERING consumer becomes ``pid#nanoTime`` (4.5: the process id alone, so that
    all consumers of a process share one client); a BROADCASTING one keeps it, so that its offset file stays the same.
    Two processes that see the same address and the same name have the same id.
    """
    name = instance_name
    if name == DEFAULT_INSTANCE and message_model != BROADCASTING:
        name = str(pid) if version == "4.5" else f"{pid}#{nano_time}"
    parts = [ip, name, *([unit_name] if unit_name else []), *(["STREAM"] if stream else [])]
    return "@".join(parts)


class Asked(NamedTuple):
    """A request that a thread waits for."""

    thread: str
    address: str
    until: Time
    """When it is not waited for any more."""


class Pulled(NamedTuple):
    """A pull that is at a broker: of this group's queue, by the process queue of this number."""

    group: str
    queue: Queue
    number: int
    address: str


class Popping(NamedTuple):
    """A pop that is at a broker: of this group's pop queue of this number."""

    group: str
    source: Queue
    number: int
    address: str


class SentBack(NamedTuple):
    """Records that are on their way back to their broker."""

    group: str
    queue: Queue
    number: int
    first: int
    end: int
    address: str


class Wait(Enum):
    """What the beginning of a call gives where the thread has to wait; anything else is the answer."""

    WAIT = "wait"


WAIT = Wait.WAIT

Begin: TypeAlias = Callable[["Instance", Time, str, Thread, Any, Outbox], object]
"""Instance, time, thread's name, thread, call and outbox to the answer or `WAIT`."""

Understand: TypeAlias = Callable[["Instance", Any, Any], object]
"""Instance, call and the message that answers it to the value that the call has."""


class Tables(NamedTuple):
    """Who takes what: wake-ups of the rebalance thread, calls of threads, messages that answer calls."""

    wake: Callable[["Instance", Time, str, Outbox], None]
    calls: Mapping[type, Begin]
    answers: Mapping[type, Understand]


class WakeUp(NamedTuple):
    """Wake the rebalance thread; ``why`` says what for."""

    why: str

    def do(self, client: "Instance", now: Time, thread: Thread, out: Outbox) -> None:
        client.tables.wake(client, now, self.why, out)


@dataclass(slots=True, eq=False)
class Instance(NodeState):
    """State shared by the consumers of one client instance."""

    client_id: str
    name_servers: tuple[str, ...]
    settings: ClientSettings
    tables: Apart[Tables]
    created: Apart[Time] = 0.0
    consumers: dict[str, Consumer] = field(default_factory=dict)
    """Group to its registered consumer, in the order of registration (``consumerTable``)."""
    running: bool = False
    """Whether the instance's own threads run."""
    ended: bool = False
    """Whether the last consumer has shut down."""
    routes: dict[str, Route] = field(default_factory=dict)
    """Topic to its route (``topicRouteTable``)."""
    addresses: dict[str, dict[int, str]] = field(default_factory=dict)
    """Broker name to broker id to address (``brokerAddrTable``)."""
    askable: dict[str, tuple[Mapping[int, str], ...]] = field(default_factory=dict)
    """Topic to the brokers that can be asked for its members: broker id to address."""
    name_server: int = 0
    """Which of the name servers is asked: the same one until it fails."""
    connections: set[str] = field(default_factory=set)
    threads: dict[str, Thread] = field(default_factory=dict)
    """Name to what it has still to do; a thread without work is not there."""
    watched: dict[str, Time] = field(default_factory=dict)
    """Thread to when the timer of its requests fires. It is not moved with each of them, but set again when it
    fires too early."""
    correlation: int = 0
    """The number of the last request."""
    asked: dict[int, Asked] = field(default_factory=dict)
    pulled: dict[int, Pulled] = field(default_factory=dict)
    popping: dict[int, Popping] = field(default_factory=dict)
    sent_back: dict[int, SentBack] = field(default_factory=dict)
    heartbeating: bool = False
    """Whether a thread holds the heartbeat lock."""
    service: RebalanceService = field(default_factory=RebalanceService)
    task_due: dict[str, Time] = field(default_factory=dict)
    observed: Observed = field(default_factory=Observed)

    def active(self) -> list[Consumer]:
        return [consumer for consumer in self.consumers.values() if consumer.state == RUNNING]

    def next_correlation(self) -> int:
        self.correlation += 1
        return self.correlation

    def tell_owned(self, out: Outbox) -> None:
        self.observed.tell_owned(self.service, self.consumers, out)

    # The world of the parts.

    def consumer(self, group: str) -> Consumer:
        return self.consumers[group]

    def master(self, broker: str) -> str | None:
        addresses = self.addresses.get(broker)
        return None if addresses is None else addresses.get(MASTER_ID)

    def replica(self, broker: str) -> str | None:
        return next(iter(self.addresses.get(broker, {}).values()), None)

    def has_route(self, topic: str) -> bool:
        return topic in self.routes

    def commit(self, consumer: Consumer, queue: Queue, offset: int, address: str, out: Outbox) -> None:
        number = self.next_correlation()
        out.send(address, UpdateConsumerOffset(number, consumer.group, queue, offset, True))

    def unlock(self, consumer: Consumer, queues: tuple[Queue, ...], address: str, out: Outbox) -> None:
        out.send(address, UnlockBatchMq(self.next_correlation(), consumer.group, self.client_id, queues, True))

    def unlock_later(self, now: Time, consumer: Consumer, queue: Queue, delay: Time, out: Outbox) -> None:
        out.set_timer(("unlock", consumer.group, queue), now + delay)

    def pull(self, now: Time, consumer: Consumer, queue: Queue, offset: int, delay: Time, out: Outbox) -> None:
        process_queue = consumer.table.get(queue)
        if process_queue is None:
            return  # a reset has taken it away since it was added: its pull request is discarded
        process_queue.next_offset = offset
        out.set_timer(("pull", consumer.group, queue), now + delay)

    def pop(self, now: Time, consumer: Consumer, queue: Queue, delay: Time, out: Outbox) -> None:
        out.set_timer(("pop", consumer.group, queue), now + delay)

    def drop_popped(self, consumer: Consumer, queue: Queue, popped: PopProcessQueue, out: Outbox) -> None:
        popped.dropped = True
        out.cancel_timer(("pop", consumer.group, queue))

    def listener(
        self, now: Time, consumer: Consumer, topic: str, all_queues: Queues | None, own: Queues, out: Outbox
    ) -> None:
        out.observe(Callback(consumer.group, consumer.member, "assigned", own))
        if consumer.kind != PUSH:
            # Their own listener begins to pull what is new.
            out.set_timer(("assigned", consumer.group), now)

    def rebalance_later(self, now: Time, delay: Time, out: Outbox) -> None:
        out.set_timer(("wake", "a lock was refused"), now + delay)

    def computed(self, consumer: Consumer, topic: str, target: tuple[Queue, ...], out: Outbox) -> None:
        self.observed.computed(self.service, consumer, topic, target, out)

    def drop(self, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, why: str, out: Outbox) -> None:
        if not process_queue.dropped:
            process_queue.dropped = True
            self.observed.life(consumer, queue, DROP, out)
            self.observed.dirty[consumer.group] = None
            out.cancel_timer(("pull", consumer.group, queue))
            out.cancel_timer(("pull timeout", consumer.group, queue))
            # What comes after the drop is never delivered.
            of = consumer.group, queue, process_queue.number
            for number in [number for number, pulled in self.pulled.items() if pulled[:3] == of]:
                del self.pulled[number]

    def added(self, consumer: Consumer, queue: Queue, offset: int, why: str, out: Outbox) -> None:
        self.observed.dirty[consumer.group] = None
        if consumer.kind != LITE_PULL:
            out.observe(Position(consumer.group, consumer.member, queue, offset, why))

    def life(self, consumer: Consumer, queue: Queue, event: str, out: Outbox, guard: str = "") -> None:
        self.observed.life(consumer, queue, event, out, guard)
