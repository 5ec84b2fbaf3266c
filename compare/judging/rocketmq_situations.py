"""The situations that clients of RocketMQ are taken through: where they are played (`Stage`, with every request and its
answer), what happens in them (scripts), and all of them as one table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, TypeAlias

from compare.judging.playing import (
    FIRST,
    SECOND,
    TOPIC,
    AnyStage,
    AnyWorld,
    Members,
    Script,
    Situation,
    Wait,
    Waits,
    another_goes,
    connections_lost,
    in_place,
    joins,
    refused_at_start,
    refused_at_work,
    stopped,
    watched,
    watched_from_the_start,
)
from compare.judging.worlds import Exchange, Listener
from protocols.engine.interference import Hold, Interference
from protocols.engine.nodes import Message, Time
from protocols.java import Queue
from rocketmq_selfbalance.cluster import (
    NAME_SERVER,
    PULL_NOT_FOUND,
    PULL_RETRY_IMMEDIATELY,
    SUCCESS,
    GetConsumerListByGroup,
    GetRouteInfo,
    HeartBeat,
    LockBatchMq,
    PullMessage,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from rocketmq_selfbalance.wire import ERRORS, NO_LOCK, REQUESTS, code_of, kind_of, plain, queue_of, refusal

BROKERS: Final = ("broker-a", "broker-b")
SERVERS: Final = (NAME_SERVER, *BROKERS)
EACH: Final = 2
"""Queues at each broker."""
QUEUES: Final = tuple(Queue(TOPIC, broker, number) for broker in BROKERS for number in range(EACH))
EVERY_MS: Final = 500.0
"""A record is written to every queue so often."""
READS_MS: Final = 1_800.0
"""A queue is read by whoever pulled there within so long: records wake a pull that is held."""
DELAY_LEVELS_S: Final = (1,) * 18
"""Of the brokers: what was sent back comes again soon."""
LOCK_MS: Final = 25_000.0
"""Of the brokers: a lock that nobody renews is free after this time, not after 60 s."""


class RocketMQExchange(Exchange):
    """What is asked of a request to RocketMQ's servers."""

    __slots__ = ()

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


Exchanges: TypeAlias = Listener[RocketMQExchange]


@dataclass(slots=True)
class Mark:
    """When what is judged began: the time, the place in `Listener.all`, what the first member read then."""

    at: Time
    place: int
    had: frozenset[Queue]
    refused: RocketMQExchange | None = None


WAITS: Final = Waits(in_place=40_000.0, reached=25_000.0, back=45_000.0, watched=4_000.0, watched_at_start=4_000.0)
"""A pass comes each 20 s, a retry of a lock as well."""


class WorldOfBrokers(AnyWorld, Protocol):
    """One whose brokers may be stopped, and started again."""

    def stop_broker(self, broker: str) -> None: ...

    def start_broker(self, broker: str) -> None: ...


class StageOfBrokers(AnyStage, Protocol):
    """One above such a world."""

    @property
    def world(self) -> WorldOfBrokers: ...


class World(WorldOfBrokers, Protocol):
    """What a stage needs of the world below it."""

    real: bool

    def running(self, broker: str) -> bool: ...


@dataclass(slots=True)
class Stage:
    """One situation while it is played."""

    world: World
    exchanges: Exchanges
    interference: Interference
    mark: Mark | None = None
    held: list[Hold] = field(default_factory=list)
    waits: Waits = WAITS

    @property
    def members(self) -> Members:
        """Who plays."""
        return self.world.members

    def begin(self, refused: Message | None = None) -> None:
        """What happens from now on is judged."""
        place = self.exchanges.place_after(refused)
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

    def is_back(self) -> bool:
        """Whether every queue of a broker that runs is read by one program, and by one alone."""
        alive = [self.reads(member) for member in (FIRST, SECOND) if self.members.alive(member)]
        wanted = {queue for queue in QUEUES if self.world.running(queue.broker)}
        return set().union(*alive) >= wanted and sum(map(len, alive)) == len(set().union(*alive))

    def in_place(self, member: str) -> bool:
        """Whether it has its share of the queues and has committed."""
        commits = any(each.kind is UpdateConsumerOffset and each.queue for each in self.exchanges.of(member))
        return self.is_back() and bool(self.reads(member)) and commits

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


CONCURRENT, ORDERLY = "concurrent", "orderly"
BOTH: Final = frozenset((CONCURRENT, ORDERLY))

SLOW_MS: Final = 400
"""How long a slow listener takes for a record: it is nearly always at one, and keeps up."""

LATE_MS: Final = 1_000.0
"""By how much a name server answers late: less than clients wait for it (3 s)."""


def _another_joins(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.members.start(SECOND)
    yield Wait(lambda: bool(stage.reads(SECOND)), stage.waits.in_place)
    yield from watched(stage)


def broker_returns(broker: str, gone: float, least: float, stage: StageOfBrokers) -> Script:
    """A broker stops, and returns after ``gone`` milliseconds; what a member does is watched for ``least`` of them."""
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.stop_broker(broker)
    yield Wait(lambda: False, gone)
    stage.world.start_broker(broker)
    yield from watched(stage, least=least)


def _late_name_server(stage: Stage) -> Script:
    stage.hold(GetRouteInfo)
    stage.begin()
    stage.members.start(FIRST)
    yield Wait(lambda: any(each.kept for each in stage.held), stage.waits.in_place)
    yield Wait(lambda: False, LATE_MS)
    stage.release()
    yield from watched(stage)


def _frozen(stage: Stage) -> Script:
    """Its process stands still, brokers close its connections, another member takes over; then it goes on."""
    yield from in_place(stage, FIRST, SECOND)
    stage.members.freeze(FIRST)
    yield Wait(lambda: False, 2_000.0)
    stage.world.cut(FIRST)
    yield Wait(lambda: len(stage.reads(SECOND)) == 4, stage.waits.back)
    stage.begin()
    stage.members.thaw(FIRST)
    yield from watched(stage, least=5_000.0)


STORIES: Final = (
    Situation("joins", joins, BOTH),
    Situation("another member joins", _another_joins, BOTH),
    Situation("another member joins while its listener is busy", _another_joins, BOTH, slow=True),
    Situation("another member joins and the notice is lost", _another_joins, BOTH, without_notices=True),
    Situation("another member leaves", partial(another_goes, "leaves"), BOTH),
    Situation("another member crashes", partial(another_goes, "crashes"), BOTH),
    Situation(
        "a broker stops and returns",
        partial(broker_returns, BROKERS[1], 5_000.0, 7_000.0),
        BOTH,
        heartbeats_count=True,
    ),
    Situation("name server answers late", _late_name_server, BOTH),
    Situation("connections lost", connections_lost, BOTH, heartbeats_count=True),
    Situation("frozen until another has its queues", _frozen, BOTH, heartbeats_count=True),
    Situation("its listener fails on a record", watched_from_the_start, frozenset((CONCURRENT,)), fails=1),
    Situation("told to end (SIGTERM)", stopped, BOTH, stopped=True),
)

AT_START: Final[Mapping[type[Message], tuple[str, ...]]] = {
    GetRouteInfo: ("SYSTEM_ERROR", "TOPIC_NOT_EXIST"),
    HeartBeat: ("SYSTEM_ERROR",),
    GetConsumerListByGroup: ("SYSTEM_ERROR",),
    QueryConsumerOffset: ("SYSTEM_ERROR",),
    LockBatchMq: ("SYSTEM_ERROR", NO_LOCK),
}
"""Errors that answer a request of a member that begins."""

AT_WORK: Final[Mapping[type[Message], tuple[str, ...]]] = {
    PullMessage: (
        "SYSTEM_ERROR",
        "SYSTEM_BUSY",
        "NO_PERMISSION",
        "TOPIC_NOT_EXIST",
        "PULL_OFFSET_MOVED",
        "SUBSCRIPTION_NOT_EXIST",
        "SUBSCRIPTION_NOT_LATEST",
        "SUBSCRIPTION_GROUP_NOT_EXIST",
    ),
    UpdateConsumerOffset: ("SYSTEM_ERROR",),
    LockBatchMq: ("SYSTEM_ERROR", NO_LOCK),
}
"""Errors that answer a request of a member at work."""


_NAMES: Final = {kind: name for name, kind in REQUESTS.items()}


def _refusals() -> Iterator[Situation]:
    for table, script, when in ((AT_START, refused_at_start, "at the start"), (AT_WORK, refused_at_work, "at work")):
        for kind, errors in table.items():
            only = frozenset((ORDERLY,)) if kind is LockBatchMq else BOTH
            for error in errors:
                name = f"{error} on {_NAMES[kind]}{f', {when}' if kind in AT_START else ''}"
                yield Situation(name, partial(script, kind, error), only)


SITUATIONS: Final = (*STORIES, *_refusals())
"""All of them, in the order of the table."""
