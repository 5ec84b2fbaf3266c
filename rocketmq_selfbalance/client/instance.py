"""The client id, under which brokers and members know a client (``ClientConfig.buildMQClientId``; spec 3.1).

Requests of a client that were not answered yet, by the kind of who waits for them (the ``ResponseFuture`` objects of
RocketMQ's ``responseTable``).

The client instance: what all its consumers share (RocketMQ's ``MQClientInstance``; spec 3.1).

The parts see it as their `World`. What it tells the observer is in `observed`, how its threads run in `blocking`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Callback, Position
from protocols.java import Queue
from protocols.node_state import Apart, NodeState
from rocketmq_selfbalance.client.consumer import LITE_PULL, PUSH, Consumer, RebalanceService
from rocketmq_selfbalance.client.observed import Observed
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.client.threads import Handlers, Thread
from rocketmq_selfbalance.codes import BROADCASTING, CLUSTERING, MASTER_ID
from rocketmq_selfbalance.messages.nameserver import Route
from rocketmq_selfbalance.messages.offsets import UpdateConsumerOffset
from rocketmq_selfbalance.messages.requests import UnlockBatchMq
from rocketmq_selfbalance.states import DROP, RUNNING

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
    """Who takes what: steps of threads, calls, messages that answer calls."""

    steps: Handlers
    calls: Mapping[type, Begin]
    answers: Mapping[type, Understand]


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
    sent_back: dict[int, SentBack] = field(default_factory=dict)
    heartbeating: bool = False
    """Whether a thread holds the heartbeat lock."""
    service: RebalanceService = field(default_factory=RebalanceService)
    task_due: dict[str, Time] = field(default_factory=dict)
    observed: Observed = field(default_factory=Observed)

    def active(self) -> list[Consumer]:
        """The consumers that are registered and not on their way out."""
        return [consumer for consumer in self.consumers.values() if consumer.state == RUNNING]

    def next_correlation(self) -> int:
        """A number for the next request."""
        self.correlation += 1
        return self.correlation

    def tell_owned(self, out: Outbox) -> None:
        """Tell whose belief has changed by the event at hand."""
        self.observed.tell_owned(self.service, self.consumers, out)

    # The world of the parts.

    def consumer(self, group: str) -> Consumer:
        return self.consumers[group]

    def master(self, broker: str) -> str | None:
        return self.addresses.get(broker, {}).get(MASTER_ID)

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
        consumer.table[queue].next_offset = offset
        out.set_timer(("pull", consumer.group, queue), now + delay)

    def listener(
        self,
        now: Time,
        consumer: Consumer,
        topic: str,
        all_queues: tuple[Queue, ...],
        own: tuple[Queue, ...],
        out: Outbox,
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
