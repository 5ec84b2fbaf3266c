"""Giving up one queue: ``removeUnnecessaryMessageQueue`` of ``RebalancePushImpl``, ``removeProcessQueue`` of
``RebalanceImpl`` (spec 5.1).

Steps name the queue; ``taken_out`` says whether its process queue has left the table already (it is then among
`Consumer.leaving`).
"""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.persisting import Persist, RemoveOffset, World
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.threads import AwaitConsumeLock, Call, Handlers, Thread
from rocketmq_selfbalance.states import NOT_REMOVABLE, REMOVED


class RemoveUnnecessaryMessageQueue(NamedTuple):
    """``removeUnnecessaryMessageQueue``: keep the offset of a dropped queue, forget it, unlock. Leaves whether it can
    leave the table now."""

    group: str
    queue: Queue
    taken_out: bool = False


class RemoveProcessQueue(NamedTuple):
    """``removeProcessQueue``: take a queue out of the table and give it up, whatever comes of it."""

    group: str
    queue: Queue
    why: str


class _RemoveLocked(NamedTuple):
    """``tryRemoveOrderMessageQueue``, 5.x: unless the last lock is old enough to use force, no listener may work on
    the queue."""

    group: str
    queue: Queue
    taken_out: bool


class _TryConsumeLock(NamedTuple):
    group: str
    queue: Queue
    taken_out: bool


class _ConsumeLockTried(NamedTuple):
    group: str
    queue: Queue
    taken_out: bool


class _GiveBack(NamedTuple):
    """``unlock`` at the broker, and leave True."""

    group: str
    queue: Queue
    taken_out: bool


class _Free(NamedTuple):
    """Leave True."""


class _Gone(NamedTuple):
    group: str
    queue: Queue


def process_queue_of(consumer: Consumer, queue: Queue, taken_out: bool) -> ProcessQueue:
    """The process queue that is being given up."""
    return (consumer.leaving if taken_out else consumer.table)[queue]


def remove_unnecessary_message_queue(
    world: World, now: Time, thread: Thread, step: RemoveUnnecessaryMessageQueue, out: Outbox
) -> Call | None:
    consumer = world.consumer(step.group)
    group, queue, _ = step
    if not consumer.locks:
        thread.push(Persist(group, queue), RemoveOffset(group, queue), _Free())
    elif consumer.settings.ordered.delayed_unlock:
        thread.push(Persist(group, queue), RemoveOffset(group, queue), _TryConsumeLock(*step), _ConsumeLockTried(*step))
    else:
        thread.push(Persist(group, queue), _RemoveLocked(*step))
    return None


def _free(world: World, now: Time, thread: Thread, step: _Free, out: Outbox) -> Call | None:
    thread.value = True
    return None


def _remove_locked(world: World, now: Time, thread: Thread, step: _RemoveLocked, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    process_queue = process_queue_of(consumer, step.queue, step.taken_out)
    thread.push(_ConsumeLockTried(*step))
    if process_queue.dropped and now > process_queue.last_lock + consumer.settings.ordered.unlock_delay_time_ms:
        thread.value = True
        return None
    thread.push(_TryConsumeLock(*step))
    return None


def _try_consume_lock(world: World, now: Time, thread: Thread, step: _TryConsumeLock, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    if process_queue_of(consumer, step.queue, step.taken_out).listeners:
        return AwaitConsumeLock(step.group, step.queue, consumer.settings.ordered.consume_lock_wait_ms)
    thread.value = True
    return None


def _lock_tried(world: World, now: Time, thread: Thread, step: _ConsumeLockTried, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    process_queue = process_queue_of(consumer, step.queue, step.taken_out)
    if not thread.value:
        process_queue.try_unlock_times += 1
        if not step.taken_out:
            world.life(consumer, step.queue, NOT_REMOVABLE, out)
        thread.value = False
    elif not consumer.settings.ordered.delayed_unlock:
        thread.push(Persist(step.group, step.queue), RemoveOffset(step.group, step.queue), _GiveBack(*step))
    elif process_queue.count:
        world.unlock_later(now, consumer, step.queue, consumer.settings.ordered.unlock_delay_time_ms, out)
        thread.value = True
    else:
        thread.push(_GiveBack(*step))
    return None


def _give_back(world: World, now: Time, thread: Thread, step: _GiveBack, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    process_queue_of(consumer, step.queue, step.taken_out).locked = False
    address = world.master(step.queue.broker)
    if address is not None:
        world.unlock(consumer, (step.queue,), address, out)
    thread.value = True
    return None


def remove_process_queue(world: World, now: Time, thread: Thread, step: RemoveProcessQueue, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    process_queue = consumer.table.pop(step.queue, None)
    if process_queue is None:
        return None
    consumer.leaving[step.queue] = process_queue
    world.drop(consumer, step.queue, process_queue, step.why, out)
    world.life(consumer, step.queue, REMOVED, out)
    thread.push(RemoveUnnecessaryMessageQueue(step.group, step.queue, True), _Gone(step.group, step.queue))
    return None


def _gone(world: World, now: Time, thread: Thread, step: _Gone, out: Outbox) -> Call | None:
    world.consumer(step.group).leaving.pop(step.queue, None)
    return None


HANDLERS: Handlers = {
    RemoveUnnecessaryMessageQueue: remove_unnecessary_message_queue,
    RemoveProcessQueue: remove_process_queue,
    _RemoveLocked: _remove_locked,
    _TryConsumeLock: _try_consume_lock,
    _ConsumeLockTried: _lock_tried,
    _GiveBack: _give_back,
    _Free: _free,
    _Gone: _gone,
}
