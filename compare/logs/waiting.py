"""How long members were without partitions, whom everybody waited for in a rebalance of the classic protocol, and how
long slow and absent members took.

The coordinator completes a rebalance when the last member has joined, or when it removes those that have not. The
broker's log names new members and those it removes; a client's log says when it joined and when the join was through,
both by its own clock. Where neither shows who came last, it is said to be unknown.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from compare.logs.broker_events import Added, Preparing
from compare.logs.client_events import (
    Given,
    Joined,
    Joining,
    Leaves,
    Moved,
    OfClient,
    PollTimeout,
    Revoked,
    Setting,
)
from compare.logs.events import Event
from compare.logs.happenings import REFUSALS
from compare.logs.identity import Process, Processes, client_of, has_partitions
from compare.logs.model import Ordered, Rebalance
from compare.logs.returns import JOINED, NEW_ID

LAST_BY_S = 1.0
"""Who joins last, so much later than the first, is the one that everybody waited for."""

_AT_A_TIME_S = 1.0
"""Members that a broker drops within so long are dropped at a time: each sends its own heartbeats."""

_AT_ONCE_S = 0.1
"""A rebalance is through so soon after the last member has joined or was removed."""

_Waits = dict[str, tuple[float, tuple[Event, ...]]]
"""Members to the seconds from their join until the rebalance was through, with the lines that tell."""


def with_waits(rebalances: Sequence[Rebalance], events: Sequence[Event], processes: Processes) -> list[Rebalance]:
    """The rebalances with the pauses of their members, and whom everybody waited for."""
    last_to_join = _LastToJoin(events, processes)
    own: dict[Process, list[OfClient]] = defaultdict(list)
    for event in events:
        if isinstance(event, OfClient) and event.place.sure and event.stream.role != "broker":
            own[processes.of(event)].append(event)
    lines = [_Own(those, processes.last_member(process) or process[1]) for process, those in own.items()]
    found: list[Rebalance] = []
    last = float("-inf")
    for each in rebalances:
        pauses = _pauses(each, lines, last)
        members, waiting = last_to_join.of(each, found[-1] if found else None, last)
        found.append(replace(each, pauses=pauses, waited_for=tuple(members), waiting=waiting))
        last = each.over
    return found


class _Own:
    """What one process printed about its partitions."""

    def __init__(self, events: Sequence[OfClient], name: str) -> None:
        gave = (event for event in events if isinstance(event, Revoked))
        self.gave = Ordered(event for event in gave if has_partitions(event.partitions))
        self.got = Ordered(event for event in events if isinstance(event, Given))
        self.named = Ordered(event for event in events if isinstance(event, Joined | Moved) and event.member)
        self.name = name

    def member(self, end: float) -> str:
        """The id that the process had in the generation that ends then."""
        known = self.named.latest(end + 1.0)
        return known.member if known else self.name


def _pauses(each: Rebalance, lines: Iterable[_Own], last: float) -> dict[str, tuple[float, float]]:
    found: dict[str, tuple[float, float]] = {}
    for own in lines:
        gave = own.gave.between(last, each.over + 0.5)
        member = own.member(each.over) if gave else ""
        got = own.got.next(gave[0].at) if member else None
        if got is not None:
            found[member] = (gave[0].at, got.at)
    return found


class _LastToJoin:
    """The joins of a group's members."""

    def __init__(self, events: Sequence[Event], processes: Processes) -> None:
        self._processes = processes
        lines: dict[Process, list[OfClient]] = defaultdict(list)
        for event in events:
            if isinstance(event, Joining | Revoked) and event.place.sure and event.stream.role != "broker":
                lines[processes.of(event)].append(event)
        self._gave_up = {process: Ordered(those) for process, those in lines.items()}
        self._sent = {
            process: Ordered(event for event in those if isinstance(event, Joining)) for process, those in lines.items()
        }
        self._new = Ordered(event for event in events if isinstance(event, Added) and event.member)

    def of(self, each: Rebalance, before: Rebalance | None, last: float) -> tuple[Sequence[str], tuple[Event, ...]]:
        """Whom everybody waited for, with the lines that tell; ``last``: the end of the rebalance before."""
        if each.consumer_protocol or each.emptied or each.stabilized is None or _cooperative(each):
            return (), ()
        if each.generation == 1 or each.before == () or (before is not None and before.emptied):
            return (), ()  # an empty group waits for a time, not for a member
        if removed := _removed(each):
            return removed
        return _last(each, self._at_brokers(each, last) | self._at_clients(each, last))

    def _at_brokers(self, each: Rebalance, last: float) -> _Waits:
        assert each.stabilized is not None
        at_brokers: _Waits = {}
        begun = each.begun if each.begun is not None else last
        for event in self._new.between(max(last, begun - _AT_ONCE_S), each.stabilized):
            if event.place.sure:
                at_brokers[event.member] = (each.stabilized - event.at, (event,))
        prepares = tuple(event for event in each.events if isinstance(event, Preparing) and event.place.sure)[:1]
        if each.begun is not None and prepares and each.trigger in {"add", "rejoin"}:
            for member in each.trigger_members:
                at_brokers.setdefault(member, (each.stabilized - each.begun, prepares))
        return at_brokers

    def _at_clients(self, each: Rebalance, last: float) -> _Waits:
        at_clients: _Waits = {}
        for event in each.events:
            if not isinstance(event, Joined) or not event.place.sure:
                continue
            member = event.member or next((name for name, at in each.seen.items() if at == event.at), "")
            process = self._processes.of(event)
            if not member or process not in self._sent:
                continue
            sent = self._sent[process].latest(event.at) or self._gave_up[process].latest(event.at)
            if sent is not None and sent.at > last:
                at_clients[member] = (event.at - sent.at, (sent, event))
        return at_clients


def _cooperative(each: Rebalance) -> bool:
    """Whether members keep their partitions during the rebalance, so that nobody waits."""
    protocols = (event.protocol for event in each.events if isinstance(event, Joined))
    return "cooperative" in (each.cause or "") or any("cooperative" in protocol for protocol in protocols)


def _removed(each: Rebalance) -> tuple[list[str], tuple[Event, ...]] | None:
    """Members that the coordinator removed to complete the rebalance: at the rebalance timeout, or when their session
    was over in the middle of it."""
    assert each.stabilized is not None
    for departure in reversed(each.departures):
        lines = tuple(event for event in departure.events if event.stream.role == "broker")
        waited = departure.at - (each.begun if each.begun is not None else departure.at)
        if departure.how not in {"session", "not_rejoined"} or not lines or waited <= LAST_BY_S:
            continue
        if abs(each.stabilized - departure.at) <= _AT_ONCE_S:
            same = [
                known for known in each.departures if known.how == departure.how and known.at >= departure.at - 0.01
            ]
            return sorted({known.member for known in same}), lines
    return None


def _last(each: Rebalance, waits: _Waits) -> tuple[list[str], tuple[Event, ...]]:
    """The one that joined last, if others had waited for it; where only one member's join is not in the logs, that one
    if the rebalance was not yet through with the others."""
    if not waits:
        return [], ()
    gone = {departure.member for departure in each.departures}
    members = each.after if each.after is not None else each.listed
    silent = [name for name in members or [] if name not in waits and name not in gone]
    least = min(wait for wait, _ in waits.values())
    longest = max(wait for wait, _ in waits.values())
    if least <= _AT_ONCE_S or (members is not None and not silent):
        late = sorted(name for name, (wait, _) in waits.items() if wait == least)
        if longest - least <= LAST_BY_S:
            return [], ()
        return late, tuple(event for name in late for event in waits[name][1])
    if members is None or len(silent) != 1 or longest <= LAST_BY_S:
        return [], ()
    return silent, tuple(event for _, events in waits.values() for event in events)[:4]


MAX_POLL = "max.poll.interval.ms"


def measured(
    rebalances: Sequence[Rebalance], events: Sequence[Event], printed: Sequence[Setting], processes: Processes
) -> dict[str, float]:
    """The longest batch and the longest absences: from leaving to the first line of joining again; settings."""
    found: dict[str, float] = defaultdict(float)
    settings = _settings(printed, found)
    own: dict[Process, list[OfClient]] = defaultdict(list)
    for event in events:
        if isinstance(event, PollTimeout | Leaves | Joining | Moved) and event.place.sure:
            own[processes.of(event)].append(event)
    for those in own.values():
        slow: OfClient | None = None
        for event in those:
            if isinstance(event, PollTimeout) or (isinstance(event, Leaves) and "poll timeout" in event.reason):
                slow = slow if isinstance(event, Leaves) and slow is not None else event
                told = event.allowed if isinstance(event, PollTimeout) else None
                if allowed := told or settings.get(id(event.stream)):
                    found[MAX_POLL] = max(found[MAX_POLL], float(allowed))
            elif slow is not None and isinstance(event, Joining | Moved) and _after(event, slow):
                found["beyond_s"] = max(found["beyond_s"], event.at - slow.at)
                slow = None
    _absences(rebalances, found)
    return dict(found)


def _after(event: OfClient, slow: OfClient) -> bool:
    """Whether a line is about joining again, not about the leave itself."""
    return isinstance(event, Joining) or (isinstance(event, Moved) and event.after == "JOINING" and event.at > slow.at)


def _absences(rebalances: Sequence[Rebalance], found: dict[str, float]) -> None:
    """How long who left was away: a process that is back (``back_``), or one that was started again (``away_``). How
    long those were silent is not known whom the broker refused, or dropped all at a time: it may have stood still."""
    gone: dict[str, tuple[str, float]] = {}
    for each in rebalances:
        came = {member: cause.name for cause in each.causes for member in cause.members if member in each.joined}
        for member, cause in came.items():
            known = gone.pop(client_of(member), None)
            if known is not None and each.at > known[1] and cause != NEW_ID:
                name = f"{'away' if cause == JOINED else 'back'}_{known[0]}_s"
                found[name] = max(found[name], each.at - known[1])
        ends = [departure.at for departure in each.departures if departure.how == "session"]
        at_a_time = each.emptied and len(ends) > 1 and max(ends) - min(ends) < _AT_A_TIME_S
        refused = {name for cause in each.causes if cause.behind in REFUSALS for name in cause.members}
        for departure in each.departures:
            gone.pop(client_of(departure.member), None)
            if departure.how != "session" or not (at_a_time or departure.member in refused):
                gone[client_of(departure.member)] = (departure.how, departure.at)


def _settings(printed: Sequence[Setting], found: dict[str, float]) -> Mapping[int, int]:
    """The poll intervals that clients print when they start, by stream; the longest of the others are figures."""
    intervals: dict[int, int] = {}
    for event in printed:
        if event.name == MAX_POLL:
            intervals[id(event.stream)] = event.value
        else:
            found[event.name] = max(found[event.name], float(event.value))
    return intervals
