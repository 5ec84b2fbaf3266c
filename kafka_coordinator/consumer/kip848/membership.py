"""Into the group and out of it: joins, fencing, a user who does not poll, leaving, refusals (spec 6.5, 6.6, 6.7).

In Kafka `AbstractMembershipManager`: `transitionToJoining`, `transitionToFenced`, `transitionToStale`,
`transitionToFatal`, `leaveGroup`, `transitionToSendingLeaveGroup`.
"""

from base64 import urlsafe_b64encode
from typing import Final
from uuid import UUID

from kafka_coordinator.consumer import callbacks, reading, states
from kafka_coordinator.consumer.kip848 import heartbeats
from kafka_coordinator.consumer.kip848.states import (
    DOES_NOT_POLL,
    FENCED,
    FENCED_BY_ANSWER,
    IN_GROUP,
    JOINS,
    LEAVE_SENT,
    LEAVE_SKIPPED,
    LEAVES,
    LEAVING,
    ON_PURPOSE,
    POLL_EXPIRED,
    PREPARE_LEAVING,
    REFUSED,
    RELEASED,
    STALE,
)
from kafka_coordinator.consumer.membership import busy_with
from kafka_coordinator.consumer.state import ConsumerState, protocol_member
from kafka_coordinator.consumer.state.membership import NO_ASSIGNMENT, NOTHING_SENT
from kafka_coordinator.coordinator.share_groups.messages import ShareGroupHeartbeat
from kafka_coordinator.messages import JOINS as JOIN_EPOCH
from kafka_coordinator.messages import LEAVES as LEAVE_EPOCH
from kafka_coordinator.messages import LEAVES_FOR_A_WHILE, ConsumerGroupHeartbeat
from protocols.engine.nodes import Outbox, Time
from protocols.facts import TimedOut

_HEARTBEATS: Final = (ConsumerGroupHeartbeat, ShareGroupHeartbeat)

RELEASE: Final = "release"
"""What follows when the listener has heard that all is lost."""


def join(c: ConsumerState, now: Time, out: Outbox) -> None:
    m = protocol_member(c)
    m.wants_to_join = False
    if m.reconciliation is not None:
        m.reconciliation.outdated = True
    if not c.membership.member_id:
        name = c.config.client_id or c.config.name
        c.membership.member_id = _as_kafka_writes(out.new_id(name).removeprefix(f"{name}-"))
    c.membership.generation = JOIN_EPOCH
    m.target = NO_ASSIGNMENT
    c.transition(JOINS, out)


def _as_kafka_writes(id: str) -> str:
    """A UUID as Kafka's own `Uuid` writes it, 22 characters of base64; any other id as it is."""
    try:
        raw = UUID(id).bytes
    except ValueError:
        return id
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def fence(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The coordinator does not know the member, or knows a newer epoch: all is lost, then the member joins anew."""
    state = c.membership.state
    if state in (PREPARE_LEAVING, *IN_GROUP):
        c.membership.generation = JOIN_EPOCH
        c.transition(FENCED_BY_ANSWER, out)
        if state != PREPARE_LEAVING:
            _lose_all(c, now, out)


def refuse(c: ConsumerState, now: Time, why: str, out: Outbox) -> None:
    """The coordinator will not have this member: the next poll() throws."""
    if c.membership.state in (PREPARE_LEAVING, *IN_GROUP):
        c.user.fatal = why
        c.membership.generation = JOIN_EPOCH
        c.transition(REFUSED, out)
        out.cancel_timer(states.HEARTBEAT)
        _lose_all(c, now, out)


def poll_expired(c: ConsumerState, now: Time, out: Outbox, why: str = "") -> None:
    """The user has not polled for ``max.poll.interval.ms``. The background thread does not wake up for that: it sees it
    with the next heartbeat or answer, or when it has slept for as long as it ever does. ``why`` as in `oversleep`."""
    m = protocol_member(c)
    if m.overslept:
        oversleep(c, now, out, why)
    elif m.awaits_answer or not 0 < m.interval <= heartbeats.LONGEST_SLEEP_MS:
        slept = (now - m.answered_at) % heartbeats.LONGEST_SLEEP_MS
        out.set_timer(states.POLL, now + heartbeats.LONGEST_SLEEP_MS - slept)
    m.overslept = True


def oversleep(c: ConsumerState, now: Time, out: Outbox, why: str = "") -> None:
    """The background thread is awake: where the user did not poll in time, the member leaves, and tells the listener
    when he does. ``why``: what the user does instead, where the state does not show it."""
    m = protocol_member(c)
    if not m.overslept or c.membership.state not in IN_GROUP or c.lookup.coordinator is None:
        return
    m.overslept = False
    why = why or busy_with(c, now)
    limit = c.config.settings.max_poll_interval_ms
    then = "leaves the group" if c.config.instance_id is None else "leaves the group until it comes back"
    out.observe(TimedOut(c.config.group, c.config.name, "max.poll.interval.ms", limit, why, then))
    c.transition(POLL_EXPIRED, out)
    _send_leave(c, now, out, DOES_NOT_POLL)
    _lose_all(c, now, out)


def _lose_all(c: ConsumerState, now: Time, out: Outbox) -> None:
    """What is owned is lost: the listener hears of it in the user's thread, or at once where nothing is owned."""
    m = protocol_member(c)
    m.current = NO_ASSIGNMENT
    if c.subscription.owned:
        m.releases = True
    else:
        _released(c, now, out)


def release(c: ConsumerState, now: Time, out: Outbox) -> None:
    """poll(): the listener hears that all is lost."""
    protocol_member(c).releases = False
    reading.advance(c, now, out)
    if not callbacks.invoke(c, now, callbacks.LOST, c.subscription.owned, out, RELEASE):
        released(c, now, out)


def released(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The listener has returned: nothing is owned any more, and a fenced member joins anew."""
    clear(c, now, out)
    _released(c, now, out)


def _released(c: ConsumerState, now: Time, out: Outbox) -> None:
    if c.membership.state == FENCED:
        if c.user.closing:
            c.transition(LEAVES, out)
        else:
            join(c, now, out)


def clear(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Neither target nor possession."""
    m = protocol_member(c)
    m.releases = False
    m.current = m.target = NO_ASSIGNMENT
    callbacks.set_owned(c, now, (), out)
    c.subscription.pending_revocation = frozenset()
    out.cancel_timer(states.AUTO_COMMIT)
    c.commits.auto_due = False


def prepare_leaving(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The user closes or unsubscribes: what is owned will be given up."""
    if c.membership.state in (*IN_GROUP, FENCED, STALE):
        c.transition(LEAVES, out)


def leave(c: ConsumerState, now: Time, out: Outbox) -> bool:
    """All is given up: the last heartbeat is sent, once, where the coordinator is known. Whether it was."""
    clear(c, now, out)
    if c.membership.state != PREPARE_LEAVING:
        return False
    c.transition(RELEASED, out)
    return _send_leave(c, now, out, ON_PURPOSE)


def _send_leave(c: ConsumerState, now: Time, out: Outbox, why: str) -> bool:
    m = protocol_member(c)
    assert c.membership.state == LEAVING
    c.membership.generation = LEAVE_EPOCH if c.config.instance_id is None else LEAVES_FOR_A_WHILE
    m.current = m.target = NO_ASSIGNMENT
    m.awaits_answer = m.backs_off = False
    in_flight = c.requests.in_flight
    for number in [number for number, each in in_flight.items() if each.kind in _HEARTBEATS]:
        del in_flight[number]  # its answer would be about a membership that is over
    if c.lookup.coordinator is None:
        c.transition(LEAVE_SKIPPED, out)
        out.cancel_timer(states.HEARTBEAT)
        return False
    heartbeats.send(c, now, out, is_last=True)
    m.sent = NOTHING_SENT
    c.transition(LEAVE_SENT, out, why)
    return True
