"""Pops of real records at a served broker (``PopMessageProcessor``, ``PopLongPollingService``, ``PopReviveService``;
spec pop 5.1, 5.2, 5.4): requests wait in one line, and a record that comes wakes the first of them."""

from collections.abc import Iterable
from itertools import islice

from protocols.engine.nodes import Outbox, Time, TimerName
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.broker import administration
from rocketmq_selfbalance.messages import popping as asked
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.pop import Handle, PopRecord
from rocketmq_selfbalance.pop.line import POLL, REVIVE, Waiting
from rocketmq_selfbalance.pop.topic import REVIVE_QUEUES
from rocketmq_selfbalance.wire import pulling, stored_messages
from rocketmq_selfbalance.wire.given_out import GivenOut, commit, given_out, set_timers, stored_record
from rocketmq_selfbalance.wire.served import RecordQueue, Served

MOST_AT_ONCE = 32
MOST_WAITING = 1_024
"""``popPollingSize``: requests of one topic, group and queue."""
FORCE_EVERY = 800
"""``popLongPollingForceNotifyInterval``: a record at such an offset wakes a request whatever its tags are."""


def begin(served: Served) -> None:
    """The broker starts: requests that waited at its forerunner are gone."""
    for state in served.store.popped.values():
        if isinstance(state, GivenOut):
            state.line.waiting.clear()


def pop(served: Served, now: Time, sender: str, message: asked.Pop, out: Outbox) -> None:
    """A request for records."""
    refused = _refusal(served, sender, message)
    if refused is not None:
        out.send(sender, refused)
        return
    state = given_out(served, now, message.topic, message.group)
    records = _taken(served, now, state, message, out)
    if records:
        _answer(served, now, sender, state, message, records, out)
    elif message.polling <= 0:
        _answer(served, now, sender, state, message, (), out)
    elif sum(waiting.request.number == message.number for waiting in state.line.waiting) >= MOST_WAITING:
        out.send(sender, asked.Popped(message.correlation, codes.POLLING_FULL))
    else:
        state.line.join(now, sender, message)
        set_timers(served, now, state, out)


def _refusal(served: Served, sender: str, message: asked.Pop) -> asked.Popped | None:
    broker, number = served.broker, message.correlation
    config = broker.disk.topics.configs.get(message.topic)
    help = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
    if config is None:
        return asked.Popped(number, codes.TOPIC_NOT_EXIST, (), f"topic[{message.topic}] not exist, {help}")
    if message.most > MOST_AT_ONCE:
        why = f"the max message num {message.most} is greater than {MOST_AT_ONCE}"
        return asked.Popped(number, codes.INVALID_PARAMETER, (), why)
    if message.number >= config.read:
        why = f"queueId[{message.number}] is illegal, topic:[{message.topic}] topicConfig.readQueueNums:[{config.read}]"
        return asked.Popped(number, codes.INVALID_PARAMETER, (), f"{why} consumer:[{sender}]")
    if not config.perm & codes.PERM_READ:
        why = f"the topic[{message.topic}] peeking message is forbidden"
        return asked.Popped(number, codes.NO_PERMISSION, (), why)
    group = broker.disk.groups.find(message.group)
    if group is None:
        why = f"subscription group [{message.group}] does not exist, {help}"
        return asked.Popped(number, codes.SUBSCRIPTION_GROUP_NOT_EXIST, (), why)
    if not group.consume_enable:
        return asked.Popped(number, codes.NO_PERMISSION, (), f"subscription group no permission, {message.group}")
    return None


def _taken(
    served: Served, now: Time, state: GivenOut, message: asked.Pop, out: Outbox
) -> tuple[asked.PoppedRecord, ...]:
    """Records for this request, which are invisible from now on."""
    config = served.broker.disk.topics.configs.get(message.topic)
    if config is None:
        return ()
    wall = float(served.epoch(now))
    every = range(config.read) if message.number == codes.ALL_QUEUES else (message.number,)
    ends = _look(served, now, state, every, from_start=message.from_start)
    numbers = list(ends)
    state.wanted = pulling.codes_of(message.tags)
    revive_queue = served.revive_queue(message.correlation)
    state.pops = state.pops if revive_queue is None else revive_queue
    random = out.choose(f"pop {message.correlation}", range(100))
    found = state.give_out(wall, ends, numbers, message, random) if numbers else []
    commit(served, state, numbers)
    set_timers(served, now, state, out)
    records = [_record(served, state, handle) for handle in found]
    return tuple(record for record in records if record is not None)


def _look(served: Served, now: Time, state: GivenOut, numbers: Iterable[int], *, from_start: bool) -> dict[int, int]:
    """Where these queues are read on; those that there are, to their ends."""
    topic, group, offsets = state.topic, state.group, served.broker.offsets
    state.room = served.wire.most_pulled_bytes
    if (retried := served.store.records(state.retry_topic, 0)) is not None:
        state.queues[None] = retried
    queues, ends = served.store.queues.get(topic, {}), dict[int, int]()
    known = offsets.known(group, topic)  # who pulled in between has moved it, too
    for number in numbers:
        queue = queues.get(number)
        if not isinstance(queue, RecordQueue):
            continue
        state.queues[number] = queue
        end = ends[number] = queue.max_offset(now)
        reset = offsets.take_reset(group, topic, number) if offsets.resets else None
        offset = known.get(number, -1)
        state.begin(number, reset=reset, known=offset, least=queue.min_offset, end=end, from_start=from_start)
    return ends


def _record(served: Served, state: GivenOut, handle: Handle) -> asked.PoppedRecord | None:
    """The record with its receipt handle; None where it is not in memory any more."""
    point = handle.check_point
    offset = point.start + handle.position
    stored = stored_record(served, state, of_retry=point.of_retry_topic, number=point.number, offset=offset)
    if stored is None:
        return None
    kind = asked.OF_RETRY if point.of_retry_topic else asked.OF_TOPIC
    receipt = asked.Handle(
        point.start,
        int(point.pop_time),
        int(point.invisible),
        point.revive_queue,
        kind,
        served.broker.name,
        point.number,
        offset,
        stored.position,
    )
    return asked.PoppedRecord(receipt, stored.content, handle.record.times)


def _answer(
    served: Served,
    now: Time,
    sender: str,
    state: GivenOut,
    message: asked.Pop,
    records: tuple[asked.PoppedRecord, ...],
    out: Outbox,
) -> None:
    """What the pop that was just made has found."""
    served.read += len(records)
    code = codes.SUCCESS if records else codes.POLLING_TIMEOUT
    revive_queue = asked.IN_ORDER if message.in_order else (state.pops - 1) % REVIVE_QUEUES
    told = asked.Popped(message.correlation, code, records, None, state.rest, served.epoch(now), revive_queue)
    out.send(sender, told)


# Requests that wait.


def arrived(served: Served, now: Time, topic: str, number: int, out: Outbox) -> None:
    """Records have come to a queue: of each group, the first request in the line for any queue looks at them, and the
    first in the line for this one."""
    queue = served.store.records(topic, number)
    if queue is None or not queue.stored:
        return
    newest = queue.stored[-1]
    for state in list(served.store.popped.values()):
        if isinstance(state, GivenOut) and state.topic == topic and state.line.waiting:
            for line in (codes.ALL_QUEUES, number):
                first = _first(state, line)
                wanted = None if first is None else pulling.codes_of(first.request.tags)
                offset = queue.max_offset(now) - 1
                if wanted is None or newest.tags in wanted or offset % FORCE_EVERY == 0:
                    wake(served, now, state, out, line)


def _first(state: GivenOut, line: int) -> Waiting[asked.Pop] | None:
    """The request that waits longest for this queue, or for any (`codes.ALL_QUEUES`)."""
    return next((waiting for waiting in state.line.waiting if waiting.request.number == line), None)


def wake(served: Served, now: Time, state: GivenOut, out: Outbox, line: int = codes.ALL_QUEUES) -> None:
    """The first request in line pops what is there, or stays where it is."""
    first = _first(state, line)
    if first is None:
        return
    records = _taken(served, now, state, first.request, out)
    if records:
        state.line.waiting.remove(first)
        _answer(served, now, first.sender, state, first.request, records, out)


def forget(served: Served, sender: str) -> None:
    """A connection ended: its requests are passed over."""
    for state in served.store.popped.values():
        if isinstance(state, GivenOut):
            state.line.waiting = [waiting for waiting in state.line.waiting if waiting.sender != sender]


def due(served: Served, now: Time, timer: TimerName, out: Outbox) -> None:
    """Something is due: requests have waited long enough, records come back, a queue in order is free."""
    assert isinstance(timer, tuple)
    _, what, topic, group = timer
    state = given_out(served, now, topic, group)
    if what == POLL:
        for waiting in islice(state.line.over(now), 1):  # others have their turn before the next one
            records = _taken(served, now, state, waiting.request, out)
            _answer(served, now, waiting.sender, state, waiting.request, records, out)
    elif what == REVIVE:
        _revive(served, now, state, out)
    else:
        wake(served, now, state, out)
    set_timers(served, now, state, out)


def _revive(served: Served, now: Time, state: GivenOut, out: Outbox) -> None:
    """Records that nobody has acked are copied to the group's retry topic, where the line gets them at once."""
    copied = state.revive(float(served.epoch(now)))
    _copy(served, now, state, copied, out)
    for _ in copied:  # they stand in queue 0 of the retry topic
        wake(served, now, state, out)
        wake(served, now, state, out, 0)


def _copy(served: Served, now: Time, state: GivenOut, records: list[PopRecord], out: Outbox) -> None:
    if records and state.retry_topic not in served.broker.disk.topics.configs:
        administration.put(served.broker, now, TopicConfig(state.retry_topic, 1, 1), out)
    for record in records:
        stored = stored_record(served, state, of_retry=False, number=record.number, offset=record.offset)
        if stored is not None:
            before = stored_messages.decode(stored.content).record
            properties = stored_messages.parse_properties(before.properties)
            again = before._replace(topic=state.retry_topic, queue_number=0, reconsume_times=record.times)
            served.store.append(now, again, properties)
