"""What a leader does with the requests of share consumers, and with the end of a connection (spec share 5).

In Kafka `KafkaApis.handleShareFetchRequest`, `handleShareAcknowledgeRequest` and `SharePartitionManager`.
"""

from typing import Final

from kafka_coordinator.assignors.inputs import Partition, queue_of
from kafka_coordinator.errors import INVALID_REQUEST, NONE, SHARE_SESSION_LIMIT_REACHED, UNKNOWN_TOPIC_OR_PARTITION
from kafka_coordinator.share import fetching
from kafka_coordinator.share.acknowledging import RENEW, acknowledge
from kafka_coordinator.share.leader import (
    FIND,
    LOCK,
    RECORDS,
    RELEASED,
    WAIT,
    WRITE,
    Call,
    OpenRequest,
    ShareLeader,
    WaitingFetch,
    fence,
    settle,
)
from kafka_coordinator.share.messages import (
    Ranges,
    ShareAcknowledge,
    ShareAcknowledgeAnswer,
    ShareFetch,
    ShareFetchAnswer,
)
from protocols.engine.nodes import TimerName
from protocols.facts import Renewed

TIMERS: Final = frozenset((FIND, LOCK, RECORDS, WAIT, WRITE))
"""First parts of the names of a leader's timers."""


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
    if timer[0] == FIND:
        fetching.go_on(leader, call)
    elif timer[0] == LOCK:
        fetching.locks_ended(leader, call, timer[1], timer[2])
    elif timer[0] == RECORDS:
        fetching.records_came(leader, call, timer[1])
    elif timer[0] == WAIT:
        fetching.waited(leader, call)
    else:
        fetching.writes_done(leader, call)


def closed(leader: ShareLeader, call: Call, peer: str) -> None:
    """A connection is closed: the session that was made over it ends. A fetch that came over it waits on, and may
    acquire records that nobody will read."""
    leader.closes[peer] = leader.closes.get(peer, 0) + 1
    found = leader.sessions.closed(peer)
    if found is None:
        return
    (group, member_id), over = found
    if not over:
        fetching.end_session(leader, call, group, member_id)
    if not leader.sessions.of_group(group):
        for name, partition in list(leader.shares):
            if name == group:
                fence(leader, call, group, partition)


def cluster_changed(leader: ShareLeader, call: Call) -> None:
    """Leaders or topics may be others: what is not led here any more is dropped, what was written is given out."""
    for group, partition in list(leader.shares):
        if call.logs.error(partition) != NONE:
            fence(leader, call, group, partition)
    leader.coming.clear()
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
        number = _opened(leader, sender, request)
        leader.requests[number].error = error
        fetching.park(leader, call, WaitingFetch(number, request, call.now + request.max_wait_ms))
    elif error != NONE:
        _refuse(call, sender, request, error)
    else:
        number = _opened(leader, sender, request)
        _take(leader, call, number, request)
        fetching.begin(leader, call, number)


def _acknowledge(leader: ShareLeader, call: Call, sender: str, request: ShareAcknowledge) -> None:
    error = leader.sessions.acknowledging(request)
    if error != NONE:
        _refuse(call, sender, request, error)
        return
    number = _opened(leader, sender, request)
    _take(leader, call, number, request)
    leader.requests[number].found = {}
    fetching.answer_if_done(leader, call, number)


def _opened(leader: ShareLeader, sender: str, request: ShareFetch | ShareAcknowledge) -> int:
    leader.asked += 1
    leader.requests[leader.asked] = OpenRequest(sender, leader.closes.get(sender, 0), request)
    return leader.asked


def _take(leader: ShareLeader, call: Call, number: int, request: ShareFetch | ShareAcknowledge) -> None:
    """What becomes of acknowledgements, by partition. Fetches that wait try again."""
    for partition, ranges in request.acknowledged:
        error = _refusal(leader, request, partition, ranges)
        if error is not None:
            leader.requests[number].results[partition] = error
            continue
        share = leader.shares[request.group, partition]
        change = acknowledge(share, int(call.now), request.member_id, ranges)
        settle(leader, call, request.group, partition, change, RELEASED, request.member_id, number=number)
        if request.renews and not change.error:
            _tell_renewed(leader, call, request, partition, ranges)
            fetching.await_lock(leader, call, request.group, partition, share)
    fetching.look(leader, call, [partition for partition, _ in request.acknowledged if partition in leader.watching])


def _refusal(
    leader: ShareLeader, request: ShareFetch | ShareAcknowledge, partition: Partition, ranges: Ranges
) -> str | None:
    """Why the share-partition is not asked; NONE for nothing that it could be asked."""
    if not _well_formed(ranges, request.renews):
        return INVALID_REQUEST
    if not ranges:
        return NONE
    return None if (request.group, partition) in leader.shares else UNKNOWN_TOPIC_OR_PARTITION


def _tell_renewed(
    leader: ShareLeader, call: Call, request: ShareFetch | ShareAcknowledge, partition: Partition, ranges: Ranges
) -> None:
    until = call.now + leader.limits(request.group).lock_duration_ms
    queue, member = queue_of(partition), leader.name_of(request.member_id)
    for first, last, types in ranges:
        if types == (RENEW,):
            call.out.observe(Renewed(request.group, member, queue, first, last + 1, until))
        elif len(types) > 1:
            for offset in [first + at for at, type in enumerate(types) if type == RENEW]:
                call.out.observe(Renewed(request.group, member, queue, offset, offset + 1, until))


def _well_formed(ranges: Ranges, renews: bool) -> bool:
    behind = -1
    for first, last, types in ranges:
        if first > last or first < behind or len(types) not in (1, last - first + 1):
            return False
        if RENEW in types and not renews:
            return False
        behind = last
    return True
