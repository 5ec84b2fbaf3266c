"""Fetches of share consumers: they acquire records at once, or wait for some (spec share 5).

In Kafka `DelayedShareFetch` with its purgatory, and `ShareFetchUtils.processFetchResponse`.
"""

from collections.abc import Iterable

from kafka_coordinator.assignors.inputs import Partition, queue_of
from kafka_coordinator.errors import NONE, UNKNOWN_SERVER_ERROR
from kafka_coordinator.share.acquiring import AcquisitionError, acquire
from kafka_coordinator.share.leader import (
    LOCK,
    LOCK_TIMEOUT,
    RECORDS,
    WAIT,
    Call,
    ShareLeader,
    WaitingFetch,
    find,
    settle,
)
from kafka_coordinator.share.messages import FIRST_EPOCH, AcquiredRanges, SharedRecords, ShareFetch, ShareFetchAnswer
from kafka_coordinator.share.partition import Phase, SharePartition
from protocols.facts import Acquired


def begin(
    leader: ShareLeader,
    call: Call,
    sender: str,
    request: ShareFetch,
    acknowledged: tuple[tuple[Partition, str], ...],
) -> None:
    """Fetch what the session of the request fetches; partitions take turns in being first."""
    session = leader.sessions.all.get((request.group, request.member_id))
    asked = () if session is None or request.renews else tuple(session.partitions)
    refused: list[tuple[Partition, str]] = []
    for partition in asked:
        share = find(leader, call, request.group, partition)
        if isinstance(share, str):
            refused.append((partition, share))
    errors = dict(refused)
    turn = request.epoch % len(asked) if asked and request.epoch >= 1 else 0
    fetch = WaitingFetch(
        sender,
        leader.closes.get(sender, 0),
        request,
        call.now + request.max_wait_ms,
        tuple([each for each in (*asked[turn:], *asked[:turn]) if each not in errors]),
        tuple(refused),
        acknowledged,
    )
    if not fetch.partitions or request.max_records == 0 or request.max_bytes == 0:
        _answer(leader, call, fetch, {})
    elif not _try(leader, call, fetch):
        if request.max_wait_ms > 0:
            park(leader, call, fetch)
        else:
            _complete(leader, call, fetch, _acquirable(leader, fetch))


def park(leader: ShareLeader, call: Call, fetch: WaitingFetch) -> None:
    leader.fetches += 1
    leader.waiting[leader.fetches] = fetch
    for partition in fetch.partitions:
        leader.watching.setdefault(partition, {})[leader.fetches] = None
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
    for partition in fetch.partitions:
        watching = leader.watching[partition]
        del watching[number]
        if not watching:
            del leader.watching[partition]
    return fetch


def look(leader: ShareLeader, call: Call, partitions: Iterable[Partition]) -> None:
    """There may be records to acquire: fetches that wait for them try again, in the order in which they came."""
    for partition in partitions:
        for number in list(leader.watching.get(partition, ())):
            fetch = leader.waiting.get(number)
            if fetch is None:
                continue
            share = leader.shares.get((fetch.request.group, partition))
            if share is not None and _has_records(call, partition, share) and _ready(leader, call, fetch):
                _complete(leader, call, _unpark(leader, number), _acquirable(leader, fetch))
        _await_records(leader, call, partition)


def _has_records(call: Call, partition: Partition, share: SharePartition) -> bool:
    return share.may_acquire() and share.next_fetch_offset() != call.logs.end(partition)


def _await_records(leader: ShareLeader, call: Call, partition: Partition) -> None:
    """Set the timer to when the record comes for which fetches of the partition wait first."""
    due: float | None = None
    groups = dict.fromkeys(leader.waiting[each].request.group for each in leader.watching.get(partition, ()))
    for group in groups:
        share = leader.shares.get((group, partition))
        if share is not None and share.phase is Phase.ACTIVE and share.may_acquire():
            offset = share.next_fetch_offset()
            comes = call.logs.comes(partition, offset) if offset >= call.logs.end(partition) else None
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
        if share is not None and share.phase is Phase.ACTIVE and share.may_acquire():
            found[partition] = share.next_fetch_offset()
    return found


def _try(leader: ShareLeader, call: Call, fetch: WaitingFetch) -> bool:
    ready = _ready(leader, call, fetch)
    if ready:
        _complete(leader, call, fetch, _acquirable(leader, fetch))
    return ready


def _ready(leader: ShareLeader, call: Call, fetch: WaitingFetch) -> bool:
    """Whether there are as many bytes as the fetch waits for, or the log does not have an offset any more."""
    size, logs = 0, call.logs
    for partition, offset in _acquirable(leader, fetch).items():
        end = logs.end(partition)
        if not logs.start(partition) <= offset <= end:
            return True
        if offset < end:
            size += logs.size(partition, offset)
    return size > 0 and size >= fetch.request.min_bytes


def _complete(leader: ShareLeader, call: Call, fetch: WaitingFetch, offsets: dict[Partition, int]) -> None:
    request, logs = fetch.request, call.logs
    found: dict[Partition, tuple[str, AcquiredRanges]] = {}
    taken = 0
    for partition, offset in offsets.items():
        share = leader.shares[request.group, partition]
        start = logs.start(partition)
        if not start <= offset <= logs.end(partition):
            share.log_starts_at(start)
            found[partition] = NONE, ()
            continue
        read = logs.read(partition, offset, request.max_bytes // len(offsets))
        left = request.max_records - taken
        try:
            acquired = acquire(
                share, int(call.now), request.member_id, read, offset, left, request.batch_size, request.exactly
            )
        except AcquisitionError:
            found[partition] = UNKNOWN_SERVER_ERROR, ()
            continue
        found[partition] = NONE, tuple(acquired)
        taken += sum(last - first + 1 for first, last, _ in acquired)
        if acquired:
            _tell_acquired(leader, call, request, partition, share, acquired)
            await_lock(leader, call, request.group, partition, share)
    _answer(leader, call, fetch, found)
    if taken:
        look(leader, call, [partition for partition in offsets if partition in leader.watching])


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


def _answer(
    leader: ShareLeader, call: Call, fetch: WaitingFetch, found: dict[Partition, tuple[str, AcquiredRanges]]
) -> None:
    if leader.closes.get(fetch.sender, 0) != fetch.closes:
        return  # nobody reads it; what was acquired is locked all the same
    request = fetch.request
    if fetch.error != NONE:
        call.out.send(fetch.sender, ShareFetchAnswer(request.correlation, fetch.error))
        return
    session = leader.sessions.all.get((request.group, request.member_id))
    found = {**found, **{partition: (error, ()) for partition, error in fetch.refused}}
    told = dict(fetch.acknowledged)
    rows: list[SharedRecords] = []
    for partition, (error, acquired) in found.items():
        again = False
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
    rows += [SharedRecords(partition, NONE, error, ()) for partition, error in told.items()]
    duration = leader.limits(request.group).lock_duration_ms
    call.out.send(fetch.sender, ShareFetchAnswer(request.correlation, NONE, duration, tuple(rows)))


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
