"""Rebalances and what else happened in a group: the records that both systems' readers fill."""

from dataclasses import dataclass, field

from compare.logs.facts import Fact


@dataclass(slots=True, eq=False)
class Departure:
    """A member that is no longer in the group.

    ``how``: ``poll`` (left because of max.poll.interval.ms), ``clean``, ``session``, ``not_rejoined`` or ``unknown``;
    ``process``: as in `Processes`, None where no line of its own is there.
    """

    member: str
    at: float
    how: str
    facts: list[Fact]
    process: tuple[int, str, int] | None = None


@dataclass(slots=True, eq=False)
class Rebalance:
    """One generation of the classic protocol, one epoch of the consumer protocol, or one cluster of changes of
    RocketMQ's owners.

    Times are seconds since 1970. ``trigger``: what the coordinator says began it, with ``trigger_members`` and
    ``reason``; ``joined``: members that are new in it; ``listed``: members after it where a list is there, ``count``
    their number; ``cause``: None where the logs do not tell; ``causes``: those that they allow, likeliest first;
    ``waited_for``: who joined last or was removed for not joining, with the lines that tell in ``waiting``;
    ``pauses``: member or client to the times between which it was without its partitions;
    ``first``: time of the first line about it.
    """

    group: str
    generation: int | None = None
    consumer_protocol: bool = False
    begun: float | None = None
    stabilized: float | None = None
    ready: float | None = None
    trigger: str = ""
    trigger_members: list[str] = field(default_factory=list)
    reason: str = ""
    joined: list[str] = field(default_factory=list)
    departures: list[Departure] = field(default_factory=list)
    seen: dict[str, float] = field(default_factory=dict)
    listed: list[str] | None = None
    count: int | None = None
    emptied: bool = False
    facts: list[Fact] = field(default_factory=list)
    notes: list[Fact] = field(default_factory=list)
    cause: str | None = None
    causes: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    follow_up: bool = False
    before: list[str] | None = None
    after: list[str] | None = None
    waited_for: list[str] = field(default_factory=list)
    waiting: list[Fact] = field(default_factory=list)
    first: float = 0.0
    pauses: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def paused_s(self) -> float | None:
        """The longest of the pauses in seconds, None where the logs tell of none."""
        return max((round(end - begin, 3) for begin, end in self.pauses.values()), default=None)

    @property
    def at(self) -> float:
        """The start, else the first time that is known."""
        return next(each for each in (self.begun, self.stabilized, self.ready, self.first) if each is not None)

    @property
    def end(self) -> float | None:
        """When the assignment was there."""
        return self.ready if self.ready is not None else self.stabilized


@dataclass(slots=True, eq=False)
class Event:
    """What caused no rebalance: `cause` as in `Rebalance`."""

    cause: str
    at: float
    members: list[str]
    facts: list[Fact]


@dataclass(slots=True, eq=False)
class GroupLog:
    """All that the logs tell about a group; ``figures``: what was measured, by name (seconds);
    ``names``: what people call a member, by its id; ``moves``: of RocketMQ's members, who came and went and why, with
    the line, in order of time."""

    system: str
    group: str
    kind: str
    facts: list[Fact]
    rebalances: list[Rebalance] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[str, Fact]] = field(default_factory=list)
    broker_seen: bool = False
    clients_seen: bool = False
