"""The user's loop stands still on a record that it cannot handle (`protocols.poison`).

Kafka's client knows no retry: the loop tries the record again in place, until it skips it. Meanwhile it does not poll,
which is noticed after ``max.poll.interval.ms``, counted from when the loop came to the record. Whoever comes to the
record later begins to count its attempts anew.
"""

from kafka_coordinator.assignors.inputs import NO_GENERATION
from kafka_coordinator.consumer import poison_watch, reading, timers
from kafka_coordinator.consumer.state import ConsumerState
from protocols.engine.nodes import Outbox, Time
from protocols.facts import PassedOver, StandsStill
from protocols.poison import StuckOn, reached
from protocols.queues import Queue


def begin(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The loop may have come to a poison record."""
    if not c.subscription.reading:
        return
    reading.advance(c, now, out)
    found = reached(c.load.poison, {queue: each.start for queue, each in reading.with_leader(c).items()})
    if found is None:
        poison_watch.watch(c, now, reading.with_leader(c), out)
        return
    partition, record = found
    topic, number = partition
    c.subscription.reading = False
    c.user.away = True
    c.user.resume_at = None
    out.cancel_timer(timers.RESUME)
    out.set_timer(timers.POLL, now + c.config.settings.max_poll_interval_ms)
    lasts = record.lasts(c.config.handle)
    c.user.stuck = StuckOn(partition, record, None if lasts is None else now + lasts)
    if lasts is not None:
        out.set_timer(timers.SKIP, now + lasts)
    out.observe(StandsStill(c.config.group, c.config.name, Queue(topic, "", number), record.offset))


def skip(c: ConsumerState, now: Time, out: Outbox) -> None:
    """All attempts are used up: the loop skips the record and goes on, where it has not ended meanwhile."""
    stuck = c.user.stuck
    if stuck is None or c.user.closing:
        return
    c.user.stuck = None
    partition, record = stuck.queue, stuck.record
    at = c.subscription.positions.get(partition)
    if at is not None and at.start == record.offset:
        c.subscription.positions[partition] = at._replace(start=record.offset + 1)
        queue = Queue(partition[0], "", partition[1])
        out.observe(PassedOver(c.config.group, c.config.name, queue, record.offset, record.skipped))
    go_on(c, now, out)


def go_on(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The loop polls again."""
    c.user.away = False
    out.cancel_timer(timers.POLL)
    # What this poll gives up before it returns records is not read any more.
    if c.kip848 is not None:
        if not c.kip848.releases:
            reading.resume(c, now, out)
    elif not c.membership.rejoin_needed or (c.cooperative and c.membership.generation != NO_GENERATION):
        reading.resume(c, now, out)


def hold(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The code itself stops: attempts are made later by as much."""
    stuck = c.user.stuck
    if stuck is not None and stuck.until is not None:
        c.user.stuck = stuck.held(now)
        out.cancel_timer(timers.SKIP)


def release(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The code goes on with its attempts."""
    stuck = c.user.stuck
    if stuck is not None and stuck.left is not None:
        c.user.stuck = stuck.released(now)
        out.set_timer(timers.SKIP, now + stuck.left)
