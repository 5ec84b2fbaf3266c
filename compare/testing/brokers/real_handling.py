"""Which records the code under test has handled, as the test tells."""

from collections.abc import Callable
from threading import Lock
from typing import Protocol, TypeVar

from compare.testing.brokers.real_world import RealWorld
from compare.testing.handled_records import CodeEnded, Handled, HandledRecords, Record, place_of, single, watched
from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.timeline import Timeline

R = TypeVar("R")


class _Clock(Protocol):
    @property
    def time(self) -> Time: ...


class _Group(Protocol):
    """What is needed of the group."""

    @property
    def clock(self) -> _Clock: ...

    @property
    def world(self) -> RealWorld: ...

    @property
    def timeline(self) -> Timeline: ...

    def believed_owner(self, queue: Queue) -> str: ...


class RealHandling:
    """Of one group. Threads may tell at once."""

    def __init__(self, group: _Group) -> None:
        self._group = group
        self._lock = Lock()
        self._told: list[Handled] = []
        self.ends: list[CodeEnded] = []
        """Nobody stops real code here."""

    def watch(self, handler: Callable[..., R], member: str = "") -> Callable[..., R]:
        """The handler of a message (or of a list of them), watched."""
        return watched(handler, lambda message: self.note(message, member))

    def note(self, message: object, member: str = "") -> None:
        """This message was handled."""
        place = place_of(message)
        if place is None:
            return
        at = self._group.clock.time
        queue = Queue(place[0], "", place[1])
        by = member or self._group.believed_owner(queue)
        with self._lock:
            self._told.append(Handled(at, by, queue, place[2], place[2] + 1))

    @property
    def records(self) -> HandledRecords:
        """What was handled, lost, handled twice up to now."""
        world = self._group.world
        with self._lock:
            told = list(self._told)
        return HandledRecords(self._group.timeline, world.lives, told, set(), set())

    def twice(self) -> list[Record]:
        """The records that were handled more than once, sorted."""
        return single(self.records.twice())

    def never(self) -> list[Record]:
        """The records that nobody handled and nobody will, sorted."""
        return single(self.records.lost())
