"""What a member of a RocketMQ group did, in words, and what became of the numbered records that it was given.

What it does anyway from time to time (passes, heartbeats, commits, questions for routes) is told only where a situation
is about it, because a request that was due says nothing.

A record's body says where it is: ``records broker-a 0 17``. A program that prints the body of each record that it has
handled as a line of its own is judged exactly, sent back or not. Of any other we know what it pulled and committed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from compare.judging.playing import (
    ENDS,
    FIRST,
    GOES_ON,
    NOT_REACHED,
    NOT_TRIED,
    NOTHING,
    STILL_OUT,
    TOPIC,
    Outcome,
    Situation,
    counted,
    none_waits,
)
from compare.judging.programs import NO_ATTEMPT, Printed
from compare.judging.rocketmq_situations import Exchanges, Mark, RocketMQExchange, Stage
from protocols.engine.nodes import Time
from protocols.java import Queue
from rocketmq_selfbalance.cluster import (
    ConsumerSendMsgBack,
    HeartBeat,
    LockBatchMq,
    PullMessage,
    UnlockBatchMq,
    UnregisterClient,
    UpdateConsumerOffset,
)
from rocketmq_selfbalance.wire import Pulled, SendMessage, plain

_LINE: Final = re.compile(rb"^%s (\S+) (\d+) (\d+)(?: (\d+))?\s*$" % TOPIC.encode())


def read_line(line: bytes) -> Printed[Queue] | None:
    """What a line says that is a record's body, with or without the attempt."""
    found = _LINE.match(line)
    if found is None:
        return None
    return Printed(Queue(TOPIC, found[1].decode(), int(found[2])), int(found[3]), int(found[4] or NO_ATTEMPT))


def outcome(written: Mapping[Queue, int], exchanges: Exchanges, lines: Iterable[tuple[Queue, int]]) -> Outcome:
    """Of the records before these offsets of each queue; ``lines``: queue and offset that programs printed."""
    return counted(written, _begun(exchanges), _committed(exchanges), lines, _pulled(exchanges))


def all_read(written: Mapping[Queue, int], exchanges: Exchanges, lines: Iterable[tuple[Queue, int]]) -> bool:
    """Whether no record waits: each was handled, as far as programs tell, or is committed."""
    return none_waits(written, _begun(exchanges), _committed(exchanges), lines)


def _pulls(exchanges: Exchanges) -> Iterator[tuple[RocketMQExchange, PullMessage]]:
    for each in exchanges.all:
        request = plain(each.request)
        if isinstance(request, PullMessage) and each.queue is not None:
            yield each, request


def _begun(exchanges: Exchanges) -> dict[Queue, int]:
    """Queue to the offset at which the group has begun to read."""
    found: dict[Queue, int] = {}
    for _, pull in _pulls(exchanges):
        found.setdefault(pull.queue, pull.offset)
    return found


def _committed(exchanges: Exchanges) -> dict[Queue, int]:
    """Queue to the offset that was committed last, by a commit or by a pull."""
    found: dict[Queue, int] = {}
    for each in exchanges.all:
        if each.queue is None:
            continue
        request = plain(each.request)
        if isinstance(request, UpdateConsumerOffset):
            found[each.queue] = request.offset
        elif isinstance(request, PullMessage) and request.commit_offset is not None:
            found[each.queue] = request.commit_offset
    return found


def _pulled(exchanges: Exchanges) -> Iterator[tuple[Queue, int]]:
    """Queue and offset of every record that a pull was given."""
    for each, pull in _pulls(exchanges):
        if isinstance(each.answer, Pulled):
            for number in range(len(each.answer.records)):
                yield pull.queue, pull.offset + number


WHEN = ((400.0, "at once"), (2_000.0, "soon"), (6_000.0, "after seconds"))
"""Milliseconds, and how we say that something came within them; what comes later, came "later", with the next pass or
poll."""

_DUE = (HeartBeat, UpdateConsumerOffset)
"""Requests that come again soon in any case, refused or not."""

TOLD = "says who it is"
AGAIN = "asks again"


def reaction(stage: Stage, situation: Situation) -> tuple[str, ...]:
    """What the first member did since the beginning of the situation."""
    mark = stage.mark
    if mark is None:
        return (NOT_REACHED,)
    own = list(stage.exchanges.of(FIRST, mark.place))
    found: dict[str, None] = {}
    if mark.refused is not None and mark.refused.kind not in _DUE:
        found.update(_again(mark, own))
    for exchange in own:
        found.update((phrase, None) for phrase in _phrases(exchange, situation))
    if not situation.stopped:
        found.update(_changes(stage, mark, own))
    if not stage.members.alive(FIRST):
        found[ENDS] = None
    if situation.fails and not _SENT_BACK & found.keys():
        return (NOT_TRIED,)
    if ENDS in found:
        return tuple(found)
    if not stage.reads(FIRST):
        return (*found, STILL_OUT) if own else (NOTHING,)
    return tuple(found) or (GOES_ON,)


_SENT_BACK = frozenset(("sends the record back", "sends the record anew"))


def _phrases(each: RocketMQExchange, situation: Situation) -> list[str]:
    kind = each.kind
    if kind is UnregisterClient:
        return ["unregisters"]
    if kind is UnlockBatchMq:
        return ["gives up locks"]
    if kind is ConsumerSendMsgBack:
        return ["sends the record back"]
    if kind is SendMessage:
        return ["sends the record anew"]
    if kind is HeartBeat and situation.heartbeats_count:
        return [TOLD]
    if kind is UpdateConsumerOffset and situation.stopped and each.queue is not None:
        return ["commits"]
    return []


def _again(mark: Mark, own: list[RocketMQExchange]) -> dict[str, None]:
    """How soon the request that was refused came again."""
    refused = mark.refused
    assert refused is not None
    times = [exchange.at - mark.at for exchange in own if _is_same(exchange, refused)]
    return {} if not times else {when(AGAIN, min(times)): None}


def _is_same(each: RocketMQExchange, refused: RocketMQExchange) -> bool:
    same = each.kind is refused.kind and each.queue == refused.queue and each.topic == refused.topic
    return same and (each.kind is not LockBatchMq or each.broker == refused.broker)


def when(what: str, after: Time) -> str:
    """How soon it came."""
    return f"{what} {next((words for within, words in WHEN if after < within), 'later')}"


def _changes(stage: Stage, mark: Mark, own: list[RocketMQExchange]) -> dict[str, None]:
    """What it began to read, and what it reads no more."""
    now = stage.reads(FIRST)
    began = [queue for exchange in own if (queue := _read(exchange)) is not None and queue not in mark.had]
    changes: dict[str, None] = {}
    if began or now - mark.had:
        changes["takes queues"] = None
    if mark.had - now:
        changes["gives up queues"] = None
    return changes


def _read(each: RocketMQExchange) -> Queue | None:
    return each.queue if each.kind is PullMessage and each.served else None
