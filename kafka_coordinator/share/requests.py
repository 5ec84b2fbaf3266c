"""What a leader does with the requests of share consumers, and with the end of a connection (spec share 5).

In Kafka `KafkaApis.handleShareFetchRequest`, `handleShareAcknowledgeRequest` and `SharePartitionManager`.
"""

from typing import Final

from kafka_coordinator.assignors.inputs import Partition, queue_of
from kafka_coordinator.errors import INVALID_REQUEST, NONE, SHARE_SESSION_LIMIT_REACHED, UNKNOWN_TOPIC_OR_PARTITION
from kafka_coordinator.share import fetching
from kafka_coordinator.share.acknowledging import RENEW, acknowledge, release_acquired
from kafka_coordinator.share.leader import (
    LOCK,
    RECORDS,
    RELEASED,
    SESSION_CLOSED,
    WAIT,
    Call,
    ShareLeader,
    WaitingFetch,
    fence,
    settle,
)
from kafka_coordinator.share.messages import (
    FINAL_EPOCH,
    Acknowledgements,
    Ranges,
    ShareAcknowledge,
    ShareAcknowledgeAnswer,
    ShareFetch,
    ShareFetchAnswer,
)
from protocols.engine.nodes import TimerName
from protocols.facts import Renewed

TIMERS: Final = frozenset((LOCK, RECORDS, WAIT))
"""First parts of the names of a leader's timers."""

Results = tuple[tuple[Partition, str], ...]


def receive(leader: ShareLeader, call: Call, sender: str, request: ShareFetch | ShareAcknowledge) -> None:
    """A request of a share consumer; each is answered by one message."""
    if request.client_id:
        leader.names[request.member_id] = request.client_id
    if not request.member_id or request.group is None:
        _refuse(call, sender, request, INVALID_REQUEST)
    elif isinstance(request, ShareFetch):
        _fetch(leader, call, sender, request)
    else:
        _acknowledge(leader, call, sender, request)


def timeout(leader: ShareLeader, call: Call, timer: TimerName) -> None:
    """A timer whose name begins with one of `TIMERS` was due."""
    if timer[0] == LOCK:
        fetching.locks_ended(leader, call, timer[1], timer[2])
    elif timer[0] == RECORDS:
        fetching.records_came(leader, call, timer[1])
    else:
        fetching.waited(leader, call)


def closed(leader: ShareLeader, call: Call, peer: str) -> None:
    """A connection is closed: the session that was made over it ends. A fetch that came over it waits on, and may
    acquire records that nobody will read."""
    leader.closes[peer] = leader.closes.get(peer, 0) + 1
    found = leader.sessions.closed(peer)
    if found is None:
        return
    (group, member_id), over = found
    if not over:
        _end_session(leader, call, group, member_id)
    if not leader.sessions.of_group(group):
        for name, partition in list(leader.shares):
            if name == group:
                fence(leader, call, group, partition)


def cluster_changed(leader: ShareLeader, call: Call) -> None:
    """Leaders or topics may be others: what is not led here any more is dropped, what was written is given out."""
    for group, partition in list(leader.shares):
        if call.logs.error(partition) != NONE:
            fence(leader, call, group, partition)
    fetching.look(leader, call, list(leader.watching))


def _refuse(call: Call, sender: str, request: ShareFetch | ShareAcknowledge, error: str) -> None:
    answer = ShareFetchAnswer if isinstance(request, ShareFetch) else ShareAcknowledgeAnswer
    call.out.send(sender, answer(request.correlation, error))


def _fetch(leader: ShareLeader, call: Call, sender: str, request: ShareFetch) -> None:
    if request.renews and (request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms):
        _refuse(call, sender, request, INVALID_REQUEST)
        return
    error = leader.sessions.open(request, sender, leader.settings.group_share_max_share_sessions)
    if error == SHARE_SESSION_LIMIT_REACHED and request.max_wait_ms > 0:
        due = call.now + request.max_wait_ms
        fetch = WaitingFetch(sender, leader.closes.get(sender, 0), request, due, error=error)
        fetching.park(leader, call, fetch)
        return
    if error != NONE:
        _refuse(call, sender, request, error)
        return
    results = _take(leader, call, request.group, request.member_id, request.acknowledged, request.renews)
    final = request.epoch == FINAL_EPOCH
    fetching.begin(leader, call, sender, request._replace(renews=True) if final else request, results)
    if final:
        _end_session(leader, call, request.group, request.member_id)


def _acknowledge(leader: ShareLeader, call: Call, sender: str, request: ShareAcknowledge) -> None:
    error = leader.sessions.acknowledging(request)
    if error != NONE:
        _refuse(call, sender, request, error)
        return
    results = _take(leader, call, request.group, request.member_id, request.acknowledged, request.renews)
    if request.epoch == FINAL_EPOCH:
        _end_session(leader, call, request.group, request.member_id)
    duration = leader.limits(request.group).lock_duration_ms
    call.out.send(sender, ShareAcknowledgeAnswer(request.correlation, NONE, duration, results))


def _take(
    leader: ShareLeader, call: Call, group: str, member_id: str, acknowledged: Acknowledgements, renews: bool
) -> Results:
    """What becomes of acknowledgements, by partition. Waiting fetches get what is released."""
    results: list[tuple[Partition, str]] = []
    for partition, ranges in acknowledged:
        results.append((partition, _take_of(leader, call, group, member_id, partition, ranges, renews)))
    fetching.look(leader, call, [partition for partition, _ in acknowledged if partition in leader.watching])
    return tuple(results)


def _take_of(
    leader: ShareLeader, call: Call, group: str, member_id: str, partition: Partition, ranges: Ranges, renews: bool
) -> str:
    if not _well_formed(ranges, renews):
        return INVALID_REQUEST
    if not ranges:
        return NONE
    share = leader.shares.get((group, partition))
    if share is None:
        return UNKNOWN_TOPIC_OR_PARTITION
    change = acknowledge(share, int(call.now), member_id, ranges)
    error = settle(leader, call, group, partition, change, RELEASED, member_id)
    if error != NONE or not renews:
        return error
    until = call.now + share.limits.lock_duration_ms
    queue, member = queue_of(partition), leader.name_of(member_id)
    for first, last, types in ranges:
        for offset in range(first, last + 1) if len(types) > 1 else ():
            if types[offset - first] == RENEW:
                call.out.observe(Renewed(group, member, queue, offset, offset + 1, until))
        if types == (RENEW,):
            call.out.observe(Renewed(group, member, queue, first, last + 1, until))
    fetching.await_lock(leader, call, group, partition, share)
    return NONE


def _well_formed(ranges: Ranges, renews: bool) -> bool:
    behind = -1
    for first, last, types in ranges:
        if first > last or first < behind or len(types) not in (1, last - first + 1):
            return False
        if RENEW in types and not renews:
            return False
        behind = last
    return True


def _end_session(leader: ShareLeader, call: Call, group: str, member_id: str) -> None:
    """What the member has acquired of the session's partitions is available again (spec share 4.6)."""
    session = leader.sessions.remove((group, member_id))
    if session is None:
        return
    for partition in session.partitions:
        share = leader.shares.get((group, partition))
        if share is not None:
            change = release_acquired(share, member_id)
            settle(leader, call, group, partition, change, SESSION_CLOSED, member_id)
    fetching.look(leader, call, [partition for partition in session.partitions if partition in leader.watching])
