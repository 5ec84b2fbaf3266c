"""Sending offsets to the brokers, one way, and forgetting them: ``persist``, ``persistAll``,
``updateConsumeOffsetToBroker`` and ``removeOffset`` of the ``OffsetStore`` (spec 6.8).

Nothing tells the client that a commit was lost.
"""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client.calls import Call, RefreshRoute
from rocketmq_selfbalance.client.threads import Handlers, Thread
from rocketmq_selfbalance.client.world import World


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
