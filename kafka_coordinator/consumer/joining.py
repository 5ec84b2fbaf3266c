"""The way into a generation (spec 4.4): prepare, JoinGroup, the leader's assignment, SyncGroup.

All of it happens in the user's thread, in poll().

In Kafka `AbstractCoordinator.ensureActiveGroup` and `joinGroupIfNeeded` with `JoinGroupResponseHandler` and
`SyncGroupResponseHandler`, `ConsumerCoordinator.onJoinPrepare` and `onLeaderElected` (formerly `performAssignment`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kafka_coordinator.assignors.inputs import NO_GENERATION, Partition
from kafka_coordinator.consumer import (
    assigning,
    callbacks,
    commits,
    heartbeats,
    lookup,
    membership,
    metadata,
    reading,
    requests,
    states,
)
from kafka_coordinator.consumer import callbacks as join_complete
from kafka_coordinator.consumer.state import BACKOFF, COMMIT, JOIN, METADATA, NOTHING, SYNC, ConsumerState, ListenerCall
from kafka_coordinator.consumer.states import COMPLETING_REBALANCE, JOINED, PREPARING_REBALANCE
from kafka_coordinator.messages import CONSUMER_PROTOCOL_TYPE, JoinGroup, JoinGroupAnswer, SyncGroup, SyncGroupAnswer
from protocols.engine.nodes import Outbox, Time

AT_ONCE, PAUSE, REDISCOVER, RESET, RESET_GENERATION = "at once", "pause", "rediscover", "reset", "reset generation"

JOIN_REACTIONS: Final[Mapping[str, str]] = {
    "REBALANCE_IN_PROGRESS": AT_ONCE,
    "UNKNOWN_MEMBER_ID": RESET,
    "COORDINATOR_LOAD_IN_PROGRESS": PAUSE,
    "COORDINATOR_NOT_AVAILABLE": REDISCOVER,
    "NOT_COORDINATOR": REDISCOVER,
}
"""Error of a JoinGroup to how it is tried again; MEMBER_ID_REQUIRED is handled apart, others make poll() throw."""

SYNC_REACTIONS: Final[Mapping[str, str]] = {
    "REBALANCE_IN_PROGRESS": AT_ONCE,
    "UNKNOWN_MEMBER_ID": RESET,
    "ILLEGAL_GENERATION": RESET_GENERATION,
    "COORDINATOR_NOT_AVAILABLE": REDISCOVER,
    "NOT_COORDINATOR": REDISCOVER,
}
"""Error of a SyncGroup to how the client rejoins; others make poll() throw."""

PREPARED = "prepared"
"""What follows when the listener has returned: the join."""

_NO_ASSIGNMENTS: Final[Mapping[str, tuple[Partition, ...]]] = MappingProxyType({})


def begin(c: ConsumerState, now: Time, out: Outbox) -> None:
    """poll() wants to rejoin, the coordinator is known and nothing is waited for."""
    if c.joining.answer_to_leader is not None:
        answer, c.joining.answer_to_leader = c.joining.answer_to_leader, None
        if _is_current(c, COMPLETING_REBALANCE, answer.generation, answer.member_id):
            _on_leader_elected(c, now, answer, out)
        else:
            retry(c, now, out, AT_ONCE)
    elif c.config.pattern is not None and not c.metadata.is_fresh:
        c.joining.awaiting = METADATA
        metadata.refresh(c, now, out)
    elif c.joining.needs_prepare:
        c.joining.needs_prepare = False
        c.joining.prepare_deadline = now + c.config.settings.rebalance_within_ms
        _on_join_prepare(c, now, out)
    else:
        _send_join(c, now, out)


def metadata_arrived(c: ConsumerState) -> None:
    """The metadata that the join waited for is there: the next poll continues."""
    if c.joining.awaiting == METADATA:
        c.joining.awaiting = NOTHING


# Before the join.


def _on_join_prepare(c: ConsumerState, now: Time, out: Outbox) -> None:
    """onJoinPrepare: first what was read is committed."""
    if c.config.settings.enable_auto_commit:
        offsets = commits.positions(c, now, out)
        if not c.cooperative:
            c.subscription.paused = True
            reading.stop(c, now, out)
        if offsets and not commits.send(c, now, out, commits.PREPARE, offsets):
            c.joining.awaiting = COMMIT
            return
    _give_up_before_join(c, now, out)


def commit_finished(c: ConsumerState, now: Time, out: Outbox, outcome: str) -> None:
    """The commit before the join is done, or failed: a failure does not stop the rebalance."""
    again_at = now + c.config.settings.retry_backoff_ms
    if outcome == commits.RETRIABLE and again_at < c.joining.prepare_deadline:
        c.joining.needs_prepare = True
        c.joining.awaiting = BACKOFF
        out.set_timer(states.REJOIN, again_at)
        return
    c.joining.awaiting = NOTHING
    if c.joining.needs_prepare:
        return  # a reset came in between: everything begins anew
    _give_up_before_join(c, now, out)


def _give_up_before_join(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Then the listener is called with the partitions that the member gives up."""
    c.subscription.paused = False
    lost = c.membership.generation == NO_GENERATION or not c.membership.member_id
    if lost or not c.cooperative:
        over = c.subscription.owned
    else:
        subscribed = set(c.subscription.topics)
        over = tuple([each for each in c.subscription.owned if each[0] not in subscribed])
    if over or not (lost or c.cooperative):
        reading.advance(c, now, out)
        if callbacks.invoke(c, now, callbacks.LOST if lost else callbacks.REVOKED, over, out, PREPARED):
            return
    _join_without(c, now, over, out)


def listener_returned(c: ConsumerState, now: Time, called: ListenerCall, out: Outbox) -> None:
    if c.joining.needs_prepare:
        callbacks.set_owned(c, now, join_complete.without(c.subscription.owned, called.partitions), out)
    else:
        _join_without(c, now, called.partitions, out)


def _join_without(c: ConsumerState, now: Time, over: tuple[Partition, ...], out: Outbox) -> None:
    if over:
        callbacks.set_owned(c, now, join_complete.without(c.subscription.owned, over), out)
    c.assigning.is_leader = False
    c.assigning.group_topics = ()
    _send_join(c, now, out)


# JoinGroup.


def _send_join(c: ConsumerState, now: Time, out: Outbox) -> None:
    config, settings = c.config, c.config.settings
    if c.lookup.coordinator is None:
        return  # lost in the meantime: poll() finds it first
    c.joining.joined_subscription = c.subscription.topics
    if c.membership.state != PREPARING_REBALANCE:
        c.transition("join sent", out)
    heartbeats.disable(c, out)
    c.joining.awaiting = JOIN
    message = JoinGroup(
        requests.number(c),
        config.group,
        c.membership.member_id,
        config.instance_id,
        config.client_id,
        settings.session_timeout_ms,
        settings.rebalance_within_ms,
        CONSUMER_PROTOCOL_TYPE,
        tuple([(name, assigning.metadata_for(c, name)) for name in settings.partition_assignment_strategy]),
        reason=c.membership.rejoin_reason,
    )
    within = max(settings.request_timeout_ms, settings.rebalance_within_ms + settings.join_extra_ms)
    requests.send(c, now, c.lookup.coordinator, message, out, within=within)


def join_answered(c: ConsumerState, now: Time, answer: JoinGroupAnswer, about: None, out: Outbox) -> None:
    c.joining.awaiting = NOTHING
    error = answer.error
    if c.membership.state != PREPARING_REBALANCE:
        return  # reset in the meantime: poll() begins anew
    if error == "NONE":
        c.joining.failures = 0
        member = c.membership
        member.generation, member.member_id, member.protocol = answer.generation, answer.member_id, answer.protocol
        c.transition(JOINED, out)
        heartbeats.enable(c, now, out)
        if answer.leader == answer.member_id:
            _on_leader_elected(c, now, answer, out)
        else:
            _send_sync(c, now, _NO_ASSIGNMENTS, out)
    elif error == "MEMBER_ID_REQUIRED":
        c.membership.generation = NO_GENERATION
        c.membership.member_id = answer.member_id
        c.membership.rejoin_reason = f"need to re-join with the given member-id: {answer.member_id}"
        _send_join(c, now, out)
    else:
        retry(c, now, out, JOIN_REACTIONS.get(error, error))


def retry(c: ConsumerState, now: Time, out: Outbox, how: str) -> None:
    """A join or a sync failed: how it is tried again; anything but the known ways makes poll() throw."""
    c.joining.awaiting = NOTHING
    c.joining.answer_to_leader = None
    if how in (RESET, RESET_GENERATION):
        membership.reset(c, now, out, "the join was refused", keep_id=how == RESET_GENERATION)
        return
    if c.membership.state in (PREPARING_REBALANCE, COMPLETING_REBALANCE):
        c.transition("failed", out)
        heartbeats.disable(c, out)
    if how == REDISCOVER:
        lookup.forget(c)
    if how in (PAUSE, REDISCOVER):
        c.joining.awaiting = BACKOFF
        out.set_timer(states.REJOIN, now + c.config.settings.backoff(c.joining.failures))
        c.joining.failures += 1
    elif how != AT_ONCE:
        c.user.fatal = how


def backoff_over(c: ConsumerState) -> None:
    """The pause after a failure is over: the next poll tries again."""
    if c.joining.awaiting == BACKOFF:
        c.joining.awaiting = NOTHING


# The leader's assignment.


def _on_leader_elected(c: ConsumerState, now: Time, answer: JoinGroupAnswer, out: Outbox) -> None:
    """This member is the leader: it watches all topics of the group, and assigns them unless it is to skip that."""
    c.assigning.is_leader = True
    c.assigning.group_topics = assigning.topics_of(answer.members)
    if not metadata.knows(c, c.assigning.group_topics):
        c.joining.awaiting = METADATA
        c.joining.answer_to_leader = answer
        metadata.refresh(c, now, out)
        return
    c.assigning.snapshot = metadata.snapshot(c)
    if answer.skip_assignment:
        _send_sync(c, now, _NO_ASSIGNMENTS, out)
        return
    try:
        shares = assigning.assignments(c, answer)
    except assigning.CannotAssignError as problem:
        retry(c, now, out, str(problem))
    else:
        _send_sync(c, now, shares, out)


# SyncGroup.


def _send_sync(c: ConsumerState, now: Time, shares: Mapping[str, tuple[Partition, ...]], out: Outbox) -> None:
    if c.lookup.coordinator is None:
        retry(c, now, out, PAUSE)
        return
    config = c.config
    c.joining.awaiting = SYNC
    message = SyncGroup(
        requests.number(c),
        config.group,
        c.membership.member_id,
        c.membership.generation,
        config.instance_id,
        CONSUMER_PROTOCOL_TYPE,
        c.membership.protocol,
        shares,
    )
    requests.send(c, now, c.lookup.coordinator, message, out, about=(c.membership.generation, c.membership.member_id))


def sync_answered(c: ConsumerState, now: Time, answer: SyncGroupAnswer, about: tuple[int, str], out: Outbox) -> None:
    """The coordinator's answer to a SyncGroup: the share, unless the membership changed since it was asked for."""
    if answer.error != "NONE":
        retry(c, now, out, SYNC_REACTIONS.get(answer.error, answer.error))
    elif _is_current(c, COMPLETING_REBALANCE, *about):
        c.joining.awaiting = NOTHING
        c.joining.failures = 0
        c.membership.rejoin_needed = False
        c.joining.needs_prepare = True
        c.transition("synced", out)
        join_complete.on_join_complete(c, now, tuple(answer.assignment), out)
    else:
        retry(c, now, out, AT_ONCE)


def _is_current(c: ConsumerState, state: str, generation: int, member_id: str) -> bool:
    member = c.membership
    return (member.state, member.generation, member.member_id) == (state, generation, member_id)
