"""Popping (``DefaultMQPushConsumerImpl.popMessage``, ``ConsumeMessagePopConcurrentlyService``; spec pop 4): a request
per pop queue travels in a circle between client and broker, and each record that comes is handled and answered by
itself.

Nothing here is ever told again: an acknowledgement that is lost, or comes when the record's time is over, has no
effect, and a record that cannot be handled only becomes visible later. No record ever goes to the dead letters.
"""

from typing import Final

from protocols.engine.nodes import TICK, Message, Outbox, Time
from protocols.facts import Delivered, PassedOver
from protocols.java import Queue
from protocols.load import quickly_made
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.client.instance import Instance, Popping
from rocketmq_selfbalance.client.pool import PoppedRecord, PopWork
from rocketmq_selfbalance.client.process_queue import PopProcessQueue
from rocketmq_selfbalance.codes import CONSUME_FROM_FIRST_OFFSET
from rocketmq_selfbalance.popping.messages import AckMessage, ChangeInvisibleDuration, Received, ReceiveMessage
from rocketmq_selfbalance.states import RUNNING

_DELAYS_S: Final = (10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""``popDelayLevel``: for how long a record is made invisible that could not be handled, by how often it had come back
before."""
_GIVEN_UP_AFTER_MS: Final = 2 * _DELAYS_S[-1] * 1000.0
"""A record that came back as often as it may is acknowledged once it is so old."""
MOST_RECONSUME_TIMES: Final = 16
"""What ``maxReconsumeTimes`` -1 stands for."""
_SUSPENDED_MS: Final = 1_000.0
_FAILED_MS: Final = 3_000.0
_TOO_MANY_MS: Final = 50.0

_delivered = quickly_made(Delivered)


# Requests.


def due(client: Instance, now: Time, consumer: Consumer, source: Queue, out: Outbox) -> None:
    """The request of this pop queue has its turn (``popMessage``)."""
    popped = consumer.pop_table.get(source)
    if popped is None or popped.dropped or consumer.state != RUNNING:
        return
    popped.last_pop = now
    settings, address = consumer.settings.popping, client.master(source.broker)
    if consumer.paused:
        _again(now, consumer, source, _SUSPENDED_MS, out)
    elif popped.waiting_acks > settings.pop_threshold_for_queue:
        _again(now, consumer, source, _TOO_MANY_MS, out)
    elif source.topic not in consumer.subscriptions or address is None:
        _again(now, consumer, source, _FAILED_MS, out)
    else:
        number = client.next_correlation()
        client.popping[number] = Popping(consumer.group, source, popped.number, address)
        out.set_timer(("pop timeout", consumer.group, source, number), now + settings.pop_timeout_ms)
        wants = settings.pop_batch_nums, settings.pop_polling_ms, settings.pop_invisible_ms
        whose = consumer.group, consumer.member, source.topic, source.broker
        from_start = consumer.consume_from_where == CONSUME_FROM_FIRST_OFFSET
        out.send(address, ReceiveMessage(number, *whose, *wants, False, None, source.number, from_start))


def _again(now: Time, consumer: Consumer, source: Queue, delay: Time, out: Outbox) -> None:
    out.set_timer(("pop", consumer.group, source), now + delay)


def _closed(client: Instance, number: int, out: Outbox) -> tuple[Popping, Consumer, PopProcessQueue] | None:
    """The request of this number is over; None where its pop queue is not its consumer's any more."""
    asked = client.popping.pop(number, None)
    if asked is None:
        return None
    out.cancel_timer(("pop timeout", asked.group, asked.source, number))
    consumer = client.consumers.get(asked.group)
    popped = None if consumer is None else consumer.popped(asked.source, asked.number)
    return None if consumer is None or popped is None else (asked, consumer, popped)


def answered(client: Instance, now: Time, message: Received, out: Outbox) -> None:
    found = _closed(client, message.correlation, out)
    if found is None:
        return  # what it brought is neither handled nor given back
    asked, consumer, popped = found
    if not message.ok:
        _again(now, consumer, asked.source, _FAILED_MS, out)
        return
    most = _most_times(consumer)
    for handle, born in zip(message.handles, message.born, strict=True):
        record = PoppedRecord(asked.source, asked.number, handle, born)
        if handle.record.times > most:
            why = f"acknowledged without being handled, as it came back more than {most} times"
            out.observe(PassedOver(consumer.group, consumer.member, record.queue, handle.record.offset, why))
            _ack(client, consumer, record, out)
        else:
            popped.waiting_acks += 1
            consumer.pop_pool.backlog.append(record)
    go_on(client, now, consumer, out)
    due(client, now, consumer, asked.source, out)


def overdue(client: Instance, now: Time, group: str, source: Queue, number: int, out: Outbox) -> None:
    """No answer came in time."""
    found = _closed(client, number, out)
    if found is not None:
        _again(now, found[1], source, _FAILED_MS, out)


def connection_lost(client: Instance, now: Time, peer: str, out: Outbox) -> None:
    for number in [number for number, asked in client.popping.items() if asked.address == peer]:
        asked = client.popping[number]
        overdue(client, now, asked.group, asked.source, number, out)


def _most_times(consumer: Consumer) -> int:
    most = consumer.settings.consuming.max_reconsume_times
    return MOST_RECONSUME_TIMES if most < 0 else most


# The user's code.


def _is_wanted(now: Time, consumer: Consumer, record: PoppedRecord) -> bool:
    """Whether its pop queue is there and its time is not over; who lets that pass has no more to do with it."""
    popped = consumer.popped(record.source, record.number)
    if popped is None:
        return False
    if now >= record.handle.visible_at:
        popped.waiting_acks -= 1
        return False
    return True


def go_on(client: Instance, now: Time, consumer: Consumer, out: Outbox) -> None:
    """Threads that are free turn to records that wait."""
    pool, most = consumer.pop_pool, consumer.settings.consuming.consume_thread_max
    while pool.backlog and len(pool.running) < most and not consumer.pool.standing_still:
        record = pool.backlog.pop(0)
        if _is_wanted(now, consumer, record):
            pool.serial += 1
            pool.running[pool.serial] = PopWork(record, now)
            out.set_timer(("popped", consumer.group, pool.serial), now + consumer.handle)


def move_again(client: Instance, now: Time, consumer: Consumer, out: Outbox) -> None:
    """The user's code goes on: what would have been finished meanwhile is finished now."""
    stalled, consumer.pop_pool.stalled = consumer.pop_pool.stalled, []
    for serial in stalled:
        out.set_timer(("popped", consumer.group, serial), now)
    go_on(client, now, consumer, out)


def handled(client: Instance, now: Time, consumer: Consumer, serial: int, out: Outbox) -> None:
    """The user's code has returned (``processConsumeResult``)."""
    pool = consumer.pop_pool
    if consumer.pool.standing_still and serial in pool.running:
        pool.stalled.append(serial)
        return
    work = pool.running.pop(serial, None)
    if work is None:
        return
    record = work.record
    point, times = record.handle.record, record.handle.record.times
    poison = consumer.pool.poison.find(record.queue, point.offset)
    works = poison is None or poison.is_skipped_after(times)
    if works:
        what = record.queue, point.offset, point.offset + 1, work.since, now
        lasts = (1, consumer.handle or TICK, consumer.handle, 0.0)
        out.observe(_delivered((consumer.group, consumer.member, *what, *lasts)))
    if _is_wanted(now, consumer, record):
        if works:
            _ack(client, consumer, record, out)
        else:
            _fails(client, now, consumer, record, out)
        popped = consumer.popped(record.source, record.number)
        if popped is not None:
            popped.waiting_acks -= 1
    go_on(client, now, consumer, out)


def _fails(client: Instance, now: Time, consumer: Consumer, record: PoppedRecord, out: Outbox) -> None:
    """RECONSUME_LATER: the record is visible again later and later, until it came back as often as it may; then it is
    hidden for as long as it is old already, or acknowledged (``checkNeedAckOrDelay``)."""
    times = record.handle.record.times
    if times < _most_times(consumer):
        _change(client, consumer, record, _DELAYS_S[min(times, len(_DELAYS_S) - 1)] * 1000.0, out)
        return
    age = now - record.born
    if age < _GIVEN_UP_AFTER_MS:
        _change(client, consumer, record, age, out)
        return
    why = f"acknowledged, as it came back {times} times and is 4 hours old"
    out.observe(PassedOver(consumer.group, consumer.member, record.queue, record.handle.record.offset, why))
    _ack(client, consumer, record, out)


def _ack(client: Instance, consumer: Consumer, record: PoppedRecord, out: Outbox) -> None:
    _tell(client, record, AckMessage(client.next_correlation(), *_whose(consumer, record), record.handle), out)


def _change(client: Instance, consumer: Consumer, record: PoppedRecord, invisible: Time, out: Outbox) -> None:
    number, whose = client.next_correlation(), _whose(consumer, record)
    _tell(client, record, ChangeInvisibleDuration(number, *whose, record.handle, invisible), out)


def _whose(consumer: Consumer, record: PoppedRecord) -> tuple[str, str, str, str]:
    return consumer.group, consumer.member, record.source.topic, record.source.broker


def _tell(client: Instance, record: PoppedRecord, message: Message, out: Outbox) -> None:
    """Nobody waits for what the broker says to it."""
    address = client.master(record.source.broker)
    if address is not None:
        out.send(address, message)
