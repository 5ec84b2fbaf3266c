"""The records that both systems' readers fill: what one line of a log says, the stream of lines that it came in,
rebalances and what else happened in a group; and whose lines are whose.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import pairwise

_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


@dataclass(slots=True, eq=False)
class Stream:
    """The lines of one process or container: a file with its rotated predecessors, or one prefix inside of it.

    ``files``: names of its files; ``zone``: what `--zone` said; ``offset``: seconds to subtract
    from a time as printed to get UTC, None until it is known;
    ``stated``: seconds east of UTC of a zone that its times state; ``how``: where the offset was taken from.
    """

    name: str
    container: str | None
    files: list[str] = field(default_factory=list)
    facts: list["Fact"] = field(default_factory=list)
    zone: tzinfo | None = None
    offset: float | None = None
    stated: float | None = None
    how: str = ""
    role: str = "client"


@dataclass(slots=True, eq=False)
class Fact:
    """One line that means something.

    ``kind``: what happened, from the tables of patterns; ``stamp``: seconds since 1970 as printed (since midnight where
    ``clock`` is ``day``), ``clock``: ``utc`` (exact), ``local`` (date, no zone), ``day`` (time of day only) or
    ``none``; ``hint``: seconds since 1970 that the text itself or the container's wrapper states; ``at``: seconds since
    1970, UTC, filled in when the clocks are brought together; ``sure``: False where it was inferred from neighbours;
    ``east``: seconds east of UTC of the zone that its time states.
    """

    kind: str
    stream: Stream
    file: str
    line: int
    group: str | None = None
    member: str | None = None
    client: str | None = None
    instance: str | None = None
    generation: int | None = None
    text: str = ""
    names: tuple[str, ...] = ()
    stamp: float | None = None
    clock: str = "none"
    hint: float | None = None
    at: float | None = None
    sure: bool = True
    east: float = 0.0

    @property
    def evidence(self) -> tuple[str, int]:
        """File and line number, from 1."""
        return self.file, self.line


class Ordered:
    """Facts in order of time, those of brokers first where times are equal; facts without a time are left out."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        dated = [fact for fact in facts if fact.at is not None]
        self.facts = sorted(dated, key=lambda fact: (fact.at, fact.stream.role != "broker"))
        self._times = [fact.at or 0.0 for fact in self.facts]

    def between(self, after: float, until: float) -> list[Fact]:
        """Those later than ``after`` and not later than ``until``."""
        return self.facts[bisect_right(self._times, after) : bisect_right(self._times, until)]

    def next(self, after: float) -> Fact | None:
        """The first that is later."""
        place = bisect_right(self._times, after)
        return self.facts[place] if place < len(self.facts) else None

    def latest(self, until: float) -> Fact | None:
        """The last that is not later."""
        place = bisect_right(self._times, until)
        return self.facts[place - 1] if place else None

    def of(self, *kinds: str) -> "Ordered":
        """Those of some kinds only."""
        return Ordered(fact for fact in self.facts if fact.kind in kinds)


def client_of(member: str) -> str:
    """The client id (of a static member: the instance id) that a member id of the classic protocol begins with."""
    return _UUID.sub("", member)


def has_client_name(member: str) -> bool:
    """Whether the member id begins with a name: ids of the consumer protocol are a random number only."""
    return _UUID.search(member) is not None


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


Process = tuple[int, str, int]
"""Number of the stream, client id, how many times it had been started there before."""


class Processes:
    """Which process printed a client's line, and which one held a member id."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self._streams = streams
        self._number = {id(stream): number for number, stream in enumerate(streams)}
        self._starts: dict[tuple[int, str], list[tuple[int, int]]] = {}
        self.of_member: dict[str, Process] = {}
        self.members_of: dict[Process, list[str]] = defaultdict(list)
        for stream in streams:
            self._read(stream)

    def _read(self, stream: Stream) -> None:
        number = self._number[id(stream)]
        order = {file: place for place, file in enumerate(stream.files)}
        latest = ""
        begun: dict[str, tuple[int, int]] = {}
        any_start = any(fact.kind == "start_time" for fact in stream.facts)
        for fact in stream.facts:
            if fact.kind.startswith("r_") or stream.role == "broker":
                continue
            if fact.client is None:
                name = client_of(fact.member) if fact.member and has_client_name(fact.member) else None
                fact.client = name if fact.kind != "too_slow" and name else latest or None
            latest = fact.client or latest
            place = (order[fact.file], fact.line)
            if fact.kind == "start_time":
                begun = {}
            else:
                begun.setdefault(fact.client or "", place)
            if fact.kind == "started":
                # Some of a new process's lines come before the one that every library prints once.
                first = begun.get(fact.client or "", place) if any_start else place
                self._starts.setdefault((number, fact.client or ""), []).append(first)
        for fact in stream.facts:
            if fact.member and fact.kind in _OWN and stream.role != "broker":
                process = self.of(fact)
                self.of_member.setdefault(fact.member, process)
                if fact.member not in self.members_of[process]:
                    self.members_of[process].append(fact.member)

    def place(self, process: Process) -> str:
        """The container of a process, its client id, or its file."""
        stream = self._streams[process[0]]
        return stream.container or (process[1] if not process[1].startswith("consumer-") else stream.name)

    def of(self, fact: Fact) -> Process:
        """The process that printed a client's line."""
        number = self._number[id(fact.stream)]
        starts = self._starts.get((number, fact.client or ""), [])
        place = (fact.stream.files.index(fact.file), fact.line)
        return number, fact.client or "", bisect_right(starts, place)


_OWN = frozenset({"joined", "synced", "given_id", "leaves", "k_moved", "k_epoch", "k_fatal", "gives_up_id", "started"})


def say_why_left(streams: Iterable[Stream]) -> None:
    """kafka-python does not say why it leaves: the line before does where it was too slow."""
    for stream in streams:
        for before, fact in pairwise(stream.facts):
            if fact.kind == "leaves" and not fact.text and before.kind == "too_slow":
                fact.text, before.client = "poll timeout", fact.client


def give_groups(streams: Iterable[Stream]) -> None:
    """Set the group of lines that name a member or a client but no group."""
    of_member: dict[str, str] = {}
    of_client: dict[tuple[int, str], set[str]] = defaultdict(set)
    anywhere: dict[str, set[str]] = defaultdict(set)
    every = list(streams)
    for stream in every:
        for fact in stream.facts:
            if not fact.group:
                continue
            if fact.member:
                of_member.setdefault(fact.member, fact.group)
                if has_client_name(fact.member):
                    anywhere[client_of(fact.member)].add(fact.group)
            if fact.client:
                of_client[(id(stream), fact.client)].add(fact.group)
                anywhere[fact.client].add(fact.group)
            if stream.role != "broker":
                of_client[(id(stream), "")].add(fact.group)
    for stream in every:
        for fact in stream.facts:
            if fact.group or fact.kind in {"start_time", "broker_stopped", "partition_created"}:
                continue
            fact.group = of_member.get(fact.member or "")
            if fact.group is None and stream.role != "broker":
                known = of_client.get((id(stream), fact.client or "")) or anywhere.get(fact.client or "") or set()
                fact.group = next(iter(known)) if len(known) == 1 else None
