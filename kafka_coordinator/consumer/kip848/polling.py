"""One call of poll() by the user's loop, under the consumer protocol; see `kafka_coordinator.consumer.polling`.

In Kafka `AsyncKafkaConsumer.poll`, the handling of its `PollEvent` and of the callbacks that the background thread asks
for.
"""

from kafka_coordinator.consumer import commits, leaving, lookup, metadata, positions
from kafka_coordinator.consumer.kip848 import membership, reconciliation
from kafka_coordinator.consumer.kip848.states import FATAL, STALE, UNSUBSCRIBED
from kafka_coordinator.consumer.state import ConsumerState, protocol_member
from protocols.engine.nodes import Outbox, Time


def has_work(c: ConsumerState) -> bool:
    """Whether poll() would do anything now but return records."""
    return (
        _is_to_join(c)
        or protocol_member(c).releases
        or reconciliation.has_step(c)
        or reconciliation.is_to_begin(c)
        or c.commits.auto_due
        or c.metadata.has_news
        or _is_to_ask_for_offsets(c)
        or (_needs_coordinator(c) and not c.lookup.in_progress)
        or c.user.fatal != ""
    )


def _is_to_ask_for_offsets(c: ConsumerState) -> bool:
    subscription, waits = c.subscription, protocol_member(c).at_records
    missing = subscription.unpositioned != () and not subscription.awaits_offsets
    return missing and not waits and c.lookup.coordinator is not None


def _needs_coordinator(c: ConsumerState) -> bool:
    wanted = c.membership.state not in (UNSUBSCRIBED, FATAL) or protocol_member(c).wants_to_join
    return c.lookup.coordinator is None and (wanted or c.subscription.assigned_by_user != ())


def _is_to_join(c: ConsumerState) -> bool:
    m, state = protocol_member(c), c.membership.state
    if state == STALE:
        return not m.releases
    # A pattern that the client resolves needs to know the topics that there are.
    knows = c.config.pattern is None or c.metadata.requested_topics is None
    return state == UNSUBSCRIBED and m.wants_to_join and knows and not c.metadata.has_news


def poll(c: ConsumerState, now: Time, out: Outbox) -> bool:
    """The user's loop is in poll(): everything it does beside returning records, in order. Whether it should look again
    at once."""
    if protocol_member(c).releases:
        membership.release(c, now, out)
        return True
    if c.user.fatal:
        if not c.config.by_hand:
            leaving.fail(c, now, out)
        return False
    if c.metadata.has_news:
        metadata.look(c)
    if _is_to_join(c):
        membership.join(c, now, out)
    if _needs_coordinator(c):
        lookup.look_up(c, now, out)
    if reconciliation.is_to_begin(c):
        reconciliation.begin(c, now, out)
    if reconciliation.has_step(c):
        reconciliation.step(c, now, out)
        return True
    if c.commits.auto_due:
        commits.auto_commit(c, now, out)
    if _is_to_ask_for_offsets(c):
        positions.fetch(c, now, out)
    return False
