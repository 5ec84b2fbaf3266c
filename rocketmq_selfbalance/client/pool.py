"""The user's side of one consumer: what waits for his code, and what it is working on (each ``ConsumeRequest`` in the
``consumeExecutor``).

Work is done on ranges of records. The code of a push consumer runs in so many threads at once; that of a pull consumer
in one loop of the user's own.
"""

from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.queues import Queue
from rocketmq_selfbalance.client.poison import Poison


class Batch(NamedTuple):
    """Records ``first`` to ``end - 1`` of a queue that wait to be consumed. ``number``: of its process queue."""

    queue: Queue
    number: int
    first: int
    end: int


class Work(NamedTuple):
    """Records that the user's code works on, since this time, in so many threads."""

    batch: Batch
    since: Time
    threads: int


class Pool:
    """Waiting batches in the order they came, and what is being worked on."""

    __slots__ = (
        *("backlog", "busy", "fails", "in_hand", "next_commit", "poison", "running", "serial", "stalled"),
        *("standing_still", "takes"),
    )

    def __init__(self) -> None:
        self.backlog: list[Batch] = []
        self.running: dict[int, Work] = {}
        self.serial = 0
        self.busy = 0
        """Threads that work now."""
        self.standing_still = False
        """The user's code makes no progress: what it works on is not finished, nothing new is begun."""
        self.stalled: list[int] = []
        """Works whose time is over while the code stands still."""
        self.takes: dict[tuple[Queue, int], Time] = {}
        """(Queue, offset) of records that take another time than the others."""
        self.fails: set[tuple[Queue, int]] = set()
        """(Queue, offset) of records that the user's code cannot handle."""
        self.poison = Poison({})
        """Records that the user's code cannot handle, whoever is given them."""
        self.in_hand: list[Batch] = []
        """Pull consumers: what the last poll returned beside that which is worked on, in order."""
        self.next_commit: Time = 0.0
        """Pull consumers: when the next poll commits."""

    def finish(self, serial: int) -> Work | None:
        """The time of a work is over: its threads are idle. None where the code stands still: it is over later."""
        if self.standing_still:
            self.stalled.append(serial)
            return None
        work = self.running.pop(serial)
        self.busy -= work.threads
        return work

    def copy(self) -> "Pool":
        """An independent copy."""
        copy: Pool = object.__new__(Pool)
        for name in Pool.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.backlog, copy.running, copy.stalled = self.backlog.copy(), self.running.copy(), self.stalled.copy()
        copy.takes, copy.fails = self.takes.copy(), self.fails.copy()
        copy.poison, copy.in_hand = self.poison.copy(), self.in_hand.copy()
        return copy

    def key(self, now: Time) -> tuple[object, ...]:
        """The state as plain tuples, times relative to now."""
        return (
            tuple(self.backlog),
            tuple((work.batch, now - work.since, work.threads) for work in self.running.values()),
            self.standing_still,
            tuple(self.stalled),
            tuple(sorted(self.takes.items())),
            tuple(sorted(self.fails)),
            self.poison.key(),
            tuple(self.in_hand),
            now - self.next_commit,
        )
