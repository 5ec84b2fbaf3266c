"""Who left a Kafka group and how, and who may be back under another id.

How a member left is certain where the broker says it in its own words or in the client's (KIP-800), or where the lines
of this member's own process tell: a log that is there, covers the moment, and is of a library whose lines for that are
known. Otherwise it stays unknown.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from compare.logs.broker_events import Added, Announced, Failed, Fenced, Left, NotRejoined, Preparing
from compare.logs.client_events import (
    ClientStarted,
    DeniedGroup,
    DeniedTopic,
    Epoch,
    Given,
    GivesUpId,
    Joined,
    Joining,
    Leaves,
    Lost,
    Moved,
    OfClient,
    PollTimeout,
    Revoked,
    Subscribed,
    Synced,
    Threw,
    UnknownMember,
)
from compare.logs.drafts import trigger_of
from compare.logs.events import Event, OfGroup
from compare.logs.identity import Process, Processes, client_of, has_partitions
from compare.logs.model import Departure
from compare.logs.unseen import CLOSE_S

NO_POLL_TIMER = frozenset({"kafkajs", "franz-go", "sarama"})
"""Libraries that never leave because of a slow application."""

_CLOSED = ("clos", "unsubscribe", "shut", "per normal operation")
_EXCEPTION_S = 5.0
"""A process closes its consumer so soon after the exception that ends it."""

_MOST_S, _AFTER_S = 600.0, 1.0
"""A client that goes on after it was denied something is denied it again and again; a broker's line may come first."""

_UNSURE_LATER_S = 15.0
_SOME = 6
"""Lines that are looked at around another one."""


def find_departures(events: Sequence[Event], processes: Processes) -> list[Departure]:
    """Every member that left, in order of time; ``events``: of the group, in order of time."""
    broker_seen = any(event.stream.role == "broker" for event in events)
    found = _collected(events, processes, broker_seen)
    witness = _Witness(events, processes, found)
    departures = [witness.heard(each) if each.how == "unknown" else each for each in found]
    departures = [replace(each, exception=witness.exception(each)) for each in departures if witness.was_in(each)]
    if not broker_seen:
        departures += _silent_leaves(departures, events, processes)
    return sorted(departures, key=lambda each: each.at)


def _collected(events: Sequence[Event], processes: Processes, broker_seen: bool) -> list[Departure]:
    """The lines that say that a member is gone, those of one leave together."""
    of_member: dict[str, list[int]] = defaultdict(list)
    undated: Counter[str] = Counter()
    found: list[Departure] = []
    for event in sorted(events, key=lambda each: not each.place.sure):
        how = _how(event)
        if how is None:
            continue
        for member in _gone(event):
            those = of_member[member]
            if not event.place.sure and not those and broker_seen:
                continue  # the broker did not know the member any more
            if those and (abs(event.at - found[those[-1]].at) < CLOSE_S + 10 or not event.place.sure):
                # Lines without a time follow each other as the leaves do.
                number = those[-1] if event.place.sure else those[min(undated[member], len(those) - 1)]
                undated[member] += not event.place.sure
                found[number] = _with(found[number], event, how)
                continue
            process = processes.of_member.get(member) or _by_client_id(event, member, processes)
            those.append(len(found))
            found.append(Departure(member, event.at, how, (event,), process))
    return found


def _with(known: Departure, event: Event, how: str) -> Departure:
    """Another line about the same leave; the broker's dates it."""
    by_broker = event.stream.role == "broker" and all(each.stream.role != "broker" for each in known.events)
    return replace(
        known,
        events=(*known.events, event),
        how=how if known.how == "unknown" else known.how,
        at=event.at if by_broker else known.at,
    )


def _by_client_id(event: Event, member: str, processes: Processes) -> Process | None:
    """The process of a library that prints no member ids."""
    group = event.group if isinstance(event, OfGroup) else ""
    process = processes.of_client(group, client_of(member), event.at)
    return None if process is None or processes.names_members(process) else process


def _gone(event: Event) -> Iterable[str]:
    if isinstance(event, Preparing):
        return trigger_of(event.reason)[1]
    if isinstance(event, NotRejoined):
        return event.members
    return (event.member,) if isinstance(event, Left | Failed | Fenced | OfClient) and event.member else ()


def _how(event: Event) -> str | None:
    match event:
        case Left(reason=reason) | Leaves(reason=reason):
            return _how_left(reason)
        case Preparing(reason=reason):
            trigger, _ = trigger_of(reason)
            said = reason.partition("; client reason: ")[2]
            return _how_left(said) if trigger == "leave" else "session" if trigger == "expire" else None
        case Failed():
            return "session"
        case Fenced(why=why):
            return "session" if "session" in why else "not_rejoined" if "failed to" in why else None
        case NotRejoined():
            return "not_rejoined"
        case Moved(after="PREPARE_LEAVING", instance=instance):
            return None if instance else "unknown"  # a static member's place is kept
        case GivesUpId():
            return "unknown"
        case _:
            return None


def _how_left(reason: str) -> str:
    if "poll timeout" in reason:
        return "poll"
    return "clean" if any(word in reason for word in _CLOSED) else "unknown"


class _Own:
    """What one process printed, found by time."""

    def __init__(self) -> None:
        self.events: list[OfClient] = []
        self.times: list[float] = []
        self.polls: list[PollTimeout] = []
        self.poll_times: list[float] = []
        self.joined: list[float] = []
        self.late = False
        self.started = self.was_in = float("inf")

    def add(self, event: OfClient) -> None:
        """The next of its lines."""
        self.events.append(event)
        self.times.append(event.at)
        self.late = self.late or event.place.late
        if isinstance(event, ClientStarted):
            self.started = min(self.started, event.at)
        if isinstance(event, Joined | Given | Synced | Epoch | Moved):
            self.was_in = min(self.was_in, event.at)
        if isinstance(event, PollTimeout):
            self.polls.append(event)
            self.poll_times.append(event.at)
        if isinstance(event, Joining | Joined):
            self.joined.append(event.at)

    def too_slow(self, at: float, until: float) -> PollTimeout | None:
        """The line about the poll timer of a leave: printed at once, or with the next poll, before which the client
        does not come back and leaves no second time (``until``)."""
        place = bisect_left(self.poll_times, at - CLOSE_S)
        slow = self.polls[place] if place < len(self.polls) else None
        return slow if slow is not None and slow.at <= (until if slow.place.late else at) + CLOSE_S else None

    def joins_after(self, at: float) -> bool:
        """Whether it joined later, or asked to."""
        return bool(self.joined) and self.joined[-1] > at

    def some_after(self, at: float) -> list[OfClient]:
        """Some of its next lines."""
        first = bisect_left(self.times, at)
        return self.events[first : first + _SOME]


class _Witness:
    """What the processes of a group printed about themselves."""

    def __init__(self, events: Sequence[Event], processes: Processes, departures: Sequence[Departure]) -> None:
        self._processes = processes
        self._own: dict[Process, _Own] = defaultdict(_Own)
        moves = [(client_of(each.member), each.at) for each in departures]
        moves += [(client_of(event.member), event.at) for event in events if isinstance(event, Added | Announced)]
        self._moves: dict[str, list[float]] = defaultdict(list)
        for client, at in sorted(moves):
            self._moves[client].append(at)
        for event in events:
            if isinstance(event, OfClient) and event.stream.role != "broker":
                self._own[processes.of(event)].add(event)
        self._positions: dict[int, dict[int, int]] = {}

    def heard(self, departure: Departure) -> Departure:
        """A leave without a reason, with how it was as far as the member's own process tells."""
        process = departure.process
        own = self._own.get(process) if process is not None else None
        if process is None or own is None:
            return departure
        line = next((event for event in departure.events if isinstance(event, Leaves | Moved)), None)
        if slow := own.too_slow(departure.at, self._next_move(departure)) or self._slow_before(line):
            return replace(departure, how="poll", events=(*departure.events, slow))
        library = self._processes.library(process)
        if library == "aiokafka":
            return replace(departure, how=_of_aiokafka(departure, own.some_after(departure.at - CLOSE_S)))
        if isinstance(line, Moved):
            return replace(departure, how=_of_states(self._around(line, 0, _SOME)))
        closes = line is not None and not own.joins_after(departure.at) and self._gave_up_first(line)
        if library in NO_POLL_TIMER or closes:
            return replace(departure, how="clean")
        if own.joins_after(departure.at):
            # The same process is back, and would have said that it closes.
            return departure
        if library == "librdkafka" and not own.late:
            covered = self._processes.begins(process) < departure.at - CLOSE_S
            covered = covered and self._processes.ends(process) > departure.at + CLOSE_S
            return replace(departure, how="clean") if covered else departure
        return departure

    def _next_move(self, departure: Departure) -> float:
        """When the client of a member that left came or left next."""
        moves = self._moves[client_of(departure.member)]
        place = bisect_right(moves, departure.at)
        return moves[place] if place < len(moves) else float("inf")

    def was_in(self, departure: Departure) -> bool:
        """Whether the member may have been in the group: a process whose lines begin with its start says when it is."""
        own = self._own.get(departure.process) if departure.process is not None else None
        if own is None or any(event.stream.role == "broker" for event in departure.events):
            return True
        return own.started >= departure.at or own.was_in < departure.at

    def exception(self, departure: Departure) -> str:
        """The exception that stands in the process's log just before it closed, "" where none does."""
        leaves = next((event for event in departure.events if isinstance(event, Leaves | Moved)), None)
        if departure.how != "clean":
            return ""
        if leaves is None:
            return self._denial(departure)
        for event in self._around(leaves, _SOME, 0)[::-1]:
            dated = event.place.at is not None
            if isinstance(event, Threw) and dated and 0 <= leaves.at - event.at <= _EXCEPTION_S:
                return "" if self._survives(event) else event.exception
            if isinstance(event, Joined | ClientStarted):
                break
        return self._denial(departure)

    def _survives(self, thrown: Threw) -> bool:
        """Whether the process had thrown the same before, and had gone on."""
        events = thrown.stream.events
        for place in range(self._positions[id(thrown.stream)][id(thrown)] - 1, -1, -1):
            before = events[place]
            if isinstance(before, ClientStarted | Leaves):
                return False
            is_same = isinstance(before, Threw) and before.exception == thrown.exception
            if is_same and before.place.at is not None and thrown.at - before.at > _EXCEPTION_S:
                return True
        return False

    def _denial(self, departure: Departure) -> str:
        """What the broker denied the process for the first time just before it closed: its poll threw that then."""
        own = self._own.get(departure.process) if departure.process is not None else None
        denied = [event for event in own.events if isinstance(event, DeniedGroup | DeniedTopic)] if own else []
        denied = [event for event in denied if -_MOST_S < event.at - departure.at < _AFTER_S]
        if not denied or departure.at - denied[0].at > _EXCEPTION_S:
            return ""
        what = "Group" if isinstance(denied[-1], DeniedGroup) else "Topic"
        is_java = departure.process is not None and self._processes.library(departure.process) == "java"
        return f"{what}AuthorizationException" if is_java else f"{what} authorization failed"

    def _slow_before(self, line: Leaves | Moved | None) -> PollTimeout | None:
        """The line about the poll timer that stands right before the one about leaving."""
        before = self._around(line, _SOME // 2, 0)[::-1] if line is not None else []
        return next(
            (each for each in before if isinstance(each, PollTimeout) and line and each.client == line.client), None
        )

    def _gave_up_first(self, line: Leaves | Moved) -> bool:
        """Whether the client gives up its partitions before it leaves, as one does that closes: one that was too slow
        leaves first, and the line that says so may stand in a part of the log that is missing."""
        return any(
            isinstance(each, Revoked)
            and not isinstance(each, Lost)
            and has_partitions(each.partitions)
            and each.client == line.client
            for each in self._around(line, _SOME, 0)
        )

    def _around(self, event: Event, before: int, after: int) -> list[Event]:
        """Lines next to it in its stream."""
        stream = event.stream
        if id(stream) not in self._positions:
            self._positions[id(stream)] = {id(each): place for place, each in enumerate(stream.events)}
        place = self._positions[id(stream)][id(event)]
        return stream.events[max(0, place - before) : place + after]


def _of_states(following: Sequence[Event]) -> str:
    """A member of the consumer protocol that was too slow is stale after it left, one that closes has no subscription
    any more."""
    states = [event.after for event in following if isinstance(event, Moved) and event.before == "LEAVING"]
    return {"STALE": "poll", "UNSUBSCRIBED": "clean"}.get(states[0] if states else "", "unknown")


def _of_aiokafka(departure: Departure, following: Sequence[OfClient]) -> str:
    """It prints that it left, not why: one that was too slow gives up its partitions next, one that closes does not."""
    left = next((n for n, event in enumerate(following) if isinstance(event, Leaves)), None)
    if left is None or abs(following[left].at - departure.at) > CLOSE_S:
        return "unknown"
    line, after = following[left], following[left + 1 :]
    if after and isinstance(after[0], Revoked | UnknownMember | Joining):
        return "poll"
    if after:  # what it says between a leave and a join is missing
        return "clean" if isinstance(after[0], Subscribed) else "unknown"
    last = line.stream.lengths.get(line.place.file, 0)
    return "unknown" if line.place.order in {last, -1} else "clean"


def _silent_leaves(found: Sequence[Departure], events: Sequence[Event], processes: Processes) -> list[Departure]:
    """Without the broker's log: a client that warns of its poll timeout leaves, though it does not print that."""
    told = {id(event) for each in found for event in each.events}
    left: dict[str, list[float]] = defaultdict(list)
    for each in found:
        left[each.member].append(each.at)
    more: list[Departure] = []
    for event in events:
        if not isinstance(event, PollTimeout) or id(event) in told or event.place.late:
            continue
        process = processes.of(event)
        member = processes.last_member(process) or event.client
        if member and not any(abs(at - event.at) < _UNSURE_LATER_S for at in left[member]):
            left[member].append(event.at)
            more.append(Departure(member, event.at, "poll", (event,), process))
    return more


class Absent:
    """Who left the group and is not back, found by member id, process or client id."""

    def __init__(self) -> None:
        self._of_member: dict[str, Departure] = {}
        self._of_process: dict[Process, dict[int, Departure]] = defaultdict(dict)
        self._of_client: dict[str, dict[int, Departure]] = defaultdict(dict)

    def add(self, departure: Departure) -> None:
        """A member left."""
        self._of_member[departure.member] = departure
        self._of_client[client_of(departure.member)][id(departure)] = departure
        if departure.process is not None:
            self._of_process[departure.process][id(departure)] = departure

    def is_back(self, departure: Departure) -> None:
        """Who left is there again."""
        if self._of_member.get(departure.member) is departure:
            del self._of_member[departure.member]
        self._of_client[client_of(departure.member)].pop(id(departure), None)
        if departure.process is not None:
            self._of_process[departure.process].pop(id(departure), None)

    def of_member(self, member: str) -> Departure | None:
        """The member of that very id."""
        return self._of_member.get(member)

    def of_process(self, process: Process | None) -> Departure | None:
        """The last that the process held."""
        known = self._of_process.get(process) if process is not None else None
        return next(reversed(known.values()), None) if known else None

    def of_client(self, member: str) -> list[Departure]:
        """Those with the client id of a member, the last one first."""
        return list(reversed(self._of_client.get(client_of(member), {}).values()))
