"""Locks of ordered consumption, as the client keeps them: ``lock``, ``lockAll`` and ``unlockAll`` of
``RebalanceImpl`` (spec 6.6)."""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue, sorted_as_java
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.removal import World
from rocketmq_selfbalance.client.threads import Call, Failure, LockQueues, Thread, UnlockQueues


class LockAll(NamedTuple):
    """``lockAll``: renew the locks of all queues that are not dropped, broker by broker."""

    group: str

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        holds = world.consumer(self.group).holds()
        thread.push(*(_AskToLock(self.group, queues) for queues in by_broker(holds)))


class UnlockAll(NamedTuple):
    """``unlockAll``: give back all locks, broker by broker, and wait for the answers."""

    group: str

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        holds = world.consumer(self.group).holds()
        thread.push(*(_AskToUnlock(self.group, queues) for queues in by_broker(holds)))


class LockOne(NamedTuple):
    """``lock``: try to lock one queue. Leaves whether it is locked."""

    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        address = world.master(self.queue.broker)
        if address is None:
            thread.value = False
            return None
        thread.push(_OneAnswered(*self))
        return LockQueues(self.group, (self.queue,), address)


class _LocksAnswered(NamedTuple):
    group: str
    queues: tuple[Queue, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        locked = thread.value
        if isinstance(locked, tuple):
            consumer = world.consumer(self.group)
            for queue in self.queues:
                mark(world, now, consumer, queue, queue in locked)


class _UnlocksAnswered(NamedTuple):
    group: str
    queues: tuple[Queue, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        if thread.value is not Failure.FAILED:
            table = world.consumer(self.group).table
            for queue in self.queues:
                if queue in table:
                    table[queue].locked = False


class _OneAnswered(NamedTuple):
    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        locked = thread.value
        granted = isinstance(locked, tuple) and self.queue in locked
        if granted:
            mark(world, now, world.consumer(self.group), self.queue, True)
        thread.value = granted


class _AskToLock(NamedTuple):
    group: str
    queues: tuple[Queue, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        address = world.master(self.queues[0].broker)
        if address is None:
            return None
        thread.push(_LocksAnswered(*self))
        return LockQueues(self.group, self.queues, address)


class _AskToUnlock(NamedTuple):
    group: str
    queues: tuple[Queue, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        address = world.master(self.queues[0].broker)
        if address is None:
            return None
        thread.push(_UnlocksAnswered(*self))
        return UnlockQueues(self.group, self.queues, address)


def by_broker(queues: list[Queue]) -> list[tuple[Queue, ...]]:
    """The queues of each broker, both in the systems' order."""
    found: dict[str, list[Queue]] = {}
    for queue in sorted(queues):
        found.setdefault(queue.broker, []).append(queue)
    return [tuple(found[broker]) for broker in sorted_as_java(found)]


def mark(world: World, now: Time, consumer: Consumer, queue: Queue, locked: bool) -> None:
    """A broker has told whether the queue is locked by us."""
    process_queue = consumer.table.get(queue)
    if process_queue is not None:
        process_queue.locked = locked
        if locked:
            process_queue.last_lock = now
