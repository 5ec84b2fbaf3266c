"""What the coordinator answers to a heartbeat, and what the client does then (spec 6.7).

In Kafka `AbstractHeartbeatRequestManager.onResponse` and `onErrorResponse`, `ConsumerMembershipManager`.
"""

from collections.abc import Mapping
from typing import Final

from kafka_coordinator.consumer import callbacks
from kafka_coordinator.consumer.kip848 import heartbeats, membership, reconciliation
from kafka_coordinator.consumer.kip848.states import IN_GROUP, PREPARE_LEAVING
from kafka_coordinator.consumer.state import ConsumerState, protocol_member
from kafka_coordinator.messages import ConsumerGroupHeartbeatAnswer
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Noted

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


def answered(c: ConsumerState, now: Time, answer: ConsumerGroupHeartbeatAnswer, is_last: bool, out: Outbox) -> None:
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
