"""The user's side of one consumer: what waits for his code, and what it is working on (each ``ConsumeRequest`` in the
``consumeExecutor``).

Work is done on ranges of records. The code of a push consumer runs in so many threads at once; that of a pull consumer
in one loop of the user's own.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.node_state import NodeState
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


@dataclass(slots=True, eq=False)
class Pool(NodeState):
    """Waiting batches in the order they came, and what is being worked on."""

    backlog: list[Batch] = field(default_factory=list)
    running: dict[int, Work] = field(default_factory=dict)
    serial: int = 0
    busy: int = 0
    """Threads that work now."""
    standing_still: bool = False
    """The user's code makes no progress: what it works on is not finished, nothing new is begun."""
    stalled: list[int] = field(default_factory=list)
    """Works whose time is over while the code stands still."""
    takes: dict[tuple[Queue, int], Time] = field(default_factory=dict)
    """(Queue, offset) of records that take another time than the others."""
    fails: set[tuple[Queue, int]] = field(default_factory=set)
    """(Queue, offset) of records that the user's code cannot handle."""
    poison: Poison = field(default_factory=lambda: Poison({}))
    """Records that the user's code cannot handle, whoever is given them."""
    in_hand: list[Batch] = field(default_factory=list)
    """Pull consumers: what the last poll returned beside that which is worked on, in order."""
    next_commit: Time = 0.0
    """Pull consumers: when the next poll commits."""

    def finish(self, serial: int) -> Work | None:
        """The time of a work is over: its threads are idle. None where the code stands still: it is over later."""
        if self.standing_still:
            self.stalled.append(serial)
            return None
        work = self.running.pop(serial)
        self.busy -= work.threads
        return work
