"""Fetches of share consumers: they acquire records at once, or wait for some (spec share 5).

In Kafka `DelayedShareFetch` with its purgatory, and `ShareFetchUtils.processFetchResponse`.
"""

from collections.abc import Iterable
from typing import Final

from kafka_coordinator.assignors.inputs import Partition, queue_of
from kafka_coordinator.errors import NONE, UNKNOWN_SERVER_ERROR
from kafka_coordinator.share.acknowledging import release_acquired
from kafka_coordinator.share.acquiring import AcquisitionError, acquire, without_aborted
from kafka_coordinator.share.leader import (
    FIND,
    LOCK,
    LOCK_TIMEOUT,
    RECORDS,
    SESSION_CLOSED,
    WAIT,
    WRITE,
    Call,
    ShareLeader,
    WaitingFetch,
    find,
    settle,
    written,
)
from kafka_coordinator.share.messages import (
    FINAL_EPOCH,
    FIRST_EPOCH,
    AcquiredRanges,
    ShareAcknowledge,
    ShareAcknowledgeAnswer,
    SharedRecords,
    ShareFetch,
    ShareFetchAnswer,
)
from kafka_coordinator.share.partition import Phase, SharePartition
from protocols.facts import Acquired

_FOUND_AT_ONCE: Final = 1_000
"""Partitions that one fetch looks for before others have their turn."""


def begin(leader: ShareLeader, call: Call, number: int, found: int = 0) -> None:
    """Fetch what the session of the request fetches, of which so many partitions have been ``found``; they take turns
    in being first."""
    request = leader.requests[number].request
    assert isinstance(request, ShareFetch)
    session = leader.sessions.all.get((request.group, request.member_id))
    fetches_nothing = request.renews or request.epoch == FINAL_EPOCH
    asked = () if session is None or fetches_nothing else tuple(session.partitions)
    if len(asked) - found > _FOUND_AT_ONCE:
        leader.finding[number] = found + _FOUND_AT_ONCE
        for partition in asked[found : leader.finding[number]]:
            find(leader, call, request.group, partition, request.member_id)
        call.out.set_timer((FIND,), call.now)
        return
    refused: list[tuple[Partition, str]] = []
    for partition in asked:
        share = find(leader, call, request.group, partition, request.member_id)
        if isinstance(share, str):
            refused.append((partition, share))
    errors = dict(refused)
    turn = request.epoch % len(asked) if asked and request.epoch >= 1 else 0
    partitions = tuple([each for each in (*asked[turn:], *asked[:turn]) if each not in errors])
    only_committed = leader.limits(request.group).only_committed
    fetch = WaitingFetch(number, request, call.now + request.max_wait_ms, partitions, tuple(refused), only_committed)
    if not fetch.partitions or request.max_records == 0 or request.max_bytes == 0:
        _over(leader, call, fetch, {})
        return
    offsets = _acquirable(leader, fetch)
    if request.max_wait_ms > 0 and not _are_enough(call, fetch, offsets):
        park(leader, call, fetch)
    else:
        _complete(leader, call, fetch, offsets)


def go_on(leader: ShareLeader, call: Call) -> None:
    """The timer was due: a fetch of many partitions looks for some more."""
    number, found = next(iter(leader.finding.items()))
    del leader.finding[number]
    begin(leader, call, number, found)
    if leader.finding:
        call.out.set_timer((FIND,), call.now)


def park(leader: ShareLeader, call: Call, fetch: WaitingFetch) -> None:
    leader.fetches += 1
    leader.waiting[leader.fetches] = fetch
    for partition in fetch.partitions:
        watching = leader.watching.setdefault(partition, {}).setdefault(fetch.request.group, {})
        watching[leader.fetches] = None
        if partition not in leader.coming:
            _await_records(leader, call, partition)
    if leader.wait_until is None or fetch.due < leader.wait_until:
        leader.wait_until = fetch.due
        call.out.set_timer((WAIT,), fetch.due)


def waited(leader: ShareLeader, call: Call) -> None:
    """The timer was due: fetches have waited long enough, and get what there is."""
    now = max(call.now, leader.wait_until or 0.0)
    late = [number for number, fetch in leader.waiting.items() if fetch.due <= now]
    for number in late:
        fetch = _unpark(leader, number)
        _complete(leader, call, fetch, _acquirable(leader, fetch))
    leader.wait_until = min([fetch.due for fetch in leader.waiting.values()], default=None)
    if leader.wait_until is not None:
        call.out.set_timer((WAIT,), max(leader.wait_until, call.now))


def _unpark(leader: ShareLeader, number: int) -> WaitingFetch:
    fetch = leader.waiting.pop(number)
    group = fetch.request.group
    for partition in fetch.partitions:
        of_groups = leader.watching[partition]
        del of_groups[group][number]
        if not of_groups[group]:
            del of_groups[group]
            if not of_groups:
                del leader.watching[partition]
    return fetch


def look(leader: ShareLeader, call: Call, partitions: Iterable[Partition]) -> None:
    """There may be records to acquire: fetches that wait for them try again, in the order in which they came."""
    for partition in partitions:
        of_groups = leader.watching.get(partition)
        for group in list(of_groups or ()):
            _look(leader, call, group, partition)
        if partition in leader.watching and partition not in leader.coming:
            _await_records(leader, call, partition)


def _look(leader: ShareLeader, call: Call, group: str, partition: Partition) -> None:
    share = leader.shares.get((group, partition))
    if share is None or not _has_records(call, partition, share):
        return
    for number in list(leader.watching[partition][group]):
        fetch = leader.waiting.get(number)
        offsets = {} if fetch is None else _acquirable(leader, fetch)
        if fetch is not None and _are_enough(call, fetch, offsets):
            _complete(leader, call, _unpark(leader, number), offsets)
            if not _has_records(call, partition, share):
                return


def _has_records(call: Call, partition: Partition, share: SharePartition) -> bool:
    return share.to_fetch() not in (None, call.logs.end(partition))


def _await_records(leader: ShareLeader, call: Call, partition: Partition) -> None:
    """Set the timer to when the record comes for which fetches of the partition wait first."""
    due: float | None = None
    for group in leader.watching.get(partition, ()):
        share = leader.shares.get((group, partition))
        offset = share.to_fetch() if share is not None and share.phase is Phase.ACTIVE else None
        if offset is not None and offset >= call.logs.end(partition):
            comes = call.logs.comes(partition, offset)
            due = comes if due is None or (comes is not None and comes < due) else due
    if due is not None and due != leader.coming.get(partition):
        leader.coming[partition] = due
        call.out.set_timer((RECORDS, partition), due)


def records_came(leader: ShareLeader, call: Call, partition: Partition) -> None:
    """The timer was due."""
    leader.coming.pop(partition, None)
    look(leader, call, (partition,))


def _acquirable(leader: ShareLeader, fetch: WaitingFetch) -> dict[Partition, int]:
    """Partitions of which records may be acquired, with the offsets where they are read."""
    found: dict[Partition, int] = {}
    for partition in fetch.partitions:
        share = leader.shares.get((fetch.request.group, partition))
        if share is not None and share.phase is Phase.ACTIVE:
            offset = share.to_fetch()
            if offset is not None:
                found[partition] = offset
    return found


def _are_enough(call: Call, fetch: WaitingFetch, offsets: dict[Partition, int]) -> bool:
    """Whether there are as many bytes as the fetch waits for, or the log has an offset no more."""
    size, logs = 0, call.logs
    for partition, offset in offsets.items():
        end = logs.end(partition, fetch.only_committed)
        if not logs.start(partition) <= offset <= end:
            return True
        if offset < end:
            size += logs.size(partition, offset, end)
    return size > 0 and size >= fetch.request.min_bytes


def _complete(leader: ShareLeader, call: Call, fetch: WaitingFetch, offsets: dict[Partition, int]) -> None:
    request, logs = fetch.request, call.logs
    found: dict[Partition, tuple[str, AcquiredRanges]] = {}
    taken = 0
    for partition, offset in offsets.items():
        share = leader.shares[request.group, partition]
        start, end = logs.start(partition), logs.end(partition)
        if not start <= offset <= end:
            share.log_starts_at(start)
        if fetch.only_committed:
            end = logs.end(partition, True)
        if not start <= offset < end:
            found[partition] = NONE, ()
            continue
        read = logs.read(partition, offset, request.max_bytes // len(offsets), end)
        left = request.max_records - taken
        acquired: list[tuple[int, int, int]] = []
        try:
            acquired = acquire(
                share, int(call.now), request.member_id, read, offset, left, request.batch_size, request.exactly
            )
            if fetch.only_committed and read:
                acquired = without_aborted(share, acquired, logs.aborted(partition, read))
            found[partition] = NONE, tuple(acquired)
        except AcquisitionError:
            found[partition] = UNKNOWN_SERVER_ERROR, ()  # what was acquired before that stays locked
        taken += sum(last - first + 1 for first, last, _ in acquired)
        if acquired:
            _tell_acquired(leader, call, request, partition, share, acquired)
            await_lock(leader, call, request.group, partition, share)
    _over(leader, call, fetch, found)
    for partition in offsets if taken else ():
        if partition in leader.watching:
            look(leader, call, (partition,))


def _tell_acquired(
    leader: ShareLeader,
    call: Call,
    request: ShareFetch,
    partition: Partition,
    share: SharePartition,
    acquired: Iterable[tuple[int, int, int]],
) -> None:
    queue, member = queue_of(partition), leader.name_of(request.member_id)
    until = call.now + share.limits.lock_duration_ms
    for first, last, attempt in acquired:
        call.out.observe(Acquired(request.group, member, queue, first, last + 1, attempt, until))


def _over(
    leader: ShareLeader, call: Call, fetch: WaitingFetch, found: dict[Partition, tuple[str, AcquiredRanges]]
) -> None:
    request = leader.requests[fetch.number]
    request.found = {**found, **{partition: (error, ()) for partition, error in fetch.refused}}
    answer_if_done(leader, call, fetch.number)


def answer_if_done(leader: ShareLeader, call: Call, number: int) -> None:
    """Answer a request whose fetch is over and whose acknowledgements are written; a last one ends its session."""
    open = leader.requests[number]
    if open.found is None or open.unwritten:
        return
    del leader.requests[number]
    request = open.request
    message: ShareFetchAnswer | ShareAcknowledgeAnswer
    duration = leader.limits(request.group).lock_duration_ms
    # Behind a stroke stands what Kafka's code throws there, with which it fails the request as a whole.
    thrown = [error.partition("/")[0] for error in open.results.values() if "/" in error]
    error = thrown[0] if thrown else open.error
    if error != NONE:
        answer = ShareAcknowledgeAnswer if isinstance(request, ShareAcknowledge) else ShareFetchAnswer
        message = answer(request.correlation, error)
    elif isinstance(request, ShareAcknowledge):
        message = ShareAcknowledgeAnswer(request.correlation, NONE, duration, tuple(open.results.items()))
    else:
        rows = _rows(leader, request, open.found, open.results)
        message = ShareFetchAnswer(request.correlation, NONE, duration, tuple(rows))
    if request.epoch == FINAL_EPOCH:
        end_session(leader, call, request.group, request.member_id)
    # Nobody reads the answer where the connection is closed; what was acquired is locked all the same.
    if leader.closes.get(open.sender, 0) == open.closes:
        call.out.send(open.sender, message)


def _rows(
    leader: ShareLeader,
    request: ShareFetch,
    found: dict[Partition, tuple[str, AcquiredRanges]],
    results: dict[Partition, str],
) -> list[SharedRecords]:
    """After the first request only partitions with something to tell are told, and what brought records is fetched
    last from then on."""
    session = leader.sessions.all.get((request.group, request.member_id))
    told = dict(results)
    rows: list[SharedRecords] = []
    for partition, (error, acquired) in found.items():
        if session is not None and request.epoch != FIRST_EPOCH:
            again = partition in session.erring
            if error != NONE:
                session.erring.add(partition)
            else:
                session.erring.discard(partition)
            if acquired and partition in session.partitions:
                session.partitions[partition] = session.partitions.pop(partition)
            if not acquired and error == NONE and not again:
                continue
        rows.append(SharedRecords(partition, error, told.pop(partition, NONE), acquired))
    return [*rows, *(SharedRecords(partition, NONE, error, ()) for partition, error in told.items())]


def end_session(leader: ShareLeader, call: Call, group: str, member_id: str) -> None:
    """What the member has acquired of the session's partitions is available again (spec share 4.6)."""
    session = leader.sessions.remove((group, member_id))
    if session is None:
        return
    for partition in session.partitions:
        share = leader.shares.get((group, partition))
        if share is not None:
            change = release_acquired(share, member_id)
            settle(leader, call, group, partition, change, SESSION_CLOSED, member_id)
    look(leader, call, [partition for partition in session.partitions if partition in leader.watching])


def writes_done(leader: ShareLeader, call: Call) -> None:
    """The timer was due: the persister has answered."""
    writes, now = leader.writes, max(call.now, leader.writes[0].due if leader.writes else 0.0)
    done = [write for write in writes if write.due <= now]
    leader.writes = [write for write in writes if write.due > now]
    if leader.writes:
        call.out.set_timer((WRITE,), leader.writes[0].due)
    for write in done:
        share = leader.shares.get((write.group, write.partition))
        told = share.woken if share is not None else 0
        written(leader, call, write)
        if write.number is not None:
            answer_if_done(leader, call, write.number)
        if share is not None and share.woken != told:
            look(leader, call, (write.partition,))


# Locks.


def await_lock(leader: ShareLeader, call: Call, group: str, partition: Partition, share: SharePartition) -> None:
    """Set the timer to when the next lock runs out, where it is not due before that anyway."""
    lock = share.next_lock()
    key = group, partition
    if lock is not None and (key not in leader.locked_until or lock.due < leader.locked_until[key]):
        leader.locked_until[key] = lock.due
        call.out.set_timer((LOCK, group, partition), max(float(lock.due), call.now))


def locks_ended(leader: ShareLeader, call: Call, group: str, partition: Partition, until: float = 0.0) -> None:
    """The timer was due: records whose lock has run out are available again (spec share 4.6). ``until``: locks that
    would run out up to this time do so now."""
    now = max(call.now, until, leader.locked_until.pop((group, partition), 0.0))
    share = leader.shares.get((group, partition))
    if share is None:
        return
    ended = False
    while (lock := share.next_lock()) is not None and lock.due <= now:
        change = share.lock_ended(lock)
        if change is not None:
            ended = True
            settle(leader, call, group, partition, change, LOCK_TIMEOUT, lock.member)
    await_lock(leader, call, group, partition, share)
    if ended:
        look(leader, call, (partition,))
