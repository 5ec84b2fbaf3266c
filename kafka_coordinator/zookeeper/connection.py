"""A consumer's session with ZooKeeper (connecting, pinging, requests that wait for answers), what it registers and
watches there, and why it is to rebalance (spec 7.2).

Times follow ZooKeeper's client: a ping each third of the session timeout, and a connection without a sign of life for
two thirds is given up. Requests that were not answered when the connection broke are asked again on the next one;
they are dropped where the session has expired meanwhile, which one learns only when connected again. A watch fires
once; it is set again at once, before anything is done about the change.

In ZooKeeper's client `ClientCnxn`; in Kafka 0.8 what is behind `ZkClient`, `ZKRebalancerListener.handleChildChange`,
`ZKTopicPartitionChangeListener` and `ZookeeperTopicEventWatcher`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_coordinator.zookeeper import messages
from kafka_coordinator.zookeeper.settings import ConsumerSettings
from protocols.engine.nodes import TICK, Message, Outbox, Time
from protocols.node_state import NodeState

SERVER = "zookeeper"
"""Node name of ZooKeeper."""

CONNECTING, CONNECTED, CLOSING, CLOSED = "connecting", "connected", "closing", "closed"
"""States of a connection."""

CONNECT, GIVE_UP, PING, CLOSE = "connect", "give up", "ping", "close"
"""Names of its timers."""


class Asked(NamedTuple):
    """A request that is not answered yet, and what it is for."""

    purpose: str
    request: messages.Request


@dataclass(slots=True, eq=False)
class Connection(NodeState):
    """A part of the consumer's node, which hands on what arrives for it."""

    _settings: ConsumerSettings
    correlation: int = 0
    """The number given last to a request."""
    opening: int = 0
    """That of the last attempt to open a session."""
    _heard: Time = 0.0
    asked: dict[int, Asked] = field(default_factory=dict)
    session: int = 0
    state: str = CONNECTING

    def begin(self, settings: ConsumerSettings) -> None:
        """Forget the session: the next one is new."""
        self._settings = settings
        self.state = CONNECTING
        self.session = 0
        self.asked = {}

    def first(self, now: Time, out: Outbox) -> None:
        """Connect for the first time, which must succeed within ``zookeeper.connection.timeout.ms``."""
        out.set_timer(GIVE_UP, now + self._settings.zookeeper_connection_timeout_ms)
        self.open(now, out)

    def give_up(self, out: Outbox) -> None:
        """The first connection took too long."""
        out.cancel_timer(CONNECT)
        out.close(SERVER)
        self.state = CLOSED

    def open(self, now: Time, out: Outbox) -> None:
        self.state = CONNECTING
        self.opening = self.correlation = self.correlation + 1
        out.send(SERVER, messages.OpenSession(self.opening, self._settings.zookeeper_session_timeout_ms, self.session))
        out.set_timer(CONNECT, now + self._settings.reconnect_pause_ms)

    def lost(self, now: Time, out: Outbox) -> None:
        self.state = CONNECTING
        out.cancel_timer(PING)
        out.set_timer(CONNECT, now + self._settings.reconnect_pause_ms)

    def heard(self, now: Time) -> None:
        self._heard = now

    def opened(self, now: Time, message: messages.SessionOpened, out: Outbox) -> bool:
        """Whether this begins a new session; else what was not answered is asked again."""
        if message.correlation != self.opening or self.state != CONNECTING:
            return False
        self.state = CONNECTED
        out.cancel_timer(CONNECT)
        out.cancel_timer(GIVE_UP)
        out.set_timer(PING, now + self._ping_ms())
        if message.session != self.session:
            self.session = message.session
            self.asked.clear()
            return True
        for number, asked in self.asked.items():
            out.send(SERVER, asked.request._replace(correlation=number))
        return False

    def ping(self, now: Time, out: Outbox) -> None:
        if now - self._heard >= 2 * self._ping_ms():
            out.close(SERVER)
            self.lost(now, out)
        else:
            out.send(SERVER, messages.Ping(0))
            out.set_timer(PING, now + self._ping_ms())

    def ask(self, purpose: str, request: messages.Request, out: Outbox) -> None:
        """Send a request; where there is no connection it waits for one."""
        self.correlation += 1
        self.asked[self.correlation] = Asked(purpose, request)
        if self.state == CONNECTED:
            out.send(SERVER, request._replace(correlation=self.correlation))

    def take(self, message: Message) -> Asked | None:
        """What this answers, or None if we do not wait for it (any more)."""
        return self.asked.pop(message[0], None)

    def end(self, now: Time, out: Outbox) -> None:
        """Nothing more will be asked: close the session as soon as all is answered. Gives up after its timeout."""
        out.cancel_timer(CONNECT)
        out.cancel_timer(GIVE_UP)
        out.cancel_timer(PING)
        self.state = CLOSING
        out.set_timer(CLOSE, now + self._settings.zookeeper_session_timeout_ms)
        self.end_if_answered(out)

    def end_if_answered(self, out: Outbox) -> None:
        """While closing: close the session if nothing is left to be answered."""
        if not self.asked:
            out.send(SERVER, messages.CloseSession(0))

    def _ping_ms(self) -> Time:
        return round(self._settings.zookeeper_session_timeout_ms / 3 / TICK) * TICK


WATCHING = "watching"
"""What a request is for: to register or to watch."""

LISTING = messages.GetChildren(0, messages.TOPICS, watch=True)
"""How a pattern subscriber learns what topics there are."""


class Subscription(NamedTuple):
    """Topics by name, or by a pattern."""

    topics: tuple[str, ...]
    pattern: str | None = None


@dataclass(slots=True, eq=False)
class Watching(NodeState):
    """A part of the consumer's node. ``due``: why a rebalance is due, in a few words; None: none is."""

    _group: str
    _subscription: Subscription
    topics: tuple[str, ...] = field(init=False)
    """Those subscribed to now; with a pattern, those that match."""
    due: str | None = None

    def __post_init__(self) -> None:
        self.topics = self._subscription.topics

    def register(self, consumer_id: str, connection: Connection, out: Outbox) -> None:
        """In a new session: make our node, watch the group and the partitions of our topics."""
        topics, pattern = self._subscription
        data = messages.Registration(tuple((topic, 1) for topic in topics), pattern)
        connection.ask(WATCHING, messages.Create(0, messages.member(self._group, consumer_id), data), out)
        connection.ask(WATCHING, messages.GetChildren(0, messages.members(self._group), watch=True), out)
        if pattern is not None:
            connection.ask(WATCHING, LISTING, out)
        self._watch(self.topics, connection, out)

    def watch_brokers(self, connection: Connection, out: Outbox) -> None:
        """There was no broker at all."""
        connection.ask(WATCHING, messages.GetChildren(0, messages.BROKERS, watch=True), out)

    def fired(self, event: messages.WatchEvent, connection: Connection, out: Outbox) -> None:
        """Watch again. A changed topic list matters only where the pattern matches other topics (`topics_listed`)."""
        kind = messages.GetData if event.kind == messages.DATA else messages.GetChildren
        again: messages.Request = kind(0, event.path, watch=True)
        connection.ask(WATCHING, again, out)
        if event.path == messages.members(self._group):
            self.due = "member list changed"
        elif event.path == messages.BROKERS:
            self.due = "brokers changed"
        elif event.path != messages.TOPICS:
            self.due = f"partitions of {event.path.rpartition('/')[2]} changed"

    def topics_listed(self, names: tuple[str, ...], connection: Connection, out: Outbox) -> None:
        topics = messages.matching(self._subscription.pattern or "", names)
        if topics != self.topics:
            self._watch(tuple(topic for topic in topics if topic not in self.topics), connection, out)
            self.topics = topics
            self.due = self.due or "topics that match the pattern changed"

    @staticmethod
    def is_listing(connection: Connection) -> bool:
        """Whether a pattern subscriber still waits to learn its topics."""
        return Asked(WATCHING, LISTING) in connection.asked.values()

    def _watch(self, topics: tuple[str, ...], connection: Connection, out: Outbox) -> None:
        for topic in topics:
            connection.ask(WATCHING, messages.GetData(0, messages.topic(topic), watch=True), out)
