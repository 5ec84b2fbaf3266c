"""Ordered consumption (``ConsumeMessageOrderlyService``): one task per queue at a time, under the broker's lock, and
what comes of records that were given back with ``sendMessageBack`` (spec 6.6, 6.7)."""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time, TimerName
from protocols.facts import Delivered
from protocols.java import Queue
from rocketmq_selfbalance.client import blocking, consuming
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.consuming import GIVEN_BACK, passed_over, send_back, stands_still
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.locks import LockAll, LockOne
from rocketmq_selfbalance.client.pool import Batch, Copy, Work
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.requests import consume_lock_free
from rocketmq_selfbalance.client.threads import Thread
from rocketmq_selfbalance.codes import SUCCESS

_LEAST_SUSPENSION = 10.0
_MOST_SUSPENSION = 30_000.0
"""``suspendCurrentQueueTimeMillis`` is kept within these milliseconds."""


class _LockedLater(NamedTuple):
    """A task without a valid lock has asked for it."""

    group: str
    queue: Queue
    number: int

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumer(self.group)
        if consumer.current(self.queue, self.number) is not None:
            settings = consumer.settings
            delay = (
                settings.ordered.locked_then_consume_ms if thread.value else settings.ordered.not_locked_then_consume_ms
            )
            later(client, now, consumer, self.queue, delay, out)


OWN, POP = SERVICES = "own", "POP"
"""The consume services of an ordered consumer: besides its own there is the one for POP, which starts with it in 5.x
(``ConsumeMessagePopOrderlyService``). Each has a scheduled thread, and renews all locks there."""


def services(consumer: Consumer) -> tuple[str, ...]:
    if not consumer.locks:
        return ()
    return SERVICES if consumer.settings.ordered.pop_service_locks else (OWN,)


def lock_thread(group: str, service: str = OWN) -> str:
    return f"locks of {group} ({service})"


def lock_timer(group: str, service: str) -> TimerName:
    return "lock", group, service


def renew_locks(client: Instance, now: Time, consumer: Consumer, service: str, out: Outbox) -> None:
    """``lockMQPeriodically``: the periodic lock round of a service."""
    out.set_timer(lock_timer(consumer.group, service), now + consumer.settings.ordered.lock_interval_ms)
    blocking.run(client, now, lock_thread(consumer.group, service), (LockAll(consumer.group),), out)


def submit(client: Instance, now: Time, consumer: Consumer, queue: Queue, number: int, out: Outbox) -> None:
    out.cancel_timer(("task", consumer.group, queue))
    process_queue = consumer.current(queue, number)
    if process_queue is None:
        return
    pool = consumer.pool
    if pool.standing_still or pool.busy >= consumer.settings.consuming.consume_thread_max:
        pool.backlog.append(Batch(queue, number, 0, 0))
        return
    process_queue.task_since = now
    _next(client, now, consumer, queue, process_queue, out)


def later(client: Instance, now: Time, consumer: Consumer, queue: Queue, delay: float, out: Outbox) -> None:
    out.set_timer(("task", consumer.group, queue), now + delay)


def _next(
    client: Instance, now: Time, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, out: Outbox
) -> None:
    """One turn of the task's loop, or several where the user's code takes no time."""
    settings = consumer.settings
    while not process_queue.dropped:
        if consumer.locks and not _lock_holds(client, now, consumer, process_queue):
            process_queue.task_since = None
            out.set_timer(("try lock", consumer.group, queue), now + settings.ordered.try_lock_later_ms)
            return
        since = process_queue.task_since
        if since is None or now - since > settings.ordered.max_time_consume_continuously_ms:
            process_queue.task_since = None
            later(client, now, consumer, queue, settings.ordered.locked_then_consume_ms, out)
            return
        taken = _take(consumer, queue, process_queue)
        if taken is None:
            break
        if consumer.by_hand or consumer.pool.takes.get((queue, taken.first), consumer.handle):
            _begin(client, now, consumer, process_queue, taken, out)
            return
        if not _finish(client, now, consumer, Work(taken, now, 0), out):
            return
    process_queue.task_since = None


def _lock_holds(client: Instance, now: Time, consumer: Consumer, process_queue: ProcessQueue) -> bool:
    limit = consumer.settings.ordered.lock_max_live_time_ms
    return process_queue.locked and not process_queue.lock_expired(now, limit)


def _take(consumer: Consumer, queue: Queue, process_queue: ProcessQueue) -> Batch | None:
    """The next records for one call of the listener; all there are where nothing tells the calls apart."""
    pool = consumer.pool
    size = consumer.settings.consuming.consume_message_batch_max_size
    if not (consumer.by_hand or consumer.handle or pool.takes or pool.fails):
        size = max(process_queue.count, size)
    if process_queue.waiting:
        first = process_queue.waiting.first
        size = pool.poison.alone(queue, first, first + size) - first
    taken = process_queue.take(size)
    if not taken:
        return None
    for part in taken[1:]:
        process_queue.consume_again([part])
    return Batch(queue, process_queue.number, *taken[0])


def _begin(
    client: Instance, now: Time, consumer: Consumer, process_queue: ProcessQueue, batch: Batch, out: Outbox
) -> None:
    pool = consumer.pool
    pool.busy += 1
    pool.serial += 1
    pool.running[pool.serial] = Work(batch, now, 1)
    process_queue.listeners += 1
    if consumer.by_hand:
        return
    each = pool.takes.get((batch.queue, batch.first), consumer.handle)
    out.set_timer(("consumed", consumer.group, pool.serial), now + each * (batch.end - batch.first))


def consumed(client: Instance, now: Time, consumer: Consumer, serial: int, out: Outbox) -> None:
    work = consumer.pool.finish(serial)
    if work is None:
        return
    queue, number, _, _ = work.batch
    process_queue = consumer.current(queue, number)
    if process_queue is not None:
        process_queue.listeners -= 1
    again = _finish(client, now, consumer, work, out)
    consume_lock_free(client, now, consumer.group, queue, out)
    if again and process_queue is not None:
        _next(client, now, consumer, queue, process_queue, out)
    go_on(client, now, consumer, out)


def go_on(client: Instance, now: Time, consumer: Consumer, out: Outbox) -> None:
    pool = consumer.pool
    while pool.backlog and not pool.standing_still and pool.busy < consumer.settings.consuming.consume_thread_max:
        batch = pool.backlog.pop(0)
        submit(client, now, consumer, batch.queue, batch.number, out)


def _finish(client: Instance, now: Time, consumer: Consumer, work: Work, out: Outbox) -> bool:
    """The listener has returned; whether the task goes on with the next records."""
    queue, number, first, end = work.batch
    poison = consumer.pool.poison.find(queue, first)
    if poison is None:
        out.observe(Delivered(consumer.group, consumer.member, queue, first, end, work.since, now))
    process_queue = consumer.current(queue, number)
    if process_queue is None:
        return False
    if poison is not None and poison.is_skipped_after(poison.tried + process_queue.tried(first)):
        passed_over(consumer, queue, first, poison.record.skipped, out)
    elif poison is not None or (queue, first) in consumer.pool.fails:
        _failed(client, now, consumer, process_queue, work.batch, poison, out)
        return False
    _commit(consumer, queue, process_queue)
    return True


def _failed(
    client: Instance,
    now: Time,
    consumer: Consumer,
    process_queue: ProcessQueue,
    batch: Batch,
    poison: Copy | None,
    out: Outbox,
) -> None:
    """The listener wants the queue suspended: it is, as long as the records may be tried again."""
    most = consumer.settings.consuming.max_reconsume_times
    process_queue.task_since = None
    if poison is not None:
        if process_queue.tried(batch.first) == 1:
            stands_still(consumer, batch.queue, batch.first, out)
        if most < 0 and (poison.record.attempts is not None or process_queue.tried(batch.first) == 1):
            process_queue.count_try(batch.first)
    if most >= 0 and process_queue.gives_up(batch.first, batch.end, most) and not process_queue.dropped:
        _give_up(client, now, consumer, process_queue, batch, out)
    else:
        _suspend(client, now, consumer, process_queue, batch, out)


def _suspend(
    client: Instance, now: Time, consumer: Consumer, process_queue: ProcessQueue, batch: Batch, out: Outbox
) -> None:
    process_queue.rollback()
    pause = consumer.settings.ordered.suspend_current_queue_time_ms
    later(client, now, consumer, batch.queue, min(max(pause, _LEAST_SUSPENSION), _MOST_SUSPENSION), out)


def _commit(consumer: Consumer, queue: Queue, process_queue: ProcessQueue) -> None:
    offset = process_queue.commit()
    if offset is not None and not process_queue.dropped:
        consumer.store.table.update(queue, offset, False)


def _give_up(
    client: Instance, now: Time, consumer: Consumer, process_queue: ProcessQueue, batch: Batch, out: Outbox
) -> None:
    """Give the records to their broker for the dead letters, one by one."""
    if client.master(batch.queue.broker) is None:
        _suspend(client, now, consumer, process_queue, batch, out)
    else:
        send_back(client, now, consumer, batch, 0, consumer.settings.consuming.max_reconsume_times, out)


def back_answered(client: Instance, now: Time, consumer: Consumer, batch: Batch, out: Outbox, *, success: bool) -> None:
    """A broker has the first of the records that are given up, or has not."""
    process_queue = consumer.current(batch.queue, batch.number)
    if process_queue is None or process_queue.dropped:
        return
    if success and batch.first + 1 < batch.end:
        _give_up(client, now, consumer, process_queue, batch._replace(first=batch.first + 1), out)
    elif success:
        passed_over(consumer, batch.queue, batch.first, GIVEN_BACK, out)
        _commit(consumer, batch.queue, process_queue)
        submit(client, now, consumer, batch.queue, batch.number, out)
    else:
        _suspend(client, now, consumer, process_queue, batch, out)


def try_lock(client: Instance, now: Time, consumer: Consumer, queue: Queue, out: Outbox) -> None:
    """``tryLockLaterAndReconsume``: a task without a valid lock asks for it."""
    process_queue = consumer.table.get(queue)
    if process_queue is not None:
        step = _LockedLater(consumer.group, queue, process_queue.number)
        blocking.run(client, now, lock_thread(consumer.group), (LockOne(consumer.group, queue), step), out)


def answered(client: Instance, now: Time, number: int, code: int | None, out: Outbox) -> None:
    sent = client.sent_back.pop(number)
    out.cancel_timer(("sent back", number))
    consumer = client.consumers.get(sent.group)
    if consumer is None:
        return
    go_on = back_answered if consumer.orderly else consuming.back_answered
    batch = Batch(sent.queue, sent.number, sent.first, sent.end)
    go_on(client, now, consumer, batch, out, success=code == SUCCESS)


def connection_lost(client: Instance, now: Time, peer: str, out: Outbox) -> None:
    for number in [number for number, sent in client.sent_back.items() if sent.address == peer]:
        answered(client, now, number, None, out)
