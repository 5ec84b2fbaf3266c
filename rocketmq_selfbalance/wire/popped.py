"""What is done with records that a served broker has given out (``AckMessageProcessor``,
``ChangeInvisibleTimeProcessor``; spec pop 5.3, 5.6)."""

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.messages import popping as asked
from rocketmq_selfbalance.pop import Handle, PopRecord
from rocketmq_selfbalance.pop.revive import CheckPoint
from rocketmq_selfbalance.pop.topic import REVIVE_QUEUES
from rocketmq_selfbalance.wire import sending, stored_messages
from rocketmq_selfbalance.wire.given_out import (
    GivenOut,
    commit,
    given_out,
    set_timers,
    stored_record,
)
from rocketmq_selfbalance.wire.popping import wake
from rocketmq_selfbalance.wire.served import MOST_LOOKED_AT, Served


def _point(message: asked.Handle, record: PopRecord | None = None) -> Handle:
    """The handle as the model has it. ``record``: what it stands for, where the first queue and offset count."""
    position = max(message.offset - message.start, 0)
    records = tuple(PopRecord(message.number, message.start + place) for place in range(position))
    records += (record or PopRecord(message.number, message.start + position),)
    point = CheckPoint(
        float(message.pop_time),
        float(message.invisible),
        message.kind == asked.OF_RETRY,
        message.number,
        message.start,
        records,
        message.revive_queue,
    )
    return Handle(point, position)


def _illegal(served: Served, now: Time, state: GivenOut, handle: asked.Handle, *, last: int) -> int:
    """Why nothing can be done with this handle, 0 where it can; ``last``: how far behind the queue's end it may be."""
    topic = state.retry_topic if handle.kind == asked.OF_RETRY else state.topic
    config = served.broker.disk.topics.configs.get(topic)
    if config is None:
        return codes.TOPIC_NOT_EXIST
    if not 0 <= handle.number < config.read or not 0 <= handle.offset - handle.start <= MOST_LOOKED_AT:
        return codes.MESSAGE_ILLEGAL
    if handle.revive_queue != asked.IN_ORDER and not 0 <= handle.revive_queue < REVIVE_QUEUES:
        return codes.MESSAGE_ILLEGAL
    least = served.store.min_offset(topic, handle.number)
    end = served.store.max_offset(topic, handle.number, now)
    return codes.SUCCESS if least <= handle.offset <= end + last else codes.NO_MESSAGE


def ack(served: Served, now: Time, sender: str, message: asked.Ack, out: Outbox) -> None:
    """The record is done."""
    state = given_out(served, now, message.topic, message.group)
    code = _illegal(served, now, state, message.handle, last=0)
    if code == codes.SUCCESS:
        code = _acked(served, now, state, message.handle, out)
    out.send(sender, asked.Changed(message.correlation, code))


def ack_batch(served: Served, now: Time, sender: str, message: asked.BatchAck, out: Outbox) -> None:
    """Several records are done; illegal ones are passed over, and the answer is always success."""
    for each in message.acks:
        state = given_out(served, now, each.topic, each.group)
        if _illegal(served, now, state, each.handle, last=0) == codes.SUCCESS:
            _acked(served, now, state, each.handle, out)
    out.send(sender, asked.Changed(message.correlation, codes.SUCCESS))


def _acked(served: Served, now: Time, state: GivenOut, handle: asked.Handle, out: Outbox) -> int:
    if not state.ack(_point(handle)):
        return codes.MESSAGE_ILLEGAL
    if handle.revive_queue != asked.IN_ORDER:
        return codes.SUCCESS
    number = handle.number
    commit(served, state, (number,))
    if not state.ordered.is_blocked(float(served.epoch(now)), number, None, 0.0):
        queue = served.store.records(state.topic, number)
        if queue is not None and queue.max_offset(now) > state.committed[number]:
            wake(served, now, state, out)
    return codes.SUCCESS


def change(served: Served, now: Time, sender: str, message: asked.ChangeInvisible, out: Outbox) -> None:
    """The record is invisible for another time from now on."""
    state = given_out(served, now, message.topic, message.group)
    old = message.handle
    code = _illegal(served, now, state, old, last=-1)
    if code != codes.SUCCESS:
        out.send(sender, asked.Changed(message.correlation, code))
        return
    stored = stored_record(served, state, of_retry=old.kind == asked.OF_RETRY, number=old.number, offset=old.offset)
    times = 0 if stored is None else stored_messages.decode(stored.content).record.reconsume_times
    record = _origin(state, old)._replace(times=times - message.suspend)
    point = state.change(float(served.epoch(now)), _point(old, record), message.invisible).check_point
    new = old._replace(start=point.start, pop_time=int(point.pop_time), invisible=int(point.invisible))
    set_timers(served, now, state, out)
    out.send(sender, asked.Changed(message.correlation, codes.SUCCESS, new))


def _origin(state: GivenOut, handle: asked.Handle) -> PopRecord:
    if handle.kind == asked.OF_RETRY and handle.offset < len(state.retried):
        return state.retried[handle.offset]
    return PopRecord(handle.number, handle.offset)


def bury(served: Served, now: Time, sender: str, message: asked.ToDeadLetters, out: Outbox) -> None:
    """The record goes to the dead letters of its group and is done."""
    state, handle = given_out(served, now, message.topic, message.group), message.handle
    code = _illegal(served, now, state, handle, last=0)
    if code == codes.SUCCESS:
        stored = stored_record(
            served, state, of_retry=handle.kind == asked.OF_RETRY, number=handle.number, offset=handle.offset
        )
        if stored is not None:
            topic = sending.dead_letters(served, now, message.group, out)
            before = stored_messages.decode(stored.content)
            properties = stored_messages.parse_properties(before.record.properties)
            properties |= {
                "DLQ_ORIGIN_TOPIC": message.topic,
                "DLQ_ORIGIN_MESSAGE_ID": stored_messages.message_id(before.store_host, before.position),
            }
            text = stored_messages.properties_text(properties)
            served.store.append(now, before.record._replace(topic=topic, queue_number=0, properties=text), properties)
            served.arrived(now, topic, 0, out)
        code = _acked(served, now, state, handle, out)
    out.send(sender, asked.Changed(message.correlation, code))
