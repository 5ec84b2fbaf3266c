"""Commands of the user and of the scenario are obeyed here: see `kafka_coordinator.consumer.commands`.

In Kafka `ClassicKafkaConsumer.subscribe`, `commitSync` and the user's own loop.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from kafka_coordinator.consumer import (
    by_hand,
    commands,
    commits,
    leaving,
    metadata,
    polling,
    positions,
    reading,
    states,
)
from kafka_coordinator.consumer.settings import Load
from kafka_coordinator.consumer.state import ConsumerState, UserCommit
from protocols.engine.nodes import Message, Outbox, Time
from protocols.facts import Noted

_MOST_NAMES = 12
"""Partitions that one remark names."""


def _subscribe(c: ConsumerState, now: Time, command: commands.Subscribe, out: Outbox) -> None:
    c.config = replace(c.config, topics=command.topics, pattern=command.pattern, broker_pattern=None)
    if not command.topics and command.pattern is None:
        c.subscription.topics = ()
        leaving.unsubscribe(c, now, out)
        return
    if command.pattern is None:
        reading.advance(c, now, out)
        c.subscription.topics = command.topics
        c.subscription.pending_revocation = reading.unsubscribed(c)
        reading.resume(c, now, out)
    else:
        c.metadata.has_news = True
    if c.kip848 is not None:
        c.kip848.wants_to_join = True
    elif not c.subscription.owned and c.joining.joined_subscription == ():
        c.request_rejoin("")
    metadata.refresh(c, now, out)


def _commit(c: ConsumerState, now: Time, command: commands.CommitNow, out: Outbox) -> None:
    offsets = command.offsets
    listed = None if offsets is None else tuple([(partition, offset, "") for partition, offset in offsets])
    until = now + c.config.settings.default_api_timeout_ms
    c.commits.by_user = UserCommit(listed, command.generation, until)
    commits.commit_for_user(c, now, out)


def _stop_polling(c: ConsumerState, now: Time, command: commands.StopPolling, out: Outbox) -> None:
    if c.user.stuck is not None:
        polling.hold(c, now, out)
    elif not c.config.by_hand:
        reading.stop(c, now, out)
        c.user.away = True
        out.set_timer(states.POLL, now + c.config.settings.max_poll_interval_ms)


def _go_on(c: ConsumerState, now: Time, command: commands.GoOn, out: Outbox) -> None:
    if c.user.stuck is not None:
        polling.release(c, now, out)
    elif c.user.away and not c.user.closing and not c.config.by_hand:
        polling.go_on(c, now, out)


def _take_for(c: ConsumerState, now: Time, command: commands.TakeFor, out: Outbox) -> None:
    """Records in hand are handled at the new pace, too, and the loop polls again as soon as it has handled them."""
    reading.advance(c, now, out)
    c.config = replace(c.config, handle=command.handle)
    if c.user.resume_at is not None:
        c.user.resume_at = None
        out.cancel_timer(states.RESUME)
    out.cancel_timer(states.SHARE)
    if not c.user.away:
        polling.in_time(c, out)
    reading.resume(c, now, out)


def _freeze(c: ConsumerState, now: Time, command: commands.Freeze, out: Outbox) -> None:
    reading.stop(c, now, out)
    polling.hold(c, now, out)
    c.user.frozen = True


def _thaw(c: ConsumerState, now: Time, command: commands.Thaw, out: Outbox) -> None:
    c.user.frozen = False
    polling.release(c, now, out)
    reading.resume(c, now, out)


def _new_load(c: ConsumerState, now: Time, command: commands.NewLoad, out: Outbox) -> None:
    reading.advance(c, now, out)
    before, c.load = c.load, command.load
    _tell_leaderless(c, before, out)
    positions.begin_anew(c, now, before, out)
    reading.resume(c, now, out)
    reading.advance(c, now, out)  # what had waited is there at once


def _tell_leaderless(c: ConsumerState, before: Load, out: Outbox) -> None:
    waiting = [each for each in c.subscription.owned if each in c.load.leaderless and each not in before.leaderless]
    if waiting:
        names = [f"{topic}-{number}" for topic, number in waiting[:_MOST_NAMES]]
        more = f" and {len(waiting) - _MOST_NAMES} more" if len(waiting) > _MOST_NAMES else ""
        out.observe(Noted(f"{c.config.name} waits for a leader of {', '.join(names)}{more}"))


COMMANDS: Final[Mapping[type[Message], Callable[[ConsumerState, Time, Any, Outbox], None]]] = {
    commands.Close: lambda c, now, command, out: leaving.close(c, now, out),
    commands.Subscribe: _subscribe,
    commands.CommitNow: _commit,
    commands.StopPolling: _stop_polling,
    commands.GoOn: _go_on,
    commands.TakeFor: _take_for,
    commands.Freeze: _freeze,
    commands.Thaw: _thaw,
    commands.NewLoad: _new_load,
    commands.BeginPoll: by_hand.begin_poll,
    commands.EndPoll: by_hand.end_poll,
    commands.Handle: by_hand.handle,
    commands.Seek: by_hand.seek,
    commands.Assign: by_hand.assign,
    commands.AssignAsMember: by_hand.assign_as_member,
    commands.Store: by_hand.store,
    commands.ListenerReturned: by_hand.returned,
    commands.ReportDelivered: lambda c, now, command, out: reading.advance(c, now, out),
}
