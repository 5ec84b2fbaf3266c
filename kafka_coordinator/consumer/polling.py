"""One call of poll() by the user's loop (spec 4.3).

A user who sits in poll() reacts at once to whatever comes; so poll() is looked at after every event instead of being
called over and over. While the user's loop stands still or handles records, it waits.

In Kafka `KafkaConsumer.poll`, `ClassicKafkaConsumer.updateAssignmentMetadataIfNeeded` and `ConsumerCoordinator.poll`.
"""

from kafka_coordinator.consumer import commits, joining, leaving, lookup, metadata, positions, reading, timers
from kafka_coordinator.consumer.state import NOTHING, ConsumerState
from kafka_coordinator.consumer.states import STABLE, UNJOINED
from kafka_coordinator.messages import SUBSCRIPTION_CHANGED
from protocols.engine.nodes import Outbox, Time


def is_elsewhere(c: ConsumerState, now: Time, out: Outbox) -> bool:
    """Whether the user's loop is not in poll() now; where it handles records, a timer brings it back."""
    user = c.user
    if user.away or user.resume_at is not None or user.listener_call is not None:
        return True
    if c.config.handle and user.polled_at != now:
        until = reading.busy_until(c, now)
        if until > now:
            user.resume_at = until
            out.set_timer(timers.RESUME, until)
            return True
    return False


def has_work(c: ConsumerState) -> bool:
    """Whether poll() would do anything now but return records."""
    subscription = c.subscription
    if c.membership.rejoin_needed:
        if c.joining.awaiting == NOTHING:
            return True
    elif c.joining.joined_subscription is not subscription.topics:
        return True
    return (
        c.commits.auto_due
        or c.metadata.has_news
        or (subscription.unpositioned != () and not subscription.awaits_offsets)
        or (c.lookup.coordinator is None and not c.lookup.in_progress)
        or c.user.fatal != ""
    )


def poll(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The user's loop is in poll(): everything it does beside returning records, in order."""
    if c.user.fatal:
        if not c.config.by_hand:
            leaving.fail(c, now, out)
        return
    if c.metadata.has_news:
        metadata.look(c)
    if c.membership.state == STABLE and c.joining.joined_subscription is not c.subscription.topics:
        if c.joining.joined_subscription != c.subscription.topics:
            c.request_rejoin(SUBSCRIPTION_CHANGED)
        else:
            c.joining.joined_subscription = c.subscription.topics
    if c.lookup.coordinator is None:
        if c.membership.rejoin_needed or c.membership.state != UNJOINED or c.subscription.assigned_by_user:
            lookup.look_up(c, now, out)
        return
    if c.membership.rejoin_needed:
        if c.joining.awaiting == NOTHING:
            joining.begin(c, now, out)
        return
    if c.commits.auto_due:
        commits.auto_commit(c, now, out)
    if c.subscription.unpositioned:
        positions.fetch(c, now, out)
