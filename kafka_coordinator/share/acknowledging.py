"""Acknowledging: what a member says became of records, and what it leaves behind (spec share 4.5, 4.6, 9)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafka_coordinator.errors import INVALID_RECORD_STATE, INVALID_REQUEST
from kafka_coordinator.share.partition import REJECTED, Change, SharePartition
from kafka_coordinator.share.records import Batch, State

ACKNOWLEDGED_AS: Final[Mapping[str, State]] = {
    "GAP": State.ARCHIVED,
    "ACCEPT": State.ACKNOWLEDGED,
    "RELEASE": State.AVAILABLE,
    "REJECT": State.ARCHIVED,
}
"""Types of an acknowledgement that end an acquisition, with the state that each asks for."""
RENEW: Final = "RENEW"
"""The type that only sets the lock anew."""


def acknowledge(
    share: SharePartition, now: int, member: str, ranges: Iterable[tuple[int, int, Sequence[str]]]
) -> Change:
    """What became of records, in ranges ``(first, last, types)`` with one type or one per offset: all or nothing.

    The answer is the change's ``error`` once it is ``done`` (spec share 4.5).
    """
    change = Change()
    for first, last, types in ranges:
        error = _acknowledge(share, now, change, member, first, last, types)
        if error:
            return share.refuse(change, error)
    return share.begin_write(change)


def _acknowledge(
    share: SharePartition, now: int, change: Change, member: str, first: int, last: int, types: Sequence[str]
) -> str:
    if not all(type in ACKNOWLEDGED_AS or (type == RENEW and share.version.share_renews) for type in types):
        return INVALID_REQUEST
    if last < share.start:
        return ""
    floor = share.batches.floor(first)
    if floor is None:
        if not first < share.start <= last:
            return INVALID_RECORD_STATE
        floor = share.batches.floor(share.start)
        if floor is None:
            return "UNKNOWN_SERVER_ERROR/NullPointerException"
    over = share.batches.starting(floor.first, last)
    if over[-1].last < last:
        return INVALID_REQUEST
    for batch in over:
        if batch.last < share.start:
            continue
        error = _acknowledge_batch(share, now, change, member, batch, first, last, types)
        if error:
            return error
    return ""


def _acknowledge_batch(
    share: SharePartition,
    now: int,
    change: Change,
    member: str,
    batch: Batch,
    first: int,
    last: int,
    types: Sequence[str],
) -> str:
    if not batch.split:
        entry = batch.entries[0]
        if entry.owner != member or entry.state is not State.ACQUIRED:
            return INVALID_RECORD_STATE
        if not batch.within(first, last) or len(types) > 1 or share.start_within(batch):
            share.split(batch)
    for piece in list(batch.pieces(max(first, share.start), last)):
        entry = piece.entry
        if entry.state is not State.ACQUIRED or entry.owner != member:
            return INVALID_RECORD_STATE
        type = types[piece.first - first] if len(types) > 1 else types[0]
        if type != RENEW:
            buries = share.limits.dead_letters and share.version.share_buries
            dead = REJECTED if type == "REJECT" and buries else ""
            share.turn(change, piece, ACKNOWLEDGED_AS[type], dead)
        elif share.limits.renewals:
            share.lock(now, member, piece)
        else:
            return INVALID_RECORD_STATE
    return ""


def release_acquired(share: SharePartition, member: str) -> Change:
    """The member's share session ends: what it has acquired is available again (spec share 4.6)."""
    change = Change()
    for batch in share.batches:
        share.split_at_start(batch, member)
        for piece in batch.pieces():
            entry = piece.entry
            if entry.owner not in (member, None):
                if share.version.share_closing_passes_others:
                    continue
                break
            if entry.state is State.ACQUIRED:
                counts = share.version.share_closing_keeps_count
                share.turn(change, piece, share.given_back(piece), delivery_counts=counts)
    return share.begin_write(change)
