"""User's own code among the members of a group: what happens between its calls, and what it has handled."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Protocol, TypeVar

from compare.testing.clock import in_ticks
from compare.testing.group_interface import GroupInterface
from compare.testing.handled_records import CodeEnded, Handled, HandledRecords, Record, place_of, single, watched
from compare.testing.interruptions import Double, Interruptions
from compare.testing.stopping import Crashed as Crashed
from compare.testing.stopping import Stopping, Swallowed
from compare.testing.stopping import TimeIsUp as TimeIsUp
from compare.testing.transactions import Transactions
from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.scenario.events import Event, Join, StopPolling
from rocketmq_selfbalance.cluster import DLQ_PREFIX, RocketMQCluster

R = TypeVar("R")


D = TypeVar("D", bound=Double)


class Handling:
    """What the user's code in one group does. Calls of all its consumers are counted together, from 1 on."""

    def __init__(self, group: GroupInterface) -> None:
        self.group = group
        self.calls = 0
        """How many calls of consumers have begun."""
        self.standing: dict[str, Time] = {}
        """Member to when its code goes on after a `StopPolling`."""
        self.pending: set[tuple[Queue, int]] = set()
        """Records that failed and will be tried again (RocketMQ)."""
        self.metadata: dict[tuple[str, int], tuple[int, str | None]] = {}
        """Partition to the offset that was committed last by user's code, and what it committed beside it (Kafka)."""
        self.group_id: str | None = None
        """What consumers named that is not the group's name (Kafka)."""
        self.interruptions = Interruptions(group)
        """What is to happen between its calls."""
        self.doubles: dict[str, Double] = {}
        """Member to its consumer, the latest."""
        self.ends: list[CodeEnded] = []
        """When the user's code was stopped."""
        self._told: dict[str, list[Handled]] = {}
        """Members whose code tells itself what it has handled."""
        self._watches = 0
        """How many handlers were watched since the user's code ran last: what they have not handled, it has not."""
        self._callers: set[str] = set()
        """Whose consumers were called while the user's code ran."""
        self._last: Double | None = None
        """The consumer that made the last call."""
        self._stopping: Stopping | None = None
        """What has stopped the code that runs."""

    def run(self, code: Callable[[], R], *, seconds: float | None = None) -> R | None:
        """Run the user's code: until it returns, its consumer is killed, or ``seconds`` of virtual time have passed
        (then `TimeIsUp` is raised out of the next call). Returns what the code returns, None where it was stopped.

        Raises `AssertionError` where the code swallows what stops it and goes on, and what else came out of a call and
        was swallowed: a failed assertion of the test, an error of the model.
        """
        clock = self.group.clock
        before, outer = clock.limit, self._stopping
        self._callers = set()
        clock.limit = inf if seconds is None else clock.time + in_ticks(seconds)
        self._stopping = stopping = Stopping(sys._getframe())
        clock.waits.append(self._waited)
        try:
            result = code()
            if isinstance(stopping.stop, Exception):
                raise stopping.stop
            self.interruptions.refuse_unknown(self.doubles)
            return result
        except (Crashed, TimeIsUp):
            return None
        except Swallowed as swallowed:
            raise AssertionError(str(swallowed)) from stopping.stop
        finally:
            clock.waits.remove(self._waited)
            if self._watches:
                self._watches = 0
                for member in self._callers:
                    self.tells_itself(member)
            stopping.over()
            clock.limit, self._stopping = before, outer

    def watch(self, handler: Callable[..., R], member: str | None = None) -> Callable[..., R]:
        """The user's handler of a message (or of a list of them), watched: a record counts as handled when it returns,
        and no more when poll() hands it out. ``member``: whose code it is; left out: each message tells."""

        self._watches += 1

        def note(message: object) -> None:
            if (taken := self.group.popped(message)) is not None:
                self.handled(member or taken[0], *taken[1])
            elif (place := place_of(message)) is not None:
                by = member if member else getattr(message, "handed_to", "")
                self.handled(by, Queue(place[0], "", place[1]), place[2])

        return watched(handler, note)

    def handled(self, member: str, queue: Queue, first: int, count: int = 1) -> None:
        told = self._told.setdefault(member, [])
        told.append(Handled(self.group.clock.time, member, queue, first, first + count))

    def tells_itself(self, member: str) -> None:
        """Only what is told counts as handled by this member."""
        self._told.setdefault(member, [])

    @property
    def records(self) -> HandledRecords:
        """What was handled, lost, handled twice up to now."""
        group = self.group
        dead, hidden = _dead_letters(group), group.records.hidden()
        return HandledRecords(group.timeline, group.world.lives, self._all(), self.pending, dead, hidden)

    def twice(self) -> list[Record]:
        """The records that were handled more than once, by one member or several, sorted."""
        return single(self.records.twice())

    def never(self) -> list[Record]:
        """The records that nobody handled and nobody will: the group has committed beyond them, or read on beyond them
        after a reset; and if they were tried again, they were given up. Sorted."""
        return single(self.records.lost())

    def _all(self) -> list[Handled]:
        """All that was handled, in order of time; by simulated members as the timeline tells."""
        found = [each for told in self._told.values() for each in told]
        for delivery in self.group.timeline.counted_deliveries():
            if delivery.member not in self._told:
                found.append(Handled(delivery.until, delivery.member, delivery.queue, delivery.first, delivery.end))
        return sorted(found, key=lambda each: each.at)

    # What the doubles call.

    def made(self, double: D) -> D:
        """The user's code has a consumer, which has not joined yet."""
        if self.doubles.get(double.member) is not double:
            self.doubles[double.member] = double
            self.interruptions.killed.discard(double.member)
            if double.member not in self.group.members:
                self.interruptions.unjoined.add(double.member)
        return double

    @contextmanager
    def call(self, double: Double, *, reads: bool = False) -> Iterator[None]:
        """Around every call of the user's code, from whichever thread; ``reads``: whether it asks for records. Raises
        `Crashed` and `TimeIsUp`."""
        with self.group.clock.turn:
            self._last = self.made(double)
            self._callers.add(double.member)
            if self._stopping is not None:
                self._stopping.check(double.member, reads=reads)
            try:
                self.calls += 1
                number = self.calls
                self.interruptions.strike(number, before=True)
                self._check(double)
                self._check_limit(double.member)
                yield
                self.interruptions.strike(number, before=False)
                self._check(double)
            except BaseException as error:
                thrown = self.interruptions.thrown
                if self._stopping is not None and thrown is not error and thrown is not type(error):
                    self._stopping.raised(error, double.member)
                raise

    def _check_limit(self, member: str) -> None:
        clock = self.group.clock
        if clock.time >= clock.limit:
            clock.limit = inf
            self.ends.append(CodeEnded(clock.time, member, f"the code of {member} is stopped"))
            raise TimeIsUp(f"the time limit was reached at {clock.now:g} s")

    def _waited(self) -> None:
        """The user's code has slept in virtual time: it goes on only where its process does."""
        double = self._last
        if double is None or self._stopping is None:
            return
        try:
            self._check(double)
            self._check_limit(double.member)
        except BaseException as error:
            self._stopping.raised(error, double.member)
            raise

    def refused(self, double: Double, error: Exception) -> None:
        """A call of a consumer that is closed is about to raise this."""
        if self._stopping is not None:
            self._stopping.closed(double.member, error)

    @contextmanager
    def served(self, double: Double) -> Iterator[None]:
        """Around a listener's call, which the client makes: an exception of an interruption is not for user's code."""
        self.calls += 1
        number = self.calls
        self.interruptions.strike(number, before=True)
        yield
        self.interruptions.strike(number, before=False)

    def befallen(self, event: Event) -> None:
        if isinstance(event, StopPolling):
            self.standing[event.stop_polling] = self.group.clock.time + event.for_
        elif isinstance(event, Join):
            self.interruptions.unjoined.discard(event.join)

    def _check(self, double: Double) -> None:
        clock, interruptions = self.group.clock, self.interruptions
        member = double.member
        until = max(self.standing.pop(member, 0.0), interruptions.stopped.pop(member, 0.0))
        if until > clock.time:
            clock.run(until)
        double.wake()
        if not double.is_alive or member in interruptions.killed:
            raise Crashed(f"{member} was killed")


def _dead_letters(group: GroupInterface) -> set[tuple[Queue, int]]:
    """The records that members have given up, by queue and offset at first: RocketMQ keeps them in a topic that nobody
    reads, Kafka has no such thing."""
    cluster = group.world.cluster
    if not isinstance(cluster, RocketMQCluster):
        return set()
    kept = [disk.store.queue(DLQ_PREFIX + group.name, 0) for disk in cluster.servers.disks.values()]
    return {(record.origin, record.origin_offset) for queue in kept if queue is not None for record in queue.records}


class HandlingGroup(GroupInterface, Protocol):
    """A group whose records the user's code handles."""

    @property
    def handling(self) -> Handling: ...
    @property
    def transactions(self) -> Transactions: ...
