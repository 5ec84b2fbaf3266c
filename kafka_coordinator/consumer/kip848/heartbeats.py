"""Heartbeats of the consumer protocol: when one is sent, and what it says (spec 6.2, 6.7).

The background thread sends them at the coordinator's interval, and at once where the member joins, has reconciled or
leaves; one is on its way at a time. Epoch 0 and everything are sent to join, afterwards only what has changed, and
everything that the coordinator might have missed after an error.

In Kafka `AbstractHeartbeatRequestManager.poll` and `ConsumerHeartbeatRequestManager.HeartbeatState`.
"""

from typing import Final

from kafka_coordinator.consumer import lookup, requests, states
from kafka_coordinator.consumer.kip848.states import (
    ACKNOWLEDGING,
    AT_ONCE,
    HEARTBEAT_SENT,
    HEARTBEATS,
    JOINING,
    NEWER_TARGET,
    TARGET_REACHED,
)
from kafka_coordinator.consumer.state import ConsumerState, protocol_member
from kafka_coordinator.consumer.state.membership import NOTHING_SENT, SentFields
from kafka_coordinator.coordinator.share_groups.messages import ShareGroupHeartbeat
from kafka_coordinator.messages import UNCHANGED_TIMEOUT, ConsumerGroupHeartbeat
from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java

LONGEST_SLEEP_MS: Final = 5000
"""The background thread waits no longer for an answer or a timer of its own (`ConsumerNetworkThread.runOnce`)."""


def hurry(c: ConsumerState, now: Time, out: Outbox) -> None:
    """After every event: a heartbeat that does not wait any longer is sent, if there is one."""
    m, state = protocol_member(c), c.membership.state
    if state not in HEARTBEATS or m.awaits_answer or m.backs_off:
        return
    if m.is_due or state in AT_ONCE:
        if c.lookup.coordinator is None:
            lookup.look_up(c, now, out)
        elif not c.connections.to_close:
            send(c, now, out)


def due(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The timer is due: the interval, or the pause after a failure, is over. `hurry` sends."""
    m = protocol_member(c)
    m.backs_off = False
    m.is_due = True


def send(c: ConsumerState, now: Time, out: Outbox, *, is_last: bool = False) -> None:
    """Send the heartbeat to the coordinator, who is known. ``is_last``: nothing depends on its answer but close()."""
    m, coordinator = protocol_member(c), c.lookup.coordinator
    assert coordinator is not None
    requests.send(c, now, coordinator, _message(c), out, about=is_last)
    m.is_due = False
    if is_last:
        out.cancel_timer(states.HEARTBEAT)
        return
    m.awaits_answer = True
    if m.interval:
        out.set_timer(states.HEARTBEAT, now + m.interval)
    if c.membership.state == ACKNOWLEDGING:
        c.transition(HEARTBEAT_SENT, out, TARGET_REACHED if m.current == m.target else NEWER_TARGET)


def succeeded(c: ConsumerState, now: Time, interval: float, out: Outbox) -> None:
    m = protocol_member(c)
    m.awaits_answer = False
    m.failures = 0
    m.answered_at = now if interval > LONGEST_SLEEP_MS else 0.0
    if interval != m.interval:
        m.interval = interval
        m.is_due = False
        out.set_timer(states.HEARTBEAT, now + interval)


def failed(c: ConsumerState, now: Time, out: Outbox, *, pause: bool) -> None:
    """It was refused or lost: the next one says everything again, and is due at once or after a ``pause``."""
    m = protocol_member(c)
    m.awaits_answer = False
    m.sent = NOTHING_SENT
    m.is_due = True
    m.backs_off = pause
    out.cancel_timer(states.HEARTBEAT)
    if pause and c.membership.state in HEARTBEATS:
        out.set_timer(states.HEARTBEAT, now + c.config.settings.backoff(m.failures))
        m.failures += 1
    elif not pause:
        m.failures = 0


def to_say(c: ConsumerState) -> SentFields:
    """All that a heartbeat would say now, were nothing said before."""
    topics = tuple(sorted_as_java(c.subscription.topics))
    settings, current = c.config.settings, protocol_member(c).current
    assignor, regex = settings.group_remote_assignor, c.config.broker_pattern
    return SentFields(settings.max_poll_interval_ms, topics, assignor, current, regex)


def _message(c: ConsumerState) -> ConsumerGroupHeartbeat | ShareGroupHeartbeat:
    m, config, before = protocol_member(c), c.config, protocol_member(c).sent
    joins = c.membership.state == JOINING
    says = m.sent = to_say(c)
    topics = None if says.topics == before.topics and not joins else says.topics
    if config.settings.shares:
        rack = config.rack if before is NOTHING_SENT else None
        member_id, epoch = c.membership.member_id, c.membership.generation
        return ShareGroupHeartbeat(requests.number(c), config.group, member_id, epoch, rack, topics, config.client_id)
    return ConsumerGroupHeartbeat(
        requests.number(c),
        config.group,
        c.membership.member_id,
        c.membership.generation,
        config.instance_id,
        config.rack if joins else None,
        UNCHANGED_TIMEOUT if says.rebalance_timeout_ms == before.rebalance_timeout_ms and not joins else says[0],
        topics,
        _regex(before.regex, says.regex, joins),
        None if says.assignor == before.assignor and not joins else says.assignor,
        None if says.owned == before.owned and not joins else m.current.partitions,
        config.client_id,
    )


def _regex(before: str | None, now: str | None, joins: bool) -> str | None:
    """What the field says: a pattern that is gone is taken back by an empty one."""
    if now == before and not (joins and now is not None):
        return None
    return now or ""
