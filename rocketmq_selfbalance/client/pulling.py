"""Pulling: one request per queue travels in a circle between client and broker (``PullMessageService``, and
``DefaultMQPushConsumerImpl.pullMessage`` with its ``PullCallback``; spec 6.1 to 6.3).

Where a pull of a push consumer asked beyond its queue (``OFFSET_ILLEGAL``), the queue is given up, and the next pass of
the rebalance thread takes it again from the offset that the broker told.
"""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from protocols.load import quickly_made
from rocketmq_selfbalance.client import blocking, consuming, consuming_orderly, polling
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.instance import Instance, Pulled, WakeUp
from rocketmq_selfbalance.client.pool import Batch
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.pull_from_where import ComputePullFromWhere, Start
from rocketmq_selfbalance.client.removal import Persist, RemoveProcessQueue
from rocketmq_selfbalance.client.threads import Call, RefreshRoute, Step, Thread
from rocketmq_selfbalance.codes import CLUSTERING, PULL_NOT_FOUND, PULL_OFFSET_MOVED, PULL_RETRY_IMMEDIATELY, SUCCESS
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage
from rocketmq_selfbalance.states import HELD_BACK, PULL_DUE, PULL_FAILED, RUNNING, SENT


class _Freeze(NamedTuple):
    """``updateAndFreezeOffset``."""

    group: str
    queue: Queue
    offset: int

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumer(self.group)
        table = consumer.store.table
        if consumer.settings.pulling.freeze_repaired_offset:
            table.update_and_freeze(self.queue, self.offset)
        else:
            table.update(self.queue, self.offset, False)


def begin(
    client: Instance, now: Time, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, offset: int, out: Outbox
) -> None:
    """Nothing more is consumed of the queue; the rest is done a little later, on another thread."""
    client.drop(consumer, queue, process_queue, "offset illegal", out)
    out.set_timer(("repair", consumer.group, queue, offset), now + consumer.settings.pulling.offset_repair_delay_ms)


def repair(client: Instance, now: Time, group: str, queue: Queue, offset: int, out: Outbox) -> None:
    consumer = client.consumers.get(group)
    if consumer is None or consumer.state != RUNNING:
        return
    steps: list[Step] = [
        _Freeze(group, queue, offset),
        Persist(group, queue),
        RemoveProcessQueue(group, queue, "offset illegal"),
    ]
    if consumer.settings.pulling.freeze_repaired_offset:
        steps.append(WakeUp("offset repaired"))
    blocking.run(client, now, f"repair of {queue.topic}-{queue.broker}-{queue.number} of {group}", steps, out)


DISPATCHER = "dispatcher"
_MIB = 1 << 20

_pull, _pulled, _batch = quickly_made(PullMessage), quickly_made(Pulled), quickly_made(Batch)


class _Relocated(NamedTuple):
    """An ordered queue was locked: it is read from where it stands at the broker now."""

    group: str
    queue: Queue
    number: int

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumer(self.group)
        process_queue = consumer.current(self.queue, self.number)
        if process_queue is None or process_queue.dropped:
            return
        start: Start = thread.value
        if start.offset < 0:
            failed(client, now, consumer, self.queue, out)
        else:
            process_queue.next_offset, process_queue.previously_locked = start.offset, True
            _send(client, now, consumer, self.queue, process_queue, out, refreshed=False)


class _RouteAsked(NamedTuple):
    """The queue's broker was not known: the route is fresh now."""

    group: str
    queue: Queue
    number: int

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = client.consumer(self.group)
        process_queue = consumer.current(self.queue, self.number)
        if process_queue is not None and not process_queue.dropped:
            _send(client, now, consumer, self.queue, process_queue, out, refreshed=True)


def due(client: Instance, now: Time, group: str, queue: Queue, out: Outbox) -> None:
    """The pull request of this queue has its turn. One whose process queue is gone or dropped is discarded."""
    consumer = client.consumers.get(group)
    process_queue = consumer.table.get(queue) if consumer is not None else None
    if consumer is None or process_queue is None or process_queue.dropped:
        return
    process_queue.last_pull = now
    delay = held_back(consumer, queue, process_queue)
    if delay is not None:
        client.life(consumer, queue, PULL_DUE, out, guard=HELD_BACK)
        again(client, now, consumer, queue, delay, out)
    elif consumer.orderly and consumer.locks and not process_queue.previously_locked:
        blocking.run(
            client,
            now,
            DISPATCHER,
            (ComputePullFromWhere(group, queue), _Relocated(group, queue, process_queue.number)),
            out,
        )
    else:
        _send(client, now, consumer, queue, process_queue, out, refreshed=False)


def again(client: Instance, now: Time, consumer: Consumer, queue: Queue, delay: Time, out: Outbox) -> None:
    out.set_timer(("pull", consumer.group, queue), now + delay)


def held_back(consumer: Consumer, queue: Queue, process_queue: ProcessQueue) -> Time | None:
    """Why there is no pull now: after so many milliseconds the request has its next turn; None: pull."""
    pulling = consumer.settings.pulling
    if consumer.state != RUNNING:
        return pulling.pull_time_delay_when_exception_ms
    if consumer.paused:
        return pulling.pull_time_delay_when_suspend_ms
    if process_queue.count > consumer.pull_threshold_for_queue:
        return pulling.pull_time_delay_when_flow_control_ms
    if process_queue.bytes // _MIB > consumer.pull_threshold_size_for_queue:
        return pulling.pull_time_delay_when_flow_control_ms
    if consumer.kind != PUSH:
        most = consumer.settings.lite_pull.lite_pull_threshold_for_all
        return pulling.pull_time_delay_when_flow_control_ms if polling.cached(consumer) > most else None
    if consumer.orderly:
        if consumer.locks and not process_queue.locked:
            return pulling.pull_time_delay_when_exception_ms
    elif process_queue.max_span > pulling.consume_concurrently_max_span:
        return pulling.pull_time_delay_when_flow_control_ms
    return None if queue.topic in consumer.subscriptions else pulling.pull_time_delay_when_exception_ms


def _send(
    client: Instance,
    now: Time,
    consumer: Consumer,
    queue: Queue,
    process_queue: ProcessQueue,
    out: Outbox,
    *,
    refreshed: bool,
) -> None:
    address = client.master(queue.broker) or client.replica(queue.broker)
    group = consumer.group
    if address is None:
        if refreshed:
            failed(client, now, consumer, queue, out)
        else:
            blocking.run(
                client,
                now,
                DISPATCHER,
                (_AskRoute(queue.topic), _RouteAsked(group, queue, process_queue.number)),
                out,
            )
        return
    number = client.next_correlation()
    client.pulled[number] = _pulled((group, queue, process_queue.number, address))
    client.observed.life(consumer, queue, PULL_DUE, out, SENT)
    timeout = consumer.settings.pulling.consumer_timeout_when_suspend_ms
    out.set_timer(("pull timeout", group, queue), now + timeout)
    out.send(address, request(consumer, queue, process_queue, number))


def request(consumer: Consumer, queue: Queue, process_queue: ProcessQueue, number: int) -> PullMessage:
    """The pull that would be sent now, under this number."""
    settings, push = consumer.settings, consumer.kind == PUSH
    pulling = settings.pulling
    kept = consumer.store.table.offsets.get(queue, 0)
    commits = kept > 0 and consumer.message_model == CLUSTERING and push
    fields = (
        number,
        consumer.group,
        queue,
        process_queue.next_offset,
        pulling.pull_batch_size if push else settings.lite_pull.lite_pull_batch_size,
        pulling.broker_suspend_max_time_ms,
        kept if commits else None,
        consumer.subscriptions.get(queue.topic, 0.0),
    )
    return _pull(fields)


def failed(client: Instance, now: Time, consumer: Consumer, queue: Queue, out: Outbox) -> None:
    client.life(consumer, queue, PULL_DUE, out, guard=HELD_BACK)
    again(client, now, consumer, queue, consumer.settings.pulling.pull_time_delay_when_exception_ms, out)


def overdue(client: Instance, now: Time, group: str, queue: Queue, out: Outbox) -> None:
    for correlation, pulled in client.pulled.items():
        if pulled.queue == queue and pulled.group == group:
            _no_answer(client, now, client.pulled.pop(correlation), out)
            return


def connection_lost(client: Instance, now: Time, address: str, out: Outbox) -> None:
    for number in [number for number, pulled in client.pulled.items() if pulled.address == address]:
        _no_answer(client, now, client.pulled.pop(number), out)


def _no_answer(client: Instance, now: Time, pulled: Pulled, out: Outbox) -> None:
    consumer = client.consumers.get(pulled.group)
    process_queue = consumer.current(pulled.queue, pulled.number) if consumer is not None else None
    if consumer is not None and process_queue is not None:
        out.cancel_timer(("pull timeout", *pulled[:2]))
        client.life(consumer, pulled.queue, PULL_FAILED, out)
        again(client, now, consumer, pulled.queue, consumer.settings.pulling.pull_time_delay_when_exception_ms, out)


def answered(client: Instance, now: Time, message: PullAnswer, out: Outbox) -> None:
    pulled = client.pulled.pop(message[0], None)
    if pulled is None:
        return
    group, queue, number, _ = pulled
    consumer = client.consumers.get(group)
    process_queue = None if consumer is None else consumer.current(queue, number)
    if consumer is None or process_queue is None:
        return
    out.cancel_timer(("pull timeout", group, queue))
    code = message.code
    if code == SUCCESS:
        first, end = process_queue.next_offset, message.next_offset
        process_queue.next_offset = end
        if message.retried:
            consumer.pool.poison.fetched(queue, first, message.retried)
        began = process_queue.put(((first, end),), message.max_offset)
        _consume(client, now, consumer, _batch((queue, number, first, end)), began, out)
        _once_more(client, now, consumer, queue, process_queue, out)
    elif code in (PULL_NOT_FOUND, PULL_RETRY_IMMEDIATELY):
        process_queue.next_offset = message.next_offset
        if not process_queue.count and consumer.kind == PUSH:
            consumer.store.table.update(queue, message.next_offset, True)
        _once_more(client, now, consumer, queue, process_queue, out)
    elif code == PULL_OFFSET_MOVED:
        _repair(client, now, consumer, queue, process_queue, message.next_offset, out)
    else:
        client.life(consumer, queue, PULL_FAILED, out)
        again(client, now, consumer, queue, consumer.settings.pulling.pull_time_delay_when_exception_ms, out)


def _consume(client: Instance, now: Time, consumer: Consumer, batch: Batch, began: bool, out: Outbox) -> None:
    if consumer.kind != PUSH:
        polling.submit(client, now, consumer, batch, out)
    elif not consumer.orderly:
        consuming.submit(client, now, consumer, batch, out)
    elif began:
        consuming_orderly.submit(client, now, consumer, batch.queue, batch.number, out)


def _once_more(
    client: Instance, now: Time, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, out: Outbox
) -> None:
    if consumer.settings.pulling.pull_interval_ms:
        again(client, now, consumer, queue, consumer.settings.pulling.pull_interval_ms, out)
    else:
        due(client, now, consumer.group, queue, out)


def _repair(
    client: Instance, now: Time, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, offset: int, out: Outbox
) -> None:
    """The offset is not within the queue (``OFFSET_ILLEGAL``): go on where the broker says."""
    if consumer.kind == PUSH:
        begin(client, now, consumer, queue, process_queue, offset, out)
        return
    process_queue.next_offset = offset
    process_queue.clear()
    consumer.store.table.update(queue, offset, False)
    again(client, now, consumer, queue, 0.0, out)


class _AskRoute(NamedTuple):
    topic: str

    def do(self, client: Instance, now: Time, thread: Thread, out: Outbox) -> Call | None:
        return RefreshRoute(self.topic)
