"""What clients of RocketMQ's 5.x line (Java 5.2) have alike as nodes: they talk to the proxy alone, and the user's code
handles one record a thread."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from protocols.engine.nodes import OPERATOR, TICK, Message, Outbox, Time, TimerName
from protocols.facts import Delivered
from protocols.java import Queue
from protocols.load import PoisonRecords, poison_ahead, quickly_made
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
from rocketmq_selfbalance.pop import Handle
from rocketmq_selfbalance.popping.messages import ClientHeartbeat, NotifyClientTermination, QueryRoute
from rocketmq_selfbalance.popping.settings import PopSettings

HEARTBEAT, ROUTES, END = "heartbeat", "routes", "end"
DONE, AGAIN, LATE = "done", "again", "late"
"""Names of timers, or first parts of such."""
FIRST_MS: Final = 1_000.0
"""So long after its start a client says for the first time that it lives."""
HEARTBEAT_EVERY_MS: Final = 10_000.0
_ROUTES_FIRST_MS: Final = 10_000.0
_ROUTES_EVERY_MS: Final = 30_000.0
AGAIN_MS: Final = 1_000.0
"""A request that failed is asked again after so long."""
REQUEST_TIMEOUT_MS: Final = 3_000.0

_delivered = quickly_made(Delivered)

Asking: TypeAlias = tuple[str, str, int]
"""Topic, broker, and which of several requests."""


class PopConfig(NamedTuple):
    """A client as the user's program sets it up. ``handle``: milliseconds for one record."""

    group: str
    member: str
    topics: tuple[str, ...]
    settings: PopSettings
    proxy: str
    handle: Time = 0.0
    poison: PoisonRecords[Queue] = MappingProxyType({})


class Record(NamedTuple):
    """A record that waits or is handled: by which request it came."""

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
class ProxyClient(NodeState):
    """A running client. Commands: `rocketmq_selfbalance.client.commands`."""

    config: PopConfig
    correlation: int = 0
    asked: dict[int, Asking | None] = field(default_factory=dict)
    """Number of a request that is open to what it asks for records; None of one whose answer changes nothing."""
    waiting: list[Record] = field(default_factory=list)
    work: dict[int, Work] = field(default_factory=dict)
    begun: int = 0
    away: bool = False
    closing: bool = False
    is_over: bool = False
    client_id: str = ""

    def start(self, now: Time, out: Outbox) -> None:
        self.client_id = out.new_id(self.config.member)
        self.say(ClientHeartbeat, out)
        out.set_timer(HEARTBEAT, now + FIRST_MS)
        self.begin(now, out)
        self.ask_routes(self.config.topics, out)
        out.set_timer(ROUTES, now + _ROUTES_FIRST_MS)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if not self.is_over:
            if sender == OPERATOR:
                COMMANDS[type(message)](self, now, message, out)
            elif message[0] in self.asked:
                self.answered(now, self.asked.pop(message[0]), message, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing waits for a connection."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """The connection to the proxy was cut: what was asked has failed."""
        if not self.is_over:
            for number, asking in list(self.asked.items()):
                if asking is None:
                    del self.asked[number]
                else:
                    self.failed(now, asking, number, out)

    @abstractmethod
    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """A time has come."""

    @abstractmethod
    def answered(self, now: Time, asking: Asking | None, message: Message, out: Outbox) -> None:
        """The proxy has answered a request."""

    @abstractmethod
    def begin(self, now: Time, out: Outbox) -> None:
        """It has started."""

    @abstractmethod
    def failed(self, now: Time, asking: Asking, number: int, out: Outbox) -> None:
        """A request for records was answered with an error, or not at all."""

    @abstractmethod
    def hand_out(self, now: Time, out: Outbox) -> None:
        """Threads that are free turn to records that wait."""

    @abstractmethod
    def topics_changed(self, topic: str, out: Outbox) -> None:
        """The topic is subscribed from now on, or no more."""

    @abstractmethod
    def shut_down(self, now: Time, command: Shutdown, out: Outbox) -> None:
        """``close()``."""

    # Requests.

    def ask(self, kind: type[Any], asking: Asking | None, out: Outbox, *more: object, **named: object) -> int:
        self.correlation += 1
        self.asked[self.correlation] = asking
        out.send(self.config.proxy, kind(self.correlation, *more, **named))
        return self.correlation

    def ask_routes(self, topics: Sequence[str], out: Outbox) -> None:
        """Every kind of client asks for the routes of its topics (``ClientImpl.updateRouteCache``)."""
        for topic in topics:
            self.ask(QueryRoute, None, out, topic)

    def ask_routes_again(self, now: Time, out: Outbox) -> None:
        self.ask_routes(self.config.topics, out)
        out.set_timer(ROUTES, now + _ROUTES_EVERY_MS)

    def say(self, kind: type[ClientHeartbeat | NotifyClientTermination], out: Outbox) -> None:
        who = (self.config.group, self.config.member, self.client_id) if kind is ClientHeartbeat else ()
        self.ask(kind, None, out, *who)

    def beat(self, now: Time, out: Outbox) -> None:
        self.say(ClientHeartbeat, out)
        out.set_timer(HEARTBEAT, now + HEARTBEAT_EVERY_MS)

    def end(self, out: Outbox) -> None:
        """It takes leave, and is no more."""
        self.say(NotifyClientTermination, out)
        self.is_over = True
        out.close(self.config.proxy)

    # The user's code.

    def take(self, now: Time, record: Record, out: Outbox) -> None:
        """A thread turns to the record."""
        self.begun += 1
        self.try_record(now, self.begun, Work(record, now, now + self.config.handle), out)

    def try_record(self, now: Time, number: int, work: Work, out: Outbox) -> None:
        self.work[number] = work
        out.set_timer((DONE, number), work.until)

    def works(self, record: Record, attempt: int) -> bool:
        """Whether the code can handle the record in this attempt, counted from 1."""
        poison = poison_ahead(self.config.poison, record.queue, record.offset)
        if poison is None or poison.offset != record.offset:
            return True
        return poison.attempts is not None and attempt > poison.attempts

    def tell_handled(self, now: Time, work: Work, out: Outbox) -> None:
        config, record = self.config, work.record
        what = record.queue, record.offset, record.offset + 1, work.since, now
        out.observe(_delivered((config.group, config.member, *what, 1, config.handle or TICK, config.handle, 0.0)))

    def whose(self, record: Record) -> tuple[str, str, str, str]:
        """What a request about the record begins with."""
        return self.config.group, self.config.member, record.asking[0], record.asking[1]

    def hold(self, now: Time, number: int, out: Outbox) -> None:
        """The code stands still in the middle of a record."""
        work = self.work[number]
        work.left = max(0.0, work.until - now)
        out.cancel_timer((DONE, number))

    # Commands.

    def _stop_polling(self, now: Time, command: StopPolling, out: Outbox) -> None:
        self.away = True
        for number, work in self.work.items():
            if not work.rests:
                self.hold(now, number, out)

    def _go_on(self, now: Time, command: GoOn, out: Outbox) -> None:
        self.away = False
        for number, work in self.work.items():
            if work.left is not None:
                work.until, work.left = now + work.left, None
                out.set_timer((DONE, number), work.until)
        self.hand_out(now, out)

    def _take_for(self, now: Time, command: TakeFor, out: Outbox) -> None:
        self.config = self.config._replace(handle=command.handle)

    def _know_poison(self, now: Time, command: KnowPoison, out: Outbox) -> None:
        self.config = self.config._replace(poison=command.poison)

    def _subscribe(self, now: Time, command: Subscribe, out: Outbox) -> None:
        self.config = self.config._replace(topics=(*self.config.topics, command.topic))
        self.topics_changed(command.topic, out)

    def _unsubscribe(self, now: Time, command: Unsubscribe, out: Outbox) -> None:
        topics = tuple(topic for topic in self.config.topics if topic != command.topic)
        self.config = self.config._replace(topics=topics)
        self.topics_changed(command.topic, out)


COMMANDS: Final[Mapping[type[Message], Callable[[ProxyClient, Time, Any, Outbox], None]]] = {
    StopPolling: ProxyClient._stop_polling,
    GoOn: ProxyClient._go_on,
    TakeFor: ProxyClient._take_for,
    KnowPoison: ProxyClient._know_poison,
    Subscribe: ProxyClient._subscribe,
    Unsubscribe: ProxyClient._unsubscribe,
    Shutdown: lambda client, now, command, out: client.shut_down(now, command, out),
}
