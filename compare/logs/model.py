"""What the logs tell about a group: its rebalances with their causes, what happened without one, and the figures.

Records are frozen; a later station returns new ones with what it found out.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from compare.logs.events import Event
from compare.logs.identity import Process

_Some = TypeVar("_Some", bound=Event)


class Ordered(Generic[_Some]):
    """Events in order of time, those of brokers first where times are equal; those without a time are left out."""

    def __init__(self, events: Iterable[_Some]) -> None:
        dated = [event for event in events if event.place.at is not None]
        self.events = sorted(dated, key=lambda event: (event.at, event.stream.role != "broker"))
        self._times = [event.at for event in self.events]

    def between(self, after: float, until: float) -> list[_Some]:
        """Those later than ``after`` and not later than ``until``."""
        return self.events[bisect_right(self._times, after) : bisect_right(self._times, until)]

    def next(self, after: float) -> _Some | None:
        """The first that is later."""
        place = bisect_right(self._times, after)
        return self.events[place] if place < len(self.events) else None

    def latest(self, until: float) -> _Some | None:
        """The last that is not later."""
        place = bisect_right(self._times, until)
        return self.events[place - 1] if place else None


@dataclass(frozen=True, slots=True)
class Departure:
    """A member that is no longer in the group.

    ``how``: ``poll`` (left because of max.poll.interval.ms), ``clean``, ``session``, ``not_rejoined`` or ``unknown``;
    ``process``: the one that held the member id, None where no line of its own is there; ``exception``: that stood in
    the process's log just before it closed; ``unplaced``: it may have led to a rebalance before, of which no line is
    there.
    """

    member: str
    at: float
    how: str
    events: tuple[Event, ...]
    process: Process | None = None
    exception: str = ""
    unplaced: bool = False


@dataclass(frozen=True, slots=True)
class Cause:
    """A certain cause; ``detail``: what is known about it besides; ``behind``: what was behind it, where that is
    certain, too (`broker_paused`, `broker_down`, `network_cut`, `exception`)."""

    name: str
    members: tuple[str, ...]
    events: tuple[Event, ...]
    detail: str = ""
    behind: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something happened that has several possible causes; ``would_decide``: the logs that would tell."""

    candidates: tuple[str, ...]
    members: tuple[str, ...]
    events: tuple[Event, ...]
    would_decide: str


class Timed(Protocol):
    """The times of a rebalance, while its lines are collected and afterwards."""

    __slots__ = ()

    @property
    def begun(self) -> float | None: ...
    @property
    def stabilized(self) -> float | None: ...
    @property
    def ready(self) -> float | None: ...
    @property
    def first(self) -> float: ...
    @property
    def events(self) -> Sequence[Event]: ...

    @property
    def at(self) -> float:
        """The start, else the first time that is known."""
        return next(each for each in (self.begun, self.stabilized, self.ready, self.first) if each is not None)

    @property
    def end(self) -> float | None:
        """When the assignment was there."""
        return self.ready if self.ready is not None else self.stabilized

    @property
    def over(self) -> float:
        """When it was through, else its start."""
        return self.end if self.end is not None else self.at

    @property
    def at_broker(self) -> bool:
        """Whether a broker's line is about it."""
        return any(event.stream.role == "broker" for event in self.events)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rebalance(Timed):
    """One generation of the classic protocol, one epoch of the consumer protocol, or one cluster of changes of
    RocketMQ's owners.

    Times are seconds since 1970. ``trigger``: what the coordinator says began it (``add``, ``leave``, ``expire``,
    ``rejoin``, ``other`` or "") with ``trigger_members`` and ``reason``; ``joined``: members that are new in it, with
    the times; ``seen``: members whose own lines are about it, with theirs; ``listed``: members after it where a list
    is there, ``count`` their number; ``events``: the lines about it, ``notes``: those of clients just before;
    ``causes``: certain ones, ``doubts``: the rest; ``waited_for``: who joined last or was removed for not joining, with
    the lines that tell in ``waiting``; ``pauses``: member or client to the times between which it was without its
    partitions; ``deploy``: number of the run of restarts that it belongs to; ``first``: time of the first line;
    ``is_known``: whether the logs give all members after it, though ``after`` may leave out too many of them;
    ``is_one_of_several``: that begin within the time that the lines print, so that their order tells nothing.
    """

    group: str
    generation: int | None = None
    consumer_protocol: bool = False
    begun: float | None = None
    stabilized: float | None = None
    ready: float | None = None
    trigger: str = ""
    trigger_members: tuple[str, ...] = ()
    reason: str = ""
    joined: Mapping[str, float] = field(default_factory=dict)
    departures: tuple[Departure, ...] = ()
    seen: Mapping[str, float] = field(default_factory=dict)
    listed: tuple[str, ...] | None = None
    count: int | None = None
    emptied: bool = False
    events: tuple[Event, ...] = ()
    notes: tuple[Event, ...] = ()
    before: tuple[str, ...] | None = None
    after: tuple[str, ...] | None = None
    is_known: bool = False
    causes: tuple[Cause, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    waited_for: tuple[str, ...] = ()
    waiting: tuple[Event, ...] = ()
    pauses: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    deploy: int | None = None
    first: float = 0.0
    is_one_of_several: bool = False

    @property
    def paused_s(self) -> float | None:
        """The longest of the pauses in seconds, None where the logs tell of none."""
        return max((round(end - begin, 3) for begin, end in self.pauses.values()), default=None)

    @property
    def cause(self) -> str | None:
        """The first certain cause."""
        return self.causes[0].name if self.causes else None

    @property
    def members(self) -> tuple[str, ...]:
        """Those of the first certain cause; where none is certain, those in question."""
        return self.causes[0].members if self.causes else self.doubts[0].members if self.doubts else ()


@dataclass(frozen=True, slots=True)
class Happening:
    """What caused no rebalance, or none that the lines tell of: a cause, when, who, and the lines; ``detail``: what is
    known about it besides; ``or_else``: what it may be, too, with what ``would_decide``."""

    cause: str
    at: float
    members: tuple[str, ...]
    events: tuple[Event, ...]
    detail: str = ""
    or_else: tuple[str, ...] = ()
    would_decide: str = ""


@dataclass(frozen=True, slots=True)
class Deploy:
    """Members that were closed and started again one after another (``kind`` `restarts`), or members that came and
    went again and again (`flapping`); ``number``: as in `Rebalance.deploy`."""

    number: int
    kind: str
    members: tuple[str, ...]
    begun: float
    ended: float


@dataclass(slots=True, eq=False)
class GroupLog:
    """All that the logs tell about a group; ``group``: "" where no line names it (``kind`` `unnamed`: the lines of one
    client, or of all where the user names the group); ``kind``: else `plain`, `streams`, `connect` or `share`;
    ``events``: its lines in order of time; ``figures``: what was measured, by name (seconds); ``names``: what people
    call a member, by its id; ``moves``: of RocketMQ's members, who came and went and why, with the line, in order of
    time; ``others``: lines of no group that tell about it; ``apart``: files whose clocks are not of one zone, though
    nothing tells how far they are apart.
    """

    system: str
    group: str
    kind: str
    events: Sequence[Event]
    rebalances: Sequence[Rebalance] = ()
    happenings: Sequence[Happening] = ()
    deploys: Sequence[Deploy] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    moves: Sequence[tuple[str, Event]] = ()
    others: Sequence[Event] = ()
    judged: bool = True
    apart: Sequence[str] = ()

    @property
    def broker_seen(self) -> bool:
        """Whether a broker's line about the group is there."""
        return any(event.stream.role == "broker" for event in self.events)

    @property
    def clients_seen(self) -> bool:
        """Whether a client's line about the group is there."""
        return any(event.stream.role != "broker" for event in self.events)
