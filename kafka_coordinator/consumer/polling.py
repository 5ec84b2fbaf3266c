"""The user's loop stands still on a record that it cannot handle (`protocols.load`).

Kafka's client knows no retry: the loop tries the record again in place, until it skips it. Meanwhile it does not poll,
which is noticed after ``max.poll.interval.ms``, counted from when the loop came to the record. Whoever comes to the
record later begins to count its attempts anew.

One call of poll() by the user's loop (spec 4.3).

A user who sits in poll() reacts at once to whatever comes; so poll() is looked at after every event instead of being
called over and over. While the user's loop stands still or handles records, it waits.

In Kafka `KafkaConsumer.poll`, `ClassicKafkaConsumer.updateAssignmentMetadataIfNeeded` and `ConsumerCoordinator.poll`.
"""

from kafka_coordinator.assignors.inputs import NO_GENERATION
from kafka_coordinator.consumer import commits, joining, leaving, lookup, metadata, positions, reading, states
from kafka_coordinator.consumer import reading as poison_watch
from kafka_coordinator.consumer.state import NOTHING, ConsumerState
from kafka_coordinator.consumer.states import STABLE, UNJOINED
from kafka_coordinator.messages import SUBSCRIPTION_CHANGED
from protocols.engine.nodes import Outbox, Time
from protocols.facts import PassedOver, StandsStill
from protocols.java import Queue
from protocols.load import StuckOn, reached


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
    out.cancel_timer(states.RESUME)
    out.set_timer(states.POLL, now + c.config.settings.max_poll_interval_ms)
    lasts = record.lasts(c.config.handle)
    c.user.stuck = StuckOn(partition, record, None if lasts is None else now + lasts)
    if lasts is not None:
        out.set_timer(states.SKIP, now + lasts)
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


def in_time(c: ConsumerState, out: Outbox) -> None:
    """The user's loop is in poll() again: nobody waits for that any more."""
    out.cancel_timer(states.POLL)
    if c.kip848 is not None:
        c.kip848.overslept = False


def go_on(c: ConsumerState, now: Time, out: Outbox) -> None:
    c.user.away = False
    in_time(c, out)
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
        out.cancel_timer(states.SKIP)


def release(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The code goes on with its attempts."""
    stuck = c.user.stuck
    if stuck is not None and stuck.left is not None:
        c.user.stuck = stuck.released(now)
        out.set_timer(states.SKIP, now + stuck.left)


def is_elsewhere(c: ConsumerState, now: Time, out: Outbox) -> bool:
    """Whether the user's loop is not in poll() now; where it handles records, a timer brings it back."""
    user = c.user
    if user.away or user.resume_at is not None or user.listener_call is not None:
        return True
    if c.config.handle and user.polled_at != now:
        until = reading.busy_until(c, now)
        if until > now:
            user.resume_at = until
            out.set_timer(states.RESUME, until)
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
