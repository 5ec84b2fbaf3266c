"""close() and unsubscribe() (spec 4.10): commit, callbacks, LeaveGroup; and an exception that ends the user's loop.

In Kafka `KafkaConsumer.close` and `unsubscribe`, `ConsumerCoordinator.close` and `onLeavePrepare`.
"""

from kafka_coordinator.assignors.inputs import NO_GENERATION
from kafka_coordinator.consumer import callbacks, commits, lookup, membership, reading, states
from kafka_coordinator.consumer.kip848 import membership as kip848
from kafka_coordinator.consumer.state import NOTHING, ConsumerState
from kafka_coordinator.consumer.states import STABLE
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Noted

COMMITTING, LEAVING = "commit", "leave"

LEAVE, END, UNSUBSCRIBE = "leave", "end", "unsubscribe"
"""What follows when the listener has returned."""


def close(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The user closes the consumer; it does so at once, also where its loop stood still."""
    if c.user.closing:
        return
    reading.stop(c, now, out)
    c.user.closing = COMMITTING
    c.user.away = True
    c.user.deferred.clear()
    out.set_timer(states.CLOSE, now + c.config.settings.close_timeout_ms)
    commit(c, now, out)


def fail(c: ConsumerState, now: Time, out: Outbox) -> None:
    out.observe(Noted(f"poll() of {c.config.name} throws: {c.user.fatal}"))
    close(c, now, out)


def commit(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The last commit, first or again. It waits for the coordinator, at most until the close times out."""
    outcome = commits.DONE
    if c.config.settings.enable_auto_commit and c.subscription.positions:
        outcome = commits.send(c, now, out, commits.CLOSE, commits.positions(c, now, out))
    if outcome:
        commit_finished(c, now, out, outcome)


def commit_finished(c: ConsumerState, now: Time, out: Outbox, outcome: str) -> None:
    if c.user.closing != COMMITTING:
        return
    if outcome == commits.RETRIABLE:
        if c.lookup.coordinator is None:
            lookup.look_up(c, now, out)
        out.set_timer(states.COMMIT_AGAIN, now + c.config.settings.retry_backoff_ms)
        return
    c.user.closing = LEAVING
    if not prepare(c, now, out, LEAVE):
        leave_group(c, now, out)


def leave_group(c: ConsumerState, now: Time, out: Outbox) -> None:
    """All is given up: the member leaves the group."""
    if c.kip848 is None:
        sent = membership.leave(c, now, out, "the consumer is being closed")
    else:
        kip848.prepare_leaving(c, now, out)
        sent = kip848.leave(c, now, out)
    if not sent:
        finish(c, now, out)


def prepare(c: ConsumerState, now: Time, out: Outbox, then: str) -> bool:
    """onLeavePrepare: what is owned is revoked in a stable generation, else lost. Whether ``then`` has to wait."""
    if c.kip848 is None:
        stable = c.membership.state == STABLE and c.membership.generation != NO_GENERATION
    else:
        stable = c.membership.generation > 0
    return callbacks.give_up_all(c, now, callbacks.REVOKED if stable else callbacks.LOST, out, then)


def finish(c: ConsumerState, now: Time, out: Outbox) -> None:
    if c.user.listener_call is not None:
        c.user.listener_call = c.user.listener_call._replace(then=END)
    elif not prepare(c, now, out, END):
        shut_down(c, out)


def shut_down(c: ConsumerState, out: Outbox) -> None:
    """Nothing happens any more."""
    c.user.closed = True
    c.requests.in_flight.clear()
    for timer in states.ALL:
        out.cancel_timer(timer)
    coordinator = (c.lookup.coordinator,) if c.lookup.coordinator else ()
    for broker in dict.fromkeys((*c.config.bootstrap, *c.metadata.brokers, *coordinator)):
        out.close(broker)


def unsubscribe(c: ConsumerState, now: Time, out: Outbox) -> None:
    """No topics any more: the member leaves and stays outside."""
    if c.kip848 is not None:
        kip848.prepare_leaving(c, now, out)
    if not prepare(c, now, out, UNSUBSCRIBE):
        stay_outside(c, now, out)


def stay_outside(c: ConsumerState, now: Time, out: Outbox) -> None:
    """All is given up: no membership and no wish for one."""
    if c.kip848 is not None:
        kip848.leave(c, now, out)
        return
    membership.leave(c, now, out, "the consumer unsubscribed from all topics")
    membership.forget(c, out)
    c.membership.rejoin_needed = False
    c.joining.needs_prepare = True
    c.joining.awaiting = NOTHING
    c.joining.joined_subscription = c.subscription.topics
    c.assigning.snapshot = None
    c.assigning.is_leader = False
    c.assigning.group_topics = ()
    c.commits.auto_due = False
    out.cancel_timer(states.AUTO_COMMIT)
