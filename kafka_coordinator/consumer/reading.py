"""What the user's code reads, as functions of time (`protocols.load`): no record and no fetch is ever an event.

Where handling a record takes time, every partition that is read has an equal share of the member's time, whether or
not it has records waiting: with k partitions and ``handle`` ms a record, each is read at one record per k x handle
ms. So a partition left behind is caught up more slowly than a real consumer would, and never faster.

While records are in hand the user's loop does not poll. What is in hand is what waits in the partitions, at most
what is left of ``max.poll.records`` counted from where reading began; see `busy_until`.

In Kafka `Fetcher` with `FetchCollector`, and the user's loop over `ConsumerRecords`.
"""

from math import floor

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer import poison_watch, timers
from kafka_coordinator.consumer.state import ConsumerState
from protocols.engine.nodes import TICK, Outbox, Time
from protocols.facts import Delivered
from protocols.load import Reading
from protocols.poison import not_beyond
from protocols.queues import Queue


def is_still(c: ConsumerState) -> bool:
    """Whether no record is being handled, whatever there is."""
    return c.subscription.paused or c.user.frozen or c.user.away or c.config.by_hand or not c.load.writes


def with_leader(c: ConsumerState) -> dict[Partition, Reading]:
    """The positions that can advance: of partitions that have a leader."""
    positions, leaderless = c.subscription.positions, c.load.leaderless
    if not leaderless:
        return positions
    return {partition: each for partition, each in positions.items() if partition not in leaderless}


def advance(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Move the positions on to now, and observe what was handled since the last time."""
    if not c.subscription.reading:
        return
    load, positions = c.load, c.subscription.positions
    for partition, each in with_leader(c).items():
        production = load.production(partition)
        end = not_beyond(load.poison, partition, each.start, each.position(now, production))
        if end > each.start:
            topic, number = partition
            fact = Delivered(c.config.group, c.config.name, Queue(topic, "", number), each.start, end, each.since)
            out.observe(fact)
            behind = end < production.end_offset(now)
            since = each.since + (end - each.start) * each.per_record if behind else now
            positions[partition] = Reading(end, since, each.per_record)


def resume(c: ConsumerState, now: Time, out: Outbox) -> None:
    """From now on the partitions that are read share the member's time anew, or none is read. Call `advance` before."""
    c.subscription.reading = not is_still(c)
    positions = c.subscription.positions
    if positions and c.load.writes:
        per_record = round(c.config.handle * len(with_leader(c)) / TICK) * TICK
        c.subscription.positions = {
            partition: Reading(each.start, now, per_record) for partition, each in positions.items()
        }
    poison_watch.watch(c, now, with_leader(c), out)
    if c.config.handle and not c.user.away:
        _watch(c, now, out)


def stop(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Handling stands still from now on, if one of `is_still`'s reasons is about to hold. Set the reason afterwards."""
    advance(c, now, out)
    c.subscription.reading = False


def in_hand(c: ConsumerState, now: Time) -> int:
    """How many records the last poll returned that are not handled yet."""
    waiting = handled = 0
    for partition, each in with_leader(c).items():
        production = c.load.production(partition)
        at = each.position(now, production)
        waiting += production.end_offset(now) - at
        handled += at - each.start
    most = c.config.settings.max_poll_records
    return min(waiting, most - handled % most)


def busy_until(c: ConsumerState, now: Time) -> Time:
    """When the user's loop polls again; now, if it sits in poll()."""
    if not (c.config.handle and c.subscription.reading and c.subscription.positions):
        return now
    return now + floor(in_hand(c, now) * c.config.handle / TICK) * TICK


def _watch(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Will a poll return more than can be handled within ``max.poll.interval.ms``?

    Where records come faster than they are handled, polls return more and more; these are followed one by one.
    """
    settings, handle = c.config.settings, c.config.handle
    limit, most = settings.max_poll_interval_ms, settings.max_poll_records
    if handle * most <= limit:
        return
    out.cancel_timer(timers.POLL)
    positions = with_leader(c)
    if not (c.subscription.reading and positions):
        return
    productions = [c.load.production(partition) for partition in positions]
    taken = sum([each.start for each in positions.values()])
    growing = c.load.per_second * len(productions) * handle > 1000
    at = now
    while True:
        waiting = min(most, max(sum([each.end_offset(at) for each in productions]) - taken, 1))
        if waiting * handle > limit:
            c.user.batch_end = at + waiting * handle
            out.set_timer(timers.POLL, at + limit)
            return
        if not growing:
            return
        at, taken = at + waiting * handle, taken + waiting
