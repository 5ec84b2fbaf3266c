"""How records that nobody has acked come back: the revive queues of a broker (``PopReviveService``, spec pop 5.4).

A pop leaves a check point, an ack leaves a mark, both as messages of a revive queue that are delivered late: a check
point 1 s before its records become visible, a mark when they do. One thread a queue reads what is there, matches marks
with check points, and copies what is left once a check point lies more than 2 s behind the newest message. Where no
newer message comes, its clock takes their place. So a record comes back 2.1 s after its invisible time at the earliest,
and about 5 s at the latest; which it is depends on where the thread is in its rounds.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, NamedTuple

from protocols.engine.nodes import Time
from protocols.node_state import NodeState

INTERVAL_MS: Final = 1_000.0
"""``reviveInterval``: rest between two rounds."""
MOST_SLOW: Final = 3
"""``reviveMaxSlow``: a queue without check points rests up to so many intervals longer."""
CHECK_POINT_EARLY_MS: Final = 1_000.0
"""``ackTimeInterval``: so long before its records become visible a check point is delivered."""
_BEHIND_MS: Final = 2_000.0
_CLOCK_AFTER_MS: Final = 3_000.0
_EMPTY_READ_MS: Final = 100.0
_LONGEST_EMPTY_MS: Final = 4_000.0
_LONGEST_SCAN_MS: Final = 10_000.0
_AT_ONCE: Final = 32


class PopRecord(NamedTuple):
    """A record: the queue and offset that it had at first, and how often it has come back."""

    number: int
    offset: int
    times: int = 0


class CheckPoint(NamedTuple):
    """``PopCheckPoint``: the records that one pop took from one queue, invisible until `visible_at`."""

    pop_time: Time
    invisible: Time
    of_retry_topic: bool
    number: int
    """The queue that they were taken from; 0 of the retry topic."""
    start: int
    """The offset there of the first."""
    records: tuple[PopRecord, ...]
    revive_queue: int = 0

    @property
    def visible_at(self) -> Time:
        """The revive time: pop time and invisible time."""
        return self.pop_time + self.invisible

    @property
    def key(self) -> tuple[bool, int, int, Time]:
        """What an ack names. Two check points of one key, as a change in the millisecond of its pop makes them, are one
        to the broker, which loses the records of the first."""
        return self.of_retry_topic, self.number, self.start, self.pop_time


class Handle(NamedTuple):
    """``ReceiptHandle``: what an ack names. ``position`` of the record in the check point."""

    check_point: CheckPoint
    position: int

    @property
    def record(self) -> PopRecord:
        return self.check_point.records[self.position]

    @property
    def visible_at(self) -> Time:
        """From then on the handle is expired."""
        return self.check_point.visible_at


@dataclass(slots=True)
class Found(NodeState):
    """A check point that a thread has read: its place in the revive queue, and positions that were acked."""

    check_point: CheckPoint
    place: int
    acked: set[int] = field(default_factory=set)

    @property
    def left(self) -> list[PopRecord]:
        return [record for position, record in enumerate(self.check_point.records) if position not in self.acked]


@dataclass(slots=True)
class Round(NodeState):
    """What a thread has read since it began to look."""

    began: Time
    position: int
    found: dict[tuple[bool, int, int, Time], Found] = field(default_factory=dict)
    newest: Time | None = None
    first_visible_at: Time | None = None
    empty_reads: int = 0


@dataclass(slots=True)
class ReviveQueue(NodeState):
    """One revive queue and its thread, which is started at time 0."""

    wakes_at: Time = INTERVAL_MS
    delayed: list[tuple[Time, int, CheckPoint | Handle]] = field(default_factory=list)
    """A heap by the time of delivery: check points, and handles for marks of acks."""
    sent: int = 0
    delivered: list[tuple[Time, CheckPoint | Handle]] = field(default_factory=list)
    dropped: int = 0
    """Messages of the queue's beginning that are no longer needed."""
    slow: int = 1
    round: Round | None = None

    def send(self, due: Time, message: CheckPoint | Handle) -> None:
        """Store a message that is delivered at ``due``, or at once where that is over."""
        heappush(self.delayed, (due, self.sent, message))
        self.sent += 1

    def deliver(self, now: Time) -> None:
        while self.delayed and self.delayed[0][0] <= now:
            due, _, message = heappop(self.delayed)
            self.delivered.append((due, message))

    def wake(self, now: Time) -> list[PopRecord]:
        """The thread goes on at its time `wakes_at`: what it copies to the retry topic now, each once more tried."""
        self.deliver(now)
        if self.round is None:
            self.round = Round(now, self.dropped)
        if not self._read_all(now, self.round):
            self.wakes_at = now + _EMPTY_READ_MS
            return []
        copied = self._merge(self.round)
        rest = 0.0
        if self.round.found:
            self.slow = 1
        else:
            rest = self.slow * INTERVAL_MS
            self.slow = min(self.slow + 1, MOST_SLOW)
        self.round = None
        self.wakes_at = now + rest + INTERVAL_MS
        return copied

    def _read_all(self, now: Time, round: Round) -> bool:
        """Read what is there; whether the round's reading has ended, or else the thread sleeps and looks again."""
        if round.empty_reads * _EMPTY_READ_MS > _LONGEST_EMPTY_MS:
            return True
        while True:
            begin = round.position - self.dropped
            messages = self.delivered[begin : begin + _AT_ONCE]
            if not messages:
                if round.newest is not None:
                    if now - round.newest > _CLOCK_AFTER_MS:
                        round.newest = now
                    if round.first_visible_at is None or round.newest - round.first_visible_at > _BEHIND_MS:
                        return True
                round.empty_reads += 1
                return False
            round.empty_reads = 0
            if now - round.began > _LONGEST_SCAN_MS:
                return True
            for due, message in messages:
                if self._read(round, message):
                    round.newest = due if round.newest is None else max(round.newest, due)
                round.position += 1

    @staticmethod
    def _read(round: Round, message: CheckPoint | Handle) -> bool:
        """Whether its time counts: an ack whose check point is not among those read is passed over."""
        if isinstance(message, CheckPoint):
            round.found[message.key] = Found(message, round.position)
            if round.first_visible_at is None:
                round.first_visible_at = message.visible_at
            return True
        found = round.found.get(message.check_point.key)
        if found is None:
            return False
        if message.position < len(found.check_point.records):
            found.acked.add(message.position)
        return True

    def _merge(self, round: Round) -> list[PopRecord]:
        copied: list[PopRecord] = []
        for found in sorted(round.found.values(), key=lambda found: found.place):
            if round.newest is None or round.newest - found.check_point.visible_at <= _BEHIND_MS:
                break
            copied += [record._replace(times=record.times + 1) for record in found.left]
            del self.delivered[: found.place + 1 - self.dropped]
            self.dropped = found.place + 1
        return copied
