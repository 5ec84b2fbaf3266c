"""When a consumer is quiescent: it sends nothing but heartbeats and commits of unchanged positions."""

from collections.abc import Hashable
from typing import Any

from kafka_coordinator.consumer import Consumer, states
from kafka_coordinator.consumer.state import NOTHING, ConsumerState
from kafka_coordinator.consumer.states import STABLE, UNJOINED
from kafka_coordinator.fast_forward import kip848
from kafka_coordinator.fast_forward.commits import auto_commits
from kafka_coordinator.messages import Heartbeat, HeartbeatAnswer, OffsetCommit, OffsetCommitAnswer
from protocols.engine.fast_forward.adapters import NO_JUDGEMENTS
from protocols.engine.fast_forward.contract import Call, Exchange, Quiescence
from protocols.engine.nodes import Message, Outbox, Time, TimerName

_IDLE = (states.REQUESTS,)
_OUTSIDE = Quiescence(idle=_IDLE)
"""Of a consumer without a membership."""


class ConsumerAdapter:
    """Kafka's consumer from outside."""

    judges = NO_JUDGEMENTS
    reader = source = None

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def quiescence(self, now: Time) -> Quiescence | None:
        return _quiescence(self._consumer.state)

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None:
        if kind is HeartbeatAnswer:
            c = self._consumer.state
            c.heartbeats.heard_at = now
            c.heartbeats.failures = 0

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        """Nothing but the timer changed, and that is moved already."""


def _quiescence(c: ConsumerState) -> Quiescence | None:
    """How the consumer is quiescent, None if it is not."""
    if c.user.closed:
        return _OUTSIDE
    if c.kip848 is not None:
        return kip848.quiescence(c)
    if c.user.away and not c.user.closing:
        return _while_away(c)
    if (
        c.membership.rejoin_needed
        or c.joining.awaiting != NOTHING
        or c.user.frozen
        or c.user.resume_at is not None
        or c.user.listener_call is not None
        or c.user.deferred
        or c.connections.to_close
        or c.user.closing
        or c.user.fatal
        or c.commits.auto_due
        or c.subscription.unpositioned
        or c.subscription.assigned_by_user
        or c.commits.stored is not None
        or c.metadata.has_news
        or c.metadata.refreshing
        or c.lookup.in_progress
        or c.commits.by_user is not None
        or c.joining.joined_subscription is not c.subscription.topics
    ):
        return None
    if c.membership.state == UNJOINED:
        return None if c.requests.in_flight else _OUTSIDE
    if c.membership.state != STABLE or c.lookup.coordinator is None:
        return None
    commits = 0
    for each in c.requests.in_flight.values():
        if each.kind is OffsetCommit:
            commits += 1
        elif each.kind is not Heartbeat:
            return None
    broker = c.lookup.coordinator
    exchanges = [_heartbeats(c, broker)]
    harmless: dict[tuple[str, Any], Any] = {(broker, HeartbeatAnswer): None}
    commit = auto_commits(c, broker, _who(c), awaiting=commits > 0)
    if commit is not None:
        exchanges.append(commit)
        harmless[broker, OffsetCommitAnswer] = None
    elif commits:
        return None
    # A request on its way may be lost: then it is overdue some day, and that is no idle matter.
    return Quiescence(tuple(exchanges), harmless, idle=() if c.requests.in_flight else _IDLE)


def _while_away(c: ConsumerState) -> Quiescence | None:
    """The user's loop stands still: whatever waits for its poll waits on, only heartbeats are sent."""
    if c.user.frozen or c.connections.to_close or c.metadata.refreshing or c.lookup.in_progress:
        return None
    if c.membership.state == UNJOINED:
        return None if c.requests.in_flight else _OUTSIDE
    coordinator = c.lookup.coordinator
    if c.membership.state != STABLE or coordinator is None:
        return None
    if any(each.kind is not Heartbeat for each in c.requests.in_flight.values()):
        return None
    idle = () if c.requests.in_flight else _IDLE
    return Quiescence((_heartbeats(c, coordinator),), {(coordinator, HeartbeatAnswer): None}, idle=idle)


def _who(c: ConsumerState) -> tuple[str, str, int]:
    return c.config.group, c.membership.member_id, c.membership.generation


def _heartbeats(c: ConsumerState, coordinator: str) -> Exchange:
    settings = c.config.settings
    beat = Call((coordinator,), Heartbeat, HeartbeatAnswer, claim=_who(c))
    period, within = settings.heartbeat_interval_ms, settings.request_timeout_ms
    return Exchange(states.HEARTBEAT, period, (beat,), awaiting=c.heartbeats.awaits_answer, within=within)
