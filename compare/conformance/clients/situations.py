"""The situations that clients are taken through, as one table."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from compare.conformance.clients import scripts
from compare.conformance.clients.playing import Script
from compare.conformance.clients.stage import Stage
from kafka_coordinator.cluster import (
    ConsumerGroupHeartbeat,
    FindCoordinator,
    Heartbeat,
    JoinGroup,
    OffsetCommit,
    OffsetFetch,
    SyncGroup,
)
from kafka_coordinator.cluster import consumer_commits as commits
from protocols.engine.nodes import Message

CLASSIC, CONSUMER = "classic", "consumer"


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
    static: bool = False
    """Whether members are static ones."""
    user_decides: bool = False
    """Whether the Java client's commitSync() throws, and the user's code says how it goes on."""
    java: tuple[str, ...] = ()
    """What Kafka's Java client does where its model cannot be played (`java_place`: the page that says so)."""
    java_place: str = ""


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
    Situation("joins", scripts.joins),
    Situation("another member joins while it is busy", scripts.another_joins, commits_count=True),
    Situation("another member leaves", scripts.another_leaves, commits_count=True),
    Situation("coordinator moves", scripts.coordinator_moves),
    Situation("connections lost", scripts.connections_lost),
    Situation("session expires at the broker", scripts.session_expires),
    Situation("frozen until another has its partitions", scripts.frozen),
    Situation(
        "slow callback",
        scripts.slow_callback,
        frozenset((CLASSIC,)),
        slow_callbacks=True,
        java=_SLOW,
        java_place="AbstractCoordinator.HeartbeatThread goes on while the user's thread is in the callback",
    ),
    Situation("told to end (SIGTERM)", scripts.stopped, stopped=True),
    Situation("static: told to end (SIGTERM)", scripts.static_is_stopped, stopped=True, static=True),
    Situation("static: told to end, started again", scripts.static_comes_back, static=True),
    Situation("static: killed, started again", scripts.static_is_killed, static=True),
    Situation("static: another process with its id", scripts.static_is_replaced, static=True),
    Situation("static: session expires at the broker", scripts.static_expires, static=True),
)


_TRIED_AGAIN: Final = frozenset(
    error for error, reaction in commits.REACTIONS.items() if reaction in (commits.RETRIABLE, "rediscover")
)
"""Errors of a commit that commitSync() tries again."""


def _refusals() -> Iterator[Situation]:
    for table, script in ((AT_START, scripts.refused_at_start), (AT_WORK, scripts.refused_at_work)):
        for kind, errors in table.items():
            for error in errors:
                only = ONLY.get(kind) or ONLY.get((kind, error))
                protocols = frozenset((CLASSIC, CONSUMER) if only is None else (only,))
                name, throws = f"{error} on {kind.__name__}", kind is OffsetCommit and error not in _TRIED_AGAIN
                yield Situation(name, partial(script, kind, error), protocols, user_decides=throws)


SITUATIONS: Final = (*STORIES, *_refusals())
"""All of them, in the order of the table."""
