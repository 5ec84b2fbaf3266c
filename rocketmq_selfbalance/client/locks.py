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
        thread.push(*(_Ask(LockQueues, self.group, queues) for queues in by_broker(world.consumer(self.group).holds())))


class UnlockAll(NamedTuple):
    """``unlockAll``: give back all locks, broker by broker, and wait for the answers."""

    group: str

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        queues_of = by_broker(world.consumer(self.group).holds())
        thread.push(*(_Ask(UnlockQueues, self.group, queues) for queues in queues_of))


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


class _Ask(NamedTuple):
    call: type[LockQueues] | type[UnlockQueues]
    group: str
    queues: tuple[Queue, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        address = world.master(self.queues[0].broker)
        if address is None:
            return None
        thread.push(_Answered(*self))
        return self.call(self.group, self.queues, address)


class _Answered(NamedTuple):
    call: type[LockQueues] | type[UnlockQueues]
    group: str
    queues: tuple[Queue, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer, answer = world.consumer(self.group), thread.value
        for queue in self.queues if answer is not Failure.FAILED else ():
            if self.call is LockQueues:
                mark(world, now, consumer, queue, queue in answer)
            elif queue in consumer.table:
                consumer.table[queue].locked = False


class _OneAnswered(NamedTuple):
    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        locked = thread.value
        granted = isinstance(locked, tuple) and self.queue in locked
        if granted:
            mark(world, now, world.consumer(self.group), self.queue, True)
        thread.value = granted


def by_broker(queues: list[Queue]) -> list[tuple[Queue, ...]]:
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
