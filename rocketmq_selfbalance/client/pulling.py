"""Pulling: one request per queue travels in a circle between client and broker (spec 6.1 to 6.3)."""

from typing import Any, NamedTuple

from protocols.engine.nodes import Time
from protocols.queues import Queue
from rocketmq_selfbalance.client import consuming, consuming_orderly, polling
from rocketmq_selfbalance.client.calls import Call, RefreshRoute
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.outstanding import Pulled
from rocketmq_selfbalance.client.persisting import Persist
from rocketmq_selfbalance.client.pool import Batch
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.pull_from_where import LocateStart, Start
from rocketmq_selfbalance.client.removal import TakeOut
from rocketmq_selfbalance.client.service import WakeUp
from rocketmq_selfbalance.client.threads import Handlers, Thread
from rocketmq_selfbalance.codes import CLUSTERING, PULL_NOT_FOUND, PULL_OFFSET_MOVED, PULL_RETRY_IMMEDIATELY, SUCCESS
from rocketmq_selfbalance.messages.pulling import PullAnswer, PullMessage
from rocketmq_selfbalance.states import HELD_BACK, PULL_DUE, PULL_FAILED, RUNNING, SENT

DISPATCHER = "dispatcher"
_MIB = 1 << 20


class _Relocated(NamedTuple):
    """An ordered queue was locked: it is read from where it stands at the broker now."""

    group: str
    queue: Queue
    number: int


class _RouteAsked(NamedTuple):
    """The queue's broker was not known: the route is fresh now."""

    group: str
    queue: Queue
    number: int


class _Freeze(NamedTuple):
    group: str
    queue: Queue
    offset: int


def due(client: Instance, group: str, queue: Queue) -> None:
    """The pull request of this queue has its turn. One whose process queue is gone or dropped is discarded."""
    consumer = client.consumers.get(group)
    process_queue = consumer.table.get(queue) if consumer is not None else None
    if consumer is None or process_queue is None or process_queue.dropped:
        return
    process_queue.last_pull = client.now
    delay = held_back(consumer, queue, process_queue)
    if delay is not None:
        client.life(consumer, queue, PULL_DUE, HELD_BACK)
        again(client, consumer, queue, delay)
    elif consumer.orderly and consumer.locks and not process_queue.previously_locked:
        client.run(DISPATCHER, LocateStart(group, queue), _Relocated(group, queue, process_queue.number))
    else:
        _send(client, consumer, queue, process_queue, refreshed=False)


def again(client: Instance, consumer: Consumer, queue: Queue, delay: Time) -> None:
    """The queue's pull request has its next turn after so many milliseconds."""
    client.out.set_timer(("pull", consumer.group, queue), client.now + delay)


def held_back(consumer: Consumer, queue: Queue, process_queue: ProcessQueue) -> Time | None:
    """Why there is no pull now: after so many milliseconds the request has its next turn; None: pull."""
    settings = consumer.settings
    on_error = settings.pull_time_delay_when_exception_ms
    if consumer.state != RUNNING:
        return on_error
    if consumer.paused:
        return settings.pull_time_delay_when_suspend_ms
    flow_control = settings.pull_time_delay_when_flow_control_ms
    if process_queue.count > consumer.pull_threshold_for_queue:
        return flow_control
    if process_queue.bytes // _MIB > consumer.pull_threshold_size_for_queue:
        return flow_control
    if consumer.kind != PUSH:
        most = settings.lite_pull_threshold_for_all
        return flow_control if polling.cached(consumer) > most else None
    if consumer.orderly:
        if consumer.locks and not process_queue.locked:
            return on_error
    elif process_queue.max_span > settings.consume_concurrently_max_span:
        return flow_control
    return None if queue.topic in consumer.subscriptions else on_error


def _send(client: Instance, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, *, refreshed: bool) -> None:
    address = client.master(queue.broker) or client.replica(queue.broker)
    if address is None:
        if refreshed:
            failed(client, consumer, queue)
        else:
            client.run(DISPATCHER, _AskRoute(queue.topic), _RouteAsked(consumer.group, queue, process_queue.number))
        return
    number = client.next_correlation()
    client.pulled[number] = Pulled(consumer.group, queue, process_queue.number, address)
    client.life(consumer, queue, PULL_DUE, SENT)
    timeout = consumer.settings.consumer_timeout_when_suspend_ms
    client.out.set_timer(("pull timeout", consumer.group, queue), client.now + timeout)
    client.out.send(address, request(consumer, queue, process_queue, number))


def request(consumer: Consumer, queue: Queue, process_queue: ProcessQueue, number: int) -> PullMessage:
    """The pull that would be sent now, under this number."""
    settings, push = consumer.settings, consumer.kind == PUSH
    kept = consumer.store.table.offsets.get(queue, 0)
    commits = kept > 0 and consumer.message_model == CLUSTERING and push
    return PullMessage(
        number,
        consumer.group,
        queue,
        process_queue.next_offset,
        settings.pull_batch_size if push else settings.lite_pull_batch_size,
        settings.broker_suspend_max_time_ms,
        kept if commits else None,
        consumer.subscriptions.get(queue.topic, 0.0),
    )


def failed(client: Instance, consumer: Consumer, queue: Queue) -> None:
    """No pull, or no answer: again after a while."""
    client.life(consumer, queue, PULL_DUE, HELD_BACK)
    again(client, consumer, queue, consumer.settings.pull_time_delay_when_exception_ms)


def overdue(client: Instance, group: str, queue: Queue) -> None:
    """The pull of a queue was not answered in time."""
    for correlation, pulled in client.pulled.items():
        if pulled.queue == queue and pulled.group == group:
            _no_answer(client, client.pulled.pop(correlation))
            return


def connection_lost(client: Instance, address: str) -> None:
    """Pulls that were at this address are not answered."""
    for number in [number for number, pulled in client.pulled.items() if pulled.address == address]:
        _no_answer(client, client.pulled.pop(number))


def _no_answer(client: Instance, pulled: Pulled) -> None:
    consumer = client.consumers.get(pulled.group)
    process_queue = consumer.current(pulled.queue, pulled.number) if consumer is not None else None
    if consumer is not None and process_queue is not None:
        client.out.cancel_timer(("pull timeout", *pulled[:2]))
        client.life(consumer, pulled.queue, PULL_FAILED)
        again(client, consumer, pulled.queue, consumer.settings.pull_time_delay_when_exception_ms)


def answered(client: Instance, message: PullAnswer) -> None:
    """A broker has answered a pull."""
    pulled = client.pulled.pop(message.correlation, None)
    consumer = client.consumers.get(pulled.group) if pulled is not None else None
    if pulled is None or consumer is None:
        return
    process_queue = consumer.current(pulled.queue, pulled.number)
    if process_queue is None:
        return
    client.out.cancel_timer(("pull timeout", *pulled[:2]))
    queue, code = pulled.queue, message.code
    if code == SUCCESS:
        first, process_queue.next_offset = process_queue.next_offset, message.next_offset
        began = process_queue.put([(first, message.next_offset)], message.max_offset)
        _consume(client, consumer, Batch(queue, process_queue.number, first, message.next_offset), began)
        _once_more(client, consumer, queue, process_queue)
    elif code in (PULL_NOT_FOUND, PULL_RETRY_IMMEDIATELY):
        process_queue.next_offset = message.next_offset
        if not process_queue.count and consumer.kind == PUSH:
            consumer.store.table.update(queue, message.next_offset, True)
        _once_more(client, consumer, queue, process_queue)
    elif code == PULL_OFFSET_MOVED:
        _repair(client, consumer, queue, process_queue, message.next_offset)
    else:
        client.life(consumer, queue, PULL_FAILED)
        again(client, consumer, queue, consumer.settings.pull_time_delay_when_exception_ms)


def _consume(client: Instance, consumer: Consumer, batch: Batch, began: bool) -> None:
    if consumer.kind != PUSH:
        polling.submit(client, consumer, batch)
    elif not consumer.orderly:
        consuming.submit(client, consumer, batch)
    elif began:
        consuming_orderly.submit(client, consumer, batch.queue, batch.number)


def _once_more(client: Instance, consumer: Consumer, queue: Queue, process_queue: ProcessQueue) -> None:
    if consumer.settings.pull_interval_ms:
        again(client, consumer, queue, consumer.settings.pull_interval_ms)
    else:
        due(client, consumer.group, queue)


def _repair(client: Instance, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, offset: int) -> None:
    """The offset is not within the queue: give the queue up, and let the rebalance take it again from there."""
    group, settings = consumer.group, consumer.settings
    if consumer.kind != PUSH:
        process_queue.next_offset = offset
        process_queue.clear()
        consumer.store.table.update(queue, offset, False)
        again(client, consumer, queue, 0.0)
        return
    client.drop(consumer, queue, process_queue, "offset illegal")
    client.out.set_timer(("repair", group, queue, offset), client.now + settings.offset_repair_delay_ms)


def repair(client: Instance, group: str, queue: Queue, offset: int) -> None:
    """Keep the offset that the broker told, and give the queue up."""
    consumer = client.consumers.get(group)
    if consumer is None or consumer.state != RUNNING:
        return
    steps: list[Any] = [_Freeze(group, queue, offset), Persist(group, queue), TakeOut(group, queue, "offset illegal")]
    if consumer.settings.freeze_repaired_offset:
        steps.append(WakeUp("offset repaired"))
    client.run(f"repair of {queue.topic}-{queue.broker}-{queue.number} of {group}", *steps)


def _freeze(client: Instance, thread: Thread, step: _Freeze) -> Call | None:
    consumer = client.consumer(step.group)
    table = consumer.store.table
    if consumer.settings.freeze_repaired_offset:
        table.update_and_freeze(step.queue, step.offset)
    else:
        table.update(step.queue, step.offset, False)
    return None


class _AskRoute(NamedTuple):
    topic: str


def _ask_route(client: Instance, thread: Thread, step: _AskRoute) -> Call | None:
    return RefreshRoute(step.topic)


def _route_asked(client: Instance, thread: Thread, step: _RouteAsked) -> Call | None:
    consumer = client.consumer(step.group)
    process_queue = consumer.current(step.queue, step.number)
    if process_queue is not None and not process_queue.dropped:
        _send(client, consumer, step.queue, process_queue, refreshed=True)
    return None


def _relocated(client: Instance, thread: Thread, step: _Relocated) -> Call | None:
    consumer = client.consumer(step.group)
    process_queue = consumer.current(step.queue, step.number)
    if process_queue is None or process_queue.dropped:
        return None
    start: Start = thread.value
    if start.offset < 0:
        failed(client, consumer, step.queue)
    else:
        process_queue.next_offset, process_queue.previously_locked = start.offset, True
        _send(client, consumer, step.queue, process_queue, refreshed=False)
    return None


HANDLERS: Handlers = {
    _Relocated: _relocated,
    _RouteAsked: _route_asked,
    _AskRoute: _ask_route,
    _Freeze: _freeze,
}
