"""The lines of one Kafka group reduced to its rebalances: generations of the classic protocol, epochs of the
consumer's. Who came and went is looked for here, why is not.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod

from compare.logs.broker_events import (
    Added,
    Announced,
    AssignmentReceived,
    Emptied,
    EpochBumped,
    EpochJoined,
    Failed,
    Fenced,
    Left,
    OfMember,
    Preparing,
    Replaced,
    Stabilized,
    SubscriptionUpdated,
    TargetComputed,
)
from compare.logs.client_events import (
    ClientStarted,
    Epoch,
    GivenId,
    GivesUpId,
    Joined,
    ListsMember,
    Loading,
    Moved,
    Moves,
    NotCoordinator,
    OfClient,
    SessionOver,
    SharedOut,
    ToldToRejoin,
    UnknownMember,
)
from compare.logs.events import Event
from compare.logs.identity import client_of
from compare.logs.model import Departure, Ordered, Rebalance
from compare.logs.templates import members_in

CLOSE_S = 5.0
"""The broker's and the client's lines of the same leave are at most so far apart."""

_LONG_S = 3600
"""The same generation after so many seconds of silence is another group of that name."""

_REASONS = (
    ("add", re.compile(r"Adding new member (?P<member>.+) with group instance ?id ")),
    ("leave", re.compile(r"explicit `LeaveGroup` request for \((?P<member>[^)]*)\) members")),
    ("leave", re.compile(r"[Rr]emoving member (?P<member>.+) on LeaveGroup")),
    ("expire", re.compile(r"[Rr]emoving member (?P<member>.+) on heartbeat expiration")),
    ("rejoin", re.compile(r"[Ll]eader (?P<member>.+) re-joining group during")),
    ("rejoin", re.compile(r"Updating metadata for member (?P<member>.+) during")),
)
_ONE_JOIN_S = 2.0
_SETTLING_S = 10.0
"""Members of the consumer protocol learn of an epoch with their heartbeats; a longer gap is something else."""

_RECENT = 50
"""So many rebalances back a generation is looked for."""

_ALONE = (SessionOver, UnknownMember, Loading, NotCoordinator)
"""What a client notices before it joins again: the group's rebalance begins with its join."""

_ABOUT_EPOCH = (EpochJoined, Left, Failed, Fenced, SubscriptionUpdated, Replaced)


@dataclass(slots=True, eq=False)
class _Draft:
    """A rebalance while its lines are collected; fields as in `Rebalance`."""

    generation: int | None = None
    consumer_protocol: bool = False
    begun: float | None = None
    stabilized: float | None = None
    ready: float | None = None
    trigger: str = ""
    trigger_members: tuple[str, ...] = ()
    reason: str = ""
    joined: dict[str, float] = field(default_factory=dict)
    departures: list[Departure] = field(default_factory=list)
    seen: dict[str, float] = field(default_factory=dict)
    listed: list[str] | None = None
    count: int | None = None
    emptied: bool = False
    events: list[Event] = field(default_factory=list)
    notes: list[Event] = field(default_factory=list)
    before: tuple[str, ...] | None = None
    after: tuple[str, ...] | None = None
    first: float = 0.0

    @property
    def at(self) -> float:
        return next(each for each in (self.begun, self.stabilized, self.ready, self.first) if each is not None)

    @property
    def over(self) -> float:
        return next((each for each in (self.ready, self.stabilized) if each is not None), self.at)

    @property
    def at_broker(self) -> bool:
        return any(event.stream.role == "broker" for event in self.events)

    def frozen(self, group: str) -> Rebalance:
        """The record that later stations read."""
        return Rebalance(
            group=group,
            generation=self.generation,
            consumer_protocol=self.consumer_protocol,
            begun=self.begun,
            stabilized=self.stabilized,
            ready=self.ready,
            trigger=self.trigger,
            trigger_members=self.trigger_members,
            reason=self.reason,
            joined=self.joined,
            departures=tuple(self.departures),
            seen=self.seen,
            listed=None if self.listed is None else tuple(self.listed),
            count=self.count,
            emptied=self.emptied,
            events=tuple(self.events),
            notes=tuple(self.notes),
            before=self.before,
            after=self.after,
            first=self.first,
        )


class _Collector:
    """Collects the lines of each generation; the events are to be taken in order of time."""

    def __init__(self, with_epochs: bool) -> None:
        self.found: list[_Draft] = []
        self._recent: list[Event] = []
        self._with_epochs = with_epochs
        self._latest_of: dict[int, _Draft] = {}

    def _generation(self, number: int, at: float) -> _Draft:
        for each in reversed(self.found[-_RECENT:]):
            if each.generation == number and abs(at - each.over) < _LONG_S:
                return each
        new = _Draft(number, first=at)
        self.found.append(new)
        return new

    @singledispatchmethod
    def take(self, event: Event) -> None:
        """Put the line to its generation."""
        if isinstance(event, _ABOUT_EPOCH):
            self._recent.append(event)

    @take.register
    def _(self, event: Preparing) -> None:
        each = self._generation(event.generation + 1, event.at)
        if each.begun is None or not each.trigger:
            each.begun, each.reason = event.at, event.reason
            each.trigger, each.trigger_members = _trigger(event.reason)
        each.events.append(event)

    @take.register
    def _(self, event: Stabilized) -> None:
        each = self._generation(event.generation, event.at)
        each.stabilized, each.emptied, each.count = event.at, False, event.members
        each.events.append(event)

    @take.register
    def _(self, event: Emptied) -> None:
        each = self._generation(event.generation, event.at)
        each.stabilized, each.emptied, each.count = event.at, True, 0
        each.events.append(event)

    @take.register
    def _(self, event: AssignmentReceived) -> None:
        each = self._generation(event.generation, event.at)
        each.ready = event.at
        each.events.append(event)

    @take.register
    def _(self, event: EpochBumped) -> None:
        each = self._generation(event.epoch, event.at)
        each.begun, each.consumer_protocol, each.reason = event.at, True, event.topics
        each.notes = [known for known in self._recent if event.at - known.at < 1.0]
        each.events += [*each.notes, event]
        self._recent.clear()

    @take.register
    def _(self, event: TargetComputed) -> None:
        self._generation(event.epoch, event.at).stabilized = event.at

    @take.register
    def _(self, event: Joined) -> None:
        each = self._joined_in(event.generation, event)
        member = event.member or self._member_of(event)
        if member:
            each.seen.setdefault(member, event.at)
        if not each.at_broker:
            each.stabilized = event.at if each.stabilized is None else min(event.at, each.stabilized)

    @take.register
    def _(self, event: SharedOut) -> None:
        self._joined_in(event.generation, event).listed = list(event.members)

    @take.register
    def _(self, event: ListsMember) -> None:
        led = self._latest_of.get(id(event.stream))
        if led is not None and event.member:
            led.listed = sorted({*(led.listed or []), event.member})

    @take.register
    def _(self, event: Moved) -> None:
        self._epoch(event, event.epoch, event.after == "STABLE")

    @take.register
    def _(self, event: Epoch) -> None:
        self._epoch(event, event.epoch, True)

    def _joined_in(self, number: int | None, event: Event) -> _Draft:
        each = self._unnumbered(event.at) if number is None else self._generation(number, event.at)
        each.events.append(event)
        self._latest_of[id(event.stream)] = each
        return each

    def _unnumbered(self, at: float) -> _Draft:
        """Some clients do not print the generation: the one that is there, or their own cluster of joins."""
        for each in reversed(self.found[-_RECENT:]):
            if each.stabilized is not None and abs(at - each.stabilized) < _ONE_JOIN_S:
                return each
        new = _Draft(first=at)
        self.found.append(new)
        return new

    def _member_of(self, event: Joined) -> str:
        """Older Java clients do not print their member id: the latest one of the same client id."""
        for each in reversed(self.found[-_RECENT:]):
            for known in each.events:
                names = known.members if isinstance(known, SharedOut) else ()
                named = known.member if isinstance(known, OfMember | OfClient) else ""
                for name in (*names, named, *each.trigger_members):
                    if name and client_of(name) == event.client:
                        return name
        return event.client

    def _epoch(self, event: Moved | Epoch, number: int, settled: bool) -> None:
        known = any(each.generation == number for each in self.found[-_RECENT:])
        if number <= 0 or (not known and self._with_epochs):
            return
        each = self._generation(number, event.at)
        if not known:
            each.consumer_protocol, each.begun = True, event.at
            each.events.append(event)
        if event.member:
            each.seen.setdefault(event.member, event.at)
        if settled and event.at - (each.ready or each.at) < _SETTLING_S and each is self.found[-1]:
            each.ready = event.at


def _trigger(reason: str) -> tuple[str, tuple[str, ...]]:
    for kind, pattern in _REASONS:
        if match := pattern.match(reason):
            return kind, members_in(match.group("member"))
    return "other", ()


def reduced(group: str, events: Ordered[Event], departures: Sequence[Departure]) -> list[Rebalance]:
    """The group's rebalances in order of time, with who came and went."""
    broker_seen = any(event.stream.role == "broker" for event in events.events)
    collector = _Collector(any(isinstance(event, EpochBumped) for event in events.events))
    for event in events.events:
        collector.take(event)
    drafts = sorted(
        (each for each in collector.found if each.consumer_protocol or any(event.place.sure for event in each.events)),
        key=lambda each: (each.at, each.generation or 0),
    )
    drafts = _unseen_generations(drafts, events, departures)
    if not broker_seen:
        _begin_epochs(drafts, events)
    _Sharing(drafts, events, departures).share_out()
    _members(drafts, broker_seen)
    return [each.frozen(group) for each in drafts]


class _Sharing:
    """Gives every departure and every new member to the rebalance that it belongs to."""

    def __init__(self, drafts: Sequence[_Draft], events: Ordered[Event], departures: Sequence[Departure]) -> None:
        self.drafts = drafts
        self.moves = Ordered(event for event in events.events if isinstance(event, Moves))
        self.begins = Ordered(
            event
            for event in events.events
            if event.place.sure
            and (_begins_epoch(event) or (isinstance(event, Moves) and not isinstance(event, _ALONE)))
        )
        self.new = Ordered(event for event in events.events if isinstance(event, Added | Announced | GivenId))
        self.departures = departures
        self.left_at = [departure.at for departure in departures]
        self.triggers = {
            member: place
            for place, each in enumerate(drafts)
            if each.trigger == "add"
            for member in each.trigger_members
        }
        self.started = {(id(e.stream), e.client): e.at for e in reversed(events.events) if isinstance(e, ClientStarted)}
        self.used = {name for event in events.events for name in _used(event)} | self.triggers.keys()
        self.known: set[str] = set()
        self.own: dict[str, list[OfClient]] = defaultdict(list)
        for event in events.events:
            if isinstance(event, Joined | Moved | Epoch) and event.member:
                self.own[event.member].append(event)

    def share_out(self) -> None:
        """Starts that only clients saw, lines, departures and new members of every rebalance."""
        last = since = float("-inf")
        waiting: list[Departure] = []  # of those who were in a generation before they left
        for place, each in enumerate(self.drafts):
            through = each.stabilized if each.at_broker and each.stabilized is not None else each.over + 0.5
            if each.consumer_protocol:
                through = each.at + 0.001 if each.at_broker else each.over + 0.5
            if not each.consumer_protocol and (each.begun is None or not each.trigger):
                self._begin(each, last)
            each.notes += self.moves.between(max(last, each.at - CLOSE_S), each.over + 0.5)
            first, past = bisect_right(self.left_at, since), bisect_right(self.left_at, through)
            left = [*waiting, *self.departures[first:past]]
            waiting = [] if each.at_broker else [gone for gone in left if each.seen.get(gone.member, gone.at) < gone.at]
            each.departures = [gone for gone in left if gone not in waiting]
            each.joined = self._new_members(place, each, since, through)
            self.known |= {*each.joined, *each.seen, *(each.listed or ())}
            self.known -= {gone.member for gone in each.departures}
            last, since = each.over, max(since, through)

    def _begin(self, each: _Draft, last: float) -> None:
        moves = self.begins.between(last + 0.001, each.over - 0.000_001)
        if moves:
            each.begun = min(each.at, moves[0].at)
            each.events.insert(0, moves[0])

    def _new_members(self, place: int, each: _Draft, since: float, through: float) -> dict[str, float]:
        """Those who are new in it, with the times at which they asked to join."""
        named = dict.fromkeys(each.trigger_members, each.at) if each.trigger == "add" else {}
        named |= {note.member: note.at for note in each.notes if isinstance(note, EpochJoined | Replaced)}
        for event in self.new.between(since, through + 0.05):
            assert isinstance(event, Added | Announced | GivenId)
            certain = isinstance(event, Added) or (event.member in self.used and self._is_in(event.member, each))
            if certain and self.triggers.get(event.member, place) <= place:
                named.setdefault(event.member, event.at)
        if not each.at_broker:
            named = {**self._first_seen(each, place), **named}
        members = each.listed or (list(each.seen) if not each.at_broker else [])
        known = {*members, *each.trigger_members}
        return {name: at for name, at in named.items() if name and (not members or name in known)}

    def _is_in(self, member: str, each: _Draft) -> bool:
        """Whether a member that was given an id joined with it then, as far as its own lines tell."""
        own = [event for event in self.own[member] if isinstance(event, Joined) and event.generation is not None]
        return not own or each.generation is None or own[0].generation == each.generation

    def _first_seen(self, each: _Draft, place: int) -> dict[str, float]:
        """Members whose first own line about a generation or epoch is about this one, unless their logs begin here."""
        found = {}
        for member, at in each.seen.items():
            own = self.own[member]
            if each.consumer_protocol:
                heard = next((event.epoch for event in own if isinstance(event, Epoch)), None)
                entered = [event.epoch for event in own if isinstance(event, Moved) and event.before == "JOINING"]
                if each.generation in entered or (not entered and each.generation == heard):
                    found[member] = at
            elif member not in self.known and own and isinstance(own[0], Joined) and own[0] in each.events:
                began = self.started.get((id(own[0].stream), own[0].client), float("inf"))
                if place or each.generation == 1 or began <= own[0].at:
                    found[member] = at
        return found


def _used(event: Event) -> Iterable[str]:
    """Member ids in a line that only members have."""
    if isinstance(event, AssignmentReceived):
        return (event.leader,)
    if isinstance(event, SharedOut):
        return event.members
    if isinstance(event, Left | Failed | Joined):
        return (event.member,)
    return ()


def _begins_epoch(event: Event) -> bool:
    if isinstance(event, Moved):
        return event.after in {"JOINING", "PREPARE_LEAVING"}
    return isinstance(event, GivesUpId | ClientStarted)


def _unseen_generations(drafts: list[_Draft], events: Ordered[Event], departures: Sequence[Departure]) -> list[_Draft]:
    """Rebalances that nobody who writes logs was in: after a member left that does, where numbers are missing and
    nobody else joins again at that time, or after all that the logs tell of."""
    found = list(drafts)
    covered = max((event.at for event in events.events if event.stream.role == "broker"), default=float("-inf"))
    left = [
        each
        for each in departures
        if each.events[0].place.sure and not any(event.stream.role == "broker" for event in each.events)
    ]
    times = [each.at for each in left]
    ends = [float("-inf"), *(each.over for each in drafts)]
    for place, since in enumerate(ends):
        after = drafts[place] if place < len(drafts) else None
        until = after.over if after is not None else float("inf")
        room = _room(drafts[place - 1] if place else None, after)
        clusters = _clusters(left[bisect_right(times, since) : bisect_left(times, until)])
        for cluster in clusters if room else []:
            late = after is None and cluster[0].at > covered
            if late or (after is not None and not _joined_by_others(cluster, since, until, events)):
                number = None
                if after is not None and after.generation is not None and room == len(clusters) == 1:
                    number = after.generation - 1
                lines = [event for each in cluster for event in each.events]
                found.append(_Draft(number, begun=cluster[0].at, first=cluster[0].at, events=lines))
    return sorted(found, key=lambda each: (each.at, each.generation or 0))


def _room(before: _Draft | None, after: _Draft | None) -> float:
    """How many rebalances there may be between two."""
    if after is None or after.generation is None:
        return float("inf")
    if before is None or before.generation is None:
        return float("inf") if after.generation > 1 else 0
    return after.generation - before.generation - 1


def _clusters(departures: Sequence[Departure]) -> list[list[Departure]]:
    found: list[list[Departure]] = []
    for each in departures:
        if found and each.at - found[-1][-1].at < _ONE_JOIN_S:
            found[-1].append(each)
        else:
            found.append([each])
    return found


def _joined_by_others(cluster: Sequence[Departure], since: float, until: float, events: Ordered[Event]) -> bool:
    """Whether other members are told to join again when these left: that leads to the rebalance that is known."""
    own = {id(event.stream) for each in cluster for event in each.events}
    near = events.between(max(since, cluster[0].at - _ONE_JOIN_S), min(until, cluster[-1].at + CLOSE_S))
    return any(isinstance(event, ToldToRejoin) and id(event.stream) not in own for event in near)


def _begin_epochs(drafts: Sequence[_Draft], events: Ordered[Event]) -> None:
    """Without the broker's log an epoch began when the member joined or left that it is due to."""
    begins = Ordered(event for event in events.events if _begins_epoch(event))
    last = float("-inf")
    for each in drafts:
        if each.consumer_protocol and each.begun is not None:
            moments = [event.at for event in begins.between(each.begun - 3.0, each.begun)]
            each.begun = last = max(last, min(moments, default=each.begun))


def _members(drafts: Sequence[_Draft], broker_seen: bool) -> None:
    """Who is in the group before and after, where the logs give it completely."""
    known: set[str] | None = None
    for each in drafts:
        each.before = None if known is None else tuple(sorted(known))
        if each.listed is not None:
            if known is not None and not broker_seen:
                for name in each.listed:
                    if name not in known:
                        each.joined.setdefault(name, each.at)
            known = set(each.listed)
        elif each.emptied:
            known = set()
        else:
            start = known if known is not None else (set() if each.generation == 1 else None)
            if start is not None:
                gone = {departure.member for departure in each.departures}
                known = (start - gone) | (each.joined.keys() - gone) | set(each.seen)
                if each.count is not None and len(known) != each.count:
                    known = None
        each.after = None if known is None else tuple(sorted(known))
        if each.before is None and each.generation == 1:
            each.before = ()
