"""What a member of a Kafka group did, in words, and what became of the numbered records that it was given.

What it did is told by rules over its requests, as one table. Every rule has a phrase and a condition on one request
that followed. What the member did is the phrases whose conditions came true, in the order in which they first did.
Requests that follow from others (SyncGroup after JoinGroup) and those that are due anyway (heartbeats) have no rule: a
member of whom no rule tells anything *goes on* if it works.

A program that prints a line ``topic partition offset`` for each record that it has handled is judged exactly. Of any
other we know what it fetched and what it committed: a record counts as handled there when it was fetched.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from compare.judging.kafka_situations import ABORTS, BEGINS_EPOCH, SLOW_MS
from compare.judging.kafka_stage import Exchanges, KafkaExchange, Mark, Stage
from compare.judging.playing import (
    ENDS,
    FIRST,
    GOES_ON,
    NOT_REACHED,
    NOT_TRIED,
    NOTHING,
    SECOND,
    STILL_OUT,
    TOPIC,
    Outcome,
    Situation,
    counted,
    none_waits,
)
from compare.judging.programs import NO_ATTEMPT, Printed
from kafka_coordinator.catalogue import Partition
from kafka_coordinator.cluster import (
    FIRST_EPOCH,
    NONE,
    ConsumerGroupHeartbeat,
    FindCoordinator,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    ShareAcknowledge,
    ShareFetch,
    ShareGroupHeartbeat,
    SyncGroup,
    TxnOffsetCommit,
)
from kafka_coordinator.wire import Answer, EndTxn, Fetch, InitProducerId, header_of
from protocols.engine.nodes import Message

if TYPE_CHECKING:
    from kio.schema.end_txn.v5.response import EndTxnResponse
    from kio.schema.fetch.v18.request import FetchRequest
    from kio.schema.fetch.v18.response import FetchResponse, PartitionData

_FETCHED_BEFORE_LENGTH: Final = 12
_LINE: Final = re.compile(rb"^%s (\d+) (\d+)(?: (\d+))?\s*$" % TOPIC.encode())


def read_line(line: bytes) -> Printed[int] | None:
    """What a line ``topic partition offset``, with or without the delivery count, says."""
    found = _LINE.match(line)
    return None if found is None else Printed(int(found[1]), int(found[2]), int(found[3] or NO_ATTEMPT))


def outcome(written: Mapping[int, int], exchanges: Exchanges, lines: Iterable[tuple[int, int]]) -> Outcome:
    """Of the records before these offsets of each partition; ``lines``: partition and offset that programs printed."""
    return counted(written, begun(exchanges), committed(exchanges), lines, fetched(exchanges))


def begun(exchanges: Exchanges) -> dict[int, int]:
    """Partition to the offset at which the group has begun to read: what stood before it was skipped by
    ``auto.offset.reset=latest``, and nobody wanted it."""
    found: dict[int, int] = {}
    for each in exchanges.all:
        if isinstance(each.request, Fetch):
            for number, offset in _positions(each.request.body).items():
                found.setdefault(number, offset)
    return found


def all_read(written: Mapping[int, int], exchanges: Exchanges, lines: Iterable[tuple[int, int]]) -> bool:
    """Whether no record waits: each was handled, as far as programs tell, or is committed."""
    return none_waits(written, begun(exchanges), committed(exchanges), lines)


def committed(exchanges: Exchanges) -> dict[int, int]:
    """Partition to the offset that was committed last, of commits that the coordinator has taken."""
    found: dict[int, int] = {}
    waiting: dict[str, dict[int, int]] = {}
    for each in exchanges.all:
        if isinstance(each.request, OffsetCommit | TxnOffsetCommit) and each.answer is not None:
            errors: Mapping[Partition, str] = dict(getattr(each.answer, "errors", ()))
            taken = {
                partition[1]: offset
                for partition, offset, _ in each.request.offsets
                if partition[0] == TOPIC and errors.get(partition) == NONE
            }
            if isinstance(each.request, OffsetCommit):
                found.update(taken)
            else:
                waiting.setdefault(each.request.transactional_id, {}).update(taken)
        elif isinstance(each.request, EndTxn) and isinstance(each.answer, Answer):
            offsets = waiting.pop(each.request.body.transactional_id, {})
            if each.request.body.committed and cast("EndTxnResponse", each.answer.body).error_code == 0:
                found.update(offsets)
    return found


def fetched(exchanges: Exchanges) -> Iterator[tuple[int, int]]:
    """Partition and offset of every record from where a fetch asked for it to where its answer ended."""
    for each in exchanges.all:
        if isinstance(each.request, Fetch) and isinstance(each.answer, Answer) and each.answer.body is not None:
            asked = _positions(each.request.body)
            for topic in cast("FetchResponse", each.answer.body).responses:
                for part in topic.partitions:
                    yield from _offsets(part, asked)


def _positions(body: "FetchRequest") -> dict[int, int]:
    return {part.partition: int(part.fetch_offset) for topic in body.topics for part in topic.partitions}


def _offsets(part: "PartitionData", asked: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    content, at = part.records or b"", 0
    while at < len(content):
        header = header_of(content[at:])
        first = max(header.base_offset, asked.get(part.partition_index, 0))
        for offset in range(first, header.base_offset + header.last_offset_delta + 1):
            yield part.partition_index, offset
        at += _FETCHED_BEFORE_LENGTH + header.length


RELEASES: Final = "releases the record"
REJECTS: Final = "rejects the record"

_LEAVES, _LEAVES_FOR_A_WHILE = -1, -2
"""Epochs with which a member of the consumer protocol leaves; the second one is a static member's."""


class Case(NamedTuple):
    """One request in its place."""

    request: Any
    mark: Mark
    before: Sequence[KafkaExchange]
    """What the member asked since the beginning, before this one."""
    situation: Situation


def _has_joined(case: Case) -> bool:
    return any(each.joins for each in case.before)


def _is_back(case: Case) -> bool:
    """Whether the member has been given its share since the beginning: it knows the coordinator then, and a question
    for it (librdkafka has one on its way while it starts) is no reaction."""
    return any(isinstance(each.request, SyncGroup) and each.error == NONE for each in case.before)


def _leaves(case: Case) -> bool:
    request = case.request
    return isinstance(request, LeaveGroup) or _beats_with(request, _LEAVES)


def _beats_with(request: Message, epoch: int) -> bool:
    return isinstance(request, ConsumerGroupHeartbeat | ShareGroupHeartbeat) and request.member_epoch == epoch


def _is_join(case: Case) -> bool:
    return isinstance(case.request, JoinGroup) or _beats_with(case.request, 0)


def _was_told_id(case: Case) -> bool:
    """Whether the id of this JoinGroup is one that an answer since the beginning has given."""
    return any(getattr(each.answer, "member_id", None) == case.request.member_id for each in case.before)


def _keeps_session(case: Case) -> bool:
    return (
        case.situation.slow
        and isinstance(case.request, Heartbeat)
        and not _has_joined(case)
        and any(each.error == "REBALANCE_IN_PROGRESS" for each in case.before)
    )


def _acknowledges_as(request: Message, kind: str) -> bool:
    ranges = [each for _, ranges in getattr(request, "acknowledged", ()) for each in ranges]
    return any(kind in kinds for _, _, kinds in ranges)


def _is_again(case: Case, kind: type) -> bool:
    refused = case.mark.refused
    return isinstance(refused, kind) and isinstance(case.request, kind) and not _has_joined(case)


class Rule(NamedTuple):
    """``holds`` for a request: the member did what ``phrase`` says."""

    phrase: str
    holds: Callable[[Case], bool]
    alone: bool = False
    """Whether it is worth telling only of a member that keeps its membership: others do it by the way."""


RULES: Final = (
    Rule(
        "looks for the coordinator",
        lambda case: (
            isinstance(case.request, FindCoordinator) and not _is_back(case) and not case.situation.transactional
        ),
    ),
    Rule("keeps its session", _keeps_session),
    Rule(
        "commits first",
        lambda case: isinstance(case.request, OffsetCommit) and case.situation.commits_count and not _has_joined(case),
    ),
    Rule("commits again", lambda case: _is_again(case, OffsetCommit), alone=True),
    Rule(
        BEGINS_EPOCH,
        lambda case: (
            case.situation.transactional
            and isinstance(case.request, InitProducerId)
            and case.request.body.transactional_id is not None
        ),
    ),
    Rule(
        ABORTS,
        lambda case: (
            case.situation.transactional and isinstance(case.request, EndTxn) and not case.request.body.committed
        ),
    ),
    Rule("asks for its share again", lambda case: _is_again(case, SyncGroup)),
    Rule("asks for offsets again", lambda case: _is_again(case, OffsetFetch)),
    Rule("joins as a new member", lambda case: _is_join(case) and not case.request.member_id),
    Rule(
        "joins as a new member",
        lambda case: (
            _is_join(case)
            and bool(case.request.member_id)
            and case.request.member_id != case.mark.member_id
            and not _was_told_id(case)
        ),
    ),
    Rule(
        "rejoins with its member id",
        lambda case: _is_join(case) and bool(case.request.member_id) and case.request.member_id == case.mark.member_id,
    ),
    Rule(
        "begins another session",
        lambda case: (
            isinstance(case.mark.refused, ShareFetch | ShareAcknowledge)
            and isinstance(case.request, ShareFetch)
            and case.request.epoch == FIRST_EPOCH
        ),
    ),
    Rule(RELEASES, lambda case: case.situation.fails > 0 and _acknowledges_as(case.request, "RELEASE")),
    Rule(REJECTS, lambda case: case.situation.rejects and _acknowledges_as(case.request, "REJECT")),
    Rule("leaves the group", _leaves),
    Rule("says that it will be back", lambda case: _beats_with(case.request, _LEAVES_FOR_A_WHILE)),
)
"""In the order in which they are tried; several may hold for one request."""


_ALONE: Final = frozenset(rule.phrase for rule in RULES if rule.alone)
_ENDS_MEMBERSHIP: Final = frozenset(("joins as a new member", "rejoins with its member id", "leaves the group", ENDS))


def reaction(stage: Stage, situation: Situation) -> tuple[str, ...]:
    """What the first member did since the beginning of the situation."""
    mark = stage.mark
    if situation.transactional and not stage.transactional_ids(FIRST):
        return (NOT_TRIED,)
    if mark is None:
        return (NOT_REACHED,)
    if (situation.slow and _is_quick(stage, mark)) or (situation.static and not stage.is_static(FIRST)):
        return (NOT_TRIED,)
    found: dict[str, None] = {}
    before: list[KafkaExchange] = []
    for each in stage.exchanges.of(FIRST, mark.place):
        case = Case(each.request, mark, before, situation)
        found.update((rule.phrase, None) for rule in RULES if rule.holds(case))
        before.append(each)
    if not stage.members.alive(FIRST):
        found[ENDS] = None
    if not _ENDS_MEMBERSHIP.isdisjoint(found):
        found = {phrase: None for phrase in found if phrase not in _ALONE}
    if (situation.fails and RELEASES not in found) or (situation.rejects and REJECTS not in found):
        return (NOT_TRIED,)
    if ENDS in found:
        return tuple(found)
    if not stage.works(FIRST, mark.place):
        return (*found, STILL_OUT) if found else (NOTHING,)
    return tuple(found) or (GOES_ON,)


def _is_quick(stage: Stage, mark: Mark) -> bool:
    """Whether the member asked to join sooner than after a slow callback."""
    others = [each.at for each in stage.exchanges.of(SECOND, mark.place) if each.joins]
    own = [each.at for each in stage.exchanges.of(FIRST, mark.place) if each.joins]
    return bool(own and others) and own[0] - others[0] < SLOW_MS
