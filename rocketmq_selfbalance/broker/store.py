"""A broker's message store: RocketMQ's ``DefaultMessageStore`` with a ``ConsumeQueue`` per queue.

Queues are functions of time: no record is ever an object, but those sent back. The store outlives the broker's
process. A queue of a topic takes in records evenly while its broker runs and writes to it; a queue of a retry topic
takes in what consumers sent back, each after its delay (spec 6.7). The commands reach a broker without any network, as
producers are no nodes here and a process is ended by a signal (``BrokerController.shutdown``).
"""

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from math import ceil
from types import MappingProxyType
from typing import NamedTuple

from protocols.engine.nodes import TICK, Time
from protocols.load import Production
from protocols.node_state import NodeState
from rocketmq_selfbalance.messages.membership import ConsumerData
from rocketmq_selfbalance.messages.offsets import Retried


class Produce(NamedTuple):
    """Producers write so many records per second to each queue of the topic from now on. (Producers are no
    nodes: their records are never objects.) ``queues``: the broker's queues that get another number, which may come
    later, as (number, records per second)."""

    correlation: int
    topic: str
    per_second: float
    queues: tuple[tuple[int, float], ...] = ()


class Write(NamedTuple):
    """Producers write so many records at once to one queue."""

    correlation: int
    topic: str
    number: int
    records: int


class StopBroker(NamedTuple):
    """The process is asked to end: it flushes what it holds and takes leave of the name servers. Its world ends it
    right after."""

    correlation: int


class Haunt(NamedTuple):
    """Heartbeats that had waited while the broker was frozen are taken in after the ends of their connections, which
    another thread of the broker noticed first: their senders are in the groups once more (``client_id``: with what the
    heartbeat said of its consumers) until the scan finds them silent."""

    correlation: int
    heartbeats: tuple[tuple[str, str, tuple[ConsumerData, ...]], ...]
    """Channel, client id, consumers."""


class ChangeRole(NamedTuple):
    """The controller makes the broker master (0) or slave."""

    correlation: int
    id: int


IDLE = 0.0
"""Records per second of a queue that nobody writes to."""


class Delayed(NamedTuple):
    """A record that waits for its delivery to a retry topic. Sorted by time, then by the order of sending back."""

    due: Time
    number: int
    topic: str
    queue_number: int
    record: Retried


@dataclass(slots=True, eq=False)
class StoredQueue(NodeState):
    """One queue: what it took in and takes in, and what is still there."""

    now: InitVar[Time]
    min_offset: int = 0
    """Offset of the oldest record that is still there."""
    segments: list[Production] = field(init=False)
    """Times of even production, one after the other."""
    records: list[Retried] = field(default_factory=list)
    """Of a retry queue: its records."""
    times: list[Time] = field(default_factory=list)
    """When each of them was written; rising."""

    def __post_init__(self, now: Time) -> None:
        self.segments = [Production(IDLE, now, self.min_offset)]

    @property
    def production(self) -> Production:
        return self.segments[-1]

    def produce(self, now: Time, per_second: float) -> None:
        current = self.segments[-1]
        if current.per_second == per_second:
            return
        following = Production(per_second, now, current.end_offset(now))
        if current.end_offset(now) == current.before:
            self.segments[-1] = following  # nothing came in since: as if it had never been
        else:
            self.segments.append(following)

    def add(self, now: Time, count: int) -> None:
        """So many records come at once, beside those that come evenly."""
        current = self.segments[-1]
        end = current.end_offset(now)
        self.segments.append(Production(count * 1000 / TICK, now - TICK, end))
        self.segments.append(Production(current.per_second, now, end + count))

    def max_offset(self, now: Time) -> int:
        return len(self.records) or self.segments[-1].end_offset(now)

    def write(self, now: Time, record: Retried) -> None:
        """A record of a retry topic is there from now on."""
        self.records.append(record)
        self.times.append(now)

    def next_arrival(self, offset: int) -> Time | None:
        """When the record with this offset will be written (``offset`` is at least the present end); None where
        nobody knows."""
        current = self.segments[-1]
        if current.per_second <= 0:
            return None
        return current.arrival(offset)

    def written_at(self, offset: int) -> Time | None:
        """When the record with this offset was written; None where there is none that was produced or sent back."""
        if self.records:
            return self.times[offset] if 0 <= offset < len(self.times) else None
        for segment in reversed(self.segments):
            if segment.before <= offset:
                return _written(segment, offset) if segment.per_second > 0 else None
        return None

    def offset_at(self, time: Time, now: Time) -> int:
        """The first record written at or after ``time``; the end of the queue where there is none."""
        if self.records:
            return bisect_left(self.times, time)
        found = self.segments[0].before
        for number, segment in enumerate(self.segments):
            following = self.segments[number + 1].before if number + 1 < len(self.segments) else self.max_offset(now)
            earlier = max(0, ceil((time - segment.since) * segment.per_second / 1000) - 1)
            found = min(following, segment.before + earlier)
            if found < following:
                break
        return max(found, self.min_offset)


def _written(segment: Production, offset: int) -> Time:
    return segment.since + (offset + 1 - segment.before) * 1000 / segment.per_second


@dataclass(slots=True, eq=False)
class MessageStore(NodeState):
    """The queues of one broker."""

    per_second: float = IDLE
    """Records per second of each queue that producers write to."""
    rates: dict[str, tuple[float, Mapping[int, float]]] = field(default_factory=dict)
    """Topic to another number of records per second, and to those of single queues."""
    running: bool = False
    queues: dict[str, dict[int, StoredQueue]] = field(default_factory=dict)
    """Topic to number to queue."""
    delayed: list[Delayed] = field(default_factory=list)
    """What waits for its delivery, sorted."""
    _sent_back: int = 0

    def queue(self, topic: str, number: int) -> StoredQueue | None:
        queues = self.queues.get(topic)
        return None if queues is None else queues.get(number)

    def set_rates(self, command: Produce) -> None:
        self.rates[command.topic] = command.per_second, MappingProxyType(dict(command.queues))

    def open(self, now: Time, topic: str, count: int, *, write: bool) -> None:
        """The topic has ``count`` queues to write to (``write``: producers do); others take in nothing more."""
        queues = self.queues.setdefault(topic, {})
        for number in range(count):
            if number not in queues:
                queues[number] = StoredQueue(now)
        usual, others = self.rates.get(topic, (self.per_second, {}))
        for number, queue in queues.items():
            per_second = others.get(number, usual)
            queue.produce(now, per_second if write and self.running and number < count else IDLE)

    def stop(self, now: Time) -> None:
        """The broker's process has ended: nothing comes in until it opens its topics again."""
        self.running = False
        for queues in self.queues.values():
            for queue in queues.values():
                queue.produce(now, IDLE)

    def delete(self, topic: str) -> None:
        self.queues.pop(topic, None)

    def delay(self, due: Time, topic: str, number: int, record: Retried) -> None:
        """The record is to be written to this queue when it is due."""
        self._sent_back += 1
        insort(self.delayed, Delayed(due, self._sent_back, topic, number, record))

    def deliver(self, now: Time) -> list[tuple[str, int]]:
        """Write what is due; the queues concerned, in order."""
        count = bisect_left(self.delayed, (now, self._sent_back + 1))
        due, self.delayed = self.delayed[:count], self.delayed[count:]
        for each in due:
            queues = self.queues.setdefault(each.topic, {})
            queues.setdefault(each.queue_number, StoredQueue(now)).write(now, each.record)
        return [(each.topic, each.queue_number) for each in due]

    def max_offset(self, topic: str, number: int, now: Time) -> int:
        queue = self.queue(topic, number)
        return 0 if queue is None else queue.max_offset(now)

    def min_offset(self, topic: str, number: int) -> int:
        """Offset of the oldest record that is still there; 0 where the queue was never written to."""
        queue = self.queue(topic, number)
        return 0 if queue is None else queue.min_offset
