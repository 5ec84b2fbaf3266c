"""The member has its assignment (spec 4.4): it gives up what goes to others and takes over what is new.

In Kafka `ConsumerCoordinator.onJoinComplete`.
"""

from typing import Final

from kafka_coordinator.assignors.inputs import NO_GENERATION, Partition
from kafka_coordinator.consumer import assigning, callbacks, metadata, reading, timers
from kafka_coordinator.consumer.state import ConsumerState, ListenerCall
from protocols.engine.nodes import Outbox, Time

ARRIVED: Final = "arrived"
"""What follows when the listener has returned: the rest of onJoinComplete."""


def on_join_complete(c: ConsumerState, now: Time, assigned: tuple[Partition, ...], out: Outbox) -> None:
    """onJoinComplete."""
    if not c.assigning.is_leader:
        c.assigning.snapshot = None
    if not _subscribed(c, assigned):
        c.request_rejoin("received assignment for topics that were not subscribed")
        return
    if c.cooperative and c.subscription.owned:
        revoked = without(c.subscription.owned, assigned)
        if revoked:
            reading.advance(c, now, out)
            waits = callbacks.invoke(c, now, callbacks.REVOKED, revoked, out, ARRIVED, assigned)
            c.request_rejoin("need to revoke partitions and re-join")
            if waits:
                return
    _take_assignment(c, now, assigned, out)


def after_revocation(c: ConsumerState, now: Time, called: ListenerCall, out: Outbox) -> None:
    """The listener has returned from the revocation; if the membership is lost since, all will be reported as lost."""
    if c.membership.generation != NO_GENERATION:
        _take_assignment(c, now, called.assigned, out)


def _take_assignment(c: ConsumerState, now: Time, assigned: tuple[Partition, ...], out: Outbox) -> None:
    # The sticky assignors may hand a partition to one member twice (spec 5.7): to the client it is one.
    owned = callbacks.in_order(set(assigned))
    before = set(c.subscription.owned)
    added = tuple([each for each in owned if each not in before]) if before else owned
    assigning.remember(c, c.membership.protocol or "", assigned)
    c.commits.auto_due = False
    if c.config.settings.enable_auto_commit and owned:
        out.set_timer(timers.AUTO_COMMIT, now + c.config.settings.auto_commit_interval_ms)
    else:
        out.cancel_timer(timers.AUTO_COMMIT)
    callbacks.set_owned(c, now, owned, out)
    callbacks.invoke(c, now, callbacks.ASSIGNED, added, out)


def _subscribed(c: ConsumerState, assigned: tuple[Partition, ...]) -> bool:
    topics = {topic for topic, _ in assigned}
    if c.config.pattern is not None:
        matches = metadata.compiled(c.config.pattern).fullmatch
        return all(map(matches, topics))
    return topics.issubset(c.subscription.topics)


def without(partitions: tuple[Partition, ...], over: tuple[Partition, ...]) -> tuple[Partition, ...]:
    """The partitions that are not over, in their order."""
    gone = set(over)
    return tuple([each for each in partitions if each not in gone])
