"""A 0.8 consumer: it registers in ZooKeeper, watches the group, and rebalances itself when a watch reports a change.

An event only sets a flag; one rebalance runs at a time, and what happens meanwhile makes one more (spec 7.2). While
the connection is down nothing changes: the consumer goes on fetching what it believes it owns.

In Kafka 0.8 `ZookeeperConsumerConnector` with `ZKSessionExpireListener`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.zookeeper.connection import (
    CLOSE,
    CLOSED,
    CLOSING,
    CONNECT,
    CONNECTED,
    GIVE_UP,
    LISTING,
    PING,
    Asked,
    Connection,
    Subscription,
    Watching,
)
from kafka_coordinator.zookeeper.consumption import SHARE, Consumption, User
from kafka_coordinator.zookeeper.messages import ChildrenAnswer, SessionClosed, SessionOpened, WatchEvent
from kafka_coordinator.zookeeper.rebalance import WORKING, Rebalancer, commits
from kafka_coordinator.zookeeper.settings import ConsumerSettings
from kafka_coordinator.zookeeper.topics import (
    CommitNow,
    Freeze,
    NewLoad,
    Reopen,
    ReportDelivered,
    Shutdown,
    TakeFor,
    Thaw,
)
from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.facts import Noted
from protocols.java import Queue
from protocols.load import PoisonRecords, Production
from protocols.node_state import NodeState

COMMITTING: Final = "committing"
"""What a request is for: offsets to store; `WORKING` is the other purpose."""

COMMIT: Final = "commit"
"""The timer of the periodic commit; `rebalancing.BACKOFF`, `SHARE` and `POISON` are the others of ours."""

POISON: Final = "poison"
"""The timer that is due when the user's loop comes to a record that it cannot handle, and when it skips it."""


class Who(NamedTuple):
    """A consumer: ``group`` and ``member`` are names in the scenario, ``host`` is a part of the consumer's id."""

    group: str
    member: str
    host: str


@dataclass(slots=True, init=False, eq=False)
class Consumer(NodeState):
    """The node."""

    _who: Who
    _subscription: Subscription
    _settings: ConsumerSettings
    _consumption: Consumption
    connection: Connection
    _next: Reopen | None
    """What to begin anew with, once closed."""
    _id: str
    _rebalancer: Rebalancer
    _watching: Watching

    def __init__(
        self,
        who: Who,
        subscription: Subscription,
        settings: ConsumerSettings,
        production: Mapping[Queue, Production],
        user: User,
        poison: PoisonRecords[Queue],
    ) -> None:
        """``poison``: records that the user's code cannot handle."""
        self._who, self._subscription, self._settings = who, subscription, settings
        self._consumption = Consumption(who.group, who.member, production, user, poison)
        self.connection = Connection(settings)
        self._next = None
        self._begin()

    def _begin(self) -> None:
        self._id = ""
        self._watching = Watching(self._who.group, self._subscription)
        self._rebalancer = Rebalancer(self._who.group, self._who.member, self._settings)

    def start(self, now: Time, out: Outbox) -> None:
        who = self._who
        made_up = out.new_id(f"{who.group}_{who.host}-{int(now)}")
        self._id = made_up[: len(made_up) - _UUID + _DIGITS]
        self.connection.first(now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if sender == OPERATOR:
            self._command(now, message, out)
            self._watch_poison(now, out)
            return
        connection = self.connection
        connection.heard(now)
        if isinstance(message, WatchEvent):
            if connection.state == CONNECTED:
                self._watching.fired(message, connection, out)
        elif isinstance(message, SessionOpened):
            first = connection.session == 0
            if connection.opened(now, message, out):
                self._new_session(now, first, out)
        elif isinstance(message, SessionClosed):
            self._ended(now, out)
        elif (asked := connection.take(message)) is not None:
            self._answered(now, asked, message, out)
        if connection.state == CONNECTED:
            self._rebalancer.begin(self._id, self._watching, connection, out)
        self._watch_poison(now, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """A timer of the connection, or one of ours."""
        if timer == CONNECT:
            self.connection.open(now, out)
        elif timer == GIVE_UP:
            self.connection.give_up(out)
            waited = self._settings.zookeeper_connection_timeout_ms
            out.observe(Noted(f"{self._who.member} gives up: no connection to ZooKeeper within {waited} ms"))
            self._ended(now, out)
        elif timer == PING:
            self.connection.ping(now, out)
        elif timer == CLOSE:
            self._ended(now, out)
        elif timer == COMMIT:
            self._consumption.report_delivered(now, out)
            self._commit(self._consumption.partitions(now), out)
            out.set_timer(COMMIT, now + self._settings.auto_commit_interval_ms)
        elif timer == SHARE:
            self._consumption.share_anew(now, out)
            self._watch_poison(now, out)
        elif timer == POISON:
            self._consumption.meet_poison(now, out)
            self._watch_poison(now, out)
        else:
            self._rebalancer.try_again(self.connection, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """We open the connection with our first request."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """Connect again after a pause; all else continues."""
        if self.connection.state == CLOSING:
            self._ended(now, out)
        elif self.connection.state != CLOSED:
            self.connection.lost(now, out)

    def _new_session(self, now: Time, first: bool, out: Outbox) -> None:
        """What we registered and owned is gone with the old session; the fetchers run on until a rebalance."""
        self._rebalancer.end(out)
        self._rebalancer.nodes = ()
        self._watching.register(self._id, self.connection, out)
        self._watching.due = "started" if first else "session expired"
        if first and self._settings.auto_commit_enable:
            out.set_timer(COMMIT, now + self._settings.auto_commit_interval_ms)

    def _answered(self, now: Time, asked: Asked, answer: Message, out: Outbox) -> None:
        if asked.purpose == WORKING:
            self._rebalancer.go_on(now, answer, self._watching, self.connection, self._consumption, out)
        elif asked.purpose == COMMITTING:
            self._rebalancer.stored(asked.request, out)
            if self.connection.state == CLOSING:
                self.connection.end_if_answered(out)
        elif isinstance(answer, ChildrenAnswer) and asked.request == LISTING:
            self._watching.topics_listed(answer.names, self.connection, out)

    # Offsets, commands, the end.

    def _watch_poison(self, now: Time, out: Outbox) -> None:
        if self._consumption.poison:
            due = self._consumption.poison_due(now)
            if due is None:
                out.cancel_timer(POISON)
            else:
                out.set_timer(POISON, due)

    def _commit(self, positions: Mapping[Partition, int], out: Outbox) -> None:
        for request in commits(self._who.group, positions):
            self.connection.ask(COMMITTING, request, out)

    def _command(self, now: Time, message: Message, out: Outbox) -> None:
        match message:
            case Shutdown():
                self._shut_down(now, out)
            case Reopen():
                self._next = message
                self._shut_down(now, out)
            case Freeze():
                self._consumption.report_delivered(now, out)
                self._consumption.freeze(now, out)
            case Thaw():
                self._consumption.thaw(now, out)
            case TakeFor(handle):
                self._consumption.take_for(now, handle, out)
            case NewLoad():
                self._consumption.report_delivered(now, out)
                self._consumption.load(now, message.production, message.poison, out)
            case ReportDelivered():
                self._consumption.report_delivered(now, out)
            case CommitNow(offsets=None):
                self._consumption.report_delivered(now, out)
                self._commit(self._consumption.partitions(now), out)
            case CommitNow(offsets=tuple(offsets)):
                self._commit({(topic, number): offset for topic, number, offset in offsets}, out)
            case _:
                raise TypeError(f"a consumer knows no command {message!r}")

    def _shut_down(self, now: Time, out: Outbox) -> None:
        """Stop fetching, commit, close the session: ZooKeeper fires the others' watches at once."""
        connection = self.connection
        if connection.state in (CLOSING, CLOSED):
            return
        reachable = connection.state == CONNECTED
        left = self._rebalancer.stop(now, self._consumption, out)
        self._rebalancer.end(out)
        self._watching.due = None
        out.cancel_timer(COMMIT)
        connection.asked.clear()
        for request in left:
            connection.ask(COMMITTING, request, out)
        connection.end(now, out)
        if not reachable:
            self._ended(now, out)

    def _ended(self, now: Time, out: Outbox) -> None:
        self.connection.state = CLOSED
        out.cancel_timer(CLOSE)
        out.cancel_timer(SHARE)
        out.cancel_timer(POISON)
        if self._next is not None:
            self._subscription = Subscription(self._next.topics, self._next.pattern)
            self._settings, self._next = self._next.settings, None
            self._begin()
            self.connection.begin(self._settings)
            self.start(now, out)


_UUID, _DIGITS = 36, 8
"""Kafka takes the first eight digits of a UUID."""
