"""One call of poll() by the user's loop (spec 4.3).

A user who sits in poll() reacts at once to whatever comes; so poll() is looked at after every event instead of being
called over and over. While the user's loop stands still or handles records, it waits.
"""

from kafka_coordinator.consumer import commits, joining, leaving, lookup, metadata, positions, reading, timers
from kafka_coordinator.consumer.state import NOTHING, ConsumerState
from kafka_coordinator.consumer.states import STABLE, UNJOINED
from kafka_coordinator.messages import SUBSCRIPTION_CHANGED
from protocols.engine.nodes import Outbox, Time


def is_elsewhere(c: ConsumerState, now: Time, out: Outbox) -> bool:
    """Whether the user's loop is not in poll() now; where it handles records, it is told when it has."""
    if c.away or c.resume_at is not None or c.called is not None:
        return True
    if c.config.handle and c.polled_at != now:
        until = reading.busy_until(c, now)
        if until > now:
            c.resume_at = until
            out.set_timer(timers.RESUME, until)
            return True
    return False


def has_work(c: ConsumerState) -> bool:
    """Whether poll() would do anything now but return records."""
    return bool(
        (c.rejoin and c.awaiting == NOTHING)
        or c.commit_due
        or c.metadata_news
        or (c.unpositioned and not c.fetching)
        or (c.coordinator is None and not c.looking)
        or (c.joined_subscription is not c.subscription and not c.rejoin)
        or c.fatal
    )


def poll(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The user's loop is in poll(): everything it does beside returning records, in order."""
    if c.fatal:
        if not c.config.by_hand:
            leaving.fail(c, now, out)
        return
    if c.metadata_news:
        metadata.look(c)
    if c.state == STABLE and c.joined_subscription is not c.subscription:
        if c.joined_subscription != c.subscription:
            c.request_rejoin(SUBSCRIPTION_CHANGED)
        else:
            c.joined_subscription = c.subscription
    if c.coordinator is None:
        if c.rejoin or c.state != UNJOINED or c.assigned_by_user:
            lookup.look_up(c, now, out)
        return
    if c.rejoin:
        if c.awaiting == NOTHING:
            joining.begin(c, now, out)
        return
    if c.commit_due:
        commits.auto(c, now, out)
    if c.unpositioned:
        positions.fetch(c, now, out)
