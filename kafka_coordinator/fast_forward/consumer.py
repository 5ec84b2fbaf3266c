"""When a consumer is quiescent: it sends nothing but heartbeats and commits of unchanged positions."""

from collections.abc import Hashable
from typing import Any

from kafka_coordinator.consumer import Consumer, timers
from kafka_coordinator.consumer.state import NOTHING, ConsumerState
from kafka_coordinator.consumer.states import STABLE, UNJOINED
from kafka_coordinator.messages import Heartbeat, HeartbeatAnswer, OffsetCommit, OffsetCommitAnswer
from protocols.engine.fast_forward.adapters import NO_JUDGEMENTS
from protocols.engine.fast_forward.contract import Call, Exchange, Quiescence
from protocols.engine.nodes import Message, Outbox, Time, TimerName

_IDLE = (timers.REQUESTS,)
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
            c.heard = now
            c.heartbeat_failures = 0

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        """Nothing but the timer changed, and that is moved already."""


def _quiescence(c: ConsumerState) -> Quiescence | None:
    """How the consumer is quiescent, None if it is not."""
    if c.closed:
        return _OUTSIDE
    if (
        c.rejoin
        or c.awaiting != NOTHING
        or c.away
        or c.frozen
        or c.resume_at is not None
        or c.called is not None
        or c.deferred
        or c.dropping
        or c.closing
        or c.fatal
        or c.commit_due
        or c.unpositioned
        or c.assigned_by_user
        or c.stored is not None
        or c.metadata_news
        or c.refreshing
        or c.looking
        or c.user_commit is not None
        or c.joined_subscription is not c.subscription
    ):
        return None
    if c.state == UNJOINED:
        return None if c.waiting else _OUTSIDE
    if c.state != STABLE or c.coordinator is None:
        return None
    commits = 0
    for each in c.waiting.values():
        if each.kind is OffsetCommit:
            commits += 1
        elif each.kind is not Heartbeat:
            return None
    settings, broker = c.config.settings, c.coordinator
    who = (c.config.group, c.member_id, c.generation)
    beat = Call((broker,), Heartbeat, HeartbeatAnswer, claim=who)
    within = settings.request_timeout_ms
    exchanges = [
        Exchange(timers.HEARTBEAT, settings.heartbeat_interval_ms, (beat,), awaiting=c.heartbeat_out, within=within),
    ]
    harmless: dict[tuple[str, Any], Any] = {(broker, HeartbeatAnswer): None}
    if settings.enable_auto_commit and c.positions and not c.reading:
        offsets = tuple(sorted([(partition, each.start) for partition, each in c.positions.items()]))
        commit = Call((broker,), OffsetCommit, OffsetCommitAnswer, claim=(*who, offsets))
        period = settings.auto_commit_interval_ms
        exchanges.append(Exchange(timers.AUTO_COMMIT, period, (commit,), awaiting=commits > 0, within=within))
        harmless[broker, OffsetCommitAnswer] = None
    elif commits:
        return None
    # A request on its way may be lost: then it is overdue some day, and that is no idle matter.
    return Quiescence(tuple(exchanges), harmless, idle=() if c.waiting else _IDLE)
