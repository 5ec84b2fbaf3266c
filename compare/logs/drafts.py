"""Rebalances while their lines are collected: each line of a group is put to its generation or epoch."""

import re
from dataclasses import dataclass, field, fields
from functools import singledispatchmethod
from typing import Any

from compare.logs.broker_events import (
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
    Epoch,
    Joined,
    ListsMember,
    Moved,
    OfClient,
    SharedOut,
    Synced,
)
from compare.logs.events import Event
from compare.logs.identity import client_of
from compare.logs.model import Departure, Rebalance, Timed
from compare.logs.templates import members_in

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
_LONGEST_JOIN_S = 60.0
"""A rebalance of which no line tells the end is that of a join so soon after its start."""

_SAME_REQUEST_S, _LONGEST_REQUEST_S = 0.005, 1.0
"""From what raised an epoch to the line about that: as a rule, and for the first requests of a broker."""

_SETTLING_S = 10.0
"""Members of the consumer protocol learn of an epoch with their heartbeats; a longer gap is something else."""

_RECENT = 50
"""So many rebalances back a generation is looked for."""

_ABOUT_EPOCH = (EpochJoined, Left, Failed, Fenced, SubscriptionUpdated, Replaced)


@dataclass(slots=True, eq=False)
class Draft(Timed):
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
    is_known: bool = False
    first: float = 0.0
    is_one_of_several: bool = False

    def frozen(self, group: str) -> Rebalance:
        """The record that later stations read."""
        collected: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        lists = {name: tuple(value) for name, value in collected.items() if isinstance(value, list)}
        return Rebalance(group=group, **{**collected, **lists})


class Collector:
    """Collects the lines of each generation; the events are to be taken in order of time."""

    def __init__(self, with_epochs: bool) -> None:
        self.found: list[Draft] = []
        self._recent: list[OfMember] = []
        self._bumped: list[Draft] = []
        self._bumped_at: float | None = None
        """Epochs that were raised within the time that the lines print: which line is about which, nobody knows."""
        self._with_epochs = with_epochs
        self._latest_of: dict[int, Draft] = {}

    def _generation(self, number: int, at: float) -> Draft:
        for each in reversed(self.found[-_RECENT:]):
            if each.generation == number and abs(at - each.over) < _LONG_S:
                return each
        new = Draft(number, first=at)
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
            each.trigger, each.trigger_members = trigger_of(event.reason)
        if each.count is None and each.stabilized is not None and each.stabilized < event.at:
            each.stabilized = None  # of a client that prints no times
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
        follows = event.epoch == 1 or (bool(self._bumped) and self._bumped[-1].generation == event.epoch - 1)
        # Where the epoch before has no line, those who came earlier may have raised that one.
        is_first = event.epoch == 2 and not self._bumped  # of a group that a coordinator has made with epoch 1
        longest = _LONGEST_REQUEST_S if follows or is_first else _SAME_REQUEST_S
        notes = [known for known in self._recent if event.at - known.at < longest]
        each.notes = [*notes]
        each.events += [*notes, event]
        self._recent.clear()
        if not follows or self._bumped_at != event.place.stamp:
            self._bumped.clear()
        self._bumped.append(each)
        self._bumped_at = event.place.stamp
        if len(self._bumped) > 1:
            together = dict.fromkeys(note for one in self._bumped for note in one.notes)
            for one in self._bumped:
                one.notes, one.is_one_of_several = list(together), True

    @take.register
    def _(self, event: TargetComputed) -> None:
        self._generation(event.epoch, event.at).stabilized = event.at
        self._recent.clear()  # it comes after its epoch, of which no line is there if these are still waiting for one

    @take.register
    def _(self, event: Joined) -> None:
        each = self._joined_in(event.generation, event)
        member = event.member or self._member_of(event)
        if member:
            each.seen.setdefault(member, event.at)
        if each.count is None and (event.place.sure or each.begun is None):  # no line of the broker says the end
            each.stabilized = event.at if each.stabilized is None else min(event.at, each.stabilized)

    @take.register
    def _(self, event: Synced) -> None:
        if event.generation is None or not event.member:
            return
        each = self._generation(event.generation, event.at)
        if event.member in each.seen:
            return
        each.seen[event.member] = event.at  # the line about its join is missing
        if not each.events:
            each.stabilized = event.at
            each.events.append(event)

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

    def _joined_in(self, number: int | None, event: Event) -> Draft:
        each = self._unnumbered(event) if number is None else self._generation(number, event.at)
        each.events.append(event)
        self._latest_of[id(event.stream)] = each
        return each

    def _unnumbered(self, event: Event) -> Draft:
        """Some clients do not print the generation: the one that is there, or their own cluster of joins. Where they
        print how long they waited, a generation that the broker completed meanwhile is theirs."""
        at, waited = event.at, event.waited_ms / 1000 if isinstance(event, Joined) else 0.0
        for each in reversed(self.found[-_RECENT:]):
            since = each.stabilized if each.stabilized is not None else each.ready
            longest = _ONE_JOIN_S if each.count is None else max(_ONE_JOIN_S, waited)
            if since is not None and since - _ONE_JOIN_S < at < each.over + longest:
                return each
            # Who joined waits for the leader's assignment, of which the broker's line may be missing.
            waits = each.stabilized is None or (each.ready is None and each.count is not None)
            is_open = each is self.found[-1] and waits and each.begun is not None
            if is_open and 0 <= at - each.at < _LONGEST_JOIN_S:
                return each
        new = Draft(first=at)
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
        # A member that leaves may name an epoch that it has heard of long before without a line.
        leaves = isinstance(event, Moved) and event.after == "PREPARE_LEAVING"
        if number <= 0 or (not known and (self._with_epochs or leaves)):
            return
        each = self._generation(number, event.at)
        if not known:
            each.consumer_protocol, each.begun = True, event.at
            each.events.append(event)
        if event.member:
            each.seen.setdefault(event.member, event.at)
        if settled and event.at - (each.ready or each.at) < _SETTLING_S and each is self.found[-1]:
            each.ready = event.at


def trigger_of(reason: str) -> tuple[str, tuple[str, ...]]:
    """What began a rebalance by the coordinator's words, with the members that it names."""
    for kind, pattern in _REASONS:
        if match := pattern.match(reason):
            return kind, members_in(match.group("member"))
    return "other", ()
