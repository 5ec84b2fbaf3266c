"""Locks of ordered consumption, as the client keeps them: ``lock``, ``lockAll`` and ``unlockAll`` of
``RebalanceImpl`` (spec 6.6)."""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue, sorted_as_java
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.persisting import World
from rocketmq_selfbalance.client.threads import Call, Failure, Handlers, LockQueues, Thread, UnlockQueues


class LockAll(NamedTuple):
    """``lockAll``: renew the locks of all queues that are not dropped, broker by broker."""

    group: str


class UnlockAll(NamedTuple):
    """``unlockAll``: give back all locks, broker by broker, and wait for the answers."""

    group: str


class LockOne(NamedTuple):
    """``lock``: try to lock one queue. Leaves whether it is locked."""

    group: str
    queue: Queue


class _LocksAnswered(NamedTuple):
    group: str
    queues: tuple[Queue, ...]


class _UnlocksAnswered(NamedTuple):
    group: str
    queues: tuple[Queue, ...]


class _OneAnswered(NamedTuple):
    group: str
    queue: Queue


class _AskToLock(NamedTuple):
    group: str
    queues: tuple[Queue, ...]


class _AskToUnlock(NamedTuple):
    group: str
    queues: tuple[Queue, ...]


def by_broker(queues: list[Queue]) -> list[tuple[Queue, ...]]:
    """The queues of each broker, both in the systems' order."""
    found: dict[str, list[Queue]] = {}
    for queue in sorted(queues):
        found.setdefault(queue.broker, []).append(queue)
    return [tuple(found[broker]) for broker in sorted_as_java(found)]


def _lock_all(world: World, now: Time, thread: Thread, step: LockAll, out: Outbox) -> Call | None:
    holds = world.consumer(step.group).holds()
    thread.push(*(_AskToLock(step.group, queues) for queues in by_broker(holds)))
    return None


def _ask_to_lock(world: World, now: Time, thread: Thread, step: _AskToLock, out: Outbox) -> Call | None:
    address = world.master(step.queues[0].broker)
    if address is None:
        return None
    thread.push(_LocksAnswered(*step))
    return LockQueues(step.group, step.queues, address)


def _locks_answered(world: World, now: Time, thread: Thread, step: _LocksAnswered, out: Outbox) -> Call | None:
    locked = thread.value
    if isinstance(locked, tuple):
        consumer = world.consumer(step.group)
        for queue in step.queues:
            mark(world, now, consumer, queue, queue in locked)
    return None


def mark(world: World, now: Time, consumer: Consumer, queue: Queue, locked: bool) -> None:
    """A broker has told whether the queue is locked by us."""
    process_queue = consumer.table.get(queue)
    if process_queue is not None:
        process_queue.locked = locked
        if locked:
            process_queue.last_lock = now


def _unlock_all(world: World, now: Time, thread: Thread, step: UnlockAll, out: Outbox) -> Call | None:
    holds = world.consumer(step.group).holds()
    thread.push(*(_AskToUnlock(step.group, queues) for queues in by_broker(holds)))
    return None


def _ask_to_unlock(world: World, now: Time, thread: Thread, step: _AskToUnlock, out: Outbox) -> Call | None:
    address = world.master(step.queues[0].broker)
    if address is None:
        return None
    thread.push(_UnlocksAnswered(*step))
    return UnlockQueues(step.group, step.queues, address)


def _unlocks_answered(world: World, now: Time, thread: Thread, step: _UnlocksAnswered, out: Outbox) -> Call | None:
    if thread.value is not Failure.FAILED:
        table = world.consumer(step.group).table
        for queue in step.queues:
            if queue in table:
                table[queue].locked = False
    return None


def _lock_one(world: World, now: Time, thread: Thread, step: LockOne, out: Outbox) -> Call | None:
    address = world.master(step.queue.broker)
    if address is None:
        thread.value = False
        return None
    thread.push(_OneAnswered(*step))
    return LockQueues(step.group, (step.queue,), address)


def _one_answered(world: World, now: Time, thread: Thread, step: _OneAnswered, out: Outbox) -> Call | None:
    locked = thread.value
    granted = isinstance(locked, tuple) and step.queue in locked
    if granted:
        mark(world, now, world.consumer(step.group), step.queue, True)
    thread.value = granted
    return None


HANDLERS: Handlers = {
    LockAll: _lock_all,
    UnlockAll: _unlock_all,
    LockOne: _lock_one,
    _AskToLock: _ask_to_lock,
    _LocksAnswered: _locks_answered,
    _AskToUnlock: _ask_to_unlock,
    _UnlocksAnswered: _unlocks_answered,
    _OneAnswered: _one_answered,
}
