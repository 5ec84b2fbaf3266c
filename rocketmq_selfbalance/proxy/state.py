"""What a proxy remembers: its clients with their settings and the messages that it keeps invisible for them, routes,
transactions, and what it has asked of brokers (spec grpc 2, 4). Plain state; the files beside work on it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from protocols.engine.nodes import Message, Outbox, Time
from rocketmq_selfbalance.messages.popping import Handle
from rocketmq_selfbalance.proxy.definitions import Settings
from rocketmq_selfbalance.proxy.requests import Answered, Call, Response
from rocketmq_selfbalance.proxy.routes import Directory, Routes
from rocketmq_selfbalance.proxy.settings import ProxySettings


@dataclass(slots=True)
class Client:
    """A client whose settings are known."""

    settings: Settings
    heard: Time
    """Of its last heartbeat, or of its settings."""

    @property
    def group(self) -> str:
        """Its group of consumers; empty for a producer."""
        subscription = self.settings.subscription
        return subscription.group.name if subscription is not None and subscription.group is not None else ""

    @property
    def publishes(self) -> tuple[str, ...]:
        """The topics that a producer sends to."""
        publishing = self.settings.publishing
        return () if publishing is None else tuple(topic.name for topic in publishing.topics)

    @property
    def fifo(self) -> bool:
        subscription = self.settings.subscription
        return subscription is not None and bool(subscription.fifo)

    @property
    def max_attempts(self) -> int:
        policy = self.settings.backoff_policy
        return policy.max_attempts if policy is not None else 0


class Kept(NamedTuple):
    """What a message that is renewed is known by: client id, group, message id, and the handle that it came with."""

    client_id: str
    group: str
    message_id: str
    first: str


@dataclass(slots=True)
class Renewed:
    """A message that the proxy keeps invisible for its client."""

    topic: str
    handle: Handle
    delivered: Time
    attempt: int
    renewals: int = 0
    failures: int = 0
    busy: bool = False
    """A change is on its way."""


class Stream(NamedTuple):
    """A stream of telemetry: its number, and the connection that it is on. One that is not open has ended, which the
    proxy finds out when it writes to it."""

    number: int
    peer: str
    is_open: bool = True


class HalfMessage(NamedTuple):
    """The first half of a transaction, as the proxy remembers it."""

    broker: str
    number: int
    until: Time


Then: TypeAlias = Callable[[Time, Message | None, Outbox], None]
"""What is done with a broker's answer; None: the broker is gone."""


@dataclass(slots=True)
class Proxy:
    """One proxy. ``port`` is what its clients are told; ``epoch_ms``: milliseconds from 1970 to the world's time 0."""

    settings: ProxySettings
    directory: Directory
    port: int
    epoch_ms: Time
    routes: Routes = field(init=False)
    clients: dict[str, Client] = field(default_factory=dict)
    renewed: dict[Kept, Renewed] = field(default_factory=dict)
    halves: dict[tuple[str, str], HalfMessage] = field(default_factory=dict)
    """Topic and id of a transaction to what can still be ended."""
    streams: dict[str, Stream] = field(default_factory=dict)
    """Client to the last of its streams of telemetry."""
    open: dict[int, str] = field(default_factory=dict)
    """Calls that wait for their answers, to the connections that they came on."""
    _asked: dict[int, tuple[str, Then]] = field(default_factory=dict)
    """Number of what was asked of a broker to the broker, and what is done with its answer."""
    _number: int = 0
    next_asked: int = 0
    """Which of a topic's producers is asked next what became of a transaction."""

    def __post_init__(self) -> None:
        self.routes = Routes(self.settings, self.directory)

    def wall(self, now: Time) -> int:
        """Milliseconds since 1970."""
        return int(now + self.epoch_ms)

    def answer(self, call: Call, out: Outbox, *responses: Response) -> None:
        """Answer a call, where anybody still waits for it."""
        self.stream(call, out, responses)

    def stream(self, call: Call, out: Outbox, made: tuple[Response, ...] | Callable[[], Iterator[Response]]) -> None:
        """The same, of responses that may be large."""
        peer = self.open.pop(call.correlation, None)
        if peer is not None:
            out.send(peer, Answered(call.correlation, made))

    def ask(self, broker: str, make: Callable[[int], Message], then: Then, out: Outbox) -> None:
        """Ask a broker: ``make`` gives the question with this number."""
        self._number += 1
        self._asked[self._number] = broker, then
        out.send(broker, make(self._number))

    def answered(self, now: Time, answer: Message, out: Outbox) -> None:
        """A broker has answered."""
        asked = self._asked.pop(getattr(answer, "correlation", 0), None)
        if asked is not None:
            asked[1](now, answer, out)

    def gone(self, now: Time, peer: str, out: Outbox) -> None:
        """A client's connection ended: nobody waits for its answers. Or a broker does not run: nothing that it was
        asked is answered."""
        self.open = {number: each for number, each in self.open.items() if each != peer}
        for client_id, stream in self.streams.items():
            if stream.peer == peer:
                self.streams[client_id] = stream._replace(is_open=False)
        gone = [number for number, (whom, _) in self._asked.items() if whom == peer]
        for then in [self._asked.pop(number)[1] for number in gone]:
            then(now, None, out)
