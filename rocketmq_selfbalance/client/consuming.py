"""Concurrent consumption (``ConsumeMessageConcurrentlyService``): batches go to a pool of threads, the smallest
unfinished offset is kept (spec 6.5).

Why nobody waits for a queue's order here: each batch is a task of its own, so a slow record holds up one thread and
not its queue. The price is that later records of the queue are handled before earlier ones. Who needs order uses
`consuming_orderly`, whose locks at the broker make a queue one task at a time.

Why a piece of work is a range: records have no content in the model. Those that begin together and take equally long
end together, so a thread pool of 20 needs one event for 20 records.
"""

from collections.abc import Callable

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Delivered, PassedOver, StandsStill
from protocols.java import Queue
from protocols.load import quickly_made
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.instance import Instance, SentBack
from rocketmq_selfbalance.client.pool import Batch, Work
from rocketmq_selfbalance.client.process_queue import NOTHING, ProcessQueue
from rocketmq_selfbalance.codes import CLUSTERING
from rocketmq_selfbalance.messages.offsets import ConsumerSendMsgBack

GIVEN_BACK = "given back to its broker"
DROPPED = "dropped, nothing is given back in a broadcasting group"


def passed_over(consumer: Consumer, queue: Queue, offset: int, why: str, out: Outbox) -> None:
    """The queue is read on behind this record; it is told where the record is poison."""
    if consumer.pool.poison.find(queue, offset) is not None:
        out.observe(PassedOver(consumer.group, consumer.member, queue, offset, why))


def stands_still(consumer: Consumer, queue: Queue, offset: int, out: Outbox) -> None:
    out.observe(StandsStill(consumer.group, consumer.member, queue, offset))


_delivered, _work = quickly_made(Delivered), quickly_made(Work)

_MOST_EXPIRED = 16
"""Records of a queue that one round of the clean-up sends back."""


def submit(client: Instance, now: Time, consumer: Consumer, batch: Batch, out: Outbox) -> None:
    consumer.pool.backlog.append(batch)
    go_on(client, now, consumer, out)


def go_on(client: Instance, now: Time, consumer: Consumer, out: Outbox) -> None:
    pool = consumer.pool
    most = consumer.settings.consuming.consume_thread_max
    backlog = pool.backlog
    while backlog and pool.busy < most and not pool.standing_still:
        batch = backlog[0]
        process_queue = consumer.current(batch[0], batch[1])
        if process_queue is None or process_queue.dropped:
            del backlog[0]  # skipped silently
            continue
        piece = _piece(consumer, batch, most - pool.busy)
        if piece is batch:
            del backlog[0]
        else:
            backlog[0] = batch._replace(first=piece.end)
        _begin(client, now, consumer, process_queue, piece, out)


def _piece(consumer: Consumer, batch: Batch, threads: int) -> Batch:
    """As much from the front of the batch as these threads can begin now and will end together."""
    queue, _, first, end = batch
    size = consumer.settings.consuming.consume_message_batch_max_size
    if consumer.by_hand:
        end = min(end, first + size)
    else:
        # Code that takes no time is at once ready for the next records.
        if consumer.handle and first + threads * size < end:
            end = first + threads * size
        pool = consumer.pool
        if pool.takes or pool.fails:
            special = [offset for of, offset in (*pool.takes, *pool.fails) if of == queue]
            ahead = [offset for offset in special if first <= offset < end]
            if ahead:
                end = min(ahead) if min(ahead) > first else first + 1
        end = pool.poison.alone(queue, first, end)
    return batch if end == batch.end else batch._replace(end=end)


def _begin(
    client: Instance, now: Time, consumer: Consumer, process_queue: ProcessQueue, piece: Batch, out: Outbox
) -> None:
    pool, size = consumer.pool, consumer.settings.consuming.consume_message_batch_max_size
    queue, _, first, end = piece
    count = end - first
    each = pool.takes.get((queue, first), consumer.handle) if pool.takes else consumer.handle
    if not each and not consumer.by_hand:
        _finish(client, now, consumer, _work((piece, now, 0)), out)
        return
    threads = -(-count // size)
    pool.busy += threads
    pool.serial += 1
    pool.running[pool.serial] = _work((piece, now, threads))
    process_queue.listeners += 1
    if consumer.by_hand:
        return
    out.set_timer(("consumed", consumer.group, pool.serial), now + each * min(count, size))


def consumed(client: Instance, now: Time, consumer: Consumer, serial: int, out: Outbox) -> None:
    work = consumer.pool.finish(serial)
    if work is None:
        return
    process_queue = consumer.current(work[0][0], work[0][1])
    if process_queue is not None:
        process_queue.listeners -= 1
    _finish(client, now, consumer, work, out)
    go_on(client, now, consumer, out)


def returned(
    client: Instance,
    now: Time,
    consumer: Consumer,
    serial: int,
    end: Callable[[Instance, Time, Consumer, int, Outbox], None],
    out: Outbox,
    *,
    success: bool,
) -> None:
    """The user's own listener has returned; ``end``: what follows the end of a piece of work."""
    pool = consumer.pool
    work = pool.running.get(serial)
    if work is None:
        return
    failed = work.batch.queue, work.batch.first
    if not success:
        pool.fails.add(failed)
    end(client, now, consumer, serial, out)
    pool.fails.discard(failed)


def _finish(client: Instance, now: Time, consumer: Consumer, work: Work, out: Outbox) -> None:
    queue, number, first, end = work.batch
    poison = consumer.pool.poison.find(queue, first)
    if poison is None:
        # Code that takes no time takes a batch in as many threads as there are.
        threads = work.threads or consumer.settings.consuming.consume_thread_max
        at_once = 1 if threads == 1 else end - first if work.threads else min(end - first, threads)
        what = queue, first, end, work.since, now, at_once, 0.0, 0.0, 0.0
        out.observe(_delivered((consumer.group, consumer.member, *what)))
    process_queue = consumer.current(queue, number)
    if process_queue is None or process_queue.dropped:
        return  # nothing is done with the result: neither kept nor sent back
    failed = consumer.pool.fails and (queue, first) in consumer.pool.fails
    if poison is not None:
        failed = consumer.message_model == CLUSTERING and not poison.is_skipped_after(poison.tried + 1)
        if not failed:
            skipped = poison.is_skipped_after(poison.tried + 1)
            passed_over(consumer, queue, first, poison.record.skipped if skipped else DROPPED, out)
    if failed and consumer.message_model == CLUSTERING:
        for offset in range(first, end):
            send_back(client, now, consumer, Batch(queue, number, offset, offset + 1), 0, 0, out)
    else:
        finished(client, consumer, process_queue, work[0])


def finished(client: Instance, consumer: Consumer, process_queue: ProcessQueue, batch: Batch) -> None:
    """These records need no more work (done, sent back, or given up): keep how far everything is done."""
    queue, _, first, end = batch
    offset = process_queue.remove(((first, end),))
    if offset != NOTHING and not process_queue.dropped:
        consumer.store.table.update(queue, offset, True)


def send_back(
    client: Instance, now: Time, consumer: Consumer, batch: Batch, delay_level: int, tries: int, out: Outbox
) -> None:
    """``sendMessageBack``: give the batch's first record back to its broker, for the retry topic (spec 6.7);
    ``tries``: how often an ordered consumer had it again before."""
    address = client.master(batch.queue.broker)
    if address is None:
        _try_again_later(client, now, consumer, batch, out)
        return
    number = client.next_correlation()
    client.sent_back[number] = SentBack(consumer.group, *batch, address)
    out.set_timer(("sent back", number), now + client.settings.instance.send_back_timeout_ms)
    most = consumer.settings.consuming.max_reconsume_times
    back = ConsumerSendMsgBack(number, consumer.group, batch.queue, batch.first, delay_level, most, tries)
    out.send(address, back)


def back_answered(client: Instance, now: Time, consumer: Consumer, batch: Batch, out: Outbox, *, success: bool) -> None:
    """A broker has the records back, or has not."""
    process_queue = consumer.current(batch.queue, batch.number)
    if process_queue is None or process_queue.dropped:
        return
    if success:
        passed_over(consumer, batch.queue, batch.first, GIVEN_BACK, out)
        finished(client, consumer, process_queue, batch)
    else:
        _try_again_later(client, now, consumer, batch, out)


def _try_again_later(client: Instance, now: Time, consumer: Consumer, batch: Batch, out: Outbox) -> None:
    out.set_timer(("again", consumer.group, *batch), now + consumer.settings.consuming.send_back_retry_ms)


def clean_expired(client: Instance, now: Time, consumer: Consumer, out: Outbox) -> None:
    """``cleanExpiredMsg``: records at the front of a queue that have been in consumption for too long are sent back,
    so that they hold the others no longer."""
    limit = consumer.settings.consuming.consume_timeout_ms
    out.set_timer(("expired", consumer.group), now + limit)
    works = sorted(consumer.pool.running.values(), key=lambda work: (work.batch.queue, work.batch.first))
    sent: dict[Queue, int] = {}
    for work in works:
        queue, number, first, end = work.batch
        process_queue = consumer.current(queue, number)
        if process_queue is None or process_queue.dropped or now - work.since <= limit:
            continue
        while first < end and process_queue.waiting and process_queue.waiting.first == first:
            if sent.get(queue, 0) == _MOST_EXPIRED:
                break
            sent[queue] = sent.get(queue, 0) + 1
            single = Batch(queue, number, first, first + 1)
            process_queue.remove([(first, first + 1)])
            send_back(client, now, consumer, single, consumer.settings.consuming.expired_delay_level, 0, out)
            first += 1


def move_again(client: Instance, now: Time, consumer: Consumer, out: Outbox) -> None:
    """The user's code goes on: what would have been finished meanwhile is finished now."""
    pool = consumer.pool
    pool.standing_still = False
    stalled, pool.stalled = pool.stalled, []
    for serial in stalled:
        out.set_timer(("consumed", consumer.group, serial), now)
    if consumer.kind == PUSH and not consumer.orderly:
        go_on(client, now, consumer, out)
