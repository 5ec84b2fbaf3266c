"""POP: the broker gives out single messages, each invisible to others for a time, and no queue has an owner.

Of one topic for one group at one broker: ``PopMessageProcessor``, ``AckMessageProcessor`` and
``ChangeInvisibleTimeProcessor`` (spec pop 5). A record that nobody has acked within its invisible time is copied, a
little later, to the group's retry topic and given out from there, to whoever asks first. The committed offset of a
queue runs ahead of the acks: it says what was given out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from protocols.engine.nodes import Time
from protocols.node_state import NodeState
from rocketmq_selfbalance.messages.popping import IN_ORDER
from rocketmq_selfbalance.pop.orderly import ILLEGAL, OrderedQueues
from rocketmq_selfbalance.pop.revive import CHECK_POINT_EARLY_MS, CheckPoint, Handle, PopRecord, ReviveQueue
from rocketmq_selfbalance.versions import DEFAULT, Version

RETRY_FIRST_BELOW: Final = 20
"""``popFromRetryProbability``: of 100 pops so many look into the retry topic first."""
REVIVE_QUEUES: Final = 8
"""``reviveQueueNum``."""


class PopRequest(Protocol):
    """Up to ``most`` records, which are then ``invisible`` for so many milliseconds."""

    @property
    def most(self) -> int: ...
    @property
    def invisible(self) -> Time: ...
    @property
    def in_order(self) -> bool: ...
    @property
    def attempt_id(self) -> str | None: ...


@dataclass(slots=True)
class PopTopic(NodeState):
    """The records of one topic that were given out to one group, and those that have come back."""

    revive_queues: list[ReviveQueue] = field(default_factory=lambda: [ReviveQueue() for _ in range(REVIVE_QUEUES)])
    version: Version = DEFAULT
    committed: dict[int, int] = field(default_factory=dict)
    """Queue number to the offset of the next record that is given out; queues never asked for are left out."""
    retried: list[PopRecord] = field(default_factory=list)
    """The retry topic ``%RETRY%group_topic``: every record that ever came back, in order."""
    retry_offset: int = 0
    """The position in ``retried`` that is given out next."""
    ordered: OrderedQueues = field(default_factory=OrderedQueues)
    pops: int = 0
    rest: int = 0
    """What the last pop left behind in the queues that it visited."""

    def begin(
        self, number: int, *, reset: int | None, known: int, least: int, end: int, from_start: bool = False
    ) -> None:
        """A queue is read on from the offset ``reset`` of an administrator, else from the ``known`` one (-1: none is).
        Without either it begins at its start, or, where that was ever cut, at its last record (spec pop 5.2).
        ``least``: its first offset that is left; ``end``: that of the next record."""
        if reset is not None:
            self.ordered.clear(number)
            known = reset
        elif known < 0:
            known = least if from_start or least <= 0 else end - 1
        self.committed[number] = max(known, least)

    def give_out(
        self, now: Time, ends: Mapping[int, int], numbers: Sequence[int], request: PopRequest, random: int
    ) -> list[Handle]:
        """The answer to a request, in order or not; see `pop`."""
        if request.in_order:
            return self.pop_in_order(now, ends, numbers, request.most, request.invisible, random, request.attempt_id)
        return self.pop(now, ends, numbers, request.most, request.invisible, random)

    def pop(
        self, now: Time, ends: Mapping[int, int], numbers: Sequence[int], most: int, invisible: Time, random: int
    ) -> list[Handle]:
        """Give out up to ``most`` records of these queues and of the retry topic.

        ``ends``: queue number to the offset of the next record that will be written; ``random``, from 0 to 99, says
        where to begin: below 20 in the retry topic, and with which queue.
        """
        queue = self.pops % len(self.revive_queues)
        self.pops += 1
        self.rest = 0
        handles: list[Handle] = []
        retry_first = random < RETRY_FIRST_BELOW
        if retry_first:
            handles += self._from_retry_topic(now, most, invisible, queue)
        committed = self.committed
        for number in self.visited(numbers, random):
            if committed.get(number) == ends[number]:
                continue  # nothing is there, in most of many queues
            handles += self._from_queue(now, number, ends[number], most - len(handles), invisible, queue)
        if not retry_first and len(handles) < most:
            handles += self._from_retry_topic(now, most - len(handles), invisible, queue)
        return handles

    def pop_in_order(
        self,
        now: Time,
        ends: Mapping[int, int],
        numbers: Sequence[int],
        most: int,
        invisible: Time,
        random: int,
        attempt_id: str | None = None,
    ) -> list[Handle]:
        """Give out up to ``most`` records of the queues that are not blocked (spec pop 5.6); else as `pop`. The same
        ``attempt_id`` as that of the last batch of a queue gets this batch again."""
        self.rest = 0
        handles: list[Handle] = []
        for number in self.visited(numbers, random):
            first = self.committed.setdefault(number, 0)
            last = self.fitting(number, first, min(ends[number], first + most - len(handles)))
            if last <= first or self.ordered.is_blocked(now, number, attempt_id, invisible):
                self.rest += ends[number] - first
                continue
            self.rest += ends[number] - last
            tries = self.ordered.give_out(now, number, range(first, last), invisible, attempt_id)
            records = tuple(PopRecord(number, offset, tries.get(offset, 0)) for offset in range(first, last))
            batch = CheckPoint(now, invisible, False, number, first, records, IN_ORDER)
            handles += [Handle(batch, position) for position in range(len(records))]
        return handles

    def visited(self, numbers: Sequence[int], random: int) -> list[int]:
        """The queues in the order in which a pop visits them (spec rocketmq 15)."""
        count = len(numbers)
        if self.version.pop_goes_down:
            return [numbers[(count - 1 - index + random) % count] for index in range(count)]
        return [numbers[(random + index) % count] for index in range(count)]

    def fitting(self, number: int | None, first: int, last: int) -> int:
        """The end of those records from ``first`` to before ``last`` of a queue (None: of the retry topic) that one
        answer holds. Records have no size here."""
        return last

    def _from_queue(
        self, now: Time, number: int, end: int, most: int, invisible: Time, revive_queue: int
    ) -> list[Handle]:
        first = self.committed.setdefault(number, 0)
        last = min(end, first + max(0, most))
        self.rest += end - last
        if last <= first:
            return []
        self.committed[number] = last
        records = tuple(PopRecord(number, offset) for offset in range(first, last))
        return self._given(CheckPoint(now, invisible, False, number, first, records, revive_queue))

    def _from_retry_topic(self, now: Time, most: int, invisible: Time, revive_queue: int) -> list[Handle]:
        first = self.retry_offset
        records = tuple(self.retried[first : self.fitting(None, first, min(len(self.retried), first + most))])
        self.rest += len(self.retried) - first - len(records)
        if not records:
            return []
        self.retry_offset += len(records)
        return self._given(CheckPoint(now, invisible, True, 0, first, records, revive_queue))

    def _given(self, check_point: CheckPoint) -> list[Handle]:
        queue = self.revive_queues[check_point.revive_queue]
        queue.send(check_point.visible_at - CHECK_POINT_EARLY_MS, check_point)
        return [Handle(check_point, position) for position in range(len(check_point.records))]

    def ack(self, handle: Handle) -> bool:
        """The record does not come back, unless it has already: nobody checks who acks, or when. False where a batch in
        order does not have the record."""
        if handle.check_point.revive_queue == IN_ORDER:
            number = handle.check_point.number
            offset = self.ordered.ack(number, handle.record.offset, handle.check_point.pop_time)
            self.committed[number] = max(self.committed.get(number, 0), offset)
            return offset != ILLEGAL
        self.revive_queues[handle.check_point.revive_queue].send(handle.visible_at, handle)
        return True

    def change(self, now: Time, handle: Handle, invisible: Time) -> Handle:
        """The record is invisible from now on for so long. The old handle is of no use any more."""
        old = handle.check_point
        if old.revive_queue == IN_ORDER:
            self.ordered.change(old.number, handle.record.offset, old.pop_time, now + invisible)
            return Handle(old._replace(invisible=now + invisible - old.pop_time), handle.position)
        start = old.start + handle.position
        changed = CheckPoint(now, invisible, old.of_retry_topic, old.number, start, (handle.record,), old.revive_queue)
        (new,) = self._given(changed)
        self.ack(handle)
        return new

    def next_revival(self) -> Time:
        """When a thread of the revive queues goes on."""
        return min(queue.wakes_at for queue in self.revive_queues)

    def revive_once(self) -> list[PopRecord]:
        """The thread that is due first goes on; what it has copied to the retry topic."""
        queue = min(self.revive_queues, key=lambda queue: queue.wakes_at)
        copied = queue.wake(queue.wakes_at)
        self.retried += copied
        return copied

    def revive(self, now: Time) -> list[PopRecord]:
        """The threads of the revive queues do what is due until now; what they have copied to the retry topic."""
        copied: list[PopRecord] = []
        while self.next_revival() <= now:
            copied += self.revive_once()
        return copied
