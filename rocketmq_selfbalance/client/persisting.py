"""What is around the parts of a client (`process_queue_table`, `pull_from_where`, `persisting`, `locks`, ...): they
work on a `Consumer` through steps of a thread, and do to the outside what this names. (A boundary of ours.)

Sending offsets to the brokers, one way, and forgetting them: ``persist``, ``persistAll``,
``updateConsumeOffsetToBroker`` and ``removeOffset`` of the ``OffsetStore`` (spec 6.8).

Nothing tells the client that a commit was lost.
"""

from typing import NamedTuple, Protocol

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.threads import Call, Handlers, RefreshRoute, Thread


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

    def listener(
        self,
        now: Time,
        consumer: Consumer,
        topic: str,
        all_queues: tuple[Queue, ...],
        own: tuple[Queue, ...],
        out: Outbox,
    ) -> None:
        """``messageQueueChanged``: the user's listener is called, or the lite pull consumer's own."""

    def rebalance_later(self, now: Time, delay: Time, out: Outbox) -> None:
        """Wake the rebalance thread after so many milliseconds."""


class Persist(NamedTuple):
    """``persist``: keep the offset of one queue: send it, or write it into the local file."""

    group: str
    queue: Queue


class PersistAll(NamedTuple):
    """``persistAll``: keep the offsets of all queues in the process queue table; the others in memory are forgotten."""

    group: str


class Commit(NamedTuple):
    """``updateConsumeOffsetToBroker``: send this offset to the master, or to any replica. ``refreshed``: the route is
    fresh."""

    group: str
    queue: Queue
    offset: int
    refreshed: bool = False


class RemoveOffset(NamedTuple):
    """``removeOffset``: forget the offset in memory."""

    group: str
    queue: Queue


def _persist(world: World, now: Time, thread: Thread, step: Persist, out: Outbox) -> Call | None:
    offset = world.consumer(step.group).store.persist(step.queue)
    return None if offset is None else _commit(world, now, thread, Commit(step.group, step.queue, offset), out)


def _persist_all(world: World, now: Time, thread: Thread, step: PersistAll, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    # Dropped leftovers are in the table, too.
    thread.push(*(Commit(step.group, *entry) for entry in consumer.store.persist_all(consumer.table)))
    return None


def _commit(world: World, now: Time, thread: Thread, step: Commit, out: Outbox) -> Call | None:
    broker = step.queue.broker
    address = world.master(broker) or world.replica(broker)
    if address is not None:
        world.commit(world.consumer(step.group), step.queue, step.offset, address, out)
    elif not step.refreshed:
        thread.push(step._replace(refreshed=True))
        return RefreshRoute(step.queue.topic)
    return None


def _remove_offset(world: World, now: Time, thread: Thread, step: RemoveOffset, out: Outbox) -> Call | None:
    world.consumer(step.group).store.table.remove(step.queue)
    return None


HANDLERS: Handlers = {Persist: _persist, PersistAll: _persist_all, Commit: _commit, RemoveOffset: _remove_offset}
