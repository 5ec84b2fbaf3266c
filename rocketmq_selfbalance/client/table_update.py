"""From what a consumer computed for a topic to what it holds: the update of the process queue table (spec 5.1, 5.2)."""

from typing import Any, NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.queues import Queue
from rocketmq_selfbalance.client.calls import Call, LockQueues
from rocketmq_selfbalance.client.changed import Changed
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.persisting import Forget
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.pull_from_where import LocateStart, Start
from rocketmq_selfbalance.client.removal import Remove
from rocketmq_selfbalance.client.threads import Handlers, Thread
from rocketmq_selfbalance.client.world import World
from rocketmq_selfbalance.states import (
    CONCURRENT,
    IN_TARGET,
    LOCK_GRANTED,
    LOCK_REFUSED,
    OFFSET_FOUND,
    OFFSET_UNKNOWN,
    ORDERED,
    REMOVED,
)


class UpdateTable(NamedTuple):
    """Make the consumer hold exactly ``target`` of the topic, whose route has ``all_queues``. Both are sorted."""

    group: str
    topic: str
    all_queues: tuple[Queue, ...]
    target: tuple[Queue, ...]


class _Removed(NamedTuple):
    group: str
    queue: Queue


class _AddFrom(NamedTuple):
    """Add those of ``target`` from this position on that are not in the table."""

    group: str
    target: tuple[Queue, ...]
    position: int


class _Locked(NamedTuple):
    group: str
    queue: Queue


class _Located(NamedTuple):
    group: str
    queue: Queue
    created: Time


class _Finish(NamedTuple):
    group: str
    topic: str
    all_queues: tuple[Queue, ...]
    target: tuple[Queue, ...]


class _Compare(NamedTuple):
    group: str
    topic: str
    target: tuple[Queue, ...]


def update(world: World, now: Time, thread: Thread, step: UpdateTable, out: Outbox) -> Call | None:
    """Begin to do what the step says."""
    consumer = world.consumer(step.group)
    world.computed(consumer, step.topic, step.target, out)
    consumer.changed, consumer.refused = False, False
    dropped = _dropped(world, now, consumer, step, out)
    table = consumer.table
    if not dropped and all(queue in table for queue in step.target):
        # Nothing is added or removed; a leftover that is still in the table is not held.
        if any(table[queue].dropped for queue in step.target):
            consumer.balanced = False
        return None
    thread.push(_AddFrom(step.group, step.target, 0), _Finish(*step))
    # All are marked first, then removed one by one.
    for queue in reversed(dropped):
        thread.push(Remove(step.group, queue), _Removed(step.group, queue))
    return None


def _dropped(world: World, now: Time, consumer: Consumer, step: UpdateTable, out: Outbox) -> list[Queue]:
    if not consumer.table:
        return []
    kept = set(step.target)
    idle_since = now - consumer.settings.pull_max_idle_time_ms
    found = []
    for queue, process_queue in consumer.table.items():
        if queue.topic != step.topic:
            continue
        if queue not in kept:
            world.drop(consumer, queue, process_queue, "not in the target", out)
        elif consumer.kind == PUSH and process_queue.last_pull < idle_since:
            world.drop(consumer, queue, process_queue, "no pull for too long", out)
        else:
            continue
        found.append(queue)
    return sorted(found)


def _removed(world: World, now: Time, thread: Thread, step: _Removed, out: Outbox) -> Call | None:
    if thread.value:
        consumer = world.consumer(step.group)
        if consumer.table.pop(step.queue, None) is not None:
            world.life(consumer, step.queue, REMOVED, out)
        consumer.changed = True
    return None


def _add(world: World, now: Time, thread: Thread, step: _AddFrom, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    group, target, position = step
    while position < len(target):
        queue = target[position]
        position += 1
        # A dropped leftover counts as present.
        if queue in consumer.table or queue in consumer.adding:
            continue
        if not consumer.locks:
            consumer.adding[queue] = None
            world.life(consumer, queue, IN_TARGET, out, guard=CONCURRENT)
            thread.push(Forget(group, queue), *_locating(world, now, group, queue), _AddFrom(group, target, position))
            return None
        address = world.master(queue.broker)
        if address is not None:
            consumer.adding[queue] = None
            world.life(consumer, queue, IN_TARGET, out, guard=ORDERED)
            thread.push(_Locked(group, queue), _AddFrom(group, target, position))
            return LockQueues(group, (queue,), address)
        consumer.refused = True
    return None


def _locating(world: World, now: Time, group: str, queue: Queue) -> tuple[Any, ...]:
    return LocateStart(group, queue), _Located(group, queue, now)


def _locked(world: World, now: Time, thread: Thread, step: _Locked, out: Outbox) -> Call | None:
    locked: Any = thread.value
    consumer = world.consumer(step.group)
    if isinstance(locked, tuple) and step.queue in locked:
        world.life(consumer, step.queue, LOCK_GRANTED, out)
        thread.push(Forget(step.group, step.queue), *_locating(world, now, step.group, step.queue))
    else:
        consumer.adding.pop(step.queue, None)
        world.life(consumer, step.queue, LOCK_REFUSED, out)
        consumer.refused = True
    return None


def _located(world: World, now: Time, thread: Thread, step: _Located, out: Outbox) -> Call | None:
    start: Start = thread.value
    consumer = world.consumer(step.group)
    consumer.adding.pop(step.queue, None)
    if start.offset < 0:
        world.life(consumer, step.queue, OFFSET_UNKNOWN, out)
    else:
        settings = consumer.settings
        process_queue = ProcessQueue(
            step.created, locked=settings.queue_starts_locked, record_bytes=settings.record_bytes
        )
        consumer.numbers += 1
        process_queue.number = consumer.numbers
        consumer.table[step.queue] = process_queue
        world.life(consumer, step.queue, OFFSET_FOUND, out)
        consumer.starting.append((step.queue, start.offset))
        consumer.changed = True
        world.added(consumer, step.queue, start.offset, start.why, out)
    return None


def _finish(world: World, now: Time, thread: Thread, step: _Finish, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    settings = consumer.settings
    if consumer.refused and settings.lock_refused_delay_ms is not None:
        world.rebalance_later(now, settings.lock_refused_delay_ms, out)
    for queue, offset in consumer.starting:
        if consumer.kind == PUSH:
            world.pull(now, consumer, queue, offset, settings.first_pull_delay_ms, out)
    consumer.starting.clear()
    thread.push(_Compare(step.group, step.topic, step.target))
    if consumer.changed:
        thread.push(Changed(*step))
    return None


def _compare(world: World, now: Time, thread: Thread, step: _Compare, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    if set(consumer.holds(step.topic)) != set(step.target):
        consumer.balanced = False
    return None


HANDLERS: Handlers = {
    UpdateTable: update,
    _Removed: _removed,
    _AddFrom: _add,
    _Locked: _locked,
    _Located: _located,
    _Finish: _finish,
    _Compare: _compare,
}
