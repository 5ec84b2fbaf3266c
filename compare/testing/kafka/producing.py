"""Records on their way from a producer of Python's clients to their partitions."""

from collections.abc import Callable
from typing import NamedTuple

from compare.testing.contents import Content
from compare.testing.handling import HandlingGroup
from protocols.engine.nodes import Time
from protocols.queues import Queue

_ROUND_TRIP_MS: Time = 4.0
_RETRY_MS: Time = 100.0


class Sent(NamedTuple):
    """A record that was given to the producer. ``done`` is told its offset and time (milliseconds), or None where no
    broker took it in time."""

    queue: Queue
    content: Content
    until: Time
    done: Callable[[tuple[int, int] | None], None]


class Outgoing:
    """What one producer has sent and nobody has acknowledged; in order. ``linger_ms``: how long a batch waits."""

    def __init__(self, group: HandlingGroup, linger_ms: Time, timeout_ms: Time) -> None:
        self._group, self._linger, self._timeout = group, linger_ms, timeout_ms
        self._waiting: list[Sent] = []
        self._is_due = False

    @property
    def is_empty(self) -> bool:
        """Whether all is acknowledged."""
        return not self._waiting

    def add(self, queue: Queue, content: Content, done: Callable[[tuple[int, int] | None], None]) -> None:
        """One more record."""
        now = self._group.clock.time
        self._waiting.append(Sent(queue, content, now + self._timeout, done))
        self._put(self._linger + _ROUND_TRIP_MS)

    def partitions(self, topic: str) -> list[int]:
        """The numbers of a topic's partitions; none where there is no such topic."""
        return [each.number for each in self._group.topics.get(topic, ())]

    def _put(self, wait: Time) -> None:
        if not self._is_due:
            self._is_due = True
            self._group.clock.put(self._group.clock.time + wait, self._deliver)

    def _deliver(self) -> None:
        """The batch arrives; what no broker takes is tried again."""
        self._is_due = False
        now, waiting = self._group.clock.time, self._waiting
        self._waiting = []
        there = [each for each in waiting if self._group.records.exists(each.queue)]
        offsets = dict(
            zip(map(id, there), self._group.records.write([(each.queue, each.content) for each in there]), strict=True)
        )
        for each in waiting:
            offset = offsets.get(id(each))
            if offset is not None:
                time = each.content.timestamp
                each.done((offset, int(now) if time is None else time))
            elif now >= each.until:
                each.done(None)
            else:
                self._waiting.append(each)
        if self._waiting:
            self._put(_RETRY_MS)
