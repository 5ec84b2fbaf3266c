"""The user's rebalance listener, and what the member takes for its own (spec 4.4, 4.5).

Reading follows: what was handled of partitions given up is reported, new ones wait for positions.

In Kafka `ConsumerRebalanceListener` with `ConsumerRebalanceListenerInvoker` (`invokePartitionsAssigned`, `-Revoked`,
`-Lost`), and `SubscriptionState.assignFromSubscribed`.

The member has its assignment (spec 4.4): it gives up what goes to others and takes over what is new.

In Kafka `ConsumerCoordinator.onJoinComplete`.
"""

from collections.abc import Iterable
from typing import Final

from kafka_coordinator.assignors.inputs import NO_GENERATION, Partition, queue_of
from kafka_coordinator.consumer import assigning, metadata, reading, states
from kafka_coordinator.consumer.state import ConsumerState, ListenerCall
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Callback, Owns
from protocols.java import Queue, sorted_pairs
from protocols.load import quickly_made

_callback, _owns = quickly_made(Callback), quickly_made(Owns)

ASSIGNED, REVOKED, LOST = "assigned", "revoked", "lost"


def in_order(partitions: Iterable[Partition]) -> tuple[Partition, ...]:
    """The partitions by topic, then number, as callbacks and requests list them."""
    return tuple(sorted_pairs(partitions))


def as_queues(partitions: tuple[Partition, ...]) -> tuple[Queue, ...]:
    return tuple(map(queue_of, partitions))


def invoke(
    c: ConsumerState,
    now: Time,
    kind: str,
    partitions: tuple[Partition, ...],
    out: Outbox,
    then: str = "",
    assigned: tuple[Partition, ...] = (),
) -> bool:
    """The user's listener is called. Whether what follows (``then``) has to wait for it: see `by_hand`."""
    out.observe(_callback((c.config.group, c.config.name, kind, as_queues(partitions))))
    if not c.config.by_hand:
        return False
    c.user.listener_call = ListenerCall(kind, partitions, then, assigned)
    out.set_timer(states.POLL, now + c.config.settings.max_poll_interval_ms)
    return True


def give_up_all(c: ConsumerState, now: Time, kind: str, out: Outbox, then: str) -> bool:
    """Everything owned is revoked or lost; the listener is called where something was owned. Whether what follows
    (``then``, after nothing is owned any more) has to wait for it."""
    if c.subscription.owned:
        reading.advance(c, now, out)
        if invoke(c, now, kind, c.subscription.owned, out, then):
            return True
    set_owned(c, now, (), out)
    return False


def set_owned(c: ConsumerState, now: Time, owned: tuple[Partition, ...], out: Outbox) -> None:
    """From now on the member owns exactly these in its own view (sorted)."""
    if owned == c.subscription.owned:
        return
    reading.advance(c, now, out)
    subscription = c.subscription
    before = set(subscription.owned)
    kept = before.intersection(owned)
    if len(kept) < len(before):
        positions = subscription.positions
        subscription.positions = {partition: position for partition, position in positions.items() if partition in kept}
    if kept or subscription.unpositioned:
        missing = set(subscription.unpositioned)
        subscription.unpositioned = tuple(
            [partition for partition in owned if partition not in before or partition in missing]
        )
    else:
        subscription.unpositioned = owned
    subscription.owned = owned
    subscription.beside = tuple([each for each in subscription.beside if each in subscription.positions])
    config, generation = c.config, c.membership.generation if owned else None
    out.observe(_owns((config.group, config.name, as_queues(owned), generation)))
    reading.resume(c, now, out)


ARRIVED: Final = "arrived"
"""What follows when the listener has returned: the rest of onJoinComplete."""


def on_join_complete(c: ConsumerState, now: Time, assigned: tuple[Partition, ...], out: Outbox) -> None:
    if not c.assigning.is_leader:
        c.assigning.snapshot = None
    if not _subscribed(c, assigned):
        c.request_rejoin("received assignment for topics that were not subscribed")
        return
    if c.cooperative and c.subscription.owned:
        revoked = without(c.subscription.owned, assigned)
        if revoked:
            reading.advance(c, now, out)
            waits = invoke(c, now, REVOKED, revoked, out, ARRIVED, assigned)
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
    owned = in_order(set(assigned))
    before = set(c.subscription.owned)
    added = tuple([partition for partition in owned if partition not in before]) if before else owned
    assigning.remember(c, c.membership.protocol or "", assigned)
    c.commits.auto_due = False
    if c.config.settings.enable_auto_commit and owned:
        out.set_timer(states.AUTO_COMMIT, now + c.config.settings.auto_commit_interval_ms)
    else:
        out.cancel_timer(states.AUTO_COMMIT)
    set_owned(c, now, owned, out)
    invoke(c, now, ASSIGNED, added, out)


def _subscribed(c: ConsumerState, assigned: tuple[Partition, ...]) -> bool:
    topics = {topic for topic, _ in assigned}
    if c.config.pattern is not None:
        matches = metadata.compiled(c.config.pattern).fullmatch
        return all(map(matches, topics))
    return topics.issubset(c.subscription.topics)


def without(partitions: tuple[Partition, ...], over: tuple[Partition, ...]) -> tuple[Partition, ...]:
    """The partitions that are not over, in their order."""
    gone = set(over)
    return tuple([partition for partition in partitions if partition not in gone])
