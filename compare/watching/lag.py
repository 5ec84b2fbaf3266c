"""How long the records that wait have waited, and whether there are more and more of them: estimates from where the
queues ended at earlier polls.

The first record that a group has not read stands at its committed offset. It was written between the two polls of which
the queue ended before that offset at the one and behind it at the other; where between is taken as if records had come
evenly. So the age is wrong by one interval at the most, or by more where the poll before is long ago. Of a queue whose
group was behind already when the watching began, it is not known until the group comes to what was written since.
"""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from compare.reading.observed import ObservedGroup
from compare.reading.rocketmq.lines import is_retry
from protocols import Queue

MOST_ENDS = 64
"""Ends that are kept of a queue. Then every second one is forgotten: what is long ago is known more roughly."""
TREND_POLLS, LEAST_POLLS = 10, 3
"""Polls that the trend is taken over, at most and at least."""


@dataclass(slots=True)
class _Ends:
    """Where a queue ended (``ends``, ascending) at which times."""

    times: "array[float]" = field(default_factory=lambda: array("d"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, at: float, end: int) -> None:
        if self.ends and end < self.ends[-1]:
            del self.times[:], self.ends[:]  # the queue was made anew
        if len(self.ends) > 1 and self.ends[-2] == end:
            self.times[-1] = at  # nothing was written: the last poll that shows it is enough
            return
        self.times.append(at)
        self.ends.append(end)
        if len(self.ends) > MOST_ENDS:
            # The last two stay: what has just been written is known best.
            del self.times[1:-2:2], self.ends[1:-2:2]

    def written_at(self, offset: int) -> float | None:
        """When the record at the offset was written, None if that was before the first poll or is to come."""
        after = bisect_right(self.ends, offset)
        if after == 0 or after == len(self.ends):
            return None
        before = after - 1
        share = (offset + 1 - self.ends[before]) / (self.ends[after] - self.ends[before])
        return self.times[before] + share * (self.times[after] - self.times[before])


@dataclass(frozen=True, slots=True)
class Waiting:
    """``ages_s``: topic to the estimated age in seconds of the oldest record that its group has not read, 0 where none
    waits; topics of which it is not known are left out. ``age_s``: the greatest of all, None unless all are known.
    ``trend_per_s``: records per second by which the lag grows, negative where it shrinks; None for fewer than
    `LEAST_POLLS` polls, and where the lag is unknown."""

    ages_s: Mapping[str, float]
    age_s: float | None
    trend_per_s: float | None


class LagTimes:
    """The lag of one group over its polls."""

    def __init__(self) -> None:
        self._ends: dict[Queue, _Ends] = {}
        self._lags: deque[tuple[float, int]] = deque(maxlen=TREND_POLLS)

    def take(self, group: ObservedGroup, lag: int | None, at: float) -> Waiting:
        """The next poll; ``lag``: of the whole group."""
        self._ends = {queue: self._ends.get(queue, _Ends()) for queue in group.ends}
        ages: dict[str, float | None] = {}
        for queue, of_queue in group.lag.items():
            if is_retry(queue.topic) or (of_queue is None and queue not in group.endless):
                continue
            age = self._age(queue, group.ends.get(queue), of_queue, at)
            before = ages.get(queue.topic, 0.0)
            ages[queue.topic] = None if before is None or age is None else max(before, age)
        told = {topic: age for topic, age in ages.items() if age is not None}
        if lag is not None:
            self._lags.append((at, lag))
        return Waiting(
            told,
            max(told.values()) if told and len(told) == len(ages) else None,
            None if lag is None else _slope(self._lags),
        )

    def _age(self, queue: Queue, end: int | None, lag: int | None, at: float) -> float | None:
        if lag is None:
            return None
        if end is not None:
            self._ends[queue].add(at, end)
        if lag <= 0:
            return 0.0
        written = None if end is None else self._ends[queue].written_at(end - lag)
        return None if written is None else max(at - written, 0.0)


def _slope(lags: "deque[tuple[float, int]]") -> float | None:
    """Least squares."""
    if len(lags) < LEAST_POLLS:
        return None
    mean_at = sum(at for at, _ in lags) / len(lags)
    mean = sum(lag for _, lag in lags) / len(lags)
    below = sum((at - mean_at) ** 2 for at, _ in lags)
    return sum((at - mean_at) * (lag - mean) for at, lag in lags) / below if below else None
