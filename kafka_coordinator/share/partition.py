"""A share-partition at the leader of its partition: who has acquired which record, until when (spec share 4).

A fetch acquires records for a member, with a lock of limited time; an acknowledgement says what became of them. Only
what the persister has written is final, so a change is made at once and taken back should its write fail. The start
offset moves over final records, and nothing else ends a record's life but the limit of its deliveries.

In Kafka `kafka.server.share.SharePartition`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from typing import Final, NamedTuple

from kafka_coordinator.share.persister import NO_OFFSET, Kept, Write
from kafka_coordinator.share.records import Batch, Batches, Entry, Known, Lock, Persisted, Piece, State
from kafka_coordinator.versions import DEFAULT, Version
from protocols.node_state import Apart, NodeState

REJECTED: Final = "client_reject"
EXHAUSTED: Final = "delivery_count_exceeded"


class Phase(StrEnum):
    """Whether the share-partition can be used."""

    EMPTY = "EMPTY"
    INITIALIZING = "INITIALIZING"
    ACTIVE = "ACTIVE"
    FAILED = "FAILED"
    FENCED = "FENCED"


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings of the group, read at each use: records in flight, deliveries of a record, duration of a lock (ms)."""

    max_record_locks: int = 2_000
    delivery_count: int = 5
    lock_duration_ms: int = 30_000
    renewals: bool = True
    dead_letters: bool = False
    only_committed: bool = False


class DeadLetter(NamedTuple):
    """Records for the group's dead letter topic, and why: `REJECTED` or `EXHAUSTED`."""

    piece: Piece
    cause: str


@dataclass(slots=True)
class Change(NodeState):
    """States that changed together. ``write`` is what the persister is asked, None where nothing is to be written;
    ``error``, once ``done``, is what the caller is answered (empty: none)."""

    entries: list[Entry] = field(default_factory=list)
    states: list[Persisted] = field(default_factory=list)
    write: Write | None = None
    undone_on_failure: bool = True
    of_lock: bool = False
    """Whether a lock ran out, of which waiting fetches are told at once."""
    dead: list[DeadLetter] = field(default_factory=list)
    """What goes to the dead letter topic once the change is written; `SharePartition.dead_lettered` ends it."""
    done: bool = False
    error: str = ""


@dataclass(slots=True)
class ReadGap(NodeState):
    """Gaps between persisted states after a load: the window's end, and where the next gap may begin."""

    end: int
    next: int


@dataclass(slots=True)
class SharePartition(NodeState):
    """The state of one share-partition. Times are ms; offsets are absolute; ``end`` is the last acquired offset."""

    limits: Limits = field(default_factory=Limits)
    version: Version = DEFAULT
    leader_epoch: int = 0
    state_epoch: int = 0
    phase: Phase = Phase.EMPTY
    start: int = 0
    end: int = 0
    seek: bool = False
    """Whether something below the end may have become available (Kafka's findNextFetchOffset)."""
    gap: ReadGap | None = None
    batches: Batches = field(default_factory=Batches)
    locks: list[Lock] = field(default_factory=list)
    """A heap of locks that were set; one that nothing refers to any more has been given up."""
    locks_set: int = 0
    woken: Apart[int] = 0  # how often fetches that wait were told to try again

    def loaded(self, kept: Kept, reset_offset: int) -> Change:
        """Take over what the persister kept. ``reset_offset``: where the reset policy begins if it kept no start.

        The change has what was on its way to the dead letter topic and goes there again (spec share 9).
        """
        self.start = reset_offset if kept.start_offset == NO_OFFSET else kept.start_offset
        self.state_epoch = kept.state_epoch
        behind, gap = self.start, None
        for first, last, state, deliveries in kept.batches:
            if gap is None and first > behind:
                gap = behind
            behind = last + 1
            self.batches.add(Batch(first, last, [Entry(state, deliveries)]))
        self.end = self.start
        if self.batches:
            self.seek = True
            self.end = self.batches.last_offset
            self.gap = None if gap is None else ReadGap(self.end, gap)
            self._move_start()
        self.phase = Phase.ACTIVE
        change = Change(done=True)
        change.dead += [
            DeadLetter(piece, EXHAUSTED if piece.entry.deliveries >= self.limits.delivery_count else REJECTED)
            for batch in self.batches
            for piece in batch.pieces()
            if piece.entry.state is State.ARCHIVING
        ]
        return change

    # Where to fetch, and whether

    def next_fetch_offset(self) -> int:
        """The offset at which the next fetch reads the log (spec share 4.3)."""
        if not self.batches or self.start > self.batches.last_offset:
            self.seek = False
            return self.end
        if self.seek:
            behind = self.gap.next if self.gap_open and self.gap else None
            for batch in self.batches:
                if behind is not None:
                    if batch.first > behind:
                        return behind
                    behind = max(behind, batch.last + 1) if self.version.share_gaps_end else batch.last + 1
                for first, _, entry in batch.pieces():
                    if entry.free or (entry.state is State.AVAILABLE and not self.version.share_seeks_after_writes):
                        return first
            self.seek = False
        return self.end + 1

    def may_acquire(self) -> bool:
        return self.to_fetch() is not None

    def to_fetch(self) -> int | None:
        """Where a fetch reads the log, if it makes sense: something is available again, or there is room for more."""
        offset = self.next_fetch_offset()
        return offset if offset != self.end + 1 or self.in_flight < self.limits.max_record_locks else None

    @property
    def in_flight(self) -> int:
        return self.end - self.start + 1 if self.batches else 0

    @property
    def gap_open(self) -> bool:
        return self.gap is not None and self.gap.end == self.end

    def gap_read_through(self, last: int) -> None:
        if self.gap is not None:
            ended = last >= self.gap.end and self.version.share_gaps_end
            if self.gap_open and not ended:
                self.gap.next = last + 1
            else:
                self.gap = None

    # Ends of an acquisition

    def given_back(self, piece: Piece) -> State:
        """What becomes of acquired records that nobody has acknowledged."""
        return State.ARCHIVED if piece.last < self.start else State.AVAILABLE

    def turn(self, change: Change, piece: Piece, state: State, dead: str = "", delivery_counts: bool = True) -> None:
        """Change the state of acquired records until the write says whether it stays."""
        entry = piece.entry
        entry.before = Known(entry.state, entry.deliveries, entry.owner)
        change.entries.append(entry)
        self._end_acquired(change, piece, state, dead, delivery_counts)

    def _end_acquired(
        self, change: Change, piece: Piece, state: State, dead: str = "", delivery_counts: bool = True
    ) -> None:
        """``dead``: why the records go to the dead letter topic; they do so at the limit of deliveries, too."""
        entry = piece.entry
        if state is State.AVAILABLE:
            if not delivery_counts:
                entry.deliveries -= 1
            elif entry.deliveries >= self.limits.delivery_count:
                state = State.ARCHIVED
                dead = EXHAUSTED if self.limits.dead_letters and self.version.share_buries else ""
        if dead:
            state = State.ARCHIVING
            change.dead.append(DeadLetter(piece, dead))
        entry.state, entry.owner = state, None
        if state is State.AVAILABLE and (entry.before is None or not self.version.share_seeks_after_writes):
            self.seek = True
        change.states.append(Persisted(piece.first, piece.last, entry.state, entry.deliveries))

    def dead_lettered(self, letter: DeadLetter) -> Change:
        """The dead letter topic has the records, or failed to take them: either way they are archived now."""
        change = Change(undone_on_failure=False)
        self.turn(change, letter.piece, State.ARCHIVED)
        return self.begin_write(change)

    # Locks

    def lock(self, now: int, member: str, piece: Piece) -> None:
        """Lock acquired records for the member from now on."""
        self._lock_until(now + self.limits.lock_duration_ms, member, piece)

    def _lock_until(self, due: int, member: str, piece: Piece) -> None:
        piece.entry.lock = Lock(due, self.locks_set, piece.first, piece.last, member)
        self.locks_set += 1
        heappush(self.locks, piece.entry.lock)

    def next_lock(self) -> Lock | None:
        """The lock that ends next."""
        while self.locks:
            lock = self.locks[0]
            batch = self.batches.floor(lock.first)
            if batch is not None and batch.last >= lock.first and batch.entry_at(lock.first).lock == lock:
                return lock
            heappop(self.locks)
        return None

    def lock_ended(self, lock: Lock) -> Change | None:
        """The lock has run out: its records are available again, whatever becomes of the write (spec share 4.6)."""
        heappop(self.locks)
        change = Change(undone_on_failure=False, of_lock=True)
        floor = self.batches.floor(lock.first)
        for batch in self.batches.starting(floor.first, lock.last) if floor else ():
            self.split_at_start(batch)
            for piece in batch.pieces(lock.first, lock.last):
                entry = piece.entry
                if entry.state is State.ACQUIRED:
                    self._end_acquired(change, piece, self.given_back(piece))
                    entry.lock = None
        if not change.states:
            return None
        self.begin_write(change)
        self.woken += 1
        return change

    # Writes

    def begin_write(self, change: Change) -> Change:
        """Ask the persister to keep what has changed."""
        if change.states:
            change.write = Write(
                self.state_epoch, self.start, self.leader_epoch, self.complete_count, tuple(change.states)
            )
        else:
            change.done = True
        return change

    def refuse(self, change: Change, error: str) -> Change:
        """Take everything back."""
        for entry in change.entries:
            if entry.before is not None:
                entry.state, entry.deliveries, entry.owner = entry.before
                entry.before = None
        change.done, change.error = True, error
        return change

    def written(self, change: Change, error: str = "") -> None:
        """The persister has answered: the change is final, or taken back with this error."""
        if error and change.undone_on_failure:
            self.refuse(change, error)
            return
        for entry in change.entries:
            entry.before = entry.lock = None
            if entry.state is State.AVAILABLE:
                self.seek = True
        change.done = True
        moved = self._move_start()
        if moved and not change.of_lock:
            self.woken += 1

    @property
    def complete_count(self) -> int:
        """Records from the start offset on whose state is final, or will be once it is written (KIP-1226)."""
        return sum(
            last - max(first, self.start) + 1
            for batch in self.batches
            for first, last, entry in batch.pieces()
            if entry.state.final and last >= self.start
        )

    # Start offset

    def _move_start(self) -> bool:
        """Move the start offset over final records from the first batch on (spec share 4.7)."""
        before = self.batches.floor(self.start)
        # After the log start moved, the start offset may lie in a hole behind a batch, whose state then decides.
        if before is None or (before.split and before.last < self.start):
            return False
        entry = before.entry_at(self.start)
        if not entry.state.final or entry.before is not None:
            return False
        last = self._last_final()
        if last is None:
            return False
        if last == self.batches.last_offset:
            self.start = self.end = last + 1
            self.batches.all.clear()
            return True
        batch = self.batches.floor(last)
        assert batch is not None
        index = self.batches.all.index(batch)
        start = last + 1
        if last == batch.last:
            start = self.batches.all[index + 1].first
            if self.gap_open and self.gap:
                start = min(start, self.gap.next)
        self.start = max(start, self.start) if self.version.share_start_never_goes_back else start
        if last == batch.last:
            self.batches.drop_through(batch)
        elif index:
            self.batches.drop_through(self.batches.all[index - 1])
        return True

    def _last_final(self) -> int | None:
        last = None
        for batch in self.batches:
            if self.gap_open and self.gap and batch.last >= self.gap.next:
                return last
            for piece in batch.pieces():
                if not piece.entry.state.final or piece.entry.before is not None:
                    return last
                last = piece.last
        return last

    def log_starts_at(self, offset: int) -> None:
        """The log has lost what lies before the offset (spec share 4.7)."""
        if offset <= self.start:
            return
        if not self.batches:
            self.start = self.end = offset
            return
        self.archive(self.batches, self.start, offset)
        self.start = offset
        self.end = max(self.end, offset)

    def archive_compacted(self, offset: int, read_from: int) -> None:
        """Records between the offset of the fetch and the first batch read are no longer in the log."""
        if not self.batches or offset >= read_from:
            return
        floor = self.batches.floor(offset)
        low = floor.first if floor is not None and floor.last >= offset else offset
        self.archive(self.batches.starting(low, read_from - 1), offset, read_from)

    def archive(self, batches: Iterable[Batch], first: int, end: int, of: State = State.AVAILABLE) -> None:
        """Archive records of state ``of`` before ``end``. Before 4.2 only the first batch of each kind, split or whole,
        that has one is archived (spec share 7, surprise 12)."""
        done: set[bool] = set()
        for batch in batches:
            if batch.first >= end:
                break
            if not batch.split and batch.entries[0].state is not of:
                continue
            if not batch.split and not batch.within(first, end - 1):
                self.split(batch)
            if batch.split in done and not self.version.share_archives_all:
                continue
            for piece in batch.pieces(first, end - 1):
                if piece.entry.state is of:
                    piece.entry.state, piece.entry.owner = State.ARCHIVED, None
                    if self.version.share_archives_all:
                        piece.entry.lock = None
                    done.add(batch.split)
        if done and of is State.AVAILABLE:
            self.seek = True

    # Splitting

    def start_within(self, batch: Batch) -> bool:
        """Whether the start offset lies behind the batch's first."""
        return batch.first < self.start <= batch.last

    def split_at_start(self, batch: Batch, member: str | None = None) -> None:
        """Split an acquired batch that lies across the start offset (of the member, if one is given)."""
        if batch.split or not self.start_within(batch):
            return
        entry = batch.entries[0]
        if entry.state is State.ACQUIRED and member in (None, entry.owner):
            self.split(batch)

    def split(self, batch: Batch) -> None:
        """From now on each offset has a state of its own, and a lock that ends when the batch's would have."""
        whole = batch.entries[0]
        batch.split = True
        batch.entries = [whole.twin() for _ in range(batch.first, batch.last + 1)]
        if whole.lock is not None:
            for piece in batch.pieces():
                self._lock_until(whole.lock.due, whole.lock.member, piece)
