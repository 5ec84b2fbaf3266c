"""A producer's queue of records and their way to the brokers, in virtual time.

A record waits for ``linger.ms``, travels, is written, and its answer travels back; then its delivery report waits to be
served. Every way takes the mean of the group's latency.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compare.testing.confluent.background import Background
from compare.testing.confluent.partitioners import partition_of
from compare.testing.confluent.producer_configuration import ProducerConfiguration
from compare.testing.contents import Content, Headers
from compare.testing.handling import HandlingGroup
from protocols.engine.nodes import Time
from protocols.engine.randomness import number_below
from protocols.queues import Queue

RETRY_MS: Final[Time] = 100.0
"""``retry.backoff.ms``: when topics and leaders that are not there are looked for again."""

Written = tuple[Queue, int]


@dataclass(eq=False, slots=True)
class Outgoing:
    """A record on its way; ``error``: the name of why it failed, once that is known."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers | None
    timestamp: int
    report: Callable[..., object] | None
    made_at: Time
    offset: int | None = None
    error: str = ""
    sent: bool = False
    over: bool = False
    """Whether its report waits already."""
    took: Time = 0.0


class Sending:
    """``lives``: whether the process of the producer does. ``may_write``: asked when records arrive; an error, or
    empty. ``wrote``: told what was written."""

    def __init__(self, group: HandlingGroup, configuration: ProducerConfiguration, lives: Callable[[], bool]) -> None:
        self._group, self._configuration, self._lives = group, configuration, lives
        self.background = Background(group)
        self.latency = self.background.latency
        self.may_write: Callable[[], str] = str
        self.wrote: Callable[[list[Written]], None] = lambda written: None
        self.waiting: dict[Outgoing, None] = {}
        self.in_flight: dict[Outgoing, None] = {}
        self.reports: deque[Outgoing] = deque()
        self._due: set[Time] = set()
        """When `_send_due` will be called."""
        self._asked: dict[str, Time] = {}
        """Topic to when its partitions were first asked for."""
        self._sticky: tuple[Time, int] | None = None
        self._drawn = 0

    @property
    def count(self) -> int:
        """Records whose reports were not served yet."""
        return len(self.waiting) + len(self.in_flight) + len(self.reports)

    def partitions(self, topic: str) -> int | None:
        """How many partitions a topic has, as far as the producer knows by now; 0: there is no such topic for sure."""
        now = self._group.clock.time
        asked = self._asked.get(topic)
        count = len(self._group.topics.get(topic, ()))
        if asked is None or now < asked + 2 * self.latency:
            return None
        return count if count or now >= asked + self._configuration.propagation else None

    def add(self, record: Outgoing) -> None:
        """One more record."""
        now = self._group.clock.time
        asked = self._asked.setdefault(record.topic, now)
        self.waiting[record] = None
        self._send_at(max(now + self._configuration.linger, asked + 2 * self.latency))

    def _send_at(self, time: Time) -> None:
        if time not in self._due:
            self._due.add(time)
            self.background.at(time, self._send_due)

    def send_now(self) -> None:
        """Records wait for ``linger.ms`` no more."""
        self._send(list(self.waiting))

    def _send_due(self) -> None:
        now = self._group.clock.time
        self._due.discard(now)
        self._send([each for each in self.waiting if now >= each.made_at + self._configuration.linger])

    def _send(self, records: Sequence[Outgoing]) -> None:
        if not self._lives():
            self.waiting, self.in_flight = {}, {}
            return
        now, batch = self._group.clock.time, []
        for each in records:
            count = self.partitions(each.topic)
            if count is None:
                if now >= self._asked[each.topic] + 2 * self.latency:
                    limit = self._asked[each.topic] + self._configuration.propagation
                    self._send_at(min(now + RETRY_MS, limit))
                continue
            del self.waiting[each]
            each.partition = self._partition(each, count) if each.partition < 0 and count else each.partition
            if each.partition >= count:
                self._fail(each, "_UNKNOWN_PARTITION" if count else "UNKNOWN_TOPIC_OR_PART")
            else:
                each.sent = True
                batch.append(each)
        self.in_flight.update(dict.fromkeys(batch))
        if batch:
            self.background.at(now + self.latency, lambda: self._arrive(batch))

    def _partition(self, record: Outgoing, count: int) -> int:
        found = partition_of(self._configuration.partitioner, record.key, count)
        if found is not None:
            return found
        now = self._group.clock.time
        if self._sticky is None or now >= self._sticky[0] + self._configuration.sticky or self._sticky[1] >= count:
            self._drawn += 1
            drawn = number_below(count, self._group.plan.seed, self._configuration.client_id, "partition", self._drawn)
            self._sticky = now, drawn
        return self._sticky[1]

    def _arrive(self, batch: Sequence[Outgoing]) -> None:
        """Records are at the broker."""
        now, there = self._group.clock.time, [each for each in batch if not each.over]
        refused = self.may_write()
        for each in list(there):
            if refused or not self._group.records.exists(_queue(each)):
                there.remove(each)
                self._fail(each, refused or "UNKNOWN_TOPIC_OR_PART")
        contents = [(_queue(each), Content(each.value, each.key, each.headers, each.timestamp)) for each in there]
        again, written = [], []
        for each, offset in zip(there, self._group.records.write(contents), strict=True):
            if offset is not None:
                each.offset = offset
                written.append((_queue(each), offset))
            elif now >= each.made_at + self._configuration.message_timeout:
                self._fail(each, "_MSG_TIMED_OUT")
            else:
                again.append(each)
        if written:
            self.wrote(written)
            done = [each for each in there if each.offset is not None]
            self.background.at(now + self.latency, lambda: self._acknowledged(done))
        if again:
            self.background.at(now + RETRY_MS, lambda: self._arrive(again))

    def _acknowledged(self, batch: Sequence[Outgoing]) -> None:
        for each in batch:
            if not each.over:
                self._report(each)

    def _fail(self, record: Outgoing, error: str) -> None:
        record.error = error
        self._report(record)

    def _report(self, record: Outgoing) -> None:
        record.over, record.took = True, self._group.clock.time - record.made_at
        self.in_flight.pop(record, None)
        if record.error or not self._configuration.only_errors:
            self.reports.append(record)

    def purge(self, *, in_queue: bool, in_flight: bool) -> None:
        """Records are given up; their reports tell."""
        if in_queue:
            given_up, self.waiting = self.waiting, {}
            for each in given_up:
                self._fail(each, "_PURGE_QUEUE")
        if in_flight:
            for each in list(self.in_flight):
                self._fail(each, "_PURGE_INFLIGHT")


def _queue(record: Any) -> Queue:
    return Queue(record.topic, "", record.partition)
