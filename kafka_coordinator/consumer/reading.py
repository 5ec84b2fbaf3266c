"""When the user's loop comes to a record that it cannot handle (`protocols.load`).

What the user's code reads, as functions of time (`protocols.load`): no record and no fetch is ever an event.

Where handling a record takes time, the partitions share the member's time (`protocols.load`): one whose records come
more slowly than its equal share takes only what comes, and the others share the rest. With n threads a poll of r
records takes ceil(r / n) x ``handle`` ms, because the loop polls again when all of them are done.

While records are in hand the user's loop does not poll. What is in hand is what waits in the partitions, at most
what is left of ``max.poll.records`` counted from where reading began; see `busy_until`.

In Kafka `Fetcher` with `FetchCollector`, and the user's loop over `ConsumerRecords`.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import ceil, isfinite

from kafka_coordinator.assignors.inputs import Partition, queue_of
from kafka_coordinator.consumer import states
from kafka_coordinator.consumer.state import ConsumerState
from protocols.engine.nodes import TICK, Outbox, Time
from protocols.facts import Delivered
from protocols.load import (
    Production,
    Reading,
    moved_on,
    next_reached,
    not_beyond,
    poison_ahead,
    quickly_made,
    shared_anew,
    waits_for_hands,
)


def watch(c: ConsumerState, now: Time, positions: Mapping[Partition, Reading], out: Outbox) -> None:
    """Set the clock for it, as these positions advance now."""
    if not c.load.poison:
        return
    if c.load.held:  # what cannot be read yet is not reached; a new load says when it can
        ends = {partition: c.load.production(partition).end_offset(now) for partition in positions}
        ahead = {partition: poison_ahead(c.load.poison, partition, each.start) for partition, each in positions.items()}
        positions = {
            partition: each
            for partition, each in positions.items()
            if (record := ahead[partition]) is not None and record.offset < ends[partition]
        }
    due = next_reached(c.load.poison, positions, now) if c.subscription.reading else None
    if due is None:
        out.cancel_timer(states.POISON)
    else:
        out.set_timer(states.POISON, due)


_delivered = quickly_made(Delivered)


def is_still(c: ConsumerState) -> bool:
    """Whether no record is being handled, whatever there is."""
    return c.subscription.paused or c.user.frozen or c.user.away or c.config.by_hand or not c.load.writes


def unsubscribed(c: ConsumerState) -> frozenset[Partition]:
    """What the member owns of topics that are not in its list any more: the client does not fetch it, from the call of
    subscribe() on (in Kafka ``SubscriptionState.isFetchableAndSubscribed``; clients before 4.0 did)."""
    if c.config.pattern is not None or c.config.broker_pattern is not None:
        return frozenset()
    return frozenset([each for each in c.subscription.owned if each[0] not in c.subscription.topics])


def with_leader(c: ConsumerState) -> dict[Partition, Reading]:
    """The positions that can advance: of partitions that have a leader and will not be revoked."""
    positions, leaderless, pending = c.subscription.positions, c.load.leaderless, c.subscription.pending_revocation
    if not leaderless and not pending:
        return positions
    still = leaderless | pending
    return {partition: position for partition, position in positions.items() if partition not in still}


def advance(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Move the positions on to now, and observe what was handled since the last time."""
    if not c.subscription.reading:
        return
    load, positions, config = c.load, c.subscription.positions, c.config
    even, poison = load.even, load.poison
    moving = with_leader(c) if load.leaderless or c.subscription.pending_revocation else positions
    productions = [even] * len(moving) if even else [load.production(partition) for partition in moving]
    paces = tuple([(each.per_second, each.since) for each in productions])
    waits = _waits(paces, config.handle, config.threads) if config.handle else (0.0,) * len(paces)
    for (partition, each), production, wait in zip(moving.items(), productions, waits, strict=True):
        after = moved_on(poison, partition, each, now, production) if poison else each.moved_on(now, production)
        start, until = each[0], after[0]
        if until > start:
            _, since, turn, at_once = each
            what = queue_of(partition), start, until, since, now, at_once, turn or TICK, config.handle, wait
            out.observe(_delivered((config.group, config.name, *what)))
            positions[partition] = after


@lru_cache(maxsize=1 << 10)
def _waits(paces: tuple[tuple[float, Time], ...], handle: Time, threads: int) -> tuple[Time, ...]:
    """How long a record of each partition waits until the loop has handled those of others that came before; 0 where
    more comes than it can handle. ``paces``: records per second, and since when."""
    writing = {at: Production(*pace) for at, pace in enumerate(paces) if pace[0] > 0 and isfinite(pace[1])}
    if not writing or sum([each.per_second for each in writing.values()]) * handle >= 1000 * threads:
        return (0.0,) * len(paces)
    begun = max([each.since for each in writing.values()])
    coming = [(each, each.end_offset(begun)) for each in writing.values()]
    waits = dict(zip(writing, waits_for_hands(coming, handle, threads), strict=True))
    return tuple([waits.get(at, 0.0) for at in range(len(paces))])


def resume(c: ConsumerState, now: Time, out: Outbox) -> None:
    """From now on the partitions that are read share the member's time anew, or none is read. Call `advance` before."""
    c.subscription.reading = not is_still(c)
    if c.subscription.positions and c.load.writes:
        _share(c, now, out, goes_on=False)
    watch(c, now, with_leader(c), out)
    if c.config.handle and not c.user.away:
        _watch(c, now, out)


def share_anew(c: ConsumerState, now: Time, out: Outbox) -> None:
    """A partition that was behind has caught up: what it does not need is for the others. The loop polls as before."""
    if c.subscription.reading:
        advance(c, now, out)
        _share(c, now, out, goes_on=True)
        watch(c, now, with_leader(c), out)


def _share(c: ConsumerState, now: Time, out: Outbox, *, goes_on: bool) -> None:
    """A partition without a leader needs no time, and is read from ``now`` on at the earliest."""
    handle, threads, positions = c.config.handle, c.config.threads, with_leader(c)
    production = {partition: c.load.production(partition) for partition in positions} if handle else {}
    shared, until = shared_anew(now, handle, threads, positions, production, goes_on=goes_on)
    c.subscription.positions = {
        partition: shared[partition] if partition in shared else position._replace(since=now)
        for partition, position in c.subscription.positions.items()
    }
    if until is not None and c.subscription.reading:
        out.set_timer(states.SHARE, until)
    elif handle:
        out.cancel_timer(states.SHARE)


def _time_for(c: ConsumerState, records: int) -> Time:
    """How long the user's threads handle so many records of one poll."""
    return ceil(records / c.config.threads) * c.config.handle


def stop(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Handling stands still from now on, if one of `is_still`'s reasons is about to hold. Set the reason afterwards."""
    advance(c, now, out)
    c.subscription.reading = False


def in_hand(c: ConsumerState, now: Time) -> int:
    """How many records the last poll returned that are not handled yet."""
    waiting = handled = 0
    for partition, each in with_leader(c).items():
        production = c.load.production(partition)
        at = not_beyond(c.load.poison, partition, each.start, each.position(now, production))
        waiting += production.end_offset(now) - at
        handled += at - each.start
    most = c.config.settings.max_poll_records
    return min(waiting, most - handled % most)


def busy_until(c: ConsumerState, now: Time) -> Time:
    """When the user's loop polls again; now, if it sits in poll()."""
    if not (c.config.handle and c.subscription.reading and c.subscription.positions):
        return now
    return now + _time_for(c, in_hand(c, now))


def _watch(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Will a poll return more than can be handled within ``max.poll.interval.ms``?

    Where records come faster than they are handled, polls return more and more; these are followed one by one.
    """
    settings = c.config.settings
    limit, most = settings.max_poll_interval_ms, settings.max_poll_records
    if _time_for(c, most) <= limit:
        return
    out.cancel_timer(states.POLL)
    positions = with_leader(c)
    if not (c.subscription.reading and positions):
        return
    productions = [c.load.production(partition) for partition in positions]
    taken = sum([position.start for position in positions.values()])
    comes = sum([production.per_second for production in productions if production.since <= now])
    growing = comes * c.config.handle > 1000 * c.config.threads
    at = now
    while True:
        waiting = min(most, max(sum([production.end_offset(at) for production in productions]) - taken, 1))
        if _time_for(c, waiting) > limit:
            c.user.batch_end = at + _time_for(c, waiting)
            out.set_timer(states.POLL, at + limit)
            return
        if not growing:
            return
        at, taken = at + _time_for(c, waiting), taken + waiting
