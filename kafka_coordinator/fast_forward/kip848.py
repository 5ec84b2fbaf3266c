"""When a consumer of the consumer protocol is quiescent: it has reached its target, or its user does not poll, and its
heartbeats say nothing new. While one is on its way it is not, because the answer may bring another target.
"""

from typing import Any

from kafka_coordinator.consumer import states
from kafka_coordinator.consumer.kip848 import heartbeats, polling
from kafka_coordinator.consumer.kip848.states import HEARTBEATS, RECONCILING, STABLE
from kafka_coordinator.consumer.state import ConsumerState, protocol_member
from kafka_coordinator.fast_forward.commits import auto_commits
from kafka_coordinator.messages import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    OffsetCommit,
    OffsetCommitAnswer,
)
from protocols.engine.fast_forward.contract import Call, Exchange, Quiescence

_IDLE = (states.REQUESTS,)


def quiescence(c: ConsumerState) -> Quiescence | None:
    """How the consumer is quiescent, None if it is not."""
    if _is_busy(c):
        return None
    kinds = [each.kind for each in c.requests.in_flight.values()]
    idle = () if kinds else _IDLE
    state, coordinator = c.membership.state, c.lookup.coordinator
    if state not in HEARTBEATS:
        return None if kinds else Quiescence(idle=idle)
    if state != STABLE and not (c.user.away and state == RECONCILING):
        return None
    m = protocol_member(c)
    if coordinator is None or m.is_due or m.backs_off or m.awaits_answer or not m.interval:
        return None
    if m.sent != heartbeats.to_say(c):
        return None
    commits = kinds.count(OffsetCommit)
    if len(kinds) > commits + kinds.count(ConsumerGroupHeartbeat):
        return None
    exchanges = [_heartbeats(c, coordinator)]
    harmless: dict[tuple[str, Any], Any] = {(coordinator, ConsumerGroupHeartbeatAnswer): None}
    commit = None if c.user.away else auto_commits(c, coordinator, _who(c), awaiting=commits > 0)
    if commit is not None:
        exchanges.append(commit)
        harmless[coordinator, OffsetCommitAnswer] = None
    elif commits:
        return None
    return Quiescence(tuple(exchanges), harmless, idle=idle)


def _is_busy(c: ConsumerState) -> bool:
    """Whether anything is going on beside heartbeats and commits."""
    user, m = c.user, protocol_member(c)
    return bool(
        user.frozen
        or user.closing
        or user.listener_call is not None
        or c.connections.to_close
        or c.metadata.refreshing
        or c.lookup.in_progress
        or (m.reconciliation is not None and not user.away)
        or (m.reconciliation is not None and m.reconciliation.step == "commit")
        or c.commits.by_user is not None
        or (not user.away and _is_busy_polling(c))
    )


def _is_busy_polling(c: ConsumerState) -> bool:
    return bool(
        c.user.resume_at is not None
        or c.user.deferred
        or c.subscription.unpositioned
        or c.subscription.assigned_by_user
        or c.commits.stored is not None
        or protocol_member(c).at_records
        or polling.has_work(c)
    )


def _who(c: ConsumerState) -> tuple[str, str, int]:
    return c.config.group, c.membership.member_id, c.membership.generation


def _heartbeats(c: ConsumerState, coordinator: str) -> Exchange:
    m = protocol_member(c)
    claim = (*_who(c), m.current.partitions, m.interval)
    beat = Call((coordinator,), ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer, claim=claim)
    within = c.config.settings.request_timeout_ms
    return Exchange(states.HEARTBEAT, m.interval, (beat,), within=within)
