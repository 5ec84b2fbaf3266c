"""From what a consumer computed for a topic to what it holds: the update of the process queue table (spec 5.1, 5.2)."""

from typing import Any, NamedTuple

from protocols.engine.nodes import Time
from protocols.queues import Queue
from rocketmq_selfbalance.client.calls import Call, LockQueues
from rocketmq_selfbalance.client.changed import Changed
from rocketmq_selfbalance.client.consumer import PUSH, Consumer, World
from rocketmq_selfbalance.client.persisting import Forget
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.pull_from_where import LocateStart, Start
from rocketmq_selfbalance.client.removal import Remove
from rocketmq_selfbalance.client.threads import Handlers, Thread
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


def update(world: World, thread: Thread, step: UpdateTable) -> Call | None:
    """Begin to do what the step says."""
    consumer = world.consumer(step.group)
    world.computed(consumer, step.topic, step.target)
    consumer.changed, consumer.refused = False, False
    dropped = _dropped(world, consumer, step)
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


def _dropped(world: World, consumer: Consumer, step: UpdateTable) -> list[Queue]:
    if not consumer.table:
        return []
    kept = set(step.target)
    idle_since = world.now - consumer.settings.pull_max_idle_time_ms
    found = []
    for queue, process_queue in consumer.table.items():
        if queue.topic != step.topic:
            continue
        if queue not in kept:
            world.drop(consumer, queue, process_queue, "not in the target")
        elif consumer.kind == PUSH and process_queue.last_pull < idle_since:
            world.drop(consumer, queue, process_queue, "no pull for too long")
        else:
            continue
        found.append(queue)
    return sorted(found)


def _removed(world: World, thread: Thread, step: _Removed) -> Call | None:
    if thread.value:
        consumer = world.consumer(step.group)
        if consumer.table.pop(step.queue, None) is not None:
            world.life(consumer, step.queue, REMOVED)
        consumer.changed = True
    return None


def _add(world: World, thread: Thread, step: _AddFrom) -> Call | None:
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
            world.life(consumer, queue, IN_TARGET, CONCURRENT)
            thread.push(Forget(group, queue), *_locating(world, group, queue), _AddFrom(group, target, position))
            return None
        address = world.master(queue.broker)
        if address is not None:
            consumer.adding[queue] = None
            world.life(consumer, queue, IN_TARGET, ORDERED)
            thread.push(_Locked(group, queue), _AddFrom(group, target, position))
            return LockQueues(group, (queue,), address)
        consumer.refused = True
    return None


def _locating(world: World, group: str, queue: Queue) -> tuple[Any, ...]:
    return LocateStart(group, queue), _Located(group, queue, world.now)


def _locked(world: World, thread: Thread, step: _Locked) -> Call | None:
    locked: Any = thread.value
    consumer = world.consumer(step.group)
    if isinstance(locked, tuple) and step.queue in locked:
        world.life(consumer, step.queue, LOCK_GRANTED)
        thread.push(Forget(step.group, step.queue), *_locating(world, step.group, step.queue))
    else:
        consumer.adding.pop(step.queue, None)
        world.life(consumer, step.queue, LOCK_REFUSED)
        consumer.refused = True
    return None


def _located(world: World, thread: Thread, step: _Located) -> Call | None:
    start: Start = thread.value
    consumer = world.consumer(step.group)
    consumer.adding.pop(step.queue, None)
    if start.offset < 0:
        world.life(consumer, step.queue, OFFSET_UNKNOWN)
    else:
        settings = consumer.settings
        process_queue = ProcessQueue(
            step.created, locked=settings.queue_starts_locked, record_bytes=settings.record_bytes
        )
        consumer.numbers += 1
        process_queue.number = consumer.numbers
        consumer.table[step.queue] = process_queue
        world.life(consumer, step.queue, OFFSET_FOUND)
        consumer.starting.append((step.queue, start.offset))
        consumer.changed = True
        world.added(consumer, step.queue, start.offset, start.why)
    return None


def _finish(world: World, thread: Thread, step: _Finish) -> Call | None:
    consumer = world.consumer(step.group)
    settings = consumer.settings
    if consumer.refused and settings.lock_refused_delay_ms is not None:
        world.rebalance_later(settings.lock_refused_delay_ms)
    for queue, offset in consumer.starting:
        if consumer.kind == PUSH:
            world.pull(consumer, queue, offset, settings.first_pull_delay_ms)
    consumer.starting.clear()
    thread.push(_Compare(step.group, step.topic, step.target))
    if consumer.changed:
        thread.push(Changed(*step))
    return None


def _compare(world: World, thread: Thread, step: _Compare) -> Call | None:
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
