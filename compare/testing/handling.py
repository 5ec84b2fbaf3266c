"""User's own code among the members of a group: what happens between its calls, and what it has handled."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from threading import get_ident
from typing import ParamSpec, Protocol, TypeVar

from compare.testing.clock import in_ticks
from compare.testing.faults import PENDING, is_fault, is_inner, note, of_user, raise_pending
from compare.testing.group_interface import GroupInterface
from compare.testing.handled_records import CodeEnded, Handled, HandledRecords, Record, single
from compare.testing.interruptions import Double, Interruptions
from compare.testing.stopping import Crashed as Crashed
from compare.testing.stopping import Stopping, Swallowed
from compare.testing.stopping import TimeIsUp as TimeIsUp
from compare.testing.transactions import Transactions
from compare.testing.watching import (
    Given,
    HandlerCall,
    LatePoll,
    NoStatus,
    Place,
    SlowCallback,
    place_of,
    told_error,
    watched,
)
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.events import Event, Join, StopPolling
from protocols.scenario.fields import listed
from rocketmq_selfbalance.cluster import DLQ_PREFIX, RocketMQCluster

P = ParamSpec("P")
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
        self.calls_of_handlers: list[HandlerCall] = []
        """Those of watched handlers that took time or raised."""
        self.late_polls: list[LatePoll] = []
        """Polls that came after ``max.poll.interval.ms`` (Kafka)."""
        self.limits: dict[str, Time | None] = {}
        """Only of real members (`compare.testing.brokers`); the timeline tells who was too slow here."""
        self.slow_callbacks: list[SlowCallback] = []
        self.no_status: dict[str, NoStatus] = {}
        """Member to the first thing that its listener returned which is no status (RocketMQ)."""
        self.threads: dict[str, set[int]] = {}
        """Member to the threads that have called its consumer."""
        self._told: dict[str, list[Handled]] = {}
        """Members whose code tells itself what it has handled."""
        self._given: dict[Place, str] = {}
        """Record to the member whose listener got it last."""
        self._watched: set[str] = set()
        """Members whose handlers are watched."""
        self._acknowledged: dict[tuple[str, Queue, int], Handled] = {}
        """What a listener's success has told, before a watched handler did."""
        self._watches = 0
        """How many handlers were watched since the user's code ran last: what they have not handled, it has not."""
        self._callers: set[str] = set()
        """Whose consumers were called while the user's code ran."""
        self._last: Double | None = None
        """The consumer that made the last call."""
        self._stopping: Stopping | None = None
        """What has stopped the code that runs."""

    def run(self, code: Callable[[], R], *, seconds: float | None = None) -> R | None:
        """See `compare.testing.group.Group.run`."""
        clock = self.group.clock
        before, outer = clock.limit, self._stopping
        self._callers = set()
        clock.limit = inf if seconds is None else clock.time + in_ticks(seconds)
        self._stopping = stopping = Stopping(sys._getframe())
        clock.waits.append(self._waited)
        try:
            result = of_user(code)
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
                    self._told.setdefault(member, [])
            stopping.over()
            clock.limit, self._stopping = before, outer

    def watch(self, handler: Callable[P, R]) -> Callable[P, R]:
        """See `compare.testing.group.Group.watch`."""
        self._watches += 1
        return watched(handler, self)

    def begin(self, message: object, member: str) -> Given | None:
        """A watched handler is given a message: whose code it is, and what it handles; None for an error."""
        place = place_of(message)
        if place is None:
            return None
        member = getattr(message, "handed_to", "") or self._given.get(place, "")
        self._watched.add(member)
        return member, place

    def end(self, given: Iterable[Given], began: Time, error: BaseException | None) -> None:
        """It has returned, or raised."""
        now = self.group.clock.time
        for member, (queue, offset) in given:
            if now > began or error is not None:
                self.calls_of_handlers.append(HandlerCall(began, now, member, queue, offset, told_error(error)))
            if error is None:
                told = self._told.setdefault(member, [])
                if (before := self._acknowledged.pop((member, queue, offset), None)) is not None:
                    told.remove(before)
                told.append(Handled(now, member, queue, offset, offset + 1))

    def caught(self, error: BaseException) -> None:
        """A fault is raised into the user's code, which may catch it."""
        if self._stopping is not None:
            self._stopping.raised(error, self._last.member if self._last is not None else "")
        else:
            note(error)

    @property
    def now(self) -> Time:
        return self.group.clock.time

    def gives(self, member: str, queue: Queue, offset: int) -> None:
        """A listener is about to get a record; its success, or a watched handler, tells when that is handled."""
        self._told.setdefault(member, [])
        self._given[queue, offset] = member

    def acknowledged(self, member: str, queue: Queue, offset: int) -> None:
        """A listener has succeeded with a record, which is handled unless a watched handler says that itself."""
        if member not in self._watched:
            entry = Handled(self.group.clock.time, member, queue, offset, offset + 1)
            self._acknowledged[member, queue, offset] = entry
            self._told[member].append(entry)

    @property
    def records(self) -> HandledRecords:
        """What was handled, lost, handled twice up to now. `UserError` where members are BROADCASTING: each has to
        handle every record, and one that fails comes to it no more, so that nothing is the group's."""
        group = self.group
        cluster = group.world.cluster
        if isinstance(cluster, RocketMQCluster) and (members := cluster.members.broadcasting(group.name)):
            raise UserError(
                f"{group.name}: {listed(members)} {'is' if len(members) == 1 else 'are'} BROADCASTING, each handles all"
                " records for itself; what a group lost or handled twice is known of CLUSTERING members only"
            )
        dead, hidden = _dead_letters(group), group.records.hidden()
        return HandledRecords(group.timeline, group.world.lives, self._all(), self.pending, dead, hidden)

    def twice(self) -> list[Record]:
        """See `compare.testing.group.Group.handled_twice`."""
        return single(self.records.twice())

    def never(self) -> list[Record]:
        """See `compare.testing.group.Group.never_handled`."""
        return single(self.records.lost())

    def _all(self) -> list[Handled]:
        """All that was handled, in order of time; by simulated members as the timeline tells."""
        found = [each for told in self._told.values() for each in told]
        for delivery in self.group.timeline.counted_deliveries:
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
            self.threads.setdefault(double.member, set()).add(get_ident())
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
                if thrown is not error and thrown is not type(error):
                    self._raised(error, double.member)
                raise

    def _raised(self, error: BaseException, member: str) -> None:
        """This comes out of a call of the user's code."""
        if self._stopping is None:
            if is_inner(error):
                note(error)
        elif isinstance(error, Crashed | TimeIsUp) or is_fault(error):
            self._stopping.raised(error, member)

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
            self._raised(error, double.member)
            raise

    def refused(self, double: Double, error: Exception) -> None:
        """A call of a consumer that is closed is about to raise this."""
        if self._stopping is not None:
            self._stopping.closed(double.member, error)

    def serve(self, double: Double, listener: Callable[..., object], given: object) -> tuple[bool, object]:
        """Call a listener, as the client does: whether it has returned something, and what. Not for the client are an
        interruption's exception and a fault."""
        self.calls += 1
        number = self.calls
        self.interruptions.strike(number, before=True)
        try:
            returned, result = True, of_user(listener, given)
        except Exception as error:
            if is_fault(error):
                PENDING.clear()  # it goes to whoever lets time pass
                raise
            returned, result = False, None
        raise_pending()
        self.interruptions.strike(number, before=False)
        return returned, result

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
