"""Acquiring: what a member gets of the batches that were read from the log (spec share 4.4, 9)."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_coordinator.share.partition import Phase, SharePartition
from kafka_coordinator.share.records import Batch, Entry, Piece, State

Read = Sequence[tuple[int, int]]
"""Batches of the log that were read, ``(first, last)`` in order."""


def _begin(batch: tuple[int, int]) -> int:
    return batch[0]


class AcquisitionError(Exception):
    """What was read lies behind the records that may be acquired, or an aborted batch begins before all of them:
    Kafka's code ends with IllegalArgumentException or IllegalStateException."""


def acquire(
    share: SharePartition,
    now: int,
    member: str,
    read: Read,
    offset: int,
    max_records: int,
    batch_size: int,
    exactly: bool = False,
) -> list[tuple[int, int, int]]:
    """Lock records for the member out of the batches of the log that were read from the offset on.

    Gives ``(first, last, delivery count)`` of what was acquired, in order. ``max_records`` is rounded up to the ends of
    batches, unless ``exactly`` is asked (acquire mode `record_limit`).
    """
    if share.phase is not Phase.ACTIVE or not read:
        return []
    first, last = read[0][0], read[-1][1]
    if share.version.share_limit_is_strict:
        room = share.limits.max_record_locks - share.in_flight
        if room <= 0:
            room, last = share.end - offset + 1, min(last, share.end)
        most = min(max_records, room)
    else:
        most = max_records
    if most <= 0:
        return []
    share.archive_compacted(offset, first)
    floor = share.batches.floor(first)
    low = floor.first if floor is not None and floor.last >= first else first
    taking = _Taking(share, now, member, read, batch_size, first, last, most, exactly)
    if low > last:
        raise AcquisitionError
    over = share.batches.starting(low, last)
    behind = low
    if share.version.share_start_never_goes_back and share.gap_open:
        behind = max(low, share.start)
    for batch in over:
        if taking.full:
            break
        if share.gap_open and behind < batch.first:
            taking.new(behind, batch.first - 1)
        behind = batch.last + 1
        if taking.full:
            break
        taking.known(batch)
    if not over:
        taking.new(behind, last)
    elif not taking.full and over[-1].last < last:
        taking.new(over[-1].last + 1, last)
    if taking.pieces:
        share.gap_read_through(taking.pieces[-1].last)
    return taking.answer()


def without_aborted(
    share: SharePartition, acquired: Sequence[tuple[int, int, int]], aborted: Read
) -> list[tuple[int, int, int]]:
    """What was acquired (as `acquire` gives it) without the records of aborted transactions, which are archived:
    ``aborted`` are their batches among those that were read, in order.

    The persister is not asked to keep that: a later leader reads them again. In Kafka
    `SharePartition.maybeFilterAbortedTransactionalAcquiredRecords`.
    """
    for first, last in aborted:
        floor = share.batches.floor(first)
        if floor is None:
            raise AcquisitionError
        share.archive(share.batches.starting(floor.first, last), first, last + 1, State.ACQUIRED)
    left: list[tuple[int, int, int]] = []
    at = 0
    for begin, end, deliveries in acquired:
        first = begin
        while at < len(aborted) and aborted[at][1] < first:
            at += 1
        over = at
        while over < len(aborted) and aborted[over][0] <= end:
            if first < aborted[over][0]:
                left.append((first, aborted[over][0] - 1, deliveries))
            first = aborted[over][1] + 1
            over += 1
        if first <= end:
            left.append((first, end, deliveries))
    return left


@dataclass(slots=True)
class _Taking:
    """One fetch of ``most`` records."""

    share: SharePartition
    now: int
    member: str
    read: Read
    batch_size: int
    first: int
    last: int
    most: int
    exactly: bool
    pieces: list[Piece] = field(default_factory=list)
    taken: int = 0
    ended: bool = False

    @property
    def full(self) -> bool:
        return self.ended or self.taken >= self.most

    def known(self, batch: Batch) -> None:
        """A batch that is free as a whole and was read as a whole, else each free offset of it that was read."""
        share = self.share
        if not batch.split and not batch.entries[0].free:
            return
        free = [piece for piece in batch.pieces(self.first, self.last) if piece.entry.free]
        few = self._throttled(batch, free)
        if few is not None and self.pieces:
            self.ended = True
            return
        if not batch.split and (few is not None or not batch.within(self.first, self.last) or self._exceeds(batch)):
            share.split(batch)
            free = list(batch.pieces(self.first, self.last))
        if few is not None:
            free = free[:few]
        last_try = share.limits.delivery_count - 1 if share.version.share_throttles else 0
        for piece in free:
            if self.exactly and self.full:
                break
            alone = last_try > 1 and piece.entry.deliveries >= last_try
            if alone and self.pieces:
                self.ended = True
                return
            piece.entry.state, piece.entry.owner = State.ACQUIRED, self.member
            piece.entry.deliveries += 1
            self._took(piece)
            if alone:
                self.ended = True
                return
        self.ended = self.ended or few is not None

    def _exceeds(self, batch: Batch) -> bool:
        return self.exactly and batch.last - batch.first + 1 > self.most - self.taken

    def _throttled(self, batch: Batch, free: Sequence[Piece]) -> int | None:
        """How many records of the batch a fetch gets because they were given back often; None for no such limit."""
        share = self.share
        if not share.version.share_throttles:
            return None
        threshold = max(2, -(-share.limits.delivery_count // 2))
        if all(piece.entry.deliveries < threshold for piece in free):
            return None
        return max(1, (batch.last - batch.first + 1) >> max(0, free[0].entry.deliveries - threshold + 1))

    def new(self, first: int, last: int) -> None:
        """Records that nobody has had yet, up to the end of a batch of the log where there is room."""
        share = self.share
        if not share.batches:
            first = max(first, share.end)
        to, most = last, self.most - self.taken
        if most < last - first + 1:
            wanted = first + most - 1
            at = bisect_right(self.read, wanted, key=_begin)
            to = max(wanted, self.read[at - 1][1] if at else last)
            if share.gap_open or share.version.share_limit_is_strict:
                to = min(to, last)
            if self.exactly and to > wanted:
                self._new_in_part(first, wanted, to)
                return
        begins = [first]
        if to - first + 1 > self.batch_size and not self.exactly:
            for begin, _ in self.read:
                if begin <= to and begin - begins[-1] >= self.batch_size:
                    begins.append(begin)
        for begin, end in zip(begins, [*(begin - 1 for begin in begins[1:]), to], strict=True):
            entry = Entry(State.ACQUIRED, 1, self.member)
            share.batches.add(Batch(begin, end, [entry]))
            self._took(Piece(begin, end, entry))
        self._extended(first, to)

    def _new_in_part(self, first: int, wanted: int, last: int) -> None:
        """New records of which the member gets a part: the others are available, nobody has had them."""
        batch = Batch(first, last, [Entry(State.AVAILABLE, 0)])
        self.share.split(batch)
        self.share.batches.add(batch)
        self.share.seek = True
        for piece in batch.pieces(first, wanted):
            piece.entry.state, piece.entry.owner, piece.entry.deliveries = State.ACQUIRED, self.member, 1
            self._took(piece)
        self._extended(first, last)

    def _extended(self, first: int, last: int) -> None:
        share = self.share
        if share.batches.all[0].first == first:
            share.start = first
        share.end = max(share.end, last)
        share.gap_read_through(last)

    def _took(self, piece: Piece) -> None:
        self.share.lock(self.now, self.member, piece)
        self.pieces.append(piece)
        self.taken += piece.size

    def answer(self) -> list[tuple[int, int, int]]:
        """What was taken; offsets of one batch that have the same count are one range since 4.2."""
        answer: list[tuple[int, int, int]] = []
        joins = self.share.version.share_answers_are_joined
        batch = None
        for first, last, entry in self.pieces:
            before, batch = batch, self.share.batches.floor(first)
            joined = joins and answer and batch is before and answer[-1][1:] == (first - 1, entry.deliveries)
            if joined:
                answer[-1] = (answer[-1][0], last, entry.deliveries)
            else:
                answer.append((first, last, entry.deliveries))
        return answer
