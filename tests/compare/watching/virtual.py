"""A world for `watch` without clock, threads and network: clusters answer what a test says, at times that it says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.reading.gather import Gathered
from compare.reading.observed import ObservedGroup, Skipped
from compare.watching.polling import Failure, Poll, Source
from compare.watching.world import Finished
from protocols import Queue
from tests.compare.observed_groups import observed

Answer = Sequence[ObservedGroup] | str
"""Groups, or why there are none."""

START = 1_795_305_600.0
"""2026-11-22 00:00:00 UTC."""


def group(name: str, owned: Mapping[str, Sequence[Queue]], queues: Sequence[Queue], **fields: object) -> ObservedGroup:
    """A RocketMQ group whose members subscribe to every topic of these queues."""
    topics = sorted({queue.topic for queue in queues})
    subscribe = dict.fromkeys(owned, topics)
    made = observed(owned, "AVG", system="rocketmq", subscribe=subscribe, more_queues=queues, **fields)
    return replace(made, name=name)


def gathered(answer: Answer) -> Gathered:
    """What `gather` gives."""
    if isinstance(answer, str):
        return Gathered((), (Skipped("cluster", None, answer),), False)
    return Gathered(tuple(answer), (), True)


@dataclass
class VirtualWorld:
    """``answers``: a cluster's name and the time to what it answers; reading takes ``takes_s``. Stops at ``ends``."""

    answers: Callable[[str, float], Answer]
    ends: float
    takes_s: float = 0.0
    time: float = START

    def __post_init__(self) -> None:
        self._reading: list[tuple[float, Source, float]] = []
        self.is_stopped = False

    def now(self) -> float:
        return self.time

    def begin(self, source: Source) -> None:
        self._reading.append((self.time + self.takes_s, source, self.time))

    def wait(self, until: float | None) -> Sequence[Finished]:
        times = [at for at, _, _ in self._reading] + ([] if until is None else [until])
        self.time = max(self.time, min(times))
        if self.time >= self.ends:
            self.is_stopped = True
            return []
        ready = [each for each in self._reading if each[0] <= self.time]
        self._reading = [each for each in self._reading if each[0] > self.time]
        return [Finished(source, began, gathered(self.answers(source.name, began))) for _, source, began in ready]


class Diary:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.polls: list[Poll] = []
        self.failures: list[Failure] = []

    def polled(self, poll: Poll) -> None:
        self.polls.append(poll)

    def failed(self, failure: Failure) -> None:
        self.failures.append(failure)
