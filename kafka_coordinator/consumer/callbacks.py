"""The user's rebalance listener, and what the member takes for its own (spec 4.4, 4.5).

Reading follows: what was handled of partitions given up is reported, new ones wait for positions.

In Kafka `ConsumerRebalanceListener` with `ConsumerRebalanceListenerInvoker` (`invokePartitionsAssigned`, `-Revoked`,
`-Lost`), and `SubscriptionState.assignFromSubscribed`.
"""

from collections.abc import Iterable

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer import reading, timers
from kafka_coordinator.consumer.state import ConsumerState, ListenerCall
from kafka_coordinator.partitions import queue_of
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Callback, Owns
from protocols.java import sorted_pairs
from protocols.queues import Queue
from protocols.quick_records import quickly_made

_callback, _owns = quickly_made(Callback), quickly_made(Owns)

ASSIGNED, REVOKED, LOST = "assigned", "revoked", "lost"


def in_order(partitions: Iterable[Partition]) -> tuple[Partition, ...]:
    """The partitions by topic, then number, as callbacks and requests list them."""
    return tuple(sorted_pairs(partitions))


def as_queues(partitions: tuple[Partition, ...]) -> tuple[Queue, ...]:
    """Partitions as queues of the shared model, which have no broker here."""
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
    out.set_timer(timers.POLL, now + c.config.settings.max_poll_interval_ms)
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
        subscription.positions = {partition: each for partition, each in positions.items() if partition in kept}
    if kept or subscription.unpositioned:
        missing = set(subscription.unpositioned)
        subscription.unpositioned = tuple([each for each in owned if each not in before or each in missing])
    else:
        subscription.unpositioned = owned
    subscription.owned = owned
    subscription.beside = tuple([each for each in subscription.beside if each in subscription.positions])
    config, generation = c.config, c.membership.generation if owned else None
    out.observe(_owns((config.group, config.name, as_queues(owned), generation)))
    reading.resume(c, now, out)
