"""User's own code among the members of a group: what happens between its calls, and what it has handled."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from compare.testing.clock import in_ticks
from compare.testing.confluent.messages import Message
from compare.testing.dead_letters import dead_letters
from compare.testing.group_interface import GroupInterface
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.facts import Position
from protocols.offsets import OffsetSet
from protocols.queues import Queue, queue_key
from protocols.scenario.events import Event, StopPolling
from protocols.timeline.fact_descriptions import queue_name

R = TypeVar("R")


class Crashed(BaseException):
    """Raised out of a consumer's call when its process was killed: nothing of the user's code runs any more.
    No `Exception`, so that code which catches those does not live on."""


class TimeIsUp(BaseException):
    """Raised out of a consumer's call when the time of `Group.run` is over; the consumer can still be closed."""


class Record(NamedTuple):
    """A record; ``by``: the members that handled it, in order of time."""

    topic: str
    broker: str
    number: int
    offset: int
    by: tuple[str, ...] = ()

    def __str__(self) -> str:
        who = f" ({', '.join(self.by)})" if self.by else ""
        return f"{queue_name(Queue(*self[:3]))}/{self.offset}{who}"


class Double(Protocol):
    """A consumer that the user's code holds."""

    member: str

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""

    def wake(self) -> None:
        """Let time pass until its process goes on, where it was stopped."""


Interruption: TypeAlias = Callable[[], object] | BaseException | type[BaseException]
"""Something to call, or to raise into the user's code."""


class _Interruption(NamedTuple):
    call: int
    before: bool
    what: Interruption


class _Handled(NamedTuple):
    at: Time
    member: str
    queue: Queue
    first: int
    end: int


class Handling:
    """What the user's code in one group does. Calls of all its consumers are counted together, from 1 on."""

    def __init__(self, group: GroupInterface) -> None:
        self._group = group
        self.calls = 0
        """How many calls of consumers have begun."""
        self.standing: dict[str, Time] = {}
        """Member to when its code goes on after a `StopPolling`."""
        self.pending: set[tuple[Queue, int]] = set()
        """Records that failed and will be tried again (RocketMQ)."""
        self.metadata: dict[tuple[str, int], tuple[int, str | None]] = {}
        """Partition to the offset that was committed last by user's code, and what it committed beside it (Kafka)."""
        self._interruptions: list[_Interruption] = []
        self._told: dict[str, list[_Handled]] = {}
        """Members whose code tells itself what it has handled."""

    def interrupt(self, with_: Interruption, *, after_calls: int | None = None, before_call: int | None = None) -> None:
        """Let something happen between two calls of the user's code.

        ``after_calls=3``: when the third call from now on is done and before anything more of the user's code runs.
        ``before_call=3``: when the user's code makes its third call from now on, before that call does anything.
        ``with_``: a callable without arguments, or an exception that is raised into the user's code.
        """
        if (after_calls is None) == (before_call is None):
            raise UserError("interrupt: expected either after_calls or before_call")
        number = after_calls if before_call is None else before_call
        if not isinstance(number, int) or number < 1:
            raise UserError(f"interrupt at call {number!r}: expected a call number counted from now, at least 1")
        self._interruptions.append(_Interruption(self.calls + number, before_call is not None, with_))

    def run(self, code: Callable[[], R], *, seconds: float | None = None) -> R | None:
        """Run the user's code: until it returns, its consumer is killed, or ``seconds`` of virtual time have passed
        (then `TimeIsUp` is raised out of the next call). Returns what the code returns, None where it was stopped."""
        clock = self._group.clock
        before = clock.limit
        clock.limit = inf if seconds is None else clock.time + in_ticks(seconds)
        try:
            return code()
        except (Crashed, TimeIsUp):
            return None
        finally:
            clock.limit = before

    def watch(self, handler: Callable[..., R], member: str | None = None) -> Callable[..., R]:
        """The user's handler of a message (or of a list of them), watched: a record counts as handled when it returns,
        and no more when poll() hands it out. ``member``: whose code it is; left out: each message tells."""

        def watched(messages: Message | list[Message] | tuple[Message, ...], *args: object, **kwargs: object) -> R:
            result = handler(messages, *args, **kwargs)
            for each in messages if isinstance(messages, list | tuple) else [messages]:
                if (taken := self._group.popped(each)) is not None:
                    self.handled(member or taken[0], *taken[1])
                    continue
                topic, number, offset = each.topic(), each.partition(), each.offset()
                if topic is not None and number is not None and offset is not None:
                    self.handled(member or each.handed_to, Queue(topic, "", number), offset)
            return result

        return watched

    def handled(self, member: str, queue: Queue, first: int, count: int = 1) -> None:
        """The member's code has handled records."""
        told = self._told.setdefault(member, [])
        told.append(_Handled(self._group.clock.time, member, queue, first, first + count))

    def tells_itself(self, member: str) -> None:
        """Only what is told counts as handled by this member."""
        self._told.setdefault(member, [])

    def twice(self) -> list[Record]:
        """The records that were handled more than once, by one member or several, sorted."""
        by: dict[tuple[Queue, int], list[str]] = {}
        for each in self._all():
            for offset in range(each.first, each.end):
                by.setdefault((each.queue, offset), []).append(each.member)
        found = [(queue, offset) for (queue, offset), members in by.items() if len(members) > 1]
        found.sort(key=lambda each: (queue_key(each[0]), each[1]))
        return [Record(*queue, offset, tuple(by[queue, offset])) for queue, offset in found]

    def never(self) -> list[Record]:
        """The records that nobody handled and nobody will: somebody has committed beyond them, and if they were tried
        again, they were given up. Sorted."""
        handled: dict[Queue, OffsetSet] = {}
        for each in self._all():
            handled.setdefault(each.queue, OffsetSet()).add(each.first, each.end)
        found = []
        waiting = self.pending - dead_letters(self._group)
        for queue, (first, committed) in self._committed().items():
            for start, end in handled.get(queue, OffsetSet()).gaps(first, committed):
                found += [(queue, offset) for offset in range(start, end) if (queue, offset) not in waiting]
        found.sort(key=lambda each: (queue_key(each[0]), each[1]))
        return [Record(*queue, offset) for queue, offset in found]

    def _all(self) -> Iterable[_Handled]:
        """All that was handled, in order of time; by simulated members as the timeline tells."""
        found = [each for told in self._told.values() for each in told]
        for each in self._group.timeline.counted_deliveries():
            if each.member not in self._told:
                found.append(_Handled(each.until, each.member, each.queue, each.first, each.end))
        return sorted(found, key=lambda each: each.at)

    def _committed(self) -> Mapping[Queue, tuple[int, int]]:
        """Queue to where it was read first and to what is committed now."""
        timeline = self._group.timeline
        first: dict[Queue, int] = {}
        for told in timeline.facts:
            if isinstance(told.fact, Position):
                first.setdefault(told.fact.queue, told.fact.offset)
        found: dict[Queue, tuple[int, int]] = {}
        for each in timeline.commits:
            if not each.error and not each.queue.topic.startswith("%"):
                begin = first.get(each.queue, each.offset)
                found[each.queue] = (begin, max(begin, each.offset))
        return found

    # What the doubles call.

    @contextmanager
    def call(self, double: Double) -> Iterator[None]:
        """Around every call of the user's code. Raises `Crashed` and `TimeIsUp`."""
        self.calls += 1
        number = self.calls
        self._strike(number, before=True)
        self._check(double)
        clock = self._group.clock
        if clock.time >= clock.limit:
            clock.limit = inf
            raise TimeIsUp(f"the time limit was reached at {clock.now:g} s")
        yield
        self._strike(number, before=False)
        self._check(double)

    @contextmanager
    def served(self, double: Double) -> Iterator[None]:
        """Around a listener's call, which the client makes: an exception of an interruption is not for user's code."""
        self.calls += 1
        number = self.calls
        self._strike(number, before=True)
        yield
        self._strike(number, before=False)

    def befallen(self, event: Event) -> None:
        """Something happened to the group."""
        if isinstance(event, StopPolling):
            self.standing[event.stop_polling] = self._group.clock.time + event.for_

    def _strike(self, number: int, *, before: bool) -> None:
        for each in list(self._interruptions):
            if (each.call, each.before) == (number, before):
                self._interruptions.remove(each)
                if isinstance(each.what, BaseException) or (
                    isinstance(each.what, type) and issubclass(each.what, BaseException)
                ):
                    raise each.what
                each.what()

    def _check(self, double: Double) -> None:
        clock = self._group.clock
        until = self.standing.pop(double.member, 0.0)
        if until > clock.time:
            clock.run(until)
        double.wake()
        if not double.is_alive:
            raise Crashed(f"{double.member} was killed")


class HandlingGroup(GroupInterface, Protocol):
    """A group whose records the user's code handles."""

    @property
    def handling(self) -> Handling:
        """Which records the user's code has handled, and what happens between its calls."""
