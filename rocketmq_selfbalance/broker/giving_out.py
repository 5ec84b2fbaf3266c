"""What a simulated broker does on requests of a proxy and of classic clients (``PopMessageProcessor``,
``PopLongPollingService``, ``AckMessageProcessor``, ``ChangeInvisibleTimeProcessor``, ``PopReviveService``; spec pop 5).

Requests for a topic and a group wait in one line (`rocketmq_selfbalance.pop.line`); a record that comes wakes the first
of those for any queue, and the first of those for its own. What a group was given outlives the broker's process, the
line does not.
"""

from collections.abc import Mapping
from typing import Final

from protocols.engine.nodes import Outbox, Time, TimerName
from protocols.facts import End, Ended, Renewed
from protocols.java import Queue
from protocols.offsets import OffsetSet
from rocketmq_selfbalance.broker.state import Broker
from rocketmq_selfbalance.broker.taking import available, numbers_of, take
from rocketmq_selfbalance.codes import ALL_QUEUES
from rocketmq_selfbalance.pop import Handle, PopRecord, PopTopic
from rocketmq_selfbalance.pop.line import ARRIVE, FREED, POLL, POPPED, REVIVE, set_timers
from rocketmq_selfbalance.pop.revive import INTERVAL_MS
from rocketmq_selfbalance.popping.messages import (
    AckMessage,
    ChangeInvisibleDuration,
    Done,
    ForwardToDeadLetterQueue,
    OfRecord,
    Received,
    ReceiveMessage,
)
from rocketmq_selfbalance.popping.state import GivenOut, Place

_REVIVED_AFTER_MS: Final = 2_000.0
"""No record comes back earlier after its invisible time is over."""


def given_out(broker: Broker, now: Time, topic: str, group: str) -> GivenOut:
    """What the group was given of the topic; new where nothing was."""
    found = broker.disk.given_out.get((topic, group))
    if found is None:
        records = PopTopic(version=broker.settings.version)
        for queue in records.revive_queues:
            queue.wakes_at = now + INTERVAL_MS
        found = broker.disk.given_out[topic, group] = GivenOut(topic, group, records)
    return found


def start(broker: Broker, now: Time, out: Outbox) -> None:
    """The broker starts: nobody waits there yet, but records may come back."""
    for state in broker.disk.given_out.values():
        state.line.waiting.clear()
        _set_timers(broker, now, state, out)


def receive(broker: Broker, now: Time, sender: str, request: ReceiveMessage, out: Outbox) -> None:
    """A request for records."""
    config = broker.disk.topics.configs.get(request.topic)
    if config is None or request.number >= config.read:
        out.send(sender, Received(request.correlation, False))
        return
    state = given_out(broker, now, request.topic, request.group)
    _catch_up(broker, now, state, out)
    handles = take(broker, now, state, request, out)
    if handles:
        _answer(broker, sender, request, handles, out)
    else:
        state.line.join(now, sender, request)
    _set_timers(broker, now, state, out)


def _answer(broker: Broker, sender: str, request: ReceiveMessage, handles: tuple[Handle, ...], out: Outbox) -> None:
    born = tuple([_written(broker, request.topic, handle.record) for handle in handles])
    out.send(sender, Received(request.correlation, True, handles, born))


def _written(broker: Broker, topic: str, record: PopRecord) -> Time:
    queue = broker.disk.store.queue(topic, record.number)
    return (None if queue is None else queue.written_at(record.offset)) or 0.0


# What is done with records that were given out.


def _place(handle: Handle) -> Place:
    return handle.record.number, handle.record.offset


def _is_there(broker: Broker, message: OfRecord) -> bool:
    """Whether the broker has the record's queue still."""
    config = broker.disk.topics.configs.get(message.topic)
    of_retry = message.handle.check_point.of_retry_topic
    return config is not None and (of_retry or message.handle.record.number < config.read)


def _is_theirs(state: GivenOut, member: str, handle: Handle) -> bool:
    """Whether the member has the record still, by this handle."""
    hidden = state.hidden.get(_place(handle))
    point = handle.check_point
    return hidden is not None and hidden[:3] == (member, point.pop_time, point.invisible)


def _asked(broker: Broker, now: Time, sender: str, message: OfRecord, out: Outbox) -> GivenOut | None:
    """What the record's group was given, as it is now; None where the queue is gone, which is answered."""
    if not _is_there(broker, message):
        out.send(sender, Done(message.correlation, False))
        return None
    state = given_out(broker, now, message.topic, message.group)
    _catch_up(broker, now, state, out)
    return state


def ack(broker: Broker, now: Time, sender: str, message: AckMessage, out: Outbox) -> None:
    """The record is done."""
    _finish(broker, now, sender, message, "acknowledged", out)


def bury(broker: Broker, now: Time, sender: str, message: ForwardToDeadLetterQueue, out: Outbox) -> None:
    """The record goes to the dead letters, which nobody of the scenario reads, and is done."""
    _finish(broker, now, sender, message, "dead letter", out)


def _finish(
    broker: Broker, now: Time, sender: str, message: AckMessage | ForwardToDeadLetterQueue, how: End, out: Outbox
) -> None:
    state = _asked(broker, now, sender, message, out)
    if state is None:
        return
    ok = _end(broker, state, message, how, out)
    out.send(sender, Done(message.correlation, ok))
    _wake_all(broker, now, state, out)
    _set_timers(broker, now, state, out)


def _end(
    broker: Broker, state: GivenOut, message: AckMessage | ForwardToDeadLetterQueue, how: End, out: Outbox
) -> bool:
    if not state.records.ack(message.handle):
        return False
    if _is_theirs(state, message.member, message.handle):
        place = _place(message.handle)
        del state.hidden[place]
        state.done.setdefault(place[0], OffsetSet()).add(place[1], place[1] + 1)
        queue = Queue(state.topic, broker.name, place[0])
        out.observe(Ended(state.group, message.member, queue, place[1], place[1] + 1, how))
    return True


def change(broker: Broker, now: Time, sender: str, message: ChangeInvisibleDuration, out: Outbox) -> None:
    """The record is invisible for another time from now on."""
    state = _asked(broker, now, sender, message, out)
    if state is None:
        return
    theirs = _is_theirs(state, message.member, message.handle)
    handle = _not_counted(message.handle) if message.suspends else message.handle
    new = state.records.change(now, handle, message.invisible)
    if theirs:
        place = _place(message.handle)
        state.hide(place, message.member, new.check_point, given_back=message.gives_back)
        queue = Queue(state.topic, broker.name, place[0])
        out.observe(Renewed(state.group, message.member, queue, place[1], place[1] + 1, new.visible_at))
    out.send(sender, Done(message.correlation, True, new))
    _set_timers(broker, now, state, out)


def _not_counted(handle: Handle) -> Handle:
    """The handle, so that the record comes back as if this attempt had not been (``suspend``)."""
    point, record = handle.check_point, handle.record
    records = list(point.records)
    records[handle.position] = record._replace(times=record.times - 1)
    return handle._replace(check_point=point._replace(records=tuple(records)))


# Requests that wait, records that come.


def arrived(broker: Broker, now: Time, topic: str, out: Outbox) -> None:
    """Records have come to the topic, or come at other times than before."""
    for state in broker.disk.given_out.values():
        if state.topic == topic:
            _wake_all(broker, now, state, out)
            _set_timers(broker, now, state, out)


def reset(broker: Broker, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """An administrator sets the offsets of queues, which their next pop finds."""
    state = broker.disk.given_out.get((topic, group))
    if state is not None:
        for number, offset in offsets.items():
            state.forget(number, offset)


def cut(broker: Broker, topic: str, read: int) -> None:
    """The topic has so many queues from now on: others are gone with what was given out of them."""
    for state in broker.disk.given_out.values():
        if state.topic == topic:
            for number in [number for number in state.records.committed if number >= read]:
                del state.records.committed[number]
                state.records.ordered.clear(number)
                state.forget(number, 0)


def forget(broker: Broker, topic: str, out: Outbox) -> None:
    """The topic is gone: whoever waits there is answered that it cannot be asked."""
    for key in [key for key in broker.disk.given_out if key[0] == topic]:
        state = broker.disk.given_out.pop(key)
        for waiting in state.line.waiting:
            out.send(waiting.sender, Received(waiting.request.correlation, False))
        for what in (POLL, ARRIVE, REVIVE, FREED):
            out.cancel_timer((POPPED, what, *key))


def due(broker: Broker, now: Time, timer: TimerName, out: Outbox) -> None:
    """Something is due: a request has waited long enough, a record is there, records come back, a queue is free."""
    _, what, topic, group = timer
    state = given_out(broker, now, topic, group)
    _catch_up(broker, now, state, out)
    if what == POLL:
        for waiting in state.line.over(now):
            handles = take(broker, now, state, waiting.request, out)
            _answer(broker, waiting.sender, waiting.request, handles, out)
    else:
        _wake_all(broker, now, state, out)
    _set_timers(broker, now, state, out)


def closed(broker: Broker, now: Time, peer: str, out: Outbox) -> None:
    """A connection ended: its requests are passed over."""
    for state in broker.disk.given_out.values():
        line = state.line
        if any(waiting.sender == peer for waiting in line.waiting):
            line.waiting = [waiting for waiting in line.waiting if waiting.sender != peer]
            _set_timers(broker, now, state, out)


def _wake_all(broker: Broker, now: Time, state: GivenOut, out: Outbox, *, copied: bool = False) -> None:
    """The first in line gets what is there, and so on while something is. Those who ask for one queue alone are woken
    by its records, and those for queue 0 by what was ``copied`` to the retry topic, which has no other."""
    for number in sorted({waiting.request.number for waiting in state.line.waiting}):
        if number == ALL_QUEUES or (copied and number == 0) or _has_news(broker, now, state, number):
            _wake(broker, now, state, number, out)


def _has_news(broker: Broker, now: Time, state: GivenOut, number: int) -> bool:
    return broker.disk.store.max_offset(state.topic, number, now) > state.records.committed.get(number, 0)


def _wake(broker: Broker, now: Time, state: GivenOut, number: int, out: Outbox) -> None:
    while True:
        first = next((waiting for waiting in state.line.waiting if waiting.request.number == number), None)
        handles = () if first is None else take(broker, now, state, first.request, out)
        if first is None or not handles:
            return
        state.line.waiting.remove(first)
        _answer(broker, first.sender, first.request, handles, out)


def _catch_up(broker: Broker, now: Time, state: GivenOut, out: Outbox) -> None:
    """The threads of the revive queues have done what was due until now: nobody looked before anything could come
    back."""
    copied = state.records.revive(now)
    for record in copied:
        place = record.number, record.offset
        hidden = state.hidden.get(place)
        if hidden is not None and hidden.until <= now:  # else it is a copy of before an administrator's reset
            available(broker, state, place, out)
    if copied:
        _wake_all(broker, now, state, out, copied=True)


def _set_timers(broker: Broker, now: Time, state: GivenOut, out: Outbox) -> None:
    records, waits = state.records, bool(state.line.waiting)
    first = state.first_due()
    comes_back = None
    if first is not None and not records.ordered.batches:
        comes_back = max(first + _REVIVED_AFTER_MS, records.next_revival())
    due = {
        POLL: state.line.first_due(),
        ARRIVE: _next_arrival(broker, now, state) if waits else None,
        REVIVE: comes_back,
        FREED: records.ordered.next_free(now) if waits else None,
    }
    set_timers(now, state.topic, state.group, due, out)


def _next_arrival(broker: Broker, now: Time, state: GivenOut) -> Time | None:
    store = broker.disk.store
    times = []
    for number in numbers_of(broker, state):
        queue = store.queue(state.topic, number)
        if queue is not None:
            at = queue.next_arrival(queue.max_offset(now))
            if at is not None:
                times.append(at)
    return min(times, default=None)
