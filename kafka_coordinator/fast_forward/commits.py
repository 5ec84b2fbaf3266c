"""Auto commits of a consumer whose positions stand still."""

from collections.abc import Hashable

from kafka_coordinator.consumer import states
from kafka_coordinator.consumer.state import ConsumerState
from kafka_coordinator.messages import OffsetCommit, OffsetCommitAnswer
from protocols.engine.fast_forward.contract import Call, Exchange


def auto_commits(c: ConsumerState, coordinator: str, who: tuple[Hashable, ...], *, awaiting: bool) -> Exchange | None:
    """The same offsets again and again; None where there are none, or where they move. ``who``: the member."""
    settings = c.config.settings
    if not settings.enable_auto_commit or not c.subscription.positions or c.subscription.reading:
        return None
    offsets = tuple(sorted([(partition, position.start) for partition, position in c.subscription.positions.items()]))
    commit = Call((coordinator,), OffsetCommit, OffsetCommitAnswer, claim=(*who, offsets))
    period, within = settings.auto_commit_interval_ms, settings.request_timeout_ms
    return Exchange(states.AUTO_COMMIT, period, (commit,), awaiting=awaiting, within=within)
