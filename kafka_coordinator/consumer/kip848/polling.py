"""What a member of the consumer protocol does in a call of poll() by the user's loop (see
`kafka_coordinator.consumer.polling`), and on the coordinator's answers to its heartbeats (spec 6.7).

In Kafka `AsyncKafkaConsumer.poll`, the handling of its `PollEvent` and of the callbacks that the background thread asks
for; `AbstractHeartbeatRequestManager.onResponse` and `onErrorResponse`, `ConsumerMembershipManager`.
"""

from collections.abc import Mapping
from typing import Final

from kafka_coordinator.consumer import callbacks, commits, leaving, lookup, metadata, positions
from kafka_coordinator.consumer.kip848 import heartbeats, membership, reconciliation
from kafka_coordinator.consumer.kip848.states import FATAL, IN_GROUP, PREPARE_LEAVING, STALE, UNSUBSCRIBED
from kafka_coordinator.consumer.state import ConsumerState, protocol_member
from kafka_coordinator.consumer.state.membership import ConsumerProtocolMember
from kafka_coordinator.coordinator.share_groups.messages import ShareGroupHeartbeatAnswer
from kafka_coordinator.messages import ConsumerGroupHeartbeatAnswer
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Noted


def has_work(c: ConsumerState) -> bool:
    """Whether poll() would do anything now but return records."""
    m = protocol_member(c)
    return (
        _is_to_join(c, m)
        or m.releases
        or reconciliation.has_step(c)
        or reconciliation.is_to_begin(c)
        or c.commits.auto_due
        or c.metadata.has_news
        or _is_to_ask_for_offsets(c, m)
        or (c.lookup.coordinator is None and _wants_coordinator(c, m) and not c.lookup.in_progress)
        or c.user.fatal != ""
    )


def _is_to_ask_for_offsets(c: ConsumerState, m: ConsumerProtocolMember) -> bool:
    subscription = c.subscription
    missing = subscription.unpositioned != () and not subscription.awaits_offsets
    return missing and not m.at_records and c.lookup.coordinator is not None


def _wants_coordinator(c: ConsumerState, m: ConsumerProtocolMember) -> bool:
    wanted = c.membership.state not in (UNSUBSCRIBED, FATAL) or m.wants_to_join
    return wanted or c.subscription.assigned_by_user != ()


def _is_to_join(c: ConsumerState, m: ConsumerProtocolMember) -> bool:
    state = c.membership.state
    if state == STALE:
        return not m.releases
    # A pattern that the client resolves needs to know the topics that there are.
    knows = c.config.pattern is None or c.metadata.requested_topics is None
    return state == UNSUBSCRIBED and m.wants_to_join and knows and not c.metadata.has_news


def poll(c: ConsumerState, now: Time, out: Outbox) -> bool:
    """The user's loop is in poll(): everything it does beside returning records, in order. Whether it should look again
    at once."""
    m = protocol_member(c)
    if m.releases:
        membership.release(c, now, out)
        return True
    if c.user.fatal:
        if not c.config.by_hand:
            leaving.fail(c, now, out)
        return False
    if c.metadata.has_news:
        metadata.look(c)
    if _is_to_join(c, m):
        membership.join(c, now, out)
    if c.lookup.coordinator is None and _wants_coordinator(c, m):
        lookup.look_up(c, now, out)
    if reconciliation.is_to_begin(c):
        reconciliation.begin(c, now, out)
    if reconciliation.has_step(c):
        reconciliation.step(c, now, out)
        return True
    if c.commits.auto_due:
        commits.auto_commit(c, now, out)
    if _is_to_ask_for_offsets(c, m):
        positions.fetch(c, now, out)
    return False


FENCED, REDISCOVER, PAUSE, REPORTED = "fenced", "rediscover", "pause", "reported"

REACTIONS: Final[Mapping[str, str]] = {
    "UNKNOWN_MEMBER_ID": FENCED,
    "FENCED_MEMBER_EPOCH": FENCED,
    "NOT_COORDINATOR": REDISCOVER,
    "COORDINATOR_NOT_AVAILABLE": REDISCOVER,
    "COORDINATOR_LOAD_IN_PROGRESS": PAUSE,
    "TOPIC_AUTHORIZATION_FAILED": REPORTED,
}
"""Error of a heartbeat to what the client does; every other error makes poll() throw."""


def answered(
    c: ConsumerState,
    now: Time,
    answer: ConsumerGroupHeartbeatAnswer | ShareGroupHeartbeatAnswer,
    is_last: bool,
    out: Outbox,
) -> None:
    """The answer; to the last heartbeat of a membership nobody listens."""
    if is_last:
        return
    if answer.error == "NONE":
        heartbeats.succeeded(c, now, answer.heartbeat_interval_ms, out)
        if c.membership.state in (PREPARE_LEAVING, *IN_GROUP) and answer.member_epoch >= 0:
            c.membership.generation = answer.member_epoch
            if answer.member_epoch > 0:
                protocol_member(c).last_epoch = answer.member_epoch
            if answer.assignment is not None and c.membership.state != PREPARE_LEAVING:
                reconciliation.received(c, now, callbacks.in_order(answer.assignment), out)
        return
    reaction = REACTIONS.get(answer.error)
    heartbeats.failed(c, now, out, pause=reaction in (PAUSE, REPORTED))
    if reaction == REDISCOVER:
        c.lookup.coordinator = None
    elif reaction == FENCED:
        membership.fence(c, now, out)
    elif reaction == REPORTED:
        out.observe(Noted(f"poll() of {c.config.name} throws: {answer.error}"))
    elif reaction is None:
        membership.refuse(c, now, answer.error, out)
