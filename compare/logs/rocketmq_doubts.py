"""What the lines about a RocketMQ group leave open: causes that other lines would decide become doubts.

A broker that stood still drops its members when it wakes: they close what does not answer, and it reads all of that at
once, heartbeats of closed connections among it. So several members that one broker drops at a time were not silent
each for itself. And a name server that was started anew knows only the brokers that have registered since.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from compare.logs.events import Event, Stream
from compare.logs.model import Cause, Doubt, Ordered, Rebalance
from compare.logs.rocketmq_lines import (
    BrokerBooted,
    BrokerLost,
    ChannelClosed,
    ChannelExpired,
    ClientSwitched,
    Connected,
    Disconnected,
    NameServerBooted,
    NewVersion,
    OfQueue,
    QueueAdded,
    QueueRemoved,
    Rocket,
    RouteChanged,
    RouteUnknown,
    Unregistered,
    addresses_before,
    route_change,
)

LATE_S = 1.5
"""Brokers log whole seconds: an event may seem to come after what it caused."""

_TOLD_S = 10.0
"""Members are told at once who comes and goes: what they do later may have another reason."""

_NOT_IDLE_S = 20.0
"""A connection that closes so soon after a heartbeat was not closed for its silence."""

_AT_A_TIME_S = 5.0
"""Members that a broker drops within so long are dropped at a time: it looks every 10 s for those that are silent."""

_BACK_S = 60.0
"""A living client is back with its next heartbeat, within half a minute."""

_HEARTBEAT_S = 6.0
"""A heartbeat goes to all brokers at once, as their whole seconds show it."""

_OWN_ID = re.compile(r"@\d+(?:#\d+)?$")
"""How an id ends that the client made for itself, of the number of its process and the time of its start."""

_PASS_S, _ROUTE_S = 22.0, 31.0
"""A client shares anew every 20 s, and asks for routes every 30 s."""

_ROUTES_S = 90.0
"""So long after a name server's start clients may see routes without brokers that live: both ask every 30 s."""

_MEMBERSHIP = (Connected, Unregistered, ChannelClosed, ChannelExpired)
_OF_MEMBERS = ("member_joined", "member_left", "connection_closed", "heartbeat_expired", "member_rejoined")
_ABSENCES = ("connection_closed", "heartbeat_expired", "member_rejoined")
_OF_BROKERS = ("broker_down", "broker_up")
_ANY = (*_OF_MEMBERS, *_OF_BROKERS, "name_server_restarted", "queues_changed", "orderly_lock_held_by_dead_member")
"""What it may be where nothing tells."""


def with_doubts(rebalances: Sequence[Rebalance], every: Sequence[Rocket]) -> list[Rebalance]:
    """Causes that rest on lines which leave it open become doubts; ``every``: the lines about the group, its members
    and brokers, in order of time."""
    known = _Known(every)
    found: list[Rebalance] = []
    for number, each in enumerate(rebalances):
        causes: list[Cause] = []
        doubts: list[Doubt] = []
        for cause in each.causes:
            if doubt := known.doubt(cause, each, number == 0):
                doubts.append(Doubt(doubt[0], cause.members, cause.events, doubt[1]))
            else:
                causes.append(cause)
        if not causes and not doubts:
            doubts.append(Doubt(_ANY, (), each.events[:2], "the logs of all clients, brokers and name servers"))
        found.append(replace(each, causes=tuple(causes), doubts=tuple(doubts)))
    return found


def moves_retries_alone(each: Rebalance) -> bool:
    """Whether no queue but that of the group's own retries changed hands: clients learn of that topic up to half a
    minute after their start."""
    moved = [event for event in each.events if isinstance(event, QueueAdded | QueueRemoved | NewVersion)]
    return bool(moved) and all(event.topic.startswith("%RETRY%") for event in moved)


class _Known:
    def __init__(self, every: Sequence[Rocket]) -> None:
        self._brokers = {event.broker for event in every if isinstance(event, OfQueue)}
        self._boots = [event for event in every if isinstance(event, BrokerBooted)]
        self._starts = [event for event in every if isinstance(event, ClientSwitched) and event.what == "start"]
        self._connected = Ordered(event for event in every if isinstance(event, Connected) and not event.is_late)
        self._dropped = Ordered(event for event in every if isinstance(event, ChannelClosed | ChannelExpired))
        self._routes = Ordered(event for event in every if isinstance(event, NameServerBooted | RouteUnknown))
        self._ends = Ordered(event for event in every if isinstance(event, BrokerLost | BrokerBooted))
        self._tellers = {id(event.stream) for event in every if isinstance(event, Connected)}
        self._first = {event.client: event.at for event in reversed(every)}
        self._tells = any(isinstance(event, NameServerBooted | BrokerLost) for event in every)
        self._cut = Ordered(event for event in every if isinstance(event, Disconnected))
        self._changes = [event for event in every if isinstance(event, RouteChanged)]
        self._troubles = Troubles()

    def doubt(self, cause: Cause, each: Rebalance, is_first: bool) -> tuple[tuple[str, ...], str] | None:
        """What it may be, and what would decide; None where the cause is certain."""
        lines = [event for event in cause.events if isinstance(event, _MEMBERSHIP)]
        is_late = bool(lines) and min(abs(each.at - event.at) for event in lines) > _TOLD_S
        if not is_first and cause.name in _OF_MEMBERS and is_late:
            return _OF_MEMBERS, "the logs of the clients"
        if cause.name == "member_left" and any(self._starts_again(event, each) for event in cause.events):
            return _OF_MEMBERS, "the logs of the other members"
        if cause.name == "member_joined" and not self._are_new(cause.members, lines, each):
            may = ("member_joined", "member_rejoined", "duplicate_client_id")
            return may, "the logs of all brokers from their start, and of all clients"
        if cause.name in _ABSENCES and any(map(self._troubles.surround, [*lines, *self._dropped_before(lines)])):
            return _ABSENCES, "the broker's own pauses: it dropped several members at a time, or read what came late"
        if cause.name == "connection_closed" and not all(map(_is_dead, lines)):
            return ("connection_closed", "heartbeat_expired"), "the remoting.log of the brokers"
        if cause.name == "connection_closed" and any(map(self._lives, lines)):
            return _ABSENCES, "the log of the client, which came back without a start"
        if cause.name == "duplicate_client_id" and isinstance(cause.events[0], Connected):
            return ("duplicate_client_id", *_ABSENCES), "the logs of the processes that have this client id"
        if cause.name == "member_rejoined" and not all(map(self._connects_to_all, lines)):
            return (*_ABSENCES, "broker_up"), "all parts of the logs of the brokers: one may just have been started"
        if cause.name in _OF_BROKERS and not any(self._is_in_time(event, each) for event in cause.events):
            return _ANY, "the logs of all clients, brokers and name servers"
        if cause.name in _OF_BROKERS and any(map(self._is_name_servers, cause.events)):
            return (*_OF_BROKERS, "name_server_restarted"), "the log of the broker, and those of all name servers"
        return None

    def _are_new(self, members: Sequence[str], lines: Sequence[Rocket], each: Rebalance) -> bool:
        """Whether the members came then for the first time, by their own words or by those of all brokers."""
        return self._have_started(members, each) or (self._is_whole(each) and all(map(self._is_new, lines)))

    def _starts_again(self, event: Event, each: Rebalance) -> bool:
        """Whether a client says that it left, and one in the same log that it starts before the rebalance is through:
        others may have shared in between."""
        own = (one for one in self._starts if one.stream is event.stream and isinstance(event, ClientSwitched))
        return any(event.at < one.at <= each.over + LATE_S for one in own)

    def _is_whole(self, each: Rebalance) -> bool:
        """Whether the logs of all brokers are there from their start."""
        booted = {event.broker for event in self._boots if event.at <= each.over + LATE_S}
        return self._brokers <= booted and (bool(self._brokers) or len(booted) > 1)

    def _have_started(self, members: Sequence[str], each: Rebalance) -> bool:
        """Whether the members, or somebody where none is named, say that they start then; of an id that somebody chose
        another process may have it, too."""
        until = each.over - each.at + LATE_S
        now = {event.client for event in self._starts if -_TOLD_S <= event.at - each.at <= until}
        return bool(now) and now.issuperset(members) and all(_OWN_ID.search(client) for client in members or now)

    def _dropped_before(self, lines: Sequence[Rocket]) -> list[Rocket]:
        """How those that connect again had lost their connection."""
        return [
            gone
            for event in lines
            if isinstance(event, Connected)
            for gone in self._dropped.between(event.at - _BACK_S, event.at)
            if gone.client == event.client
        ]

    def _lives(self, event: Rocket) -> bool:
        """Whether the client connected again without having started anew."""
        back = self._connected.between(event.at - LATE_S, event.at + _BACK_S)
        again = next((one for one in back if one.client == event.client), None)
        return again is not None and not any(
            one.client == event.client and event.at - LATE_S <= one.at <= again.at + LATE_S for one in self._starts
        )

    def _connects_to_all(self, event: Rocket) -> bool:
        """Whether all brokers whose logs are there saw the client connect then, as it does when it starts or runs on:
        to one that was started anew only that one sees clients connect."""
        near = self._connected.between(event.at - _HEARTBEAT_S, event.at + _HEARTBEAT_S)
        return {id(one.stream) for one in near if one.client == event.client} >= self._tellers

    def _is_new(self, event: Rocket) -> bool:
        """Whether no line tells of the client before all brokers saw it connect."""
        return self._connects_to_all(event) and self._first[event.client] > event.at - _TOLD_S

    def _is_in_time(self, event: Event, each: Rebalance) -> bool:
        """Whether the line about a broker is near enough: a client that has seen a route shares anew with its next
        pass, of what others tell it sees a route first."""
        longest = _PASS_S if isinstance(event, RouteChanged) else _ROUTE_S + _PASS_S
        return each.at - longest <= event.at <= each.over + LATE_S

    def _is_name_servers(self, event: Event) -> bool:
        """Whether a client may have seen the route of a name server that had just been started. The broker itself went
        if its own log or the name server's says so, or if the clients' connections to it had ended before; one that is
        back went before."""
        if not isinstance(event, RouteChanged) or self._ends.between(event.at - _ROUTES_S, event.at + LATE_S):
            return False
        before, after = route_change(event.change)
        if new := after.keys() - before.keys():
            went = (one for one in reversed(self._changes) if one.at < event.at and new & _gone(one))
            last = next(went, None)
            return self._is_restart_near(event) or last is None or self._is_name_servers(last)
        known = addresses_before(event.change)
        lost = {address for name in _gone(event) for address in known.get(name, ())}
        cut = {one.address for one in self._cut.between(event.at - _ROUTE_S, event.at)}
        return self._is_restart_near(event) or not lost & cut

    def _is_restart_near(self, event: Event) -> bool:
        """Whether a name server was away or had just been started, or its log tells of no broker that went or came."""
        return self._tells or bool(self._routes.between(event.at - _ROUTES_S, event.at + LATE_S))


def _gone(event: RouteChanged) -> set[str]:
    before, after = route_change(event.change)
    return before.keys() - after.keys()


class Troubles:
    """When brokers dropped several members at a time, or were late themselves."""

    def __init__(self) -> None:
        self._times: dict[int, list[float]] = {}

    def surround(self, event: Rocket) -> bool:
        """Whether a broker's line is of such a time."""
        times = self._times.get(id(event.stream))
        if times is None:
            times = self._times[id(event.stream)] = _troubles(event.stream)
        place = bisect_left(times, event.at - _AT_A_TIME_S)
        return place < len(times) and times[place] <= event.at + _AT_A_TIME_S


def _troubles(stream: Stream) -> list[float]:
    """When a broker dropped members of several clients at a time, or read heartbeats of closed connections."""
    clients: dict[str, str] = {}
    times: list[float] = []
    last: tuple[str, float] | None = None
    for event in stream.events:
        if event.place.at is None:
            continue
        if isinstance(event, Connected):
            clients[event.channel] = event.client
            if event.is_late:
                times.append(event.at)
        elif isinstance(event, ChannelClosed | ChannelExpired):
            client = event.client or clients.get(event.channel, event.channel)
            if last is not None and last[0] != client and event.at - last[1] <= _AT_A_TIME_S:
                times += [last[1], event.at]
            last = client, event.at
    return sorted(times)


def _is_dead(event: Rocket) -> bool:
    hint = event.place.hint
    return not isinstance(event, ChannelClosed) or (hint is not None and event.at - hint < _NOT_IDLE_S)
