"""Whose lines are whose: the processes behind the lines of clients, and the member ids that they held.

A member is known by its member id first, then by its client id, then by the process that printed its lines. Lines of
other groups change nothing.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from compare.logs.broker_events import OfMember, Replaced
from compare.logs.client_events import (
    Asked,
    ClientBooted,
    ClientStarted,
    CoordinatorGone,
    Epoch,
    Fatal,
    GivenId,
    GivesUpId,
    Joined,
    Joining,
    Leaves,
    Loading,
    Lost,
    MetadataChanged,
    Moved,
    NotCoordinator,
    OfClient,
    PollTimeout,
    Refused,
    Resubscribed,
    Revoked,
    Setting,
    Subscribed,
    Synced,
    ToldToRejoin,
    Unanswered,
    UnknownMember,
    Unreleased,
)
from compare.logs.events import Event, Stream

_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


@lru_cache(1 << 16)
def client_of(member: str) -> str:
    """The client id (of a static member: the instance id) that a member id of the classic protocol begins with."""
    return _UUID.sub("", member)


def has_client_name(member: str) -> bool:
    """Whether the member id begins with a name: ids of the consumer protocol are a random number only."""
    return _UUID.search(member) is not None


Process = tuple[int, str, int]
"""Number of the stream, client id, how many times it had been started there before."""

_SOME_IDS = 50
"""A client draws several ids before it gets in; so many of them are looked at."""

_LEAVING = "consumer pro-actively leaving the group"
"""Why a Java client that closes gives up its id."""

_LONGEST_START_S = 12.0
"""A process that starts asks to join so soon, else lines may be missing in between."""

LONGEST_JOIN_S = 8.0
"""From one line of a join to the next it takes at most so long, else lines may be missing in between."""

_BEFORE_THE_FIRST = (
    Asked,
    CoordinatorGone,
    Loading,
    MetadataChanged,
    NotCoordinator,
    Refused,
    Resubscribed,
    Subscribed,
    Unanswered,
    Unreleased,
)
"""Lines that a process may print before it is in the group for the first time."""

_NO_MEMBER = ClientStarted | GivenId | GivesUpId | Leaves | PollTimeout | UnknownMember
"""Lines after which a process has another member id, or none."""

_HOLDS = (Joined, Synced, GivenId, Leaves, Moved, Epoch, Fatal, GivesUpId, ClientStarted)
"""Lines with the printing process's own member id."""


def give_names(streams: Sequence[Stream]) -> None:
    """Set client and group of the clients' lines that name a member or a process only."""
    for stream in streams:
        names = [name for event in stream.events if isinstance(event, OfClient) and (name := _own_name(event))]
        # Clients that print at the same time: whose a line is that names none, nobody knows.
        mixed = len(set(names)) < len([*groupby(names)])
        latest = names[0] if len(set(names)) == 1 else ""
        held = ""
        for place, event in enumerate(stream.events):
            if not isinstance(event, OfClient) or stream.role == "broker":
                continue
            client = _own_name(event) or latest
            latest = client if not mixed else ""
            if event.member and not mixed:
                held = event.member
            named_itself = isinstance(event, Leaves) and not event.member and bool(held)
            if client != event.client or named_itself:
                stream.events[place] = replace(event, client=client, member=held if named_itself else event.member)
    _give_groups(streams)


def _own_name(event: OfClient) -> str:
    named = event.member and has_client_name(event.member) and not isinstance(event, PollTimeout)
    return event.client or (client_of(event.member) if named else "")


def _give_groups(streams: Sequence[Stream]) -> None:
    of_member: dict[str, str] = {}
    of_client: dict[tuple[int, str], set[str]] = defaultdict(set)
    anywhere: dict[str, set[str]] = defaultdict(set)
    for stream in streams:
        for event in stream.events:
            if not isinstance(event, OfMember | OfClient) or not event.group:
                continue
            if isinstance(event, Replaced):
                of_member.setdefault(event.old, event.group)
            if event.member:
                of_member.setdefault(event.member, event.group)
                if has_client_name(event.member):
                    anywhere[client_of(event.member)].add(event.group)
            if isinstance(event, OfClient):
                if event.client:
                    of_client[(id(stream), event.client)].add(event.group)
                    anywhere[event.client].add(event.group)
                of_client[(id(stream), "")].add(event.group)
    for stream in streams:
        for place, event in enumerate(stream.events):
            if not isinstance(event, OfMember | OfClient) or event.group or isinstance(event, ClientBooted):
                continue
            group = of_member.get(event.member, "")
            if not group and isinstance(event, OfClient):
                known = of_client.get((id(stream), event.client)) or anywhere.get(event.client) or set()
                group = next(iter(known)) if len(known) == 1 else ""
            if group:
                stream.events[place] = replace(event, group=group)


class Processes:
    """Which process printed a client's line, and which one held a member id."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self._streams = streams
        self._number = {id(stream): number for number, stream in enumerate(streams)}
        self._starts: dict[tuple[int, str], list[tuple[int, int]]] = {}
        self._files = {id(stream): {file: place for place, file in enumerate(stream.files)} for stream in streams}
        self.of_member: dict[str, Process] = {}
        self._members_of: dict[Process, dict[str, int]] = defaultdict(dict)
        self.events_of: dict[Process, list[OfClient]] = defaultdict(list)
        self._ids: dict[Process, list[str]] = {}
        self._of_client: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._of_stream: dict[tuple[int, str], list[Process]] = defaultdict(list)
        self._first: set[int] = set()
        """Subscriptions that are a new client's first."""
        self._again: set[int] = set()
        """Joins that are not the first of a member id."""
        for stream in streams:
            if stream.role != "broker":
                self._read(stream)

    def _read(self, stream: Stream) -> None:
        own = [event for event in stream.events if isinstance(event, OfClient)]
        number = self._number[id(stream)]
        begun: dict[str, tuple[int, int]] = {}
        started: set[str] | None = None
        is_new = False
        held: dict[str, str] = {}
        fresh: set[str] = set()  # clients that have subscribed, "" after the first lines of a process
        held_before: dict[str, str] = {}  # its last start, where no other line with a member id came since
        first: dict[str, tuple[int, int]] = {}
        for event in own:
            place = self._place(event)
            if isinstance(event, Subscribed | ClientBooted):
                fresh.add(event.client)
            elif isinstance(event, Joined):
                fresh -= {event.client, ""}
            if event.member and isinstance(event, _HOLDS):
                first.setdefault(event.member, place)
                if held_before.pop(event.client, "") == event.member:
                    # The line that is printed once came after the first join: no other process has the same id.
                    starts = self._starts[(number, event.client)]
                    starts[-1] = min(starts[-1], first[event.member])
                held[event.client] = event.member
            if isinstance(event, Subscribed) and is_new:
                self._first.add(id(event))
            is_new = isinstance(event, ClientBooted) or (is_new and not isinstance(event, Subscribed))
            if isinstance(event, ClientBooted):
                begun, started = {}, set()
            elif started is not None and event.client not in started:
                begun.setdefault(event.client, place)
            goes_on = stream.library == "java" and event.client in held and fresh.isdisjoint({event.client, ""})
            if isinstance(event, ClientStarted) and not goes_on:  # one that has lost its cluster prints it again
                # Some of a new process's lines come before the one that every library prints once.
                self._starts.setdefault((number, event.client), []).append(begun.pop(event.client, place))
                held_before[event.client] = held.get(event.client, "")
                if started is not None:
                    started.add(event.client)
        told: dict[Process, str] = {}
        for event in own:
            if isinstance(event, ClientBooted | Setting):
                continue
            process = self.of(event)
            if process not in self.events_of:
                self._of_stream[process[:2]].append(process)
            self.events_of[process].append(event)
            self._of_client[(event.group, event.client)].add(number)
            if event.member and isinstance(event, _HOLDS):
                self.of_member.setdefault(event.member, process)
                self._members_of[process].setdefault(event.member, len(self._members_of[process]))
            if isinstance(event, ToldToRejoin):
                told[process] = event.member
            elif isinstance(event, Joined) and told.pop(process, None) in {"", event.member}:
                self._again.add(id(event))
            elif isinstance(event, _NO_MEMBER):
                told.pop(process, None)

    def _place(self, event: Event) -> tuple[int, int]:
        return self._files[id(event.stream)][event.place.file], event.place.order

    def is_first(self, event: Subscribed) -> bool:
        """Whether the subscription is the first one of a client that was made just before."""
        return id(event) in self._first

    def place_name(self, process: Process) -> str:
        """The container of a process, its client id, or its file."""
        stream = self._streams[process[0]]
        return stream.container or (process[1] if not process[1].startswith("consumer-") else stream.name)

    def source(self, process: Process) -> str:
        """The container of a process, or its file."""
        return self._streams[process[0]].container or self._streams[process[0]].name

    def library(self, process: Process) -> str:
        """The client library that printed the process's lines."""
        return self._streams[process[0]].library

    def of(self, event: OfClient) -> Process:
        """The process that printed a client's line."""
        number = self._number[id(event.stream)]
        starts = self._starts.get((number, event.client), [])
        return number, event.client, bisect_right(starts, self._place(event))

    def started_as(
        self,
        process: Process,
        member: str,
        is_dated: bool,
        came: float | None,
        after: float,
        is_it: Callable[[Event], bool],
    ) -> bool:
        """Whether the process came into the group as this member when it started: from its start to its first
        generation its lines follow each other as those of a start do. ``is_dated``: others tell when it came, so that
        only the way to its first request has to be short, and from there to where a broker lets it in (``came``);
        ``after``: when the rebalance before was over, in which it would be had it asked before;
        ``is_it``: whether the generation may be that. Where lines are missing, a start may be that of a membership
        before."""
        last: float | None = None
        has_asked = was_given = False
        for event in self.events_of[process] if process[2] else ():
            at = event.at if event.place.sure and event.place.at is not None else None
            waited = 0.0 if at is None or last is None else at - last
            longest = LONGEST_JOIN_S if has_asked else _LONGEST_START_S
            if isinstance(event, ClientStarted):
                last, has_asked, was_given = at, False, False
            elif isinstance(event, Joined | Moved | Epoch):
                let_in = 0.0 if came is None or last is None else came - last
                is_near = waited <= longest or (is_dated and has_asked and let_in <= longest)
                had_asked = has_asked and last is not None and last < after
                return is_near and not had_asked and is_it(event) and event.member in {"", member}
            elif isinstance(event, Joining | GivenId):
                if waited > longest:
                    return False
                last, has_asked = at, True
                was_given = was_given or event.member == member
            elif not isinstance(event, _BEFORE_THE_FIRST) and not _gives_up_none(event):
                return False
        return was_given

    def was_in_before(self, event: Joined) -> bool:
        """Whether the process was told to join again before it did: it had its member id in a generation before."""
        return id(event) in self._again

    def of_client(self, group: str, client: str, at: float) -> Process | None:
        """The process with a client id whose log covers a moment; None where there is none, or several may be it."""
        numbers = self._of_client.get((group, client), set())
        if len(numbers) != 1:
            return None
        known = self._of_stream[(next(iter(numbers)), client)]
        begun = [process for process in known if self.begins(process) <= at]
        return begun[-1] if begun else known[0] if known else None

    def begins(self, process: Process) -> float:
        """When the process printed its first line."""
        return next((event.at for event in self.events_of[process] if event.place.at is not None), float("inf"))

    def ends(self, process: Process) -> float:
        """When the process printed its last line."""
        return next((event.at for event in reversed(self.events_of[process]) if event.place.at is not None), -1.0)

    def has_ended(self, process: Process, at: float) -> bool:
        """Whether the process gave up its partitions as one does that closes, or says so, and printed nothing later."""
        own = [event for event in self.events_of[process] if event.place.at is not None]
        last = next((event for event in reversed(own) if not isinstance(event, GivesUpId)), None)
        if isinstance(last, Asked) and last.reason == _LEAVING:
            return last.at < at
        return isinstance(last, Revoked | Leaves) and not isinstance(last, Lost) and last.at < at

    def is_static(self, process: Process) -> bool:
        """Whether the process prints a group.instance.id."""
        return any(event.instance for event in self.events_of[process])

    def names_members(self, process: Process) -> bool:
        """Whether the process prints its member ids."""
        return process in self._members_of

    def last_member(self, process: Process) -> str:
        """The last member id that the process had, "" where it prints none."""
        return next(reversed(self._members_of.get(process, {})), "")

    def had(self, process: Process, member: str, among: Container[str]) -> str:
        """The last member id that the process had before another one, among those given; "" where it had none."""
        ids = self._ids.get(process)
        if ids is None or len(ids) != len(self._members_of[process]):
            ids = self._ids[process] = list(self._members_of[process])
        place = self._members_of[process].get(member, 0)
        return next((ids[each] for each in range(place - 1, max(-1, place - _SOME_IDS), -1) if ids[each] in among), "")


def _gives_up_none(event: OfClient) -> bool:
    """Python's clients say before their first join that they give up no partitions."""
    return isinstance(event, Revoked) and not has_partitions(event.partitions)


def has_partitions(text: str) -> bool:
    """Whether a list of partitions is not empty; librdkafka prints none."""
    return text.removeprefix("frozenset").strip(" {}()[]") not in {"set", ""} or text == ""
