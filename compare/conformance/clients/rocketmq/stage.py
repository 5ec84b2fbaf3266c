"""Where a situation of RocketMQ's clients is played: with a program on sockets, or with the model in the simulation."""

from dataclasses import dataclass, field
from typing import Final, Protocol

from compare.conformance.clients.exchanges import NEVER, Listener
from protocols.engine.interference import Hold, Interference
from protocols.engine.nodes import Message, Time
from protocols.java import Queue
from rocketmq_selfbalance.cluster import (
    NAME_SERVER,
    PULL_NOT_FOUND,
    PULL_RETRY_IMMEDIATELY,
    SUCCESS,
    GetRouteInfo,
    PullMessage,
    UpdateConsumerOffset,
)
from rocketmq_selfbalance.wire import ERRORS, code_of, kind_of, plain, queue_of, refusal

GROUP: Final = "judged"
TOPIC: Final = "records"
BROKERS: Final = ("broker-a", "broker-b")
SERVERS: Final = (NAME_SERVER, *BROKERS)
EACH: Final = 2
"""Queues at each broker."""
QUEUES: Final = tuple(Queue(TOPIC, broker, number) for broker in BROKERS for number in range(EACH))
FIRST, SECOND = "c1", "c2"
EVERY_MS: Final = 500.0
"""A record is written to every queue so often."""
READS_MS: Final = 1_800.0
"""A queue is read by whoever pulled there within so long: records wake a pull that is held."""
DELAY_LEVELS_S: Final = (1,) * 18
"""Of the brokers: what was sent back comes again soon."""
LOCK_MS: Final = 25_000.0
"""Of the brokers: a lock that nobody renews is free after this time, not after 60 s."""


@dataclass(slots=True)
class Exchange:
    """One request; ``answer`` is None while there is none. Times are milliseconds of the world."""

    at: Time
    member: str
    broker: str
    request: Message
    answer: Message | None = None
    answered_at: Time = NEVER

    @property
    def kind(self) -> type[Message]:
        """The type of the simulation's request."""
        return kind_of(self.request)

    @property
    def queue(self) -> Queue | None:
        """The queue that it is about, but of retry topics."""
        queue = queue_of(self.request)
        return queue if queue is not None and queue.topic == TOPIC else None

    @property
    def topic(self) -> str:
        """The topic whose route it asks for; empty for other requests."""
        return getattr(self.request, "topic", "") if self.kind is GetRouteInfo else ""

    @property
    def served(self) -> bool:
        """Whether it was not refused, or still waits as a pull may."""
        return self.answer is None or code_of(self.answer) in (SUCCESS, PULL_NOT_FOUND, PULL_RETRY_IMMEDIATELY)


@dataclass(slots=True)
class Mark:
    """When what is judged began: the time, the place in `Listener.all`, what the first member read then."""

    at: Time
    place: int
    had: frozenset[Queue]
    refused: Exchange | None = None


class World(Protocol):
    """What a stage needs of the world below it."""

    real: bool

    @property
    def now(self) -> Time: ...

    def start(self, member: str) -> None:
        """Start a program, or the model's client."""

    def stop(self, member: str) -> None:
        """Tell it to end properly."""

    def kill(self, member: str) -> None:
        """End its process at once."""

    def freeze(self, member: str) -> None:
        """Stop its process; its connections stay open."""

    def thaw(self, member: str) -> None:
        """Let its process go on."""

    def alive(self, member: str) -> bool:
        """Whether it was started and has not ended."""

    def cut(self, member: str) -> None:
        """Cut its connections with the brokers, as they do with one that is idle for too long."""

    def stop_broker(self, broker: str) -> None: ...

    def start_broker(self, broker: str) -> None: ...

    def running(self, broker: str) -> bool: ...


@dataclass(slots=True)
class Stage:
    """One situation while it is played."""

    world: World
    exchanges: Listener[Exchange]
    interference: Interference
    mark: Mark | None = None
    held: list[Hold] = field(default_factory=list)

    def begin(self, refused: Message | None = None) -> None:
        """What happens from now on is judged."""
        place = len(self.exchanges.all)
        if refused is not None:
            place = next(at for at, each in enumerate(self.exchanges.all) if each.request is refused) + 1
        self.mark = Mark(self.world.now, place, self.reads(FIRST), self.exchanges.all[place - 1] if refused else None)

    def reads(self, member: str) -> frozenset[Queue]:
        """The queues that it pulls from, without being refused."""
        now, found = self.world.now, set()
        for each in reversed(self.exchanges.all):
            if each.at < now - READS_MS:
                break
            if each.member == member and each.kind is PullMessage and each.queue is not None and each.served:
                found.add(each.queue)
        return frozenset(found)

    def settled(self) -> bool:
        """Whether every queue of a broker that runs is read by one program, and by one alone."""
        alive = [self.reads(member) for member in (FIRST, SECOND) if self.world.alive(member)]
        wanted = {queue for queue in QUEUES if self.world.running(queue.broker)}
        return set().union(*alive) >= wanted and sum(map(len, alive)) == len(set().union(*alive))

    def commits(self, member: str) -> bool:
        """Whether it has committed."""
        return any(each.kind is UpdateConsumerOffset and each.queue for each in self.exchanges.of(member))

    def refuse(self, kind: type[Message], error: str) -> None:
        """Answer the next request of this kind of the first member with an error, and judge from then on."""
        code = ERRORS[error]

        def answer(server: str, message: Message) -> Message:
            self.begin(message)
            return refusal(message, code, real=self.world.real)

        self.interference.reply(lambda *request: self._is_meant(kind, request[2]), answer, 1)

    def hold(self, kind: type[Message]) -> None:
        """Keep requests of this kind of the first member from the servers."""
        self.held.append(self.interference.hold(lambda *request: self._is_meant(kind, request[2])))

    def release(self) -> None:
        """Hand on what is held."""
        while self.held:
            self.interference.release(self.held.pop())

    def _is_meant(self, kind: type[Message], message: Message) -> bool:
        """A request of the first member; about a queue: one of the topic."""
        if kind_of(message) is not kind:
            return False
        queue = queue_of(message)
        if queue is not None and queue.topic != TOPIC:
            return False
        if getattr(plain(message), "topic", TOPIC) != TOPIC:
            return False
        found = next((each for each in reversed(self.exchanges.all) if each.request is message), None)
        return found is not None and found.member == FIRST
