"""A consumer whose user's loop is code outside of the model: a test runs real code against it (`compare.testing`).

Nothing is read, and no listener returns, by itself. The loop is in poll() from `BeginPoll` to `EndPoll` only; what it
takes out of a partition it reports (`Handle`); when the listener was called (`UserLoop.listener_call`), the client
waits until it has returned (`ListenerReturned`), as the user's thread does in the real client. After an error that
makes poll() throw the consumer is not closed: that is left to the user.

In Kafka what the user's thread does between two calls of `KafkaConsumer.poll`, `KafkaConsumer.assign` and `seek`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from kafka_coordinator.consumer import callbacks, commands, joining, leaving, lookup, polling, positions, states
from kafka_coordinator.consumer import callbacks as join_complete
from kafka_coordinator.consumer.kip848 import membership as kip848
from kafka_coordinator.consumer.kip848 import reconciliation
from kafka_coordinator.consumer.state import ConsumerState, ListenerCall
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Delivered, Position
from protocols.java import Queue, sorted_pairs
from protocols.load import Reading


def begin_poll(c: ConsumerState, now: Time, command: commands.BeginPoll, out: Outbox) -> None:
    if not c.user.closing:
        c.user.away = False
        polling.in_time(c, out)


def end_poll(c: ConsumerState, now: Time, command: commands.EndPoll, out: Outbox) -> None:
    """The user's loop does something else, for ``max.poll.interval.ms`` at most."""
    if not c.user.closing:
        c.user.away = True
        out.set_timer(states.POLL, now + c.config.settings.max_poll_interval_ms)


def handle(c: ConsumerState, now: Time, command: commands.Handle, out: Outbox) -> None:
    """Records of an owned partition are in the user's hands."""
    partition, first, end = command
    topic, number = partition
    c.subscription.positions[partition] = Reading(end, now, 0.0)
    out.observe(Delivered(c.config.group, c.config.name, Queue(topic, "", number), first, end, now, now))


def seek(c: ConsumerState, now: Time, command: commands.Seek, out: Outbox) -> None:
    """Partitions are read on from somewhere else."""
    known = {*c.subscription.owned, *c.subscription.assigned_by_user, *c.subscription.beside}
    wanted = {partition: offset for partition, offset in command.offsets if partition in known}
    for partition, offset in wanted.items():
        topic, number = partition
        c.subscription.positions[partition] = Reading(offset, now, 0.0)
        out.observe(Position(c.config.group, c.config.name, Queue(topic, "", number), offset, "seek"))
    c.subscription.unpositioned = tuple([each for each in c.subscription.unpositioned if each not in wanted])


def assign(c: ConsumerState, now: Time, command: commands.Assign, out: Outbox) -> None:
    """The user reads partitions without a membership. The coordinator is needed for their committed offsets only."""
    c.subscription.assigned_by_user = c.subscription.unpositioned = tuple(sorted_pairs(command.partitions))
    c.subscription.positions = {}
    c.subscription.beside = ()
    if not command.partitions:
        out.cancel_timer(states.AUTO_COMMIT)
        return
    if c.lookup.coordinator is None:
        lookup.look_up(c, now, out)
    settings = c.config.settings
    if settings.enable_auto_commit:
        out.set_timer(states.AUTO_COMMIT, now + settings.auto_commit_interval_ms)


def assign_as_member(c: ConsumerState, now: Time, command: commands.AssignAsMember, out: Outbox) -> None:
    """A member's user reads partitions from their committed offsets again, those of others among them."""
    subscription, partitions = c.subscription, command.partitions
    subscription.beside = tuple(sorted_pairs({*subscription.beside, *partitions}.difference(subscription.owned)))
    subscription.positions = {key: at for key, at in subscription.positions.items() if key not in partitions}
    subscription.unpositioned = tuple(sorted_pairs({*subscription.unpositioned, *partitions}))


def begin_reading(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Committed offsets are asked for wherever the user's thread is, as librdkafka's own thread does."""
    if c.subscription.unpositioned and c.user.listener_call is None and not c.membership.rejoin_needed:
        positions.fetch(c, now, out)


def store(c: ConsumerState, now: Time, command: commands.Store, out: Outbox) -> None:
    c.commits.stored = command.offsets


def returned(c: ConsumerState, now: Time, command: commands.ListenerReturned, out: Outbox) -> None:
    """The listener has returned: the client continues where it called it."""
    called, c.user.listener_call = c.user.listener_call, None
    if called is None:
        return
    if not c.user.away:
        polling.in_time(c, out)
    if called.then:
        _THEN[called.then](c, now, called, out)


def _leave(c: ConsumerState, now: Time, called: ListenerCall, out: Outbox) -> None:
    callbacks.set_owned(c, now, (), out)
    leaving.leave_group(c, now, out)


def _end(c: ConsumerState, now: Time, called: ListenerCall, out: Outbox) -> None:
    callbacks.set_owned(c, now, (), out)
    leaving.shut_down(c, out)


def _unsubscribe(c: ConsumerState, now: Time, called: ListenerCall, out: Outbox) -> None:
    callbacks.set_owned(c, now, (), out)
    leaving.stay_outside(c, now, out)
    if c.subscription.topics:  # it has subscribed again before the listener was called
        if c.kip848 is None:
            c.request_rejoin("")
        else:
            c.kip848.wants_to_join = True


_THEN: Final[Mapping[str, Callable[[ConsumerState, Time, ListenerCall, Outbox], None]]] = {
    joining.PREPARED: joining.listener_returned,
    join_complete.ARRIVED: join_complete.after_revocation,
    reconciliation.REVOKED: lambda c, now, called, out: reconciliation.revoked(c, now, out),
    reconciliation.ASSIGNED: lambda c, now, called, out: reconciliation.assigned(c, now, out),
    kip848.RELEASE: lambda c, now, called, out: kip848.released(c, now, out),
    leaving.LEAVE: _leave,
    leaving.END: _end,
    leaving.UNSUBSCRIBE: _unsubscribe,
}
