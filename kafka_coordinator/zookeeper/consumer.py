"""A 0.8 consumer: it registers in ZooKeeper, watches the group, and rebalances itself when it is told of a change.

An event only sets a flag; one rebalance runs at a time, and what happens meanwhile makes one more (spec 7.2). While
the connection is down nothing changes: the consumer goes on fetching what it believes it owns.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.zookeeper.assignment import ASSIGNMENTS
from kafka_coordinator.zookeeper.connection import (
    CLOSE,
    CLOSED,
    CLOSING,
    CONNECT,
    CONNECTED,
    PING,
    Asked,
    Connection,
)
from kafka_coordinator.zookeeper.consuming import Consumption, as_queues
from kafka_coordinator.zookeeper.messages import (
    ChildrenAnswer,
    CommitNow,
    Freeze,
    NewLoad,
    Reopen,
    Request,
    SessionClosed,
    SessionOpened,
    SetData,
    Shutdown,
    TellDelivered,
    Thaw,
    WatchEvent,
)
from kafka_coordinator.zookeeper.rebalance import Failed, Rebalance, Stage, commits, releases
from kafka_coordinator.zookeeper.settings import ConsumerSettings
from kafka_coordinator.zookeeper.watching import LISTING, Subscription, Watching
from protocols.facts import Committed, Granted, Noted, RebalanceBegan, RebalanceEnded
from protocols.load import Production
from protocols.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.queues import Queue

WORKING, COMMITTING = "working", "committing"
"""What a request is for: the rebalance that runs, offsets to store."""

BACKOFF, COMMIT = "backoff", "commit"
"""Timers: the pause between two tries, the periodic commit."""


class Who(NamedTuple):
    """A consumer: ``group`` and ``member`` are names in the scenario, ``host`` goes into the consumer's id."""

    group: str
    member: str
    host: str


class Consumer:
    """The node."""

    __slots__ = (
        "_connection",
        "_consumption",
        "_id",
        "_next",
        "_nodes",
        "_run",
        "_settings",
        "_subscription",
        "_watching",
        "_who",
    )

    def __init__(
        self,
        who: Who,
        subscription: Subscription,
        settings: ConsumerSettings,
        production: Mapping[Queue, Production],
        handle: float,
    ) -> None:
        """``handle``: milliseconds that the user takes for a record."""
        self._who, self._subscription, self._settings = who, subscription, settings
        self._consumption = Consumption(who.group, who.member, production, handle)
        self._connection = Connection(settings)
        self._next: Reopen | None = None
        """What to begin anew with, once closed."""
        self._begin()

    def _begin(self) -> None:
        self._id = ""
        self._watching = Watching(self._who.group, self._subscription)
        self._run: Rebalance | None = None
        self._nodes: tuple[Partition, ...] = ()
        """The owner nodes we have created and not given up."""

    def start(self, now: Time, out: Outbox) -> None:
        """Make an id and open a session."""
        who = self._who
        made_up = out.new_id(f"{who.group}_{who.host}-{int(now)}")
        self._id = made_up[: len(made_up) - _UUID + _DIGITS]
        self._connection.open(now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        """An answer, a watch that fired, a command."""
        if sender == OPERATOR:
            self._command(now, message, out)
            return
        connection = self._connection
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
        self._work(now, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """A timer of the connection, or one of ours."""
        if timer == CONNECT:
            self._connection.open(now, out)
        elif timer == PING:
            self._connection.ping(now, out)
        elif timer == CLOSE:
            self._ended(now, out)
        elif timer == COMMIT:
            self._consumption.tell(now, out)
            self._commit(self._consumption.partitions(now), out)
            out.set_timer(COMMIT, now + self._settings.auto_commit_interval_ms)
        elif self._run is not None:
            self._run.begin()
            self._ask_next(self._run, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """We open the connection with our first request."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """Connect again after a pause; all else goes on."""
        if self._connection.state == CLOSING:
            self._ended(now, out)
        elif self._connection.state != CLOSED:
            self._connection.lost(now, out)

    def copy(self) -> Self:
        """An independent copy."""
        new = object.__new__(type(self))
        for name in Consumer.__slots__:
            setattr(new, name, getattr(self, name))
        new._connection, new._consumption = self._connection.copy(), self._consumption.copy()
        new._watching = self._watching.copy()
        new._run = None if self._run is None else self._run.copy()
        return new

    def key(self, now: Time) -> tuple[Any, ...]:
        """The state, without numbers of requests."""
        return (
            self._id,
            self._watching.key(),
            self._next,
            self._nodes,
            None if self._run is None else self._run.key(),
            self._connection.key(now),
            self._consumption.key(now),
        )

    def _new_session(self, now: Time, first: bool, out: Outbox) -> None:
        """What we registered and owned is gone with the old session; the fetchers run on until a rebalance."""
        self._nodes, self._run = (), None
        out.cancel_timer(BACKOFF)
        self._watching.register(self._id, self._connection, out)
        self._watching.due = "started" if first else "session expired"
        if first and self._settings.auto_commit_enable:
            out.set_timer(COMMIT, now + self._settings.auto_commit_interval_ms)

    def _answered(self, now: Time, asked: Asked, answer: Message, out: Outbox) -> None:
        if asked.purpose == WORKING:
            self._step(now, answer, out)
        elif asked.purpose == COMMITTING:
            self._stored(asked.request, out)
            if self._connection.state == CLOSING:
                self._connection.end_if_answered(out)
        elif isinstance(answer, ChildrenAnswer) and asked.request == LISTING:
            self._watching.listed(answer.names, self._connection, out)

    # The rebalance.

    def _work(self, now: Time, out: Outbox) -> None:
        """Begin a rebalance if one is due and none runs. A pattern subscriber learns its topics first."""
        watching, connection = self._watching, self._connection
        if watching.due is None or self._run is not None or connection.state != CONNECTED:
            return
        if watching.is_listing(connection):
            return
        assign = ASSIGNMENTS[self._settings.partition_assignment_strategy]
        self._run = Rebalance(watching.due, self._who.group, self._id, watching.topics, assign)
        out.observe(RebalanceBegan(self._who.group, watching.due, None, None, self._who.member))
        watching.due = None
        self._ask_next(self._run, out)

    def _ask_next(self, run: Rebalance, out: Outbox) -> None:
        self._connection.ask(WORKING, run.todo[0], out)

    def _step(self, now: Time, answer: Message, out: Outbox) -> None:
        """The rebalance goes on with this answer, through stages that ask nothing."""
        run = self._run
        assert run is not None
        try:
            request = run.todo[0]
            run.take(answer)
            if isinstance(request, SetData):
                self._stored(request, out)
            while not run.todo:
                match run.advance():
                    case Stage.COMMIT:
                        run.also_ask(self._stop(now, out))
                    case Stage.RELEASE:
                        run.also_ask(releases(self._who.group, self._nodes))
                    case Stage.PARTITIONS:
                        self._nodes = ()
                    case Stage.OFFSETS:
                        out.observe(Granted(self._who.group, self._who.member, as_queues(run.share), None))
                    case Stage.DONE:
                        self._nodes = tuple(run.claimed)
                        largest = self._settings.auto_offset_reset == "largest"
                        self._consumption.start(now, run.offsets, largest, out)
                        self._over(bool(run.share), out)
                        return
                    case Stage.NO_BROKER:
                        self._watching.watch_brokers(self._connection, out)
                        self._over(False, out)
                        return
                    case _:
                        pass
        except Failed as reason:
            self._failed(now, run, str(reason), out)
            return
        self._ask_next(run, out)

    def _failed(self, now: Time, run: Rebalance, reason: str, out: Outbox) -> None:
        run.wait()
        member, tries = self._who.member, self._settings.rebalance_max_retries
        out.observe(Noted(f"{member}: try {run.attempt} of {tries} failed: {reason}"))
        if run.attempt < tries:
            out.set_timer(BACKOFF, now + self._settings.backoff_ms)
        else:
            out.observe(Noted(f"{member}: gives up and owns nothing, but stays registered"))
            self._over(False, out)

    def _over(self, changed: bool, out: Outbox) -> None:
        self._run = None
        out.observe(RebalanceEnded(self._who.group, None, changed, self._who.member))

    # Offsets, commands, the end.

    def _stop(self, now: Time, out: Outbox) -> list[Request]:
        """Own nothing from now on; what to commit."""
        positions = self._consumption.stop(now, out)
        return commits(self._who.group, positions) if self._settings.auto_commit_enable else []

    def _commit(self, positions: Mapping[Partition, int], out: Outbox) -> None:
        for request in commits(self._who.group, positions):
            self._connection.ask(COMMITTING, request, out)

    def _stored(self, request: Request, out: Outbox) -> None:
        """ZooKeeper takes every offset, whoever writes it."""
        assert isinstance(request, SetData)
        _, topic, number = request.path.rsplit("/", 2)
        queue = Queue(topic, "", int(number))
        out.observe(Committed(self._who.group, queue, request.data, self._who.member, None, ""))

    def _command(self, now: Time, message: Message, out: Outbox) -> None:
        match message:
            case Shutdown():
                self._shut_down(now, out)
            case Reopen():
                self._next = message
                self._shut_down(now, out)
            case Freeze():
                self._consumption.tell(now, out)
                self._consumption.freeze(now)
            case Thaw():
                self._consumption.thaw(now)
            case NewLoad():
                self._consumption.tell(now, out)
                self._consumption.production = message.production
            case TellDelivered():
                self._consumption.tell(now, out)
            case CommitNow(offsets=None):
                self._consumption.tell(now, out)
                self._commit(self._consumption.partitions(now), out)
            case CommitNow(offsets=tuple(offsets)):
                self._commit({(topic, number): offset for topic, number, offset in offsets}, out)
            case _:
                raise TypeError(f"a consumer knows no command {message!r}")

    def _shut_down(self, now: Time, out: Outbox) -> None:
        """Stop fetching, commit, close the session: ZooKeeper tells the others at once."""
        connection = self._connection
        if connection.state in (CLOSING, CLOSED):
            return
        reachable = connection.state == CONNECTED
        left = self._stop(now, out)
        self._run, self._watching.due = None, None
        out.cancel_timer(BACKOFF)
        out.cancel_timer(COMMIT)
        connection.asked.clear()
        for request in left:
            connection.ask(COMMITTING, request, out)
        connection.end(now, out)
        if not reachable:
            self._ended(now, out)

    def _ended(self, now: Time, out: Outbox) -> None:
        self._connection.state = CLOSED
        out.cancel_timer(CLOSE)
        if self._next is not None:
            self._subscription = Subscription(self._next.topics, self._next.pattern)
            self._settings, self._next = self._next.settings, None
            self._begin()
            self._connection.begin(self._settings)
            self.start(now, out)


_UUID, _DIGITS = 36, 8
"""Kafka takes the first eight digits of a UUID."""
