"""``updateProcessQueueTableInRebalance`` of RocketMQ's ``RebalanceImpl``: from what a consumer computed for a topic to
what it holds (spec 5.1, 5.2).

It reads top to bottom: each step stands above the function that does it, and pushes those below it.
"""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.message_queue_changed import MessageQueueChanged
from rocketmq_selfbalance.client.persisting import RemoveOffset, World
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.pull_from_where import ComputePullFromWhere, Start
from rocketmq_selfbalance.client.removal import RemoveUnnecessaryMessageQueue
from rocketmq_selfbalance.client.threads import Call, Handlers, LockQueues, Step, Thread
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


class UpdateProcessQueueTable(NamedTuple):
    """Make the consumer hold exactly ``target`` of the topic, whose route has ``all_queues``. Both are sorted."""

    group: str
    topic: str
    all_queues: tuple[Queue, ...]
    target: tuple[Queue, ...]


def update_process_queue_table_in_rebalance(
    world: World, now: Time, thread: Thread, step: UpdateProcessQueueTable, out: Outbox
) -> Call | None:
    """``updateProcessQueueTableInRebalance``: drop what is not in the target, remove it, add what is missing."""
    consumer = world.consumer(step.group)
    world.computed(consumer, step.topic, step.target, out)
    of_pass, table = consumer.rebalancing, consumer.table
    of_pass.changed, of_pass.refused = False, False
    dropped = _drop(world, now, consumer, step, out)
    if not dropped and all(queue in table for queue in step.target):
        # Nothing is added or removed; a leftover that is still in the table is not held.
        if any(table[queue].dropped for queue in step.target):
            of_pass.balanced = False
        return None
    thread.push(_AddFrom(step.group, step.target, 0), _DispatchPullRequest(*step))
    # All are marked first, then removed one by one.
    for queue in reversed(dropped):
        thread.push(RemoveUnnecessaryMessageQueue(step.group, queue), _Removed(step.group, queue))
    return None


def _drop(world: World, now: Time, consumer: Consumer, step: UpdateProcessQueueTable, out: Outbox) -> list[Queue]:
    if not consumer.table:
        return []
    kept = set(step.target)
    idle_since = now - consumer.settings.rebalance.pull_max_idle_time_ms
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


class _Removed(NamedTuple):
    """``removeUnnecessaryMessageQueue`` has left whether the queue can leave the table."""

    group: str
    queue: Queue


def _removed(world: World, now: Time, thread: Thread, step: _Removed, out: Outbox) -> Call | None:
    if thread.value:
        consumer = world.consumer(step.group)
        if consumer.table.pop(step.queue, None) is not None:
            world.life(consumer, step.queue, REMOVED, out)
        consumer.rebalancing.changed = True
    return None


class _AddFrom(NamedTuple):
    """Add those of ``target`` from this position on that are not in the table: ordered consumers lock each one first,
    forget the old offset (``removeDirtyOffset``), and find out where to start."""

    group: str
    target: tuple[Queue, ...]
    position: int


def _add(world: World, now: Time, thread: Thread, step: _AddFrom, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    group, target, position = step
    while position < len(target):
        queue = target[position]
        position += 1
        # A dropped leftover counts as present.
        if queue in consumer.table or queue in consumer.rebalancing.adding:
            continue
        if not consumer.locks:
            consumer.rebalancing.adding[queue] = None
            world.life(consumer, queue, IN_TARGET, out, guard=CONCURRENT)
            thread.push(*_create(now, group, queue), _AddFrom(group, target, position))
            return None
        address = world.master(queue.broker)
        if address is not None:
            consumer.rebalancing.adding[queue] = None
            world.life(consumer, queue, IN_TARGET, out, guard=ORDERED)
            thread.push(_Locked(group, queue), _AddFrom(group, target, position))
            return LockQueues(group, (queue,), address)
        consumer.rebalancing.refused = True
    return None


def _create(now: Time, group: str, queue: Queue) -> tuple[Step, ...]:
    return RemoveOffset(group, queue), ComputePullFromWhere(group, queue), _CreateProcessQueue(group, queue, now)


class _Locked(NamedTuple):
    """``lock`` was answered."""

    group: str
    queue: Queue


def _locked(world: World, now: Time, thread: Thread, step: _Locked, out: Outbox) -> Call | None:
    locked = thread.value
    consumer = world.consumer(step.group)
    if isinstance(locked, tuple) and step.queue in locked:
        world.life(consumer, step.queue, LOCK_GRANTED, out)
        thread.push(*_create(now, step.group, step.queue))
    else:
        consumer.rebalancing.adding.pop(step.queue, None)
        world.life(consumer, step.queue, LOCK_REFUSED, out)
        consumer.rebalancing.refused = True
    return None


class _CreateProcessQueue(NamedTuple):
    """It is known where to start, or not: the queue goes into the table, or stays out."""

    group: str
    queue: Queue
    created: Time


def _create_process_queue(
    world: World, now: Time, thread: Thread, step: _CreateProcessQueue, out: Outbox
) -> Call | None:
    start: Start = thread.value
    consumer = world.consumer(step.group)
    of_pass, settings = consumer.rebalancing, consumer.settings
    of_pass.adding.pop(step.queue, None)
    if start.offset < 0:
        world.life(consumer, step.queue, OFFSET_UNKNOWN, out)
        return None
    locked, size = settings.ordered.queue_starts_locked, settings.pulling.record_bytes
    process_queue = ProcessQueue(step.created, locked=locked, record_bytes=size)
    consumer.numbers += 1
    process_queue.number = consumer.numbers
    consumer.table[step.queue] = process_queue
    world.life(consumer, step.queue, OFFSET_FOUND, out)
    of_pass.starting.append((step.queue, start.offset))
    of_pass.changed = True
    world.added(consumer, step.queue, start.offset, start.why, out)
    return None


class _DispatchPullRequest(NamedTuple):
    """``dispatchPullRequest``: begin to pull what was added; then ``messageQueueChanged``, if anything has changed."""

    group: str
    topic: str
    all_queues: tuple[Queue, ...]
    target: tuple[Queue, ...]


def dispatch_pull_request(
    world: World, now: Time, thread: Thread, step: _DispatchPullRequest, out: Outbox
) -> Call | None:
    consumer = world.consumer(step.group)
    of_pass, settings = consumer.rebalancing, consumer.settings
    if of_pass.refused and settings.rebalance.lock_refused_delay_ms is not None:
        world.rebalance_later(now, settings.rebalance.lock_refused_delay_ms, out)
    for queue, offset in of_pass.starting:
        if consumer.kind == PUSH:
            world.pull(now, consumer, queue, offset, settings.rebalance.first_pull_delay_ms, out)
    of_pass.starting.clear()
    thread.push(_CompareWorking(step.group, step.topic, step.target))
    if of_pass.changed:
        thread.push(MessageQueueChanged(*step))
    return None


class _CompareWorking(NamedTuple):
    """Balanced is a topic of which the consumer holds what it computed (``getWorkingMessageQueue``)."""

    group: str
    topic: str
    target: tuple[Queue, ...]


def _compare_working(world: World, now: Time, thread: Thread, step: _CompareWorking, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    if set(consumer.holds(step.topic)) != set(step.target):
        consumer.rebalancing.balanced = False
    return None


HANDLERS: Handlers = {
    UpdateProcessQueueTable: update_process_queue_table_in_rebalance,
    _Removed: _removed,
    _AddFrom: _add,
    _Locked: _locked,
    _CreateProcessQueue: _create_process_queue,
    _DispatchPullRequest: dispatch_pull_request,
    _CompareWorking: _compare_working,
}
