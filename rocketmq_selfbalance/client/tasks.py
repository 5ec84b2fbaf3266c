"""Timers of a client: which of them goes to whom. The periodic tasks of the instance (``startScheduledTask``) are all
on one thread, so that a slow one delays the others (spec 3.3)."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue, sorted_as_java
from rocketmq_selfbalance.client import (
    blocking,
    consuming,
    consuming_orderly,
    polling,
    popping,
    pulling,
    rebalance_service,
    requests,
)
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.pool import Batch
from rocketmq_selfbalance.client.removal import PersistAll
from rocketmq_selfbalance.client.requests import Beat, drop_offline
from rocketmq_selfbalance.client.settings import PUSH, InstanceSettings
from rocketmq_selfbalance.client.threads import Call, Failure, RefreshRoute, Thread

THREAD = "scheduled"


class UpdateRoutes(NamedTuple):
    """Ask for the route of each topic of all consumers."""

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        topics = sorted_as_java({topic for consumer in client.consumers.values() for topic in consumer.subscriptions})
        thread.value = None
        thread.push(_UpdateNext(tuple(topics)))


class PeriodicHeartbeat(NamedTuple):
    """Forget offline addresses, then a round."""

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        drop_offline(client)
        thread.push(Beat())


class PersistOffsets(NamedTuple):
    """``persistAllConsumerOffset``: keep the offsets of all consumers."""

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        thread.push(*(PersistAll(consumer.group) for consumer in client.active()))


class _UpdateNext(NamedTuple):
    topics: tuple[str, ...]

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> Call | None:
        # A name server that does not answer ends this round.
        if thread.value is Failure.FAILED or not self.topics:
            return None
        thread.push(_UpdateNext(self.topics[1:]))
        return RefreshRoute(self.topics[0])


class Task(NamedTuple):
    """What is done, first how long after the start, and then how often."""

    step: type[UpdateRoutes] | type[PeriodicHeartbeat] | type[PersistOffsets]
    first: Callable[[InstanceSettings], Time]
    period: Callable[[InstanceSettings], Time]


TASKS: Mapping[str, Task] = {
    "routes": Task(
        UpdateRoutes, lambda its: its.poll_name_server_first_ms, lambda its: its.poll_name_server_interval_ms
    ),
    "heartbeat": Task(
        PeriodicHeartbeat, lambda its: its.heartbeat_first_ms, lambda its: its.heartbeat_broker_interval_ms
    ),
    "persist": Task(
        PersistOffsets, lambda its: its.persist_first_ms, lambda its: its.persist_consumer_offset_interval_ms
    ),
}


def begin(client: Instance, now: Time, out: Outbox) -> None:
    for name, task in TASKS.items():
        its = client.settings.instance
        client.task_due[name] = now + its.tasks_begin_ms + task.first(its)
        out.set_timer(("task of", name), client.task_due[name])


def due(client: Instance, now: Time, name: str, out: Outbox) -> None:
    """A task has its turn; at a fixed rate, however long it takes."""
    task = TASKS[name]
    client.task_due[name] = max(client.task_due[name] + task.period(client.settings.instance), now)
    out.set_timer(("task of", name), client.task_due[name])
    thread = client.threads.get(THREAD)
    step = task.step()
    # One that still waits for its turn is not there twice.
    if thread is None or step not in thread.left:
        blocking.run(client, now, THREAD, (step,), out)


def lost(client: Instance, now: Time, peers: Sequence[str], out: Outbox) -> None:
    """The connections to these peers are gone: what was asked there is not answered."""
    client.connections.difference_update(peers)
    for peer in peers:
        if peer in client.name_servers:
            requests.name_server_failed(client, peer)
    blocking.failed(client, now, peers, out)
    for peer in peers:
        pulling.connection_lost(client, now, peer, out)
        popping.connection_lost(client, now, peer, out)
        consuming_orderly.connection_lost(client, now, peer, out)
    client.tell_owned(out)


def _thread_waited(client: Instance, now: Time, thread: str, out: Outbox) -> None:
    if not blocking.is_overdue(client, now, thread, out):
        return
    overdue = [each.address for each in client.asked.values() if each.thread == thread]
    blocking.waited_enough(client, now, thread, out)
    # A connection on which an answer is overdue is closed (``clientCloseSocketIfTimeout``), with all that waits there.
    for address in overdue:
        out.close(address)
    lost(client, now, overdue, out)


def _consumed(client: Instance, now: Time, consumer: Consumer, serial: int, out: Outbox) -> None:
    if serial not in consumer.pool.running:
        return
    if consumer.kind != PUSH:
        polling.consumed(client, now, consumer, serial, out)
    elif consumer.orderly:
        consuming_orderly.consumed(client, now, consumer, serial, out)
    else:
        consuming.consumed(client, now, consumer, serial, out)


def _task(client: Instance, now: Time, consumer: Consumer, queue: Queue, out: Outbox) -> None:
    process_queue = consumer.table.get(queue)
    if process_queue is not None:
        consuming_orderly.submit(client, now, consumer, queue, process_queue.number, out)


def _unlock(client: Instance, now: Time, consumer: Consumer, queue: Queue, out: Outbox) -> None:
    address = client.master(queue.broker)
    if address is not None:
        client.unlock(consumer, (queue,), address, out)


def _of_consumer(work: Callable[..., None]) -> Callable[..., None]:
    """For timers that name a group: its consumer, if it is still there."""

    def take(client: Instance, now: Time, group: str, *rest: object) -> None:
        consumer = client.consumers.get(group)
        if consumer is not None:
            work(client, now, consumer, *rest)

    return take


DUE: Mapping[str, Callable[..., None]] = {
    "thread": _thread_waited,
    "task of": due,
    "wake": rebalance_service.rebalance_immediately,
    "pull": pulling.due,
    "pull timeout": pulling.overdue,
    "repair": pulling.repair,
    "pop": _of_consumer(popping.due),
    "pop timeout": popping.overdue,
    "popped": _of_consumer(popping.handled),
    "consumed": _of_consumer(_consumed),
    "again": _of_consumer(
        lambda client, now, consumer, *rest: consuming.submit(client, now, consumer, Batch(*rest[:-1]), rest[-1])
    ),
    "task": _of_consumer(_task),
    "unlock": _of_consumer(_unlock),
    "lock": _of_consumer(consuming_orderly.renew_locks),
    "try lock": _of_consumer(consuming_orderly.try_lock),
    "expired": _of_consumer(consuming.clean_expired),
    "poll": _of_consumer(polling.poll),
    "pull task": _of_consumer(polling.begin_pulling),
    "assigned": polling.assigned,
    "sent back": lambda client, now, number, out: consuming_orderly.answered(client, now, number, None, out),
}
"""First part of a timer's name to who takes it: with the instance, the time, the other parts and the outbox."""
