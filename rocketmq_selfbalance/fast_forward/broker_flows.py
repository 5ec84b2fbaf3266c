"""Clients that read what a queue takes in as it comes, at a broker (`contract.Flow`)."""

from functools import partial
from typing import Any, NamedTuple, TypeAlias

from protocols.engine.fast_forward.contract import Flow, Stretch
from protocols.engine.fast_forward.outbox import ReplayOutbox
from protocols.engine.nodes import Time
from protocols.facts import Committed
from protocols.java import Queue
from protocols.load import Production
from rocketmq_selfbalance.broker import pulls
from rocketmq_selfbalance.broker.connections import FLUSH
from rocketmq_selfbalance.broker.state import Broker, HeldPull
from rocketmq_selfbalance.codes import SUCCESS

Key: TypeAlias = tuple[str, str, int]
"""Group, topic and queue number."""


class Reading(NamedTuple):
    """Reading that is being skipped. ``before``: the committed offset when it began."""

    flow: Flow
    before: int


def production(broker: Broker, now: Time, pull: Any) -> Production | None:
    """What the queue takes in; None where the client does not read at its end, or would be told anything else."""
    topic, _, number = pull.queue
    queue = broker.disk.store.queue(topic, number)
    if queue is None or queue.records:
        return None
    if pulls.refusal(broker, pull) != SUCCESS or any(broker.offsets.resets.values()):
        return None
    behind = queue.max_offset(now) - pull.offset
    within = queue.min_offset <= pull.offset and 0 <= behind <= pull.max_messages
    return queue.production if within and queue.production.per_second > 0 else None


def replay_reader(
    broker: Broker, readings: dict[Key, Reading], now: Time, sender: str, stretch: Stretch, out: ReplayOutbox
) -> None:
    """The client has read so far until now, and told it by its pulls and commits. ``readings``: of this broker, which
    are kept here."""
    pull: Any = stretch.flow.request
    topic, _, number = pull.queue
    key = pull.group, topic, number
    reading = readings.get(key)
    if reading is None or reading.flow is not stretch.flow:
        reading = readings[key] = Reading(stretch.flow, broker.offsets.query(*key))
    told = stretch.told_at(now)
    if told > broker.offsets.query(*key):
        pulls.commit(broker, now, Committed(pull.group, pull.queue, told, sender, None, ""), out)
    if not stretch.last:
        return
    del readings[key]
    due = out.due(FLUSH)
    if due is not None and due <= now:
        period = broker.settings.flush_consumer_offset_interval_ms
        written = due + (now - due) // period * period
        out.later(partial(_correct_file, broker, key, max(reading.before, stretch.told_at(written))))
    broker.offsets.commit_pull(pull.group, topic, number, stretch.position)
    for held in list(broker.held.get(pull.queue, ())):
        if (held.sender, held.message.group) == (sender, pull.group):
            pulls.release(broker, held, out)
    if stretch.held:
        again = pull._replace(offset=stretch.position, commit_offset=None)
        waiting = HeldPull(sender, again, now + again.suspend_ms, pulls.arrival(broker, again))
        put(broker, waiting, out)
        # The record may have come by now.
        out.set_timer(waiting.timer, max(now, waiting.due))
    broker.busy(now, sender)


def _correct_file(broker: Broker, key: Key, offset: int) -> None:
    """The broker has written its offsets meanwhile, when the group was only so far."""
    if offset >= 0:
        broker.disk.offsets = broker.disk.offsets.with_offset(*key, offset)
        broker.unflushed = True


def put(broker: Broker, held: HeldPull, out: ReplayOutbox) -> None:
    """The pull is held from a time on that lies ahead: others may still come before it."""
    queue = held.message.queue
    broker.held.setdefault(queue, []).append(held)
    _sort(broker, queue)
    if len(broker.held[queue]) > 1:
        out.later(partial(_sort, broker, queue))


def _sort(broker: Broker, queue: Queue) -> None:
    """Pulls are held in the order in which they came."""
    broker.held.get(queue, []).sort(key=lambda each: each.until - each.message.suspend_ms)
