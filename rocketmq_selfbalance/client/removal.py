"""Keeping offsets, and giving up a queue: ``persistAllConsumerOffset``, ``removeUnnecessaryMessageQueue`` of
``RebalancePushImpl``, ``removeProcessQueue`` of ``RebalanceImpl`` (spec 5.1, 6).

Steps name the queue; ``taken_out`` says whether its process queue has left the table already (it is then among
`Consumer.leaving`).
"""

from typing import NamedTuple, Protocol, TypeAlias

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.process_queue import PopProcessQueue, ProcessQueue
from rocketmq_selfbalance.client.threads import AwaitConsumeLock, Call, RefreshRoute, Thread
from rocketmq_selfbalance.states import NOT_REMOVABLE, REMOVED

Queues: TypeAlias = tuple[Queue, ...]


class World(Protocol):
    """A client instance, or the surroundings in a player of traces. ``out``: the outbox of the event at hand."""

    def consumer(self, group: str) -> Consumer:
        """The consumer of this group."""

    def master(self, broker: str) -> str | None:
        """The address of the master of this name, None where the client knows none."""

    def replica(self, broker: str) -> str | None:
        """An address of this broker name, None where the client knows none."""

    def has_route(self, topic: str) -> bool:
        """Whether the client knows a broker of the topic whom it could ask for the members."""

    def commit(self, consumer: Consumer, queue: Queue, offset: int, address: str, out: Outbox) -> None:
        """Send a committed offset, one way."""

    def unlock(self, consumer: Consumer, queues: tuple[Queue, ...], address: str, out: Outbox) -> None:
        """Give locks back, one way."""

    def computed(self, consumer: Consumer, topic: str, target: tuple[Queue, ...], out: Outbox) -> None:
        """The consumer has computed what it is to own of the topic, and is about to act on it."""

    def unlock_later(self, now: Time, consumer: Consumer, queue: Queue, delay: Time, out: Outbox) -> None:
        """Give the lock back, one way, after so many milliseconds."""

    def drop(self, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, why: str, out: Outbox) -> None:
        """Mark the queue as dropped: it is no more the consumer's. (Where it is marked already, nothing.)"""

    def life(self, consumer: Consumer, queue: Queue, event: str, out: Outbox, guard: str = "") -> None:
        """Something happened in the life of the queue at this consumer (see `rocketmq_selfbalance.states`)."""

    def added(self, consumer: Consumer, queue: Queue, offset: int, why: str, out: Outbox) -> None:
        """The queue is the consumer's now; it will read from here."""

    def pull(self, now: Time, consumer: Consumer, queue: Queue, offset: int, delay: Time, out: Outbox) -> None:
        """Begin to pull the queue."""

    def pop(self, now: Time, consumer: Consumer, queue: Queue, delay: Time, out: Outbox) -> None:
        """Begin to pop the queue."""

    def drop_popped(self, consumer: Consumer, queue: Queue, popped: PopProcessQueue, out: Outbox) -> None:
        """Pop the queue no more; what was popped of it and waits is thrown away."""

    def listener(
        self, now: Time, consumer: Consumer, topic: str, all_queues: Queues | None, own: Queues, out: Outbox
    ) -> None:
        """``messageQueueChanged``: the user's listener is called, or the lite pull consumer's own."""

    def rebalance_later(self, now: Time, delay: Time, out: Outbox) -> None:
        """Wake the rebalance thread after so many milliseconds."""


class Persist(NamedTuple):
    """``persist``: keep the offset of one queue: send it, or write it into the local file."""

    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        offset = world.consumer(self.group).store.persist(self.queue)
        return None if offset is None else Commit(self.group, self.queue, offset).do(world, now, thread, out)


class PersistAll(NamedTuple):
    """``persistAll``: keep the offsets of all queues in the process queue table; the others in memory are forgotten."""

    group: str

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        # Dropped leftovers are in the table, too.
        thread.push(*(Commit(self.group, *entry) for entry in consumer.store.persist_all(consumer.table)))


class Commit(NamedTuple):
    """``updateConsumeOffsetToBroker``: send this offset to the master, or to any replica. ``refreshed``: the route is
    fresh."""

    group: str
    queue: Queue
    offset: int
    refreshed: bool = False

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        broker = self.queue.broker
        address = world.master(broker) or world.replica(broker)
        if address is not None:
            world.commit(world.consumer(self.group), self.queue, self.offset, address, out)
        elif not self.refreshed:
            thread.push(self._replace(refreshed=True))
            return RefreshRoute(self.queue.topic)
        return None


class RemoveOffset(NamedTuple):
    """``removeOffset``: forget the offset in memory."""

    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        world.consumer(self.group).store.table.remove(self.queue)


class RemoveUnnecessaryMessageQueue(NamedTuple):
    """``removeUnnecessaryMessageQueue``: keep the offset of a dropped queue, forget it, unlock. Leaves whether it can
    leave the table now."""

    group: str
    queue: Queue
    taken_out: bool = False

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        group, queue, _ = self
        if not consumer.locks:
            thread.push(Persist(group, queue), RemoveOffset(group, queue), _Free())
        elif consumer.settings.ordered.delayed_unlock:
            thread.push(
                Persist(group, queue), RemoveOffset(group, queue), _TryConsumeLock(*self), _ConsumeLockTried(*self)
            )
        else:
            thread.push(Persist(group, queue), _RemoveLocked(*self))


class RemoveProcessQueue(NamedTuple):
    """``removeProcessQueue``: take a queue out of the table and give it up, whatever comes of it."""

    group: str
    queue: Queue
    why: str

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        process_queue = consumer.table.pop(self.queue, None)
        if process_queue is None:
            return
        consumer.leaving[self.queue] = process_queue
        world.drop(consumer, self.queue, process_queue, self.why, out)
        world.life(consumer, self.queue, REMOVED, out)
        thread.push(RemoveUnnecessaryMessageQueue(self.group, self.queue, True), _Gone(self.group, self.queue))


class _RemoveLocked(NamedTuple):
    """``tryRemoveOrderMessageQueue``, 5.x: unless the last lock is old enough to use force, no listener may work on
    the queue."""

    group: str
    queue: Queue
    taken_out: bool

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        process_queue = process_queue_of(consumer, self.queue, self.taken_out)
        thread.push(_ConsumeLockTried(*self))
        if process_queue.dropped and now > process_queue.last_lock + consumer.settings.ordered.unlock_delay_time_ms:
            thread.value = True
            return
        thread.push(_TryConsumeLock(*self))


class _TryConsumeLock(NamedTuple):
    group: str
    queue: Queue
    taken_out: bool

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        consumer = world.consumer(self.group)
        if process_queue_of(consumer, self.queue, self.taken_out).listeners:
            return AwaitConsumeLock(self.group, self.queue, consumer.settings.ordered.consume_lock_wait_ms)
        thread.value = True
        return None


class _ConsumeLockTried(NamedTuple):
    group: str
    queue: Queue
    taken_out: bool

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        process_queue = process_queue_of(consumer, self.queue, self.taken_out)
        if not thread.value:
            process_queue.try_unlock_times += 1
            if not self.taken_out:
                world.life(consumer, self.queue, NOT_REMOVABLE, out)
            thread.value = False
        elif not consumer.settings.ordered.delayed_unlock:
            thread.push(Persist(self.group, self.queue), RemoveOffset(self.group, self.queue), _GiveBack(*self))
        elif process_queue.count:
            world.unlock_later(now, consumer, self.queue, consumer.settings.ordered.unlock_delay_time_ms, out)
            thread.value = True
        else:
            thread.push(_GiveBack(*self))


class _GiveBack(NamedTuple):
    """``unlock`` at the broker, and leave True."""

    group: str
    queue: Queue
    taken_out: bool

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        process_queue_of(consumer, self.queue, self.taken_out).locked = False
        address = world.master(self.queue.broker)
        if address is not None:
            world.unlock(consumer, (self.queue,), address, out)
        thread.value = True


class _Free(NamedTuple):
    """Leave True."""

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        thread.value = True


class _Gone(NamedTuple):
    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        world.consumer(self.group).leaving.pop(self.queue, None)


def process_queue_of(consumer: Consumer, queue: Queue, taken_out: bool) -> ProcessQueue:
    return (consumer.leaving if taken_out else consumer.table)[queue]
