"""What a request takes of the records that a simulated broker gives out one by one (``PopMessageProcessor``; spec pop
5.2), and how that is told."""

from collections.abc import Sequence

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Acquired, Available, Back
from protocols.java import Queue
from rocketmq_selfbalance.broker.state import Broker
from rocketmq_selfbalance.codes import ALL_QUEUES
from rocketmq_selfbalance.pop import Handle, PopRecord
from rocketmq_selfbalance.pop.topic import RETRY_FIRST_BELOW
from rocketmq_selfbalance.popping.messages import ReceiveMessage
from rocketmq_selfbalance.popping.state import GivenOut, Place


def numbers_of(broker: Broker, state: GivenOut) -> Sequence[int]:
    config = broker.disk.topics.configs.get(state.topic)
    if config is None:
        return ()
    return [number for number in range(config.read) if broker.disk.store.queue(state.topic, number) is not None]


def take(broker: Broker, now: Time, state: GivenOut, request: ReceiveMessage, out: Outbox) -> tuple[Handle, ...]:
    """Records for this request, which are invisible from now on."""
    numbers = numbers_of(broker, state)
    if request.number != ALL_QUEUES:
        numbers = [number for number in numbers if number == request.number]
    if not numbers:
        return ()
    records, store = state.records, broker.disk.store
    ends = {number: store.max_offset(state.topic, number, now) for number in numbers}
    for number in numbers:
        _begin(broker, state, number, ends[number], from_start=request.from_start)
    waiting = len(records.retried) > records.retry_offset
    if not waiting and all(records.committed[number] >= ends[number] for number in numbers):
        return ()
    random = _random(len(numbers), waiting, out)
    handles = records.give_out(now, ends, numbers, request, random)
    _tell(broker, now, state, request, handles, out)
    broker.commit_popped(now, state.group, state.topic, records.committed, numbers)
    return tuple(handles)


def _begin(broker: Broker, state: GivenOut, number: int, end: int, *, from_start: bool) -> None:
    queue = broker.disk.store.queue(state.topic, number)
    assert queue is not None
    reset = broker.offsets.take_reset(state.group, state.topic, number)
    known = state.records.committed.get(number)
    if known is None:
        known = broker.offsets.query(state.group, state.topic, number)
    state.records.begin(number, reset=reset, known=known, least=queue.min_offset, end=end, from_start=from_start)


def _random(queues: int, retried: bool, out: Outbox) -> int:
    """The number from 0 to 99 that says where a pop begins, drawn as far as anything depends on it."""
    first = out.choose("first queue", range(queues)) if queues > 1 else 0
    looks_first = retried and out.choose("retry topic first", range(100 // RETRY_FIRST_BELOW)) == 0
    usual = range(RETRY_FIRST_BELOW) if looks_first else range(RETRY_FIRST_BELOW, 100)
    return next((number for number in usual if number % queues == first), usual[0])


def _tell(
    broker: Broker, now: Time, state: GivenOut, request: ReceiveMessage, handles: Sequence[Handle], out: Outbox
) -> None:
    """The records are the member's now; those of one queue that follow each other are one fact."""
    run: list[PopRecord] = []
    until = now + request.invisible

    def given() -> None:
        if run:
            queue, first, last = Queue(state.topic, broker.name, run[0].number), run[0], run[-1]
            fact = Acquired(state.group, request.member, queue, first.offset, last.offset + 1, first.times + 1, until)
            out.observe(fact)
            run.clear()

    for handle in handles:
        record = handle.record
        place = record.number, record.offset
        if place in state.hidden and request.in_order:  # given out again without a way over the retry topic
            available(broker, state, place, out)
        if place in state.hidden or _is_done(broker, state, place):
            continue
        if run and (run[-1].number, run[-1].offset + 1, run[-1].times) != (*place, record.times):
            given()
        run.append(record)
        state.hide(place, request.member, handle.check_point)
    given()


def _is_done(broker: Broker, state: GivenOut, place: Place) -> bool:
    """Whether the record has ended, or its queue is gone: nothing is told of another copy of it."""
    number, offset = place
    done = state.done.get(number)
    return number not in numbers_of(broker, state) or (done is not None and done.count(offset, offset + 1) > 0)


def available(broker: Broker, state: GivenOut, place: Place, out: Outbox) -> None:
    hidden = state.hidden.pop(place)
    why: Back = "client gone" if hidden.given_back else "invisible time over"
    queue = Queue(state.topic, broker.name, place[0])
    out.observe(Available(state.group, hidden.member, queue, place[1], place[1] + 1, why))
