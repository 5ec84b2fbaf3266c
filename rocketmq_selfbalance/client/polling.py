"""Pull consumers (``DefaultLitePullConsumerImpl``, ``DefaultMQPullConsumerImpl``): their listener decides which queues
are pulled, the user's own loop takes the records (spec 5.4).

``poll()`` marks records as consumed when it hands them out, and each poll keeps the positions when the last time is
long enough ago.
"""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Delivered, Position
from protocols.java import Queue
from rocketmq_selfbalance.client import blocking
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.consuming import passed_over, stands_still
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.offset_store import ReadFrom
from rocketmq_selfbalance.client.pool import Batch, Work
from rocketmq_selfbalance.client.pull_from_where import ComputePullFromWhere, ReadStored, Start
from rocketmq_selfbalance.client.settings import PULL
from rocketmq_selfbalance.client.threads import Thread

_RETRY_START_MS = 3_000.0
"""A lite pull task that could not find its starting offset tries again after this time."""


class _StartPulling(NamedTuple):
    group: str
    queue: Queue
    number: int

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumer(self.group)
        process_queue = consumer.current(self.queue, self.number)
        if process_queue is None or process_queue.dropped:
            return
        found = thread.value
        start = found if isinstance(found, Start) else Start(max(found, 0), "committed" if found >= 0 else "first")
        if start.offset < 0:
            out.set_timer(("pull task", self.group, self.queue), now + _RETRY_START_MS)
            return
        out.observe(Position(consumer.group, consumer.member, self.queue, start.offset, start.why))
        client.pull(now, consumer, self.queue, start.offset, 0.0, out)


def assigned(client: Instance, now: Time, group: str, out: Outbox) -> None:
    """``updatePullTask``: the queues have changed, begin to pull those that are not pulled yet."""
    consumer = client.consumers.get(group)
    if consumer is None:
        return
    for queue in sorted(consumer.holds()):
        process_queue = consumer.table[queue]
        if not process_queue.previously_locked:
            process_queue.previously_locked = True
            begin_pulling(client, now, consumer, queue, out)


def begin_pulling(client: Instance, now: Time, consumer: Consumer, queue: Queue, out: Outbox) -> None:
    """A ``PullTaskImpl`` begins: where does it start?"""
    process_queue = consumer.table.get(queue)
    if process_queue is None or process_queue.dropped:
        return
    step = _StartPulling(consumer.group, queue, process_queue.number)
    # The old pull consumer's user reads the committed offset himself.
    locate = (
        ReadStored(consumer.group, queue, ReadFrom.MEMORY_FIRST)
        if consumer.kind == PULL
        else ComputePullFromWhere(consumer.group, queue)
    )
    blocking.run(
        client,
        now,
        f"pull task of {queue.topic}-{queue.broker}-{queue.number} of {consumer.group}",
        (locate, step),
        out,
    )


def cached(consumer: Consumer) -> int:
    return sum(process_queue.count for process_queue in consumer.table.values() if not process_queue.dropped)


def submit(client: Instance, now: Time, consumer: Consumer, batch: Batch, out: Outbox) -> None:
    """Records have been fetched; a poll that waits for some gets them."""
    consumer.pool.backlog.append(batch)
    if not consumer.pool.busy:
        poll(client, now, consumer, out)


def poll(client: Instance, now: Time, consumer: Consumer, out: Outbox) -> None:
    """``poll``: the user's loop polls, and handles what it gets before it polls again."""
    pool = consumer.pool
    while not pool.standing_still and not pool.busy:
        if not pool.in_hand and not _take(client, now, consumer):
            out.set_timer(("poll", consumer.group), now + consumer.settings.lite_pull.poll_timeout_ms)
            return
        batch = pool.in_hand.pop(0)
        duration = _duration(consumer, batch)
        if duration != 0 and pool.poison.find(batch.queue, batch.first) is not None:
            stands_still(consumer, batch.queue, batch.first, out)
        if duration == 0:
            _done(now, consumer, Work(batch, now, 0), out)
            continue
        pool.busy, pool.serial = 1, pool.serial + 1
        pool.running[pool.serial] = Work(batch, now, 1)
        if duration is not None:
            out.set_timer(("consumed", consumer.group, pool.serial), now + duration)


def _take(client: Instance, now: Time, consumer: Consumer) -> bool:
    """poll() returns the records of one batch, if there is any: they are in hand, a poison record as a piece of its
    own."""
    _keep_positions(client, now, consumer)
    batch = _next(consumer)
    if batch is None:
        return False
    consumer.table[batch.queue].remove([(batch.first, batch.end)])
    while batch.first < batch.end:
        end = consumer.pool.poison.alone(batch.queue, batch.first, batch.end)
        consumer.pool.in_hand.append(batch._replace(end=end))
        batch = batch._replace(first=end)
    return True


def _duration(consumer: Consumer, batch: Batch) -> Time | None:
    """How long the user's loop works on these records; None: for ever, as it tries a poison record again in place."""
    poison = consumer.pool.poison.find(batch.queue, batch.first)
    return _time_for(consumer, batch) if poison is None else poison.record.lasts(consumer.handle)


def _done(now: Time, consumer: Consumer, work: Work, out: Outbox) -> None:
    queue, _, first, end = work.batch
    poison = consumer.pool.poison.find(queue, first)
    if poison is None:
        at_once = min(end - first, consumer.settings.lite_pull.user_threads)
        out.observe(Delivered(consumer.group, consumer.member, queue, first, end, work.since, now, at_once))
    else:
        passed_over(consumer, queue, first, poison.record.skipped, out)


def _time_for(consumer: Consumer, batch: Batch) -> Time:
    """How long the user's code takes: as many records at once as it has threads, then as many more."""
    threads, takes = consumer.settings.lite_pull.user_threads, consumer.pool.takes
    if not takes:
        return ceil((batch.end - batch.first) / threads) * consumer.handle
    each = [takes.get((batch.queue, offset), consumer.handle) for offset in range(batch.first, batch.end)]
    return sum([max(each[at : at + threads]) for at in range(0, len(each), threads)])


def _next(consumer: Consumer) -> Batch | None:
    backlog = consumer.pool.backlog
    while backlog:
        batch = backlog.pop(0)
        process_queue = consumer.current(batch.queue, batch.number)
        if process_queue is not None and not process_queue.dropped:
            return batch
    return None


def consumed(client: Instance, now: Time, consumer: Consumer, serial: int, out: Outbox) -> None:
    work = consumer.pool.finish(serial)
    if work is None:
        return
    _done(now, consumer, work, out)
    poll(client, now, consumer, out)


def _keep_positions(client: Instance, now: Time, consumer: Consumer) -> None:
    if now < consumer.pool.next_commit:
        return
    consumer.pool.next_commit = now + consumer.settings.lite_pull.auto_commit_interval_ms
    keep_positions(consumer)


def keep_positions(consumer: Consumer) -> None:
    """Copy how far records were handed out into the offset store; the client's own task sends it."""
    for queue, consumed_to in _positions(consumer):
        consumer.store.table.update(queue, consumed_to, False)


def would_keep(consumer: Consumer) -> bool:
    """Whether one of the next polls, though it finds no records, changes the offset store."""
    kept = consumer.store.table.offsets
    return not consumer.pool.standing_still and any(kept.get(queue) != to for queue, to in _positions(consumer))


def _positions(consumer: Consumer) -> Iterator[tuple[Queue, int]]:
    for queue in consumer.holds():
        process_queue = consumer.table[queue]
        if process_queue.highest or process_queue.count:
            waiting = process_queue.waiting
            yield queue, waiting.first if waiting else process_queue.highest + 1
