"""The end of a membership: reset by a refusal, by a user who does not poll, or by leaving (spec 4.7, 4.10).

In Kafka `AbstractCoordinator.resetStateOnResponseError`, `resetStateAndRejoin` and `maybeLeaveGroup`.
"""

from kafka_coordinator.assignors.inputs import NO_GENERATION
from kafka_coordinator.consumer import requests, states
from kafka_coordinator.consumer.state import ConsumerState
from kafka_coordinator.consumer.states import HEARTBEATS, RESET, UNJOINED
from kafka_coordinator.messages import LeaveGroup, Leaving
from protocols.engine.nodes import Outbox, Time
from protocols.facts import TimedOut


def forget(c: ConsumerState, out: Outbox, *, keep_id: bool = False) -> None:
    """Generation (and member id) are void. The listener is called at the next poll; until then the member owns on."""
    c.membership.generation = NO_GENERATION
    c.transition(RESET, out)
    c.membership.protocol = None
    if not keep_id:
        c.membership.member_id = ""
    out.cancel_timer(states.HEARTBEAT)


def reset(c: ConsumerState, now: Time, out: Outbox, why: str, *, keep_id: bool = False) -> None:
    """`forget`, and rejoin from the beginning at the next poll."""
    forget(c, out, keep_id=keep_id)
    c.request_rejoin(f"membership reset: {why}")
    c.joining.needs_prepare = True


def leave(c: ConsumerState, now: Time, out: Outbox, reason: str) -> bool:
    """Send a LeaveGroup, best effort, if there is a dynamic membership to leave; whether one was sent."""
    config, coordinator, member = c.config, c.lookup.coordinator, c.membership
    if config.instance_id is not None or coordinator is None or member.state == UNJOINED or not member.member_id:
        return False
    message = LeaveGroup(requests.number(c), config.group, (Leaving(member.member_id, None, reason),))
    requests.send(c, now, coordinator, message, out)
    return True


def busy_with(c: ConsumerState, now: Time) -> str:
    """What the user's loop does instead of polling, for people."""
    if c.user.resume_at is not None and c.user.resume_at > now:
        took = c.user.resume_at - now + c.config.settings.max_poll_interval_ms
        return f"handling the records of one poll takes {took / 1000:.3g} s, longer"
    if c.user.stuck is not None:
        (topic, number), record = c.user.stuck.queue, c.user.stuck.record
        return f"the user's loop stands still on record {record.offset} of {topic}-{number} for longer"
    return "the user's loop stands still for longer"


def poll_expired(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The heartbeat thread gives up on the user: a dynamic member leaves, a static one falls silent."""
    if c.membership.state not in HEARTBEATS:
        return
    limit = c.config.settings.max_poll_interval_ms
    then = "leaves the group" if c.config.instance_id is None else "sends no more heartbeats"
    out.observe(TimedOut(c.config.group, c.config.name, "max.poll.interval.ms", limit, busy_with(c, now), then))
    leave(c, now, out, "consumer poll timeout has expired.")
    reset(c, now, out, "consumer poll timeout has expired")
