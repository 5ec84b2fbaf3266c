"""The situations that clients of Kafka are taken through: what happens in them (scripts), and all as one table."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from compare.judging.kafka_stage import Stage
from compare.judging.playing import (
    FIRST,
    GOES_ON,
    SECOND,
    Script,
    Situation,
    Wait,
    another_joins,
    connections_lost,
    in_place,
    instance_of,
    joins,
    reached,
    refused_at_start,
    refused_at_work,
    stopped,
    stopped_with_records,
    watched,
    watched_from_the_start,
)
from kafka_coordinator.cluster import (
    ConsumerGroupHeartbeat,
    FindCoordinator,
    Heartbeat,
    JoinGroup,
    OffsetCommit,
    OffsetFetch,
    ShareAcknowledge,
    ShareFetch,
    ShareGroupHeartbeat,
    SyncGroup,
    TxnOffsetCommit,
)
from kafka_coordinator.cluster import consumer_commits as commits
from protocols.engine.nodes import Message

SLOW_MS: Final = 4_000
"""How long a slow callback takes: longer than the default interval of heartbeats."""


def slow_callback(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    yield from in_place(stage, SECOND)
    yield from watched(stage, least=SLOW_MS + 1_000)


def another_leaves(stage: Stage) -> Script:
    yield from in_place(stage, FIRST, SECOND)
    yield Wait(lambda: stage.works(FIRST), stage.waits.back)
    stage.begin()
    stage.members.stop(SECOND)
    yield from watched(stage)


def coordinator_moves(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.move_coordinator()
    yield from watched(stage)


def session_expires(stage: Stage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.expire(stage.member_id(FIRST))
    yield from watched(stage)


def frozen(stage: Stage) -> Script:
    """Its process stands still, its session ends, another member takes over; then it goes on."""
    yield from in_place(stage, FIRST, SECOND)
    yield Wait(lambda: stage.works(FIRST), stage.waits.back)
    stage.members.freeze(FIRST)
    stage.world.expire(stage.member_id(FIRST))
    yield Wait(lambda: False, 4_500.0)
    stage.begin()
    stage.members.thaw(FIRST)
    yield from watched(stage)


def static_is_killed(stage: Stage) -> Script:
    """Its process is killed, and another one with its instance id is there before the session ends."""
    yield from in_place(stage, FIRST, SECOND, static=True)
    yield Wait(lambda: stage.works(FIRST), stage.waits.back)
    stage.members.kill(FIRST)
    yield Wait(lambda: not stage.members.alive(FIRST), stage.waits.reached)
    stage.begin()
    stage.members.start(FIRST, instance_of(FIRST))
    yield from watched(stage)


def static_comes_back(stage: Stage) -> Script:
    """It is told to end, and started again before its session ends."""
    yield from in_place(stage, FIRST, SECOND, static=True)
    yield Wait(lambda: stage.works(FIRST), stage.waits.back)
    stage.members.stop(FIRST)
    yield Wait(lambda: not stage.members.alive(FIRST), stage.waits.back)
    stage.begin()
    stage.members.start(FIRST, instance_of(FIRST))
    yield from watched(stage)


def static_is_replaced(stage: Stage) -> Script:
    """Another process begins with its instance id while it runs."""
    yield from in_place(stage, FIRST, static=True)
    stage.begin()
    begin = stage.world.now
    stage.members.start(SECOND, instance_of(FIRST))
    yield Wait(lambda: any(each.joins and each.answer for each in stage.exchanges.of(SECOND)), stage.waits.in_place)
    yield from watched(stage, least=stage.world.now - begin + stage.waits.watched)


def producer_is_fenced(stage: Stage) -> Script:
    """Another producer begins with its transactional id, as one does that takes its place while it hangs."""
    yield from in_place(stage, FIRST)
    ids = stage.transactional_ids(FIRST)
    if ids:
        stage.begin()
        stage.world.fence(ids[-1])
        yield from watched(stage)


def refused_in_transaction(error: str, stage: Stage) -> Script:
    """Its group has gone on without it in the middle of a transaction."""
    yield from in_place(stage, FIRST)
    if stage.transactional_ids(FIRST):
        stage.refuse(TxnOffsetCommit, error)
        yield from reached(stage, stage.waits.reached)
        yield from watched(stage)


def static_expires(stage: Stage) -> Script:
    yield from in_place(stage, FIRST, static=True)
    stage.begin()
    stage.world.expire(stage.member_id(FIRST))
    yield from watched(stage)


def crashes_with_records(stage: Stage) -> Script:
    """Another member is killed while it has records, and its session ends: they come back."""
    yield from in_place(stage, FIRST, SECOND)
    yield Wait(lambda: stage.has_records(SECOND), stage.waits.reached)
    stage.begin()
    stage.members.kill(SECOND)
    yield Wait(lambda: not stage.members.alive(SECOND), stage.waits.reached)
    stage.world.expire(stage.member_id(SECOND))
    yield from watched(stage)


def locks_end(stage: Stage) -> Script:
    """The locks of its records end while it is at one of them."""
    yield from in_place(stage, FIRST)
    yield Wait(lambda: stage.has_records(FIRST), stage.waits.reached)
    stage.begin()
    stage.world.expire_locks()
    yield from watched(stage)


CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"
BOTH: Final = frozenset((CLASSIC, CONSUMER))
EVERY: Final = BOTH | {SHARE}
OF_SHARE: Final = frozenset((SHARE,))

SLOW_RECORD_MS: Final = 400
"""How long a member of a share group takes for each record, where it is slow: records come every 2 s to a partition, so
that one member keeps up."""
SLOW_EVERY_MS: Final = 2_000.0


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
    ShareGroupHeartbeat: (
        "FENCED_MEMBER_EPOCH",
        "UNKNOWN_MEMBER_ID",
        "NOT_COORDINATOR",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "GROUP_AUTHORIZATION_FAILED",
    ),
    ShareFetch: ("SHARE_SESSION_NOT_FOUND", "INVALID_SHARE_SESSION_EPOCH", "SHARE_SESSION_LIMIT_REACHED"),
    ShareAcknowledge: ("SHARE_SESSION_NOT_FOUND", "INVALID_SHARE_SESSION_EPOCH"),
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

ONLY: Final[Mapping[object, str | frozenset[str]]] = {
    Heartbeat: CLASSIC,
    JoinGroup: CLASSIC,
    SyncGroup: CLASSIC,
    ConsumerGroupHeartbeat: CONSUMER,
    FindCoordinator: EVERY,
    ShareGroupHeartbeat: SHARE,
    ShareFetch: SHARE,
    ShareAcknowledge: SHARE,
    (OffsetCommit, "REBALANCE_IN_PROGRESS"): CLASSIC,
    (OffsetCommit, "ILLEGAL_GENERATION"): CLASSIC,
    (OffsetCommit, "FENCED_INSTANCE_ID"): CLASSIC,
    (OffsetCommit, "STALE_MEMBER_EPOCH"): CONSUMER,
}
"""Requests, or one error of a request, that not just the two protocols of consumers have."""

_SLOW = ("keeps its session", "rejoins with its member id")

STORIES: Final = (
    Situation("joins", joins, EVERY),
    Situation("another member joins while it is busy", another_joins, EVERY, commits_count=True),
    Situation("another member leaves", another_leaves, EVERY, commits_count=True),
    Situation("coordinator moves", coordinator_moves, EVERY),
    Situation("connections lost", connections_lost, EVERY),
    Situation("session expires at the broker", session_expires, EVERY),
    Situation("frozen until another has its partitions", frozen, EVERY),
    Situation(
        "slow callback",
        slow_callback,
        frozenset((CLASSIC,)),
        slow=True,
        java=_SLOW,
        java_place="AbstractCoordinator.HeartbeatThread goes on while the user's thread is in the callback",
    ),
    Situation("told to end (SIGTERM)", stopped, EVERY, stopped=True),
    Situation("static: told to end (SIGTERM)", partial(stopped, static=True), BOTH, stopped=True, static=True),
    Situation("static: told to end, started again", static_comes_back, BOTH, static=True),
    Situation("static: killed, started again", static_is_killed, BOTH, static=True),
    Situation("static: another process with its id", static_is_replaced, BOTH, static=True),
    Situation("static: session expires at the broker", static_expires, BOTH, static=True),
)


SHARED: Final = (
    Situation("it fails once on a record", watched_from_the_start, OF_SHARE, fails=1),
    Situation("it fails each time on a record", watched_from_the_start, OF_SHARE, fails=9),
    Situation("it rejects a record", watched_from_the_start, OF_SHARE, rejects=True),
    Situation("another member crashes with records in hand", crashes_with_records, OF_SHARE, slow=True),
    Situation(
        "the locks of its records end",
        locks_end,
        OF_SHARE,
        slow=True,
        java=(GOES_ON,),
        java_place="KafkaShareConsumer gives InvalidRecordStateException to its AcknowledgementCommitCallback alone",
    ),
    Situation("told to end with records in hand", stopped_with_records, OF_SHARE, slow=True, stopped=True),
)
"""Of share groups, where records are given out one by one."""


BEGINS_EPOCH: Final = "begins another epoch of its producer"
ABORTS: Final = "aborts its transaction"

TRANSACTIONS: Final = (
    Situation(
        "transactional: a zombie's id is taken by another producer",
        producer_is_fenced,
        BOTH,
        transactional=True,
        user_decides=True,
        java=(BEGINS_EPOCH,),
        java_place="ProducerFencedException lets the user only close the KafkaProducer, and make another",
    ),
    *(
        Situation(
            f"transactional: {error} on TxnOffsetCommit in a rebalance",
            partial(refused_in_transaction, error),
            BOTH,
            transactional=True,
            user_decides=True,
            java=(ABORTS, *more),
            java_place="CommitFailedException lets the user only abort, and read on from what is committed",
        )
        for error, more in (("ILLEGAL_GENERATION", ()), ("UNKNOWN_MEMBER_ID", ("joins as a new member",)))
    ),
)
"""Of programs that commit within transactions; others do not try them."""


_TRIED_AGAIN: Final = frozenset(
    error for error, reaction in commits.REACTIONS.items() if reaction in (commits.RETRIABLE, "rediscover")
)
"""Errors of a commit that commitSync() tries again."""


_ANOTHER_SESSION: Final = "begins another session"
_SESSION_PLACE: Final = "ShareSessionHandler.handleResponse: the next ShareFetch has epoch 0"
"""The model acknowledges with its fetches alone."""


def _refusals() -> Iterator[Situation]:
    for table, script in ((AT_START, refused_at_start), (AT_WORK, refused_at_work)):
        for kind, errors in table.items():
            for error in errors:
                only = ONLY.get(kind) or ONLY.get((kind, error)) or BOTH
                protocols = frozenset((only,)) if isinstance(only, str) else only
                name, throws = f"{error} on {kind.__name__}", kind is OffsetCommit and error not in _TRIED_AGAIN
                java, place = ((_ANOTHER_SESSION,), _SESSION_PLACE) if kind is ShareAcknowledge else ((), "")
                yield Situation(
                    name, partial(script, kind, error), protocols, user_decides=throws, java=java, java_place=place
                )


SITUATIONS: Final = (*STORIES, *SHARED, *_refusals(), *TRANSACTIONS)
"""All of them, in the order of the table."""
