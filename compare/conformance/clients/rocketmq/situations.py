"""The situations that clients of RocketMQ are taken through, as one table."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from compare.conformance.clients.playing import Script, Wait
from compare.conformance.clients.rocketmq.stage import FIRST, SECOND, Stage
from protocols.engine.nodes import Message
from rocketmq_selfbalance.cluster import (
    GetConsumerListByGroup,
    GetRouteInfo,
    HeartBeat,
    LockBatchMq,
    PullMessage,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from rocketmq_selfbalance.wire import NO_LOCK, REQUESTS

CONCURRENT, ORDERLY = "concurrent", "orderly"
BOTH: Final = frozenset((CONCURRENT, ORDERLY))

IN_PLACE_MS, REACHED_MS, BACK_MS, WATCHED_MS = 40_000.0, 25_000.0, 45_000.0, 4_000.0
"""How long we wait, at most, until programs share the queues, until the situation comes about, and until all queues are
read again (a pass comes each 20 s, a retry of a lock as well); and how long we watch at least."""

SLOW_MS: Final = 400
"""How long a slow listener takes for a record: it is nearly always at one, and keeps up."""

LATE_MS: Final = 1_000.0
"""By how much a name server answers late: less than clients wait for it (3 s)."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation. ``protocols``: the ways to consume that have it."""

    name: str
    script: Callable[[Stage], Script]
    protocols: frozenset[str] = BOTH
    stopped: bool = False
    """Whether it is told to end, so that its end is no failure."""
    slow_listener: bool = False
    fails_once: bool = False
    """Whether its listener cannot handle the first record that it is given."""
    without_notices: bool = False
    """Whether brokers tell nobody that members have come or gone."""
    heartbeats_count: bool = False
    """Whether a heartbeat belongs to what it does about the situation; elsewhere one may be due."""
    user_decides: bool = False
    java: tuple[str, ...] = ()
    java_place: str = ""


def in_place(stage: Stage, *members: str) -> Script:
    """Programs start and share the queues, one after the other."""
    for member in members:
        stage.world.start(member)
        yield Wait(partial(_shares_or_gone, stage, member), IN_PLACE_MS)


def _shares_or_gone(stage: Stage, member: str) -> bool:
    if not stage.world.alive(member):
        return True
    return stage.settled() and bool(stage.reads(member)) and stage.commits(member)


def watched(stage: Stage, *, least: float = WATCHED_MS) -> Script:
    """What the member does: until all queues are read again or it has ended, and for some time at least."""
    mark = stage.mark
    if mark is not None:
        yield Wait(
            lambda: not stage.world.alive(FIRST) or (stage.world.now >= mark.at + least and stage.settled()),
            least + BACK_MS,
        )


def _joins(stage: Stage) -> Script:
    stage.begin()
    yield from in_place(stage, FIRST)


def _refused_at_work(kind: type[Message], error: str, stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.refuse(kind, error)
    yield Wait(lambda: stage.mark is not None or not stage.world.alive(FIRST), REACHED_MS)
    yield from watched(stage)


def _refused_at_start(kind: type[Message], error: str, stage: Stage) -> Script:
    stage.refuse(kind, error)
    stage.world.start(FIRST)
    yield Wait(lambda: stage.mark is not None or not stage.world.alive(FIRST), IN_PLACE_MS)
    yield from watched(stage)


def _another_joins(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.start(SECOND)
    yield Wait(lambda: bool(stage.reads(SECOND)), IN_PLACE_MS)
    yield from watched(stage)


def _another_goes(how: str, stage: Stage) -> Script:
    yield from in_place(stage, FIRST, SECOND)
    stage.begin()
    (stage.world.stop if how == "leaves" else stage.world.kill)(SECOND)
    yield Wait(lambda: not stage.world.alive(SECOND), BACK_MS)
    yield from watched(stage)


def _broker_returns(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.stop_broker("broker-b")
    yield Wait(lambda: False, 5_000.0)
    stage.world.start_broker("broker-b")
    yield from watched(stage, least=7_000.0)


def _late_name_server(stage: Stage) -> Script:
    stage.hold(GetRouteInfo)
    stage.begin()
    stage.world.start(FIRST)
    yield Wait(lambda: any(each.kept for each in stage.held), IN_PLACE_MS)
    yield Wait(lambda: False, LATE_MS)
    stage.release()
    yield from watched(stage)


def _connections_lost(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.cut(FIRST)
    yield from watched(stage)


def _frozen(stage: Stage) -> Script:
    """Its process stands still, brokers close its connections, another member takes over; then it goes on."""
    yield from in_place(stage, FIRST, SECOND)
    stage.world.freeze(FIRST)
    yield Wait(lambda: False, 2_000.0)
    stage.world.cut(FIRST)
    yield Wait(lambda: len(stage.reads(SECOND)) == 4, BACK_MS)
    stage.begin()
    stage.world.thaw(FIRST)
    yield from watched(stage, least=5_000.0)


def _fails_once(stage: Stage) -> Script:
    stage.begin()
    yield from in_place(stage, FIRST)
    yield from watched(stage)


def _stopped(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.stop(FIRST)
    yield Wait(lambda: not stage.world.alive(FIRST), BACK_MS)


STORIES: Final = (
    Situation("joins", _joins),
    Situation("another member joins", _another_joins),
    Situation("another member joins while its listener is busy", _another_joins, slow_listener=True),
    Situation("another member joins and the notice is lost", _another_joins, without_notices=True),
    Situation("another member leaves", partial(_another_goes, "leaves")),
    Situation("another member crashes", partial(_another_goes, "crashes")),
    Situation("a broker stops and returns", _broker_returns, heartbeats_count=True),
    Situation("name server answers late", _late_name_server),
    Situation("connections lost", _connections_lost, heartbeats_count=True),
    Situation("frozen until another has its queues", _frozen, heartbeats_count=True),
    Situation("its listener fails on a record", _fails_once, frozenset((CONCURRENT,)), fails_once=True),
    Situation("told to end (SIGTERM)", _stopped, stopped=True),
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
    for table, script, when in ((AT_START, _refused_at_start, "at the start"), (AT_WORK, _refused_at_work, "at work")):
        for kind, errors in table.items():
            only = frozenset((ORDERLY,)) if kind is LockBatchMq else BOTH
            for error in errors:
                name = f"{error} on {_NAMES[kind]}{f', {when}' if kind in AT_START else ''}"
                yield Situation(name, partial(script, kind, error), only)


SITUATIONS: Final = (*STORIES, *_refusals())
"""All of them, in the order of the table."""
