"""The process of a program with its clients, and a producer's records on their way to the brokers, in the background.

A record waits for ``linger.ms``, travels, is written, and its answer travels back; then its delivery report waits to be
served. Every way takes the mean of the group's latency.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from compare.testing.clock import Action
from compare.testing.confluent.configuration import Callback, ProducerConfiguration
from compare.testing.confluent.properties import partition_of
from compare.testing.contents import Content
from compare.testing.handling import HandlingGroup
from compare.testing.interruptions import Double
from protocols.engine.nodes import Time
from protocols.engine.randomness import number_below
from protocols.java import Queue

RETRY_MS: Final[Time] = 100.0
"""``retry.backoff.ms``: when topics and leaders that are not there are looked for again."""

Written = tuple[Queue, int]


class Process:
    """A process is killed when the last of its consumers is; one without consumers lives."""

    def __init__(self) -> None:
        self.consumers: list[Double] = []
        self.member = "a process without consumers"

    def add(self, consumer: Double) -> None:
        self.consumers.append(consumer)

    @property
    def is_alive(self) -> bool:
        return not self.consumers or any(consumer.is_alive for consumer in self.consumers)

    @property
    def caller(self) -> Double:
        """Who a call of another client counts as: the latest consumer that lives; the process where it has none."""
        alive = [consumer for consumer in self.consumers if consumer.is_alive]
        return alive[-1] if alive else self.consumers[-1] if self.consumers else self

    def wake(self) -> None:
        """Nothing stops a process without consumers."""


@dataclass(eq=False, slots=True)
class Outgoing:
    """A record on its way; ``error``: the name of why it failed, once that is known."""

    topic: str
    partition: int
    content: Content
    report: Callback | None
    made_at: Time
    offset: int | None = None
    error: str = ""
    over: bool = False
    """Whether its report waits already."""
    took: Time = 0.0

    @property
    def queue(self) -> Queue:
        """The partition that it is for."""
        return Queue(self.topic, "", self.partition)


class Sending:
    """``lives``: whether the process of the producer does. ``may_write``: asked when records arrive; an error, or
    empty. ``wrote``: told what was written."""

    def __init__(self, group: HandlingGroup, configuration: ProducerConfiguration, lives: Callable[[], bool]) -> None:
        self._group, self._configuration, self._lives = group, configuration, lives
        self.latency: Time = sum(group.world.scenario.run.latency) / 2
        """How long every way takes: the mean of the group's latency."""
        self.may_write: Callable[[], str] = str
        self.wrote: Callable[[list[Written]], None] = lambda written: None
        self.waiting: dict[Outgoing, None] = {}
        self.in_flight: dict[Outgoing, None] = {}
        self.reports: deque[Outgoing] = deque()
        self._times: list[Time] = []
        """When something happens in the background."""
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

    def wait(self, until: Time, stop: Callable[[], bool]) -> None:
        """Let time pass, at most to the end of the test's ``group.run``."""
        clock = self._group.clock
        until = min(until, max(clock.limit, clock.time))
        while not stop() and clock.time < until:
            clock.run(min([until, *(time for time in self._times if time > clock.time)]), self._group.world)

    def _at(self, time: Time, do: Action) -> None:
        """Something that happens in the background later."""
        self._times.append(time)

        def due() -> None:
            self._times.remove(time)
            do()

        self._group.clock.put(time, due)

    def partitions(self, topic: str) -> int | None:
        """How many partitions a topic has, as far as the producer knows by now; 0: there is no such topic for sure."""
        now = self._group.clock.time
        asked = self._asked.get(topic)
        count = len(self._group.topics.get(topic, ()))
        if asked is None or now < asked + 2 * self.latency:
            return None
        return count if count or now >= asked + self._configuration.propagation else None

    def add(self, record: Outgoing) -> None:
        now = self._group.clock.time
        asked = self._asked.setdefault(record.topic, now)
        self.waiting[record] = None
        self._send_at(max(now + self._configuration.linger, asked + 2 * self.latency))

    def _send_at(self, time: Time) -> None:
        if time not in self._due:
            self._due.add(time)
            self._at(time, self._send_due)

    def send_now(self) -> None:
        """Records wait for ``linger.ms`` no more."""
        self._send(list(self.waiting))

    def _send_due(self) -> None:
        now = self._group.clock.time
        self._due.discard(now)
        self._send([record for record in self.waiting if now >= record.made_at + self._configuration.linger])

    def _send(self, records: Sequence[Outgoing]) -> None:
        if not self._lives():
            self.waiting, self.in_flight = {}, {}
            return
        now, batch = self._group.clock.time, []
        for record in records:
            count = self.partitions(record.topic)
            if count is None:
                if now >= self._asked[record.topic] + 2 * self.latency:
                    limit = self._asked[record.topic] + self._configuration.propagation
                    self._send_at(min(now + RETRY_MS, limit))
                continue
            del self.waiting[record]
            if record.partition < 0 and count:
                record.partition = self._partition(record, count)
            if record.partition >= count:
                self._fail(record, "_UNKNOWN_PARTITION" if count else "UNKNOWN_TOPIC_OR_PART")
            else:
                batch.append(record)
        self.in_flight.update(dict.fromkeys(batch))
        if batch:
            self._at(now + self.latency, lambda: self._arrive(batch))

    def _partition(self, record: Outgoing, count: int) -> int:
        partition = partition_of(self._configuration.partitioner, record.content.key, count)
        if partition is not None:
            return partition
        now = self._group.clock.time
        if self._sticky is None or now >= self._sticky[0] + self._configuration.sticky or self._sticky[1] >= count:
            self._drawn += 1
            drawn = number_below(count, self._group.plan.seed, self._configuration.client_id, "partition", self._drawn)
            self._sticky = now, drawn
        return self._sticky[1]

    def _arrive(self, batch: Sequence[Outgoing]) -> None:
        """Records are at the broker."""
        now, there = self._group.clock.time, [record for record in batch if not record.over]
        refused = self.may_write()
        for record in list(there):
            if refused or not self._group.records.exists(record.queue):
                there.remove(record)
                self._fail(record, refused or "UNKNOWN_TOPIC_OR_PART")
        contents = [(record.queue, record.content) for record in there]
        again, done = [], []
        for record, offset in zip(there, self._group.records.write(contents), strict=True):
            if offset is not None:
                record.offset = offset
                done.append(record)
            elif now >= record.made_at + self._configuration.message_timeout:
                self._fail(record, "_MSG_TIMED_OUT")
            else:
                again.append(record)
        if done:
            self.wrote([(record.queue, record.offset) for record in done if record.offset is not None])
            self._at(now + self.latency, lambda: self._acknowledged(done))
        if again:
            self._at(now + RETRY_MS, lambda: self._arrive(again))

    def _acknowledged(self, batch: Sequence[Outgoing]) -> None:
        for record in batch:
            if not record.over:
                self._report(record)

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
            for record in given_up:
                self._fail(record, "_PURGE_QUEUE")
        if in_flight:
            for record in list(self.in_flight):
                self._fail(record, "_PURGE_INFLIGHT")
