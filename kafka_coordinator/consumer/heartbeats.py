"""The heartbeat thread (spec 4.7): it keeps the membership alive, learns of rebalances, and makes a member leave
whose user does not poll.

In Kafka `AbstractCoordinator.HeartbeatThread`, `sendHeartbeatRequest` and `HeartbeatResponseHandler`.
"""

from collections.abc import Mapping
from typing import Final

from kafka_coordinator.consumer import lookup, membership, requests, states
from kafka_coordinator.consumer.state import ConsumerState
from kafka_coordinator.consumer.states import HEARTBEATS, STABLE
from kafka_coordinator.messages import Heartbeat, HeartbeatAnswer
from protocols.engine.nodes import Outbox, Time
from protocols.load import quickly_made

_heartbeat = quickly_made(Heartbeat)

REACTIONS: Final[Mapping[str, str]] = {
    "NONE": "alive",
    "REBALANCE_IN_PROGRESS": "rejoin",
    "COORDINATOR_NOT_AVAILABLE": "rediscover",
    "NOT_COORDINATOR": "rediscover",
    "ILLEGAL_GENERATION": "reset generation",
    "UNKNOWN_MEMBER_ID": "reset",
    "FENCED_INSTANCE_ID": "reset, fatal",
}
"""Error of a heartbeat to what the client does; every other error is a heartbeat that failed, and the
user is not told."""


def enable(c: ConsumerState, now: Time, out: Outbox) -> None:
    """A JoinGroup was answered: heartbeats begin."""
    c.heartbeats.heard_at = now
    c.heartbeats.failures = 0
    out.set_timer(states.HEARTBEAT, now + c.config.settings.heartbeat_interval_ms)


def disable(c: ConsumerState, out: Outbox) -> None:
    out.cancel_timer(states.HEARTBEAT)


def due(c: ConsumerState, now: Time, out: Outbox) -> None:
    if c.membership.state not in HEARTBEATS:
        return
    settings = c.config.settings
    expires = c.heartbeats.heard_at + settings.session_timeout_ms
    if c.lookup.coordinator is None:
        lookup.look_up(c, now, out)
        out.set_timer(states.HEARTBEAT, now + settings.retry_backoff_ms)
    elif now >= expires:
        # The member is not dropped: the next coordinator found decides.
        lookup.forget(c)
        out.set_timer(states.HEARTBEAT, now + settings.retry_backoff_ms)
    elif c.heartbeats.awaits_answer:
        out.set_timer(states.HEARTBEAT, min(now + settings.heartbeat_interval_ms, expires))
    else:
        c.heartbeats.awaits_answer = True
        config, member_id, generation = c.config, c.membership.member_id, c.membership.generation
        message = _heartbeat((requests.number(c), config.group, member_id, generation, config.instance_id))
        requests.send(c, now, c.lookup.coordinator, message, out, about=(generation, member_id))
        out.set_timer(states.HEARTBEAT, now + settings.heartbeat_interval_ms)


def answered(c: ConsumerState, now: Time, answer: HeartbeatAnswer, about: tuple[int, str], out: Outbox) -> None:
    """What the coordinator says; refusals of an earlier membership's heartbeat say nothing about this one."""
    c.heartbeats.awaits_answer = False
    reaction = REACTIONS.get(answer.error, "failed")
    if reaction in ("alive", "rejoin"):
        c.heartbeats.heard_at = now
        c.heartbeats.failures = 0
        if reaction == "rejoin" and c.membership.state == STABLE:
            c.request_rejoin("group is already rebalancing")
    elif reaction == "rediscover":
        lookup.forget(c)
        failed(c, now, out)
    elif reaction == "failed":
        failed(c, now, out)
    elif about == (c.membership.generation, c.membership.member_id):
        membership.reset(c, now, out, answer.error, keep_id=reaction == "reset generation")
        if reaction == "reset, fatal":
            c.user.fatal = answer.error


def failed(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The heartbeat was lost, or reached who is not the coordinator: the next one after a pause."""
    c.heartbeats.awaits_answer = False
    if c.membership.state in HEARTBEATS:
        out.set_timer(states.HEARTBEAT, now + c.config.settings.backoff(c.heartbeats.failures))
        c.heartbeats.failures += 1
        if c.lookup.coordinator is None and not c.connections.to_close:
            lookup.look_up(c, now, out)
