"""Timers of a client: which of them goes to whom. (In RocketMQ most are tasks of a
``ScheduledExecutorService``.)"""

from collections.abc import Callable, Mapping

from protocols.engine.nodes import Outbox, Time
from protocols.queues import Queue
from rocketmq_selfbalance.client import (
    blocking,
    consuming,
    consuming_orderly,
    giving_back,
    polling,
    pulling,
    rebalance_service,
    repairing,
    routing,
    tasks,
)
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.pool import Batch
from rocketmq_selfbalance.client.settings import PUSH
from rocketmq_selfbalance.messages.locks import UnlockBatchMq


def _thread_waited(client: Instance, now: Time, thread: str, out: Outbox) -> None:
    if not blocking.is_overdue(client, now, thread, out):
        return
    asked = [each.address for each in client.asked.values() if each.thread == thread]
    for address in asked:
        if address in client.name_servers:
            routing.name_server_failed(client, address)
    blocking.waited_enough(client, now, thread, out)


def _consumed(client: Instance, now: Time, group: str, serial: int, out: Outbox) -> None:
    consumer = client.consumers.get(group)
    if consumer is None or serial not in consumer.pool.running:
        return
    if consumer.kind != PUSH:
        polling.consumed(client, now, consumer, serial, out)
    elif consumer.orderly:
        consuming_orderly.consumed(client, now, consumer, serial, out)
    else:
        consuming.consumed(client, now, consumer, serial, out)


def _again(
    client: Instance, now: Time, group: str, queue: Queue, number: int, first: int, end: int, out: Outbox
) -> None:
    consumer = client.consumers.get(group)
    if consumer is not None:
        consuming.submit(client, now, consumer, Batch(queue, number, first, end), out)


def _task(client: Instance, now: Time, group: str, queue: Queue, out: Outbox) -> None:
    consumer = client.consumers.get(group)
    process_queue = consumer.table.get(queue) if consumer is not None else None
    if consumer is not None and process_queue is not None:
        consuming_orderly.submit(client, now, consumer, queue, process_queue.number, out)


def _unlock(client: Instance, now: Time, group: str, queue: Queue, out: Outbox) -> None:
    consumer, address = client.consumers.get(group), client.master(queue.broker)
    if consumer is not None and address is not None:
        out.send(address, UnlockBatchMq(client.next_correlation(), group, client.client_id, (queue,), True))


def _of_consumer(work: Callable[..., None]) -> Callable[..., None]:
    """For timers that name a group: its consumer, if it is still there."""

    def take(client: Instance, now: Time, group: str, *rest: object) -> None:
        consumer = client.consumers.get(group)
        if consumer is not None:
            work(client, now, consumer, *rest)

    return take


def _not_sent_back(client: Instance, now: Time, number: int, out: Outbox) -> None:
    giving_back.answered(client, now, number, None, out)


DUE: Mapping[str, Callable[..., None]] = {
    "thread": _thread_waited,
    "task of": tasks.due,
    "wake": rebalance_service.rebalance_immediately,
    "pull": pulling.due,
    "pull timeout": pulling.overdue,
    "repair": repairing.repair,
    "consumed": _consumed,
    "again": _again,
    "task": _task,
    "unlock": _unlock,
    "lock": _of_consumer(consuming_orderly.renew_locks),
    "try lock": _of_consumer(consuming_orderly.try_lock),
    "expired": _of_consumer(consuming.clean_expired),
    "poll": _of_consumer(polling.poll),
    "pull task": _of_consumer(polling.begin_pulling),
    "assigned": polling.assigned,
    "sent back": _not_sent_back,
}
"""First part of a timer's name to who takes it: with the instance, the time, the other parts and the outbox."""
