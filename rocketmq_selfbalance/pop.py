"""POP: the broker gives out single messages, each invisible to others for a time, and no queue has an owner.

Of one topic for one group at one broker: ``PopMessageProcessor``, ``AckMessageProcessor``,
``ChangeInvisibleTimeProcessor`` and ``PopReviveService``. A record that nobody has acked within its invisible time is
copied, a little later, to the group's retry topic and given out from there, to whoever asks first. The committed offset
of a queue runs ahead of the acks: it says what was given out.

In order (``ConsumerOrderInfoManager``) there are neither check points nor a retry topic: a queue is blocked while
records of its last batch are invisible; once the oldest that nobody has acked is visible again, the batch is given out
again from there on.

The times at the end are what RocketMQ's proxy 5.3.3 makes of the requests of clients of the 5.x line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.node_state import NodeState
from rocketmq_selfbalance.versions import DEFAULT, Version

ILLEGAL, IGNORED = -1, -2
"""Answers to an ack: of an offset that was not given out; of a batch that is not the last one."""

Key = tuple[str, str, int]
"""Topic, group and queue number."""


@dataclass(slots=True)
class OrderedBatch:
    """``OrderInfo``: what was given out of one queue last."""

    pop_time: Time
    invisible: Time
    """0 where the first who asks afterwards is to say it."""
    offsets: tuple[int, ...]
    attempt_id: str | None
    tries: dict[int, int]
    """Offset to how often it was given out before; new ones are left out."""
    acked: set[int] = field(default_factory=set)
    visible_at: dict[int, Time] = field(default_factory=dict)
    """Offset to when it is visible again, where that was changed."""

    def first_left(self) -> int | None:
        return next((offset for offset in self.offsets if offset not in self.acked), None)

    def is_blocked(self, now: Time) -> bool:
        """Whether any record that is left is invisible."""
        usual = self.pop_time + self.invisible
        return any(now < self.visible_at.get(offset, usual) for offset in self.offsets if offset not in self.acked)


class OrderedQueues:
    """The queues of groups that are served in order."""

    def __init__(self) -> None:
        self.batches: Final[dict[Key, OrderedBatch]] = {}

    def is_blocked(self, now: Time, key: Key, attempt_id: str | None, invisible: Time) -> bool:
        """Whether nothing of the queue may be given out; a request that is repeated gets its batch again."""
        batch = self.batches.get(key)
        if batch is None or (attempt_id is not None and attempt_id == batch.attempt_id):
            return False
        batch.invisible = batch.invisible or invisible
        return batch.is_blocked(now)

    def give_out(
        self, now: Time, key: Key, offsets: Sequence[int], invisible: Time, attempt_id: str | None = None
    ) -> Mapping[int, int]:
        """These were given out. How often each that is not new was before."""
        before = self.batches.get(key)
        tries: dict[int, int] = {}
        if before is not None:
            if attempt_id is not None and attempt_id == before.attempt_id:
                tries = dict(before.tries)
            else:
                tries = {offset: before.tries.get(offset, 0) + 1 for offset in offsets if offset in before.offsets}
        self.batches[key] = OrderedBatch(now, invisible, tuple(offsets), attempt_id, tries)
        return tries

    def ack(self, key: Key, offset: int, pop_time: Time) -> int:
        """The record is done: the offset to commit, `ILLEGAL` or `IGNORED`."""
        batch = self.batches.get(key)
        if batch is None:
            return offset + 1
        if batch.pop_time != pop_time:
            return IGNORED
        if offset not in batch.offsets:
            return ILLEGAL
        batch.acked.add(offset)
        left = batch.first_left()
        return batch.offsets[-1] + 1 if left is None else left

    def change(self, key: Key, offset: int, pop_time: Time, visible_at: Time) -> None:
        """The record is visible again at another time; nothing happens with a batch that is not the last one."""
        batch = self.batches.get(key)
        if batch is not None and batch.pop_time == pop_time:
            batch.visible_at[offset] = visible_at

    def clear(self, key: Key) -> None:
        self.batches.pop(key, None)


class WakeAt(NamedTuple):
    """A command to the member: something may be due then."""

    time: Time


class PopMember(NodeState):
    """The process of a client of the 5.x line. Whoever calls it does what is to be done when it wakes; it lives, hangs
    and is killed."""

    __slots__ = ()

    def start(self, now: Time, out: Outbox) -> None:
        """The process starts."""

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if isinstance(message, WakeAt):
            out.set_timer("wake", max(now, message.time))

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """The time has come."""

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """It connects to nobody."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """It connects to nobody."""


class PopRecord(NamedTuple):
    """A record: the queue and offset that it had at first, and how often it has come back."""

    number: int
    offset: int
    times: int = 0


@dataclass(eq=False, slots=True)
class CheckPoint:
    """``PopCheckPoint``: the records that one pop took from one queue, invisible until ``visible_at``."""

    pop_time: Time
    invisible: Time
    of_retry_topic: bool
    number: int
    """The queue that they were taken from; 0 of the retry topic."""
    records: tuple[PopRecord, ...]
    acked: set[int] = field(default_factory=set)
    """Positions in ``records`` that will not come back."""
    over: bool = False
    """Whether what was not acked has come back: nothing can be acked any more."""

    @property
    def visible_at(self) -> Time:
        """The revive time: pop time and invisible time."""
        return self.pop_time + self.invisible

    @property
    def left(self) -> tuple[PopRecord, ...]:
        return tuple(record for position, record in enumerate(self.records) if position not in self.acked)


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


RETRY_FIRST_BELOW: Final = 20
"""``popFromRetryProbability``: of 100 pops so many look into the retry topic first."""
REVIVE_EARLIEST_MS: Final = 2_100.0
"""So long after the invisible time nothing has come back yet."""
REVIVE_PERIOD_MS: Final = 1_000.0
"""``reviveInterval``: how often what is over is looked for."""


def in_turn(numbers: Sequence[int], random: int, release: Version) -> Sequence[int]:
    """The queues of a broker in the order in which a pop over all of them looks; ``random``: from 0 to 99 (spec
    rocketmq 15)."""
    start = random % len(numbers)
    rising = (*numbers[start:], *numbers[:start])
    return rising[::-1] if release.pop_goes_down else rising


class PopTopic:
    """The records of one topic that were given out to one group, and those that have come back."""

    def __init__(self, release: Version = DEFAULT) -> None:
        self.release = release
        self.committed: dict[int, int] = {}
        """Queue number to the offset of the next record that is given out; queues never asked for are left out."""
        self.retried: list[PopRecord] = []
        """The retry topic ``%RETRY%group_topic``: every record that ever came back, in order."""
        self.retry_offset = 0
        """The position in ``retried`` that is given out next."""
        self.check_points: list[CheckPoint] = []
        """Those whose records may come back, in the order of their pops."""

    def pop(
        self, now: Time, ends: Mapping[int, int], numbers: Sequence[int], most: int, invisible: Time, random: int
    ) -> list[Handle]:
        """Give out up to ``most`` records of these queues and of the retry topic.

        ``ends``: queue number to the offset of the next record that will be written; ``random``, from 0 to 99, says
        where to begin: below 20 in the retry topic, and with which queue.
        """
        handles: list[Handle] = []
        retry_first = random < RETRY_FIRST_BELOW
        if retry_first:
            handles += self._from_retry_topic(now, most, invisible)
        for number in in_turn(numbers, random, self.release):
            handles += self._from_queue(now, number, ends[number], most - len(handles), invisible)
        if not retry_first:
            handles += self._from_retry_topic(now, most - len(handles), invisible)
        return handles

    def _from_queue(self, now: Time, number: int, end: int, most: int, invisible: Time) -> list[Handle]:
        first = self.committed.setdefault(number, 0)
        last = min(end, first + max(0, most))
        if last <= first:
            return []
        self.committed[number] = last
        records = tuple(PopRecord(number, offset) for offset in range(first, last))
        return self._given(CheckPoint(now, invisible, False, number, records))

    def _from_retry_topic(self, now: Time, most: int, invisible: Time) -> list[Handle]:
        records = tuple(self.retried[self.retry_offset : self.retry_offset + max(0, most)])
        if not records:
            return []
        self.retry_offset += len(records)
        return self._given(CheckPoint(now, invisible, True, 0, records))

    def _given(self, check_point: CheckPoint) -> list[Handle]:
        self.check_points.append(check_point)
        return [Handle(check_point, position) for position in range(len(check_point.records))]

    def ack(self, handle: Handle) -> None:
        """The record does not come back, unless it has already: nobody checks who acks, or when."""
        handle.check_point.acked.add(handle.position)

    def change(self, now: Time, handle: Handle, invisible: Time) -> Handle:
        """The record is invisible from now on for so long. The old handle is of no use any more."""
        changed = CheckPoint(
            now, invisible, handle.check_point.of_retry_topic, handle.check_point.number, (handle.record,)
        )
        self.check_points.append(changed)
        self.ack(handle)
        return Handle(changed, 0)

    # Coming back.

    def revive(self, now: Time) -> None:
        """Copy to the retry topic what is due until now. Called at least once before anything is given out."""
        due = [point for point in self.check_points if revive_time(point.visible_at) <= now]
        for each in sorted(due, key=lambda each: revive_time(each.visible_at)):
            self.copy(each)

    def copy(self, check_point: CheckPoint) -> None:
        """What nobody has acked comes back once more often than before."""
        check_point.over = True
        self.check_points.remove(check_point)
        self.retried += [each._replace(times=each.times + 1) for each in check_point.left]


def revive_time(visible_at: Time) -> Time:
    """When a check point is handled that is due then: at the next look of the revive service that is more than 2 s
    later. Real brokers take from 2.1 to 5.1 s."""
    return (visible_at + REVIVE_EARLIEST_MS) // -REVIVE_PERIOD_MS * -REVIVE_PERIOD_MS


LEAST_INVISIBLE_MS: Final[Time] = 10_000.0
"""``minInvisibleTimeMillsForRecv``: of what is received; of a change nothing is too short."""
MOST_INVISIBLE_MS: Final[Time] = 12 * 3_600_000.0
"""``maxInvisibleTimeMills``."""
DEFAULT_INVISIBLE_MS: Final[Time] = 60_000.0
"""``defaultInvisibleTimeMills``: what a push consumer receives is invisible for so long, and nobody prolongs it."""
LEAST_POLLING_MS: Final[Time] = 5_000.0
"""``grpcClientConsumerMinLongPollingTimeoutMillis``."""
MOST_POLLING_MS: Final[Time] = 20_000.0
"""``grpcClientConsumerMaxLongPollingTimeoutMillis``; a push consumer waits so long."""
MOST_AT_ONCE: Final = 32
"""``grpcClientConsumerLongPollingBatchSize``: a request for more gets so many at most."""
RETRY_MAX_TIMES: Final = 16
"""``retryMaxTimes`` of a group: so often a record comes again, then it goes to the dead letters."""
RETRY_DELAYS_S: Final = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""``CustomizedRetryPolicy``: for how long a push consumer makes a record invisible that it could not handle, by the
number of the attempt."""


def polling_time(wanted: Time) -> Time:
    """For how long a request for records waits that wants to wait for so long."""
    return min(max(wanted, LEAST_POLLING_MS), MOST_POLLING_MS)


def retry_delay(attempt: int) -> Time:
    """For how long a record is invisible whose handling failed in this attempt, counted from 1; in milliseconds."""
    return RETRY_DELAYS_S[min(attempt, len(RETRY_DELAYS_S)) - 1] * 1000.0
