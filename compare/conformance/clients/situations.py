"""The situations that clients are taken through, as one table."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from compare.conformance.clients.playing import Script, Wait
from compare.conformance.clients.stage import FIRST, SECOND, Stage
from kafka_coordinator.consumer import commits
from kafka_coordinator.consumer_group_messages import ConsumerGroupHeartbeat
from kafka_coordinator.messages import FindCoordinator, Heartbeat, JoinGroup, OffsetCommit, OffsetFetch, SyncGroup
from protocols.engine.nodes import Message

IN_PLACE_MS, REACHED_MS, BACK_MS, WATCHED_MS = 15_000.0, 8_000.0, 8_000.0, 3_500.0
"""How long we wait, at most, until programs have joined and committed, until the situation comes about, and until the
member works again; and how long we watch at least, a heartbeat of the default interval among it."""

CLASSIC, CONSUMER = "classic", "consumer"
SLOW_MS: Final = 4_000
"""How long a slow callback takes: longer than the default interval of heartbeats."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation. ``protocols``: the group protocols that have it."""

    name: str
    script: Callable[[Stage], Script]
    protocols: frozenset[str] = frozenset((CLASSIC, CONSUMER))
    commits_count: bool = False
    """Whether a commit before the member joins again belongs to what it does about the situation; elsewhere it may as
    well be one that was due."""
    stopped: bool = False
    """Whether it is told to end, so that its end is no failure."""
    slow_callbacks: bool = False
    user_decides: bool = False
    """Whether the Java client's commitSync() throws, and the user's code says how it goes on."""
    java: tuple[str, ...] = ()
    """What Kafka's Java client does where its model cannot be played (`java_place`: the page that says so)."""
    java_place: str = ""


def in_place(stage: Stage, *members: str) -> Script:
    """Programs start and work as members of the group, one after the other."""
    for member in members:
        stage.world.start(member)
        yield Wait(partial(_works_or_gone, stage, member), IN_PLACE_MS)


def _works_or_gone(stage: Stage, member: str) -> bool:
    return not stage.world.alive(member) or (stage.works(member) and stage.commits(member))


def watched(stage: Stage, *, least: float = WATCHED_MS) -> Script:
    """What the member does: until it works again as a member or has ended, and for some time at least."""
    mark = stage.mark
    if mark is None:
        return

    def settled() -> bool:
        if not stage.world.alive(FIRST):
            return True
        return stage.world.now >= mark.at + least and stage.works(FIRST, mark.place, mark.at + 500)

    yield Wait(settled, least + BACK_MS)


def reached(stage: Stage, within: float = REACHED_MS) -> Script:
    """Until what is judged has begun."""
    yield Wait(lambda: stage.mark is not None or not stage.world.alive(FIRST), within)


def _joins(stage: Stage) -> Script:
    stage.begin()
    yield from in_place(stage, FIRST)


def _refused_at_work(kind: type[Message], error: str, stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.refuse(kind, error)
    yield from reached(stage)
    yield from watched(stage)


def _refused_at_start(kind: type[Message], error: str, stage: Stage) -> Script:
    stage.refuse(kind, error, _is_decided_on)
    stage.world.start(FIRST)
    yield from reached(stage, IN_PLACE_MS)
    yield from watched(stage, least=1_500.0)


def _is_decided_on(message: Message) -> bool:
    """Not the JoinGroup of a client that is only given its member id."""
    return not isinstance(message, JoinGroup) or bool(message.member_id) or message.version < 4


def _another_joins(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    yield from in_place(stage, SECOND)
    yield from watched(stage)


def _slow_callback(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    yield from in_place(stage, SECOND)
    yield from watched(stage, least=SLOW_MS + 1_000)


def _another_leaves(stage: Stage) -> Script:
    yield from in_place(stage, FIRST, SECOND)
    yield Wait(lambda: stage.works(FIRST), BACK_MS)
    stage.begin()
    stage.world.stop(SECOND)
    yield from watched(stage)


def _coordinator_moves(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.move_coordinator()
    yield from watched(stage)


def _connections_lost(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.cut(FIRST)
    yield from watched(stage)


def _session_expires(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.expire(stage.member_id(FIRST))
    yield from watched(stage)


def _frozen(stage: Stage) -> Script:
    """Its process stands still, its session ends, another member takes over; then it goes on."""
    yield from in_place(stage, FIRST, SECOND)
    yield Wait(lambda: stage.works(FIRST), BACK_MS)
    stage.world.freeze(FIRST)
    stage.world.expire(stage.member_id(FIRST))
    yield Wait(lambda: False, 4_500.0)
    stage.begin()
    stage.world.thaw(FIRST)
    yield from watched(stage)


def _stopped(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.stop(FIRST)
    yield Wait(lambda: not stage.world.alive(FIRST), BACK_MS)


AT_WORK: Final[Mapping[type[Message], tuple[str, ...]]] = {
    Heartbeat: (
        "REBALANCE_IN_PROGRESS",
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "NOT_COORDINATOR",
        "COORDINATOR_NOT_AVAILABLE",
        "FENCED_INSTANCE_ID",
        "GROUP_AUTHORIZATION_FAILED",
    ),
    ConsumerGroupHeartbeat: (
        "FENCED_MEMBER_EPOCH",
        "UNKNOWN_MEMBER_ID",
        "NOT_COORDINATOR",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "GROUP_AUTHORIZATION_FAILED",
    ),
    OffsetCommit: (
        "REBALANCE_IN_PROGRESS",
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "STALE_MEMBER_EPOCH",
        "NOT_COORDINATOR",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "FENCED_INSTANCE_ID",
        "GROUP_AUTHORIZATION_FAILED",
    ),
}
"""Errors that answer a request of a member at work."""

AT_START: Final[Mapping[type[Message], tuple[str, ...]]] = {
    FindCoordinator: ("COORDINATOR_NOT_AVAILABLE", "GROUP_AUTHORIZATION_FAILED"),
    JoinGroup: (
        "REBALANCE_IN_PROGRESS",
        "UNKNOWN_MEMBER_ID",
        "NOT_COORDINATOR",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "GROUP_MAX_SIZE_REACHED",
    ),
    SyncGroup: (
        "REBALANCE_IN_PROGRESS",
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "NOT_COORDINATOR",
        "COORDINATOR_NOT_AVAILABLE",
        "GROUP_AUTHORIZATION_FAILED",
    ),
    OffsetFetch: ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "GROUP_AUTHORIZATION_FAILED"),
}
"""Errors that answer a request of a member that begins."""

ONLY: Final[Mapping[object, str]] = {
    Heartbeat: CLASSIC,
    JoinGroup: CLASSIC,
    SyncGroup: CLASSIC,
    ConsumerGroupHeartbeat: CONSUMER,
    (OffsetCommit, "REBALANCE_IN_PROGRESS"): CLASSIC,
    (OffsetCommit, "ILLEGAL_GENERATION"): CLASSIC,
    (OffsetCommit, "FENCED_INSTANCE_ID"): CLASSIC,
    (OffsetCommit, "STALE_MEMBER_EPOCH"): CONSUMER,
}
"""Requests, or one error of a request, that only one protocol has."""

_SLOW = ("keeps its session", "rejoins with its member id")

STORIES: Final = (
    Situation("joins", _joins),
    Situation("another member joins while it is busy", _another_joins, commits_count=True),
    Situation("another member leaves", _another_leaves, commits_count=True),
    Situation("coordinator moves", _coordinator_moves),
    Situation("connections lost", _connections_lost),
    Situation("session expires at the broker", _session_expires),
    Situation("frozen until another has its partitions", _frozen),
    Situation(
        "slow callback",
        _slow_callback,
        frozenset((CLASSIC,)),
        slow_callbacks=True,
        java=_SLOW,
        java_place="AbstractCoordinator.HeartbeatThread goes on while the user's thread is in the callback",
    ),
    Situation("told to end (SIGTERM)", _stopped, stopped=True),
)


_TRIED_AGAIN: Final = frozenset(
    error for error, reaction in commits.REACTIONS.items() if reaction in (commits.RETRIABLE, "rediscover")
)
"""Errors of a commit that commitSync() tries again."""


def _refusals() -> Iterator[Situation]:
    for table, script in ((AT_START, _refused_at_start), (AT_WORK, _refused_at_work)):
        for kind, errors in table.items():
            for error in errors:
                only = ONLY.get(kind) or ONLY.get((kind, error))
                protocols = frozenset((CLASSIC, CONSUMER) if only is None else (only,))
                name, throws = f"{error} on {kind.__name__}", kind is OffsetCommit and error not in _TRIED_AGAIN
                yield Situation(name, partial(script, kind, error), protocols, user_decides=throws)


SITUATIONS: Final = (*STORIES, *_refusals())
"""All of them, in the order of the table."""
