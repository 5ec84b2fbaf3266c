"""Fetch: batches from an offset on, at once or when there are enough; with sessions, or without. A fetch that waits is
answered when there is enough for it, when its time is over, or when something is wrong.

In Kafka `KafkaApis.handleFetchRequest`, `ReplicaManager.fetchMessages`, `FetchSession`, `DelayedFetch`.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Final, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.wire import entities
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.fetches import Context, FetchedPartition, Key, WaitingFetch
from kafka_coordinator.wire.records.partitions import (
    ISOLATION_LEVELS,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    LeaderHints,
    led,
)
from kafka_coordinator.wire.records.transactions import Aborted
from kafka_coordinator.wire.requests import Answer, Fetch, Piece, Rests, Work, answered
from kafka_coordinator.wire.state import MANY, NO_THROTTLE, BrokerState
from kafka_coordinator.wire.writing import Batches
from protocols.engine.connection import SMALL
from protocols.engine.nodes import Outbox, Time, TimerName

FETCH_KEY: Final = 1
_BY_ID: Final = 13
"""From this version on topics are named by their ids."""
_WAIT, _LOOK = "wait", "look"
_LOOKED_AT_ONCE: Final = 300
"""Partitions of fetches that wait, before others have their turn."""
_OF_THE_SESSION: Final = frozenset(
    (
        ErrorCode.fetch_session_id_not_found,
        ErrorCode.invalid_fetch_session_epoch,
        ErrorCode.fetch_session_topic_id_error,
    )
)
"""Errors that an answer tells as a whole."""


class Read(NamedTuple):
    """What is read of a partition; ``end`` is the high watermark and ``stable`` the last stable offset, -1 where
    ``error`` says why there is nothing."""

    error: ErrorCode
    end: int = -1
    stable: int = -1
    start: int = -1
    content: bytes | Batches = b""
    aborted: tuple[Aborted, ...] | None = None
    """Aborted transactions in it; None where the asker reads those, too."""
    diverging: tuple[int, int] | None = None
    """The greatest epoch that both know, and its end, where the asker's records end otherwise."""
    is_known: bool = True
    """Whether there is such a partition."""


def fetch(state: BrokerState, now: Time, sender: str, request: Fetch, out: Outbox) -> None:
    """Answer now, or wait for records."""
    try:
        context = state.fetches.open(request, now)
    except RefusedError as error:
        kind = entities.response(FETCH_KEY, request.version)
        out.send(sender, Answer(request.correlation, _body(kind, error.code, 0, (), ())))
        return
    wait_ms = request.body.max_wait / timedelta(milliseconds=1)
    waiting = WaitingFetch(sender, request, context, _known(state, context))
    if waiting.names and _isolation(request) not in ISOLATION_LEVELS:
        out.send(sender, answered(request.correlation, _thrown(state, request, context)))
        return
    if wait_ms <= 0 or not waiting.names or _must_answer(state, waiting):
        answer(state, now, sender, request, context, out)
        return
    state.fetches.wait(waiting)
    out.set_timer(_timer(sender), now + wait_ms)


def _isolation(request: Fetch) -> int:
    return getattr(request.body, "isolation_level", READ_UNCOMMITTED)


def _thrown(state: BrokerState, request: Fetch, context: Context) -> Piece:
    """The answer where Kafka's code throws: its session is the one that was asked for, be it there or not."""
    code, kind = ErrorCode.unknown_server_error, entities.response(FETCH_KEY, request.version)
    number = getattr(request.body, "session_id", 0)
    if request.version >= _BY_ID:
        return _body(kind, code, number, (), ())
    found = [(each, Read(code, is_known=False)) for each in context.partitions]
    made = yield from _entity(state, request, number, found, {})
    return replace(made, error_code=code) if entities.has(kind, "error_code") else made


def _timer(sender: str) -> TimerName:
    return "records", _WAIT, sender


def stop_timer(sender: str, out: Outbox) -> None:
    """The client's fetch does not wait any more."""
    out.cancel_timer(_timer(sender))


def enough(state: BrokerState, waiting: WaitingFetch) -> bool:
    """Whether as many bytes are there as the fetch wants at least."""
    return _are_there(state, waiting.request, waiting.context, waiting.names, waiting.request.body.min_bytes)


def _are_there(state: BrokerState, request: Fetch, context: Context, names: dict[Key, str], least: int) -> bool:
    """Whether so many bytes are there for the request."""
    only_committed = reads_committed(request.body)
    found = 0
    for partition in context.partitions:
        name = names.get(partition.key)
        if name is not None:
            asked = partition.asked
            log = state.storage.log(name, partition.key[1])
            there = log.bytes_from(asked.fetch_offset, log.stable_end if only_committed else None)
            found += min(there, asked.partition_max_bytes)
            if found >= least:
                return True
    return found >= least


def _must_answer(state: BrokerState, waiting: WaitingFetch) -> bool:
    """Whether something is wrong with a partition, or there is enough already."""
    for partition in waiting.context.partitions:
        name = waiting.names.get(partition.key)
        if name is not None:
            tried = _read(state, name, partition, 0, only_committed=False, at_least_one=False)
            if tried.error is not ErrorCode.none or tried.diverging is not None:
                return True
    return enough(state, waiting)


def _known(state: BrokerState, context: Context) -> dict[Key, str]:
    """The topics' names of those partitions that there are."""
    found = {}
    topics, names = state.cluster.topics, state.topic_names
    for partition in context.partitions:
        topic, number = partition.key
        name = names.get(topic) if isinstance(topic, UUID) else topic
        if name is not None and 0 <= number < len(topics.get(name, ())):
            found[partition.key] = name
    return found


def answer(state: BrokerState, now: Time, sender: str, request: Fetch, context: Context, out: Outbox) -> None:
    """Read what there is now, and send it."""
    out.send(sender, answered(request.correlation, _read_all(state, now, request, context)))


def _read_all(state: BrokerState, now: Time, request: Fetch, context: Context) -> Work:
    body, rests, is_long = request.body, Rests(), len(context.partitions) > MANY
    if is_long:
        yield
    names = _known(state, context)
    if not is_long and _are_there(state, request, context, names, SMALL):
        yield  # it is read when it is written: many that wait to be written would take memory
    left = min(body.max_bytes, state.storage.bounds.fetch_max_bytes)
    nothing_yet, only_committed = True, reads_committed(body)
    found: list[tuple[FetchedPartition, Read]] = []
    for partition in context.partitions:
        if rests.due():
            yield
        name = names.get(partition.key)
        if name is None:
            unknown = isinstance(partition.key[0], UUID) and partition.key[0] not in state.topic_names
            error = ErrorCode.unknown_topic_id if unknown else ErrorCode.unknown_topic_or_partition
            found.append((partition, Read(error, is_known=False)))
            continue
        read = _read(state, name, partition, max(left, 0), only_committed=only_committed, at_least_one=nothing_yet)
        if read.content:
            nothing_yet = False
            left -= len(read.content)
        found.append((partition, read))
    found.sort(key=lambda each: _place(each[1]))
    if len(found) > MANY:
        yield
    return (yield from _told(state, now, request, context, found, names))


def _place(read: "Read") -> int:
    """What was read comes first in an answer, then unknown topic ids, then partitions that there are not."""
    if read.is_known:
        return 0
    return 1 if read.error is ErrorCode.unknown_topic_id else 2


def refused_fetch(state: BrokerState, now: Time, request: Fetch, code: ErrorCode) -> Answer:
    """The answer that tells this error: one of the session as a whole, any other at each partition; the session goes
    on."""
    try:
        context = state.fetches.open(request, now)
        if code in _OF_THE_SESSION:
            raise RefusedError(code)
    except RefusedError as error:
        kind = entities.response(FETCH_KEY, request.version)
        return Answer(request.correlation, _body(kind, error.code, 0, (), ()))
    found = [(partition, Read(code)) for partition in context.partitions]
    return answered(request.correlation, _told(state, now, request, context, found, _known(state, context)))


def _told(
    state: BrokerState,
    now: Time,
    request: Fetch,
    context: Context,
    found: list[tuple[FetchedPartition, Read]],
    names: dict[Key, str],
) -> Piece:
    """The answer with what was read; the session remembers what was told."""
    number = 0
    session = context.session
    if session is not None:
        number = session.number
        found = [(each, read) for each, read in found if _is_news(each, read)]
        for each, read in found:  # a partition of which records were given is last next time
            if read.content and session.partitions.get(each.key) is each:
                del session.partitions[each.key]
                session.partitions[each.key] = each
    elif context.makes_session:
        for each, read in found:
            each.high_watermark, each.log_start = read.end, read.start
        by_id, bounds = request.version >= _BY_ID, state.storage.bounds
        fetched = [each for each, _ in found]
        number = state.fetches.new_session(fetched, by_id, now, bounds.fetch_sessions, bounds.session_eviction_ms)
    return (yield from _entity(state, request, number, found, names))


def _is_news(each: FetchedPartition, read: Read) -> bool:
    """Whether the session's client must be told; it is remembered what it was told."""
    news = bool(read.content) or read.diverging is not None
    if each.high_watermark != read.end or each.log_start != read.start:
        news = True
        each.high_watermark, each.log_start = read.end, read.start
    if read.error is not ErrorCode.none:
        each.high_watermark = -1  # told again until it is over, and once more then
        news = True
    return news


def reads_committed(body: object) -> bool:
    """Whether a request is read_committed: it passes over open and aborted transactions."""
    return getattr(body, "isolation_level", READ_UNCOMMITTED) == READ_COMMITTED


def _read(
    state: BrokerState, topic: str, each: FetchedPartition, most: int, *, only_committed: bool, at_least_one: bool
) -> Read:
    asked = each.asked
    offset = asked.fetch_offset
    try:
        log = led(state, topic, each.key[1], getattr(asked, "current_leader_epoch", -1))
    except RefusedError as error:
        return Read(error.code)
    epoch = getattr(asked, "last_fetched_epoch", -1)
    if epoch >= 0:
        known, end = log.end_of_epoch(epoch)
        if known < 0:
            return Read(ErrorCode.offset_out_of_range)
        if known < epoch or end < offset:
            return Read(ErrorCode.none, log.end, log.stable_end, log.start, diverging=(known, end))
    if not log.start <= offset <= log.end:
        return Read(ErrorCode.offset_out_of_range)
    stable, most = log.stable_end, min(most, asked.partition_max_bytes)
    if not only_committed:
        return Read(ErrorCode.none, log.end, stable, log.start, log.read(offset, most, at_least_one=at_least_one))
    if offset >= stable:
        return Read(ErrorCode.none, log.end, stable, log.start, aborted=())
    content = log.read(offset, most, stable, at_least_one=at_least_one)
    aborted = log.transactions.aborted_within(offset, log.index_after(offset, len(content)))
    return Read(ErrorCode.none, log.end, stable, log.start, content, tuple(aborted))


def _entity(
    state: BrokerState, request: Fetch, number: int, found: list[tuple[FetchedPartition, Read]], names: dict[Key, str]
) -> Piece:
    kind = entities.response(FETCH_KEY, request.version)
    if not found:
        return _body(kind, ErrorCode.none, number, (), ())
    topic_kind = entities.part(kind, "responses")
    part_kind = entities.part(topic_kind, "partitions")
    hints, rests = LeaderHints(state, kind, part_kind), Rests()
    topics: list[tuple[str | UUID, list[Entity]]] = []
    for each, read in found:
        if rests.due():
            yield
        topic = each.key[0]
        if not topics or topics[-1][0] != topic:
            topics.append((topic, []))
        name = names.get(each.key, "")
        topics[-1][1].append(_partition(part_kind, each, read, name, hints))
    made = tuple(
        [entities.make(topic_kind, topic=topic, topic_id=topic, partitions=tuple(parts)) for topic, parts in topics]
    )
    return _body(kind, ErrorCode.none, number, made, hints.nodes())


def _body(
    kind: entities.Kind, code: ErrorCode, number: int, topics: tuple[Entity, ...], nodes: tuple[Entity, ...]
) -> Entity:
    return entities.make(
        kind, throttle_time=NO_THROTTLE, error_code=code, session_id=number, responses=topics, node_endpoints=nodes
    )


def _partition(kind: entities.Kind, each: FetchedPartition, read: Read, topic: str, hints: LeaderHints) -> Entity:
    values: dict[str, object] = {
        "partition_index": each.key[1],
        "error_code": read.error,
        "high_watermark": read.end,
        "last_stable_offset": read.stable,
        "log_start_offset": read.start,
        "aborted_transactions": _aborted(kind, read),
        "records": read.content,
    }
    if read.error in (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch):
        leader = hints.leader(topic, each.key[1])
        if leader is not None:
            values["current_leader"] = leader
    if read.diverging is not None and entities.has(kind, "diverging_epoch"):
        epoch, end = read.diverging
        values["diverging_epoch"] = entities.part(kind, "diverging_epoch")(epoch=epoch, end_offset=end)
    return entities.make(kind, **values)


def _aborted(kind: entities.Kind, read: Read) -> tuple[Entity, ...] | None:
    if read.aborted is None:
        return None if read.is_known else ()
    item = entities.part(kind, "aborted_transactions")
    return tuple([item(producer_id=each.producer_id, first_offset=each.first) for each in read.aborted])


def wake(state: BrokerState, now: Time, changed: Iterable[tuple[str, int]], out: Outbox) -> None:
    """Records were written to these partitions."""
    fetches = state.fetches
    if not fetches.waiting:
        return
    senders = dict.fromkeys([sender for each in changed for sender in fetches.waiting_for.get(each, ())])
    _look(state, now, [fetches.waiting[sender] for sender in senders], out)


def look_again(state: BrokerState, now: Time, out: Outbox) -> None:
    """The cluster has changed: fetches from partitions that this broker leads no longer are answered now."""
    _look(state, now, list(state.fetches.waiting.values()), out)


def _look(state: BrokerState, now: Time, fetches: Iterable[WaitingFetch], out: Outbox) -> None:
    """Answer those that wait no longer; where there are many, when others have had their turn."""
    looked = 0
    for fetch in fetches:
        looked += len(fetch.context.partitions)
        if looked > _LOOKED_AT_ONCE:
            out.set_timer(("records", _LOOK, fetch.sender), now)
        elif _is_over(state, fetch):
            _complete(state, now, fetch, out)


def _is_over(state: BrokerState, fetch: WaitingFetch) -> bool:
    return enough(state, fetch) or any(not state.leads(name, key[1]) for key, name in fetch.names.items())


def timeout(state: BrokerState, now: Time, timer: TimerName, out: Outbox) -> None:
    """A fetch has waited as long as it wants to, or is to be looked at."""
    fetch = state.fetches.waiting.get(timer[2])
    if fetch is not None and (timer[1] == _WAIT or _is_over(state, fetch)):
        _complete(state, now, fetch, out)


def _complete(state: BrokerState, now: Time, fetch: WaitingFetch, out: Outbox) -> None:
    state.fetches.forget(fetch.sender)
    stop_timer(fetch.sender, out)
    answer(state, now, fetch.sender, fetch.request, fetch.context, out)
