"""Where a new owner starts to read a queue: ``computePullFromWhere`` of ``RebalancePushImpl`` (spec 5.3)."""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.client import threads
from rocketmq_selfbalance.client.consumer import PULL, PUSH
from rocketmq_selfbalance.client.offset_store import NONE, ReadFrom, RemoteOffsets
from rocketmq_selfbalance.client.removal import World

NO_ANSWER = -1
"""The code of an error that is no broker's answer."""


class Start(NamedTuple):
    """Where to start (negative: it cannot be told now) and why; the code of the error that the real client throws
    within, None where it throws none."""

    offset: int
    why: str
    error: int | None = None


class ComputePullFromWhere(NamedTuple):
    """``computePullFromWhere``: find out where to start; leaves a `Start`."""

    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: threads.Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        if consumer.kind == PULL:
            thread.value = Start(0, "first")
            return
        source = ReadFrom.STORE if consumer.kind == PUSH else ReadFrom.MEMORY_FIRST
        thread.push(ReadStored(self.group, self.queue, source), DecideStart(self.group, self.queue))


class ReadStored(NamedTuple):
    """Read the offset from memory or store; leaves the offset, or what stands for none (see `offset_store`)."""

    group: str
    queue: Queue
    source: ReadFrom

    def do(self, world: World, now: Time, thread: threads.Thread, out: Outbox) -> None:
        value = world.consumer(self.group).store.read(self.queue, self.source)
        if value is None:
            thread.push(QueryBroker(self.group, self.queue, False))
        thread.value = value


class QueryBroker(NamedTuple):
    """``fetchConsumeOffsetFromBroker``: ask the queue's broker for the committed offset. ``refreshed``: the route is
    fresh, any replica will do."""

    group: str
    queue: Queue
    refreshed: bool

    def do(self, world: World, now: Time, thread: threads.Thread, out: Outbox) -> threads.Call | None:
        broker = self.queue.broker
        address = world.master(broker)
        if address is None and self.refreshed:
            address = world.replica(broker)
        if address is not None:
            thread.push(QueryAnswered(self.group, self.queue))
            return threads.QueryOffset(self.group, self.queue, address)
        if self.refreshed:
            thread.value = threads.Failure.FAILED
            thread.push(QueryAnswered(self.group, self.queue))
            return None
        thread.push(QueryBroker(self.group, self.queue, True))
        return threads.RefreshRoute(self.queue.topic)


class QueryAnswered(NamedTuple):
    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: threads.Thread, out: Outbox) -> None:
        store = world.consumer(self.group).store
        assert isinstance(store, RemoteOffsets)
        thread.value = store.found(self.queue, thread.value)


class DecideStart(NamedTuple):
    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: threads.Thread, out: Outbox) -> None:
        consumer, stored = world.consumer(self.group), thread.value
        thread.value = None
        if stored >= 0:
            thread.value = Start(stored, "committed")
        elif stored != NONE:
            # No usable offset: the push consumer throws, the lite pull consumer goes on with -1.
            thread.value = Start(-1, "", codes.QUERY_NOT_FOUND if consumer.kind == PUSH else None)
        elif consumer.consume_from_where == codes.CONSUME_FROM_FIRST_OFFSET:
            thread.value = Start(0, "first")
        elif consumer.consume_from_where == codes.CONSUME_FROM_TIMESTAMP:
            if self.queue.topic.startswith(codes.RETRY_PREFIX):
                thread.push(AskAdmin(self.queue, None, False), AdminAnswered(self.group, "last"))
            else:
                time = consumer.consume_timestamp
                thread.push(AskAdmin(self.queue, time, False), AdminAnswered(self.group, "timestamp"))
        elif self.queue.topic.startswith(codes.RETRY_PREFIX):
            thread.value = Start(0, "first")
        else:
            thread.push(AskAdmin(self.queue, None, False), AdminAnswered(self.group, "last"))


class AskAdmin(NamedTuple):
    """Ask the master for the end of the queue, or for the offset at a time. ``refreshed``: the route is fresh."""

    queue: Queue
    timestamp: float | None
    refreshed: bool

    def do(self, world: World, now: Time, thread: threads.Thread, out: Outbox) -> threads.Call | None:
        address = world.master(self.queue.broker)
        if address is None:
            if self.refreshed:
                thread.value = threads.Failure.FAILED
                return None
            thread.push(AskAdmin(self.queue, self.timestamp, True))
            return threads.RefreshRoute(self.queue.topic)
        if self.timestamp is None:
            return threads.AskMaxOffset(self.queue, address)
        return threads.AskOffsetAt(self.queue, address, self.timestamp)


class AdminAnswered(NamedTuple):
    group: str
    why: str

    def do(self, world: World, now: Time, thread: threads.Thread, out: Outbox) -> None:
        answer = thread.value
        if isinstance(answer, threads.Failure):
            thread.value = Start(-1, "", NO_ANSWER)
        elif answer < 0 and world.consumer(self.group).kind == PUSH:
            thread.value = Start(-1, "", codes.SYSTEM_ERROR)
        else:
            thread.value = Start(answer, self.why)
