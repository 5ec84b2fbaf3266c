"""What groups were given out of topics at a served broker, as POP has it: which records are invisible, which have come
back, and who waits for some (spec pop 5). The rules are those of `rocketmq_selfbalance.pop`, here with real records.

Times of check points are milliseconds since 1970, as in receipt handles; those of waiting requests are the world's.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.messages import popping as asked
from rocketmq_selfbalance.pop import Handle, PopRecord, PopTopic, ReviveQueue, line, retry_topic_of
from rocketmq_selfbalance.pop.line import FREED, POLL, REVIVE, Line
from rocketmq_selfbalance.pop.revive import INTERVAL_MS, CheckPoint
from rocketmq_selfbalance.pop.topic import REVIVE_QUEUES
from rocketmq_selfbalance.wire.served import RecordQueue, Served, StoredRecord


@dataclass(slots=True)
class GivenOut(PopTopic):
    """What one group was given out of one topic at one broker. ``now``: when it was made, since 1970."""

    topic: str = ""
    group: str = ""
    line: Line[asked.Pop] = field(default_factory=Line)
    wanted: frozenset[int] | None = None
    """Hashes of the tags that the present pop wants; None for all."""
    queues: dict[int | None, RecordQueue] = field(default_factory=dict)
    """None: that of the retry topic."""
    room: int = 0
    """Bytes of records that one pop is given of a queue, but for a single longer one."""
    begun: Time = 0.0

    @property
    def retry_topic(self) -> str:
        return retry_topic_of(self.group, self.topic)

    def _from_queue(
        self, now: Time, number: int, end: int, most: int, invisible: Time, revive_queue: int
    ) -> list[Handle]:
        """As in the model, but only of records with wanted tags; the offset moves past all others."""
        first = max(self.committed[number], self.queues[number].min_offset)
        passed, last = self.queues[number].passing(first, end, most, self.room, self.wanted)
        self.committed[number] = last
        self.rest += end - last
        if not passed:
            return []
        records = tuple(PopRecord(number, offset) for offset in range(first, last))
        handles = self._given(CheckPoint(now, invisible, False, number, first, records, revive_queue))
        wanted = set(passed)
        for handle in handles:
            if first + handle.position not in wanted:
                self.ack(handle)
        return [handles[offset - first] for offset in passed]

    def fitting(self, number: int | None, first: int, last: int) -> int:
        """As of a pull (``DefaultMessageStore.isTheBatchFull``)."""
        queue, room = self.queues.get(number), self.room
        for offset in range(first, last):
            record = None if queue is None else queue.at(offset)
            room -= 0 if record is None else len(record.content)
            if room < 0 and offset > first:
                return offset
        return last

    def is_idle(self) -> bool:
        """Whether nothing may come back."""
        return not any(queue.delayed or len(queue.delivered) for queue in self.revive_queues)


def given_out(served: Served, now: Time, topic: str, group: str) -> GivenOut:
    """What the group was given out of the topic; new where nothing was."""
    found = served.store.popped.get((topic, group))
    if not isinstance(found, GivenOut):
        wall = float(served.epoch(now))
        found = GivenOut(
            [ReviveQueue(wall + INTERVAL_MS + served.revive_phases[number]) for number in range(REVIVE_QUEUES)],
            topic=topic,
            group=group,
        )
        found.begun = wall
        served.store.popped[topic, group] = found
    return found


def stored_record(served: Served, state: GivenOut, *, of_retry: bool, number: int, offset: int) -> StoredRecord | None:
    queue = served.store.records(state.retry_topic if of_retry else state.topic, number)
    return None if queue is None else queue.at(offset)


def commit(served: Served, state: GivenOut, numbers: Iterable[int]) -> None:
    """The offsets of these queues are committed."""
    served.broker.commit_popped(served.now, state.group, state.topic, state.committed, numbers)


def set_timers(served: Served, now: Time, state: GivenOut, out: Outbox) -> None:
    free = state.ordered.next_free(served.epoch(now) - 1) if state.line.waiting else None
    due = {
        POLL: state.line.first_due(),
        REVIVE: None if state.is_idle() else state.next_revival() - served.epoch_ms + 1,
        FREED: None if free is None else free - served.epoch_ms + 1,
    }
    line.set_timers(now, state.topic, state.group, due, out)
