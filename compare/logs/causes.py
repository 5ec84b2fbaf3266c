"""Why a Kafka group rebalanced: every change of its members and topics, each with a cause that is certain, or with its
candidates and what would decide.

The broker's line gives the kind of change ("removing member ... on heartbeat expiration"), which several causes
share: a killed process, a long pause, a broker that stood still. What decides is the member's own log, if it is
there, covers the moment, and is of a client whose lines for the cause are known. An absent line proves nothing
without all three.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from compare.logs.broker_events import PartitionCreated, Preparing
from compare.logs.client_events import (
    ClientStarted,
    CoordinatorGone,
    Joined,
    Loading,
    MetadataChanged,
    Moved,
    NotCoordinator,
    OfClient,
    Resubscribed,
    SecondRound,
    SessionOver,
    Subscribed,
    UnknownMember,
)
from compare.logs.coordinators import Load
from compare.logs.epoch_changes import Changes, of_one
from compare.logs.epochs import Epochs, Join
from compare.logs.events import Event
from compare.logs.identity import Process, Processes, client_of
from compare.logs.lines import joined
from compare.logs.model import Cause, Departure, Doubt, Ordered, Rebalance
from compare.logs.returns import AFTER_FENCING, AFTER_POLL, JOINED, LOST, NEW_ID, STATES, Returns
from compare.logs.topics import DELETED, Topics
from compare.logs.vanished import AFTER_LOAD_S, NOTICED_S, Missing

_ONE_JOIN_S = 3.0
_AT_ONCE_S = 1.0
_SAME_S = 0.01
"""Lines that show the same time are told apart by less."""

_CLIENT_REASON = re.compile(r"; client reason: (.*)$")
_GAVE_UP = ("need to revoke", "after revoking what we lost")
_OTHER_TOPICS = ("subscription has changed", "there are more topics to consume")
_MORE_PARTITIONS = ("metadata has changed", "some topics have new partitions")
"""Reasons of Java's clients, and of franz-go."""
SECOND = "second_round_of_cooperative_rebalance"
UNCHANGED = "member_rejoined_without_change"
_HOW = {
    "poll": "poll_interval_exceeded",
    "clean": "member_left",
    "session": "session_timeout",
    "not_rejoined": "rebalance_timeout",
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What surrounds a group's rebalances: who coordinated it when, which partitions were created, whose lines are
    whose."""

    processes: Processes
    loads: Sequence[Load]
    created: Ordered[PartitionCreated]


def with_causes(rebalances: Sequence[Rebalance], events: Sequence[Event], setting: Surroundings) -> list[Rebalance]:
    """The rebalances with causes and doubts; ``events``: of the group, in order of time."""
    court = _Court(events, setting)
    found: list[Rebalance] = []
    for place, each in enumerate(rebalances):
        around = rebalances[max(0, place - 1) : place + 2]
        dense = sum(abs(other.at - each.at) < _ONE_JOIN_S for other in around) > 1
        judged = court.judged(each, found[-1] if found else None, place, dense)
        if each.is_one_of_several:
            same = found[-1] if found and found[-1].is_one_of_several and each.at - found[-1].at < _SAME_S else None
            judged = replace(each, causes=same.causes, doubts=same.doubts) if same else of_one(judged)
        found.append(judged)
    return found


_ANY = (
    JOINED,
    "member_left",
    "session_timeout",
    "poll_interval_exceeded",
    AFTER_POLL,
    AFTER_FENCING,
    NEW_ID,
    "rebalance_timeout",
    SECOND,
    UNCHANGED,
    "subscription_changed",
    "topic_matched_pattern",
    "partitions_added",
    DELETED,
    "coordinator_moved",
    "coordinator_restart",
)
"""What it may be where nothing tells."""


class _Court:
    def __init__(self, events: Sequence[Event], setting: Surroundings) -> None:
        self._setting = setting
        self._processes = setting.processes
        self._returns = Returns(events, setting.processes)
        self._lines = Ordered(self._telling(events))
        self._gone = Ordered(event for event in events if isinstance(event, CoordinatorGone))
        self._missing = Missing(events, self._lines, setting.processes, self._returns)
        self._topics = Topics(events, setting.created)
        self._stale = Ordered(event for event in events if isinstance(event, Moved) and event.before == "STALE")
        self._epochs = Epochs(events, setting.processes)
        self._changes = Changes(self._topics)

    def _telling(self, events: Sequence[Event]) -> Iterator[Event]:
        """Lines that say why a client joins again; a process that subscribes to the same says nothing."""
        subscribed: dict[Process, tuple[frozenset[str], str]] = {}
        for event in events:
            if isinstance(event, Subscribed):
                process, now = self._processes.of(event), (frozenset(event.topics), event.pattern)
                if subscribed.get(process, now) != now and not self._processes.is_first(event):
                    yield event
                subscribed[process] = now
            elif isinstance(event, ClientStarted) and event.topics:
                subscribed[self._processes.of(event)] = frozenset(event.topics), ""
            elif isinstance(event, Resubscribed | MetadataChanged | SecondRound | UnknownMember | SessionOver):
                yield event

    def judged(self, each: Rebalance, before: Rebalance | None, place: int, dense: bool) -> Rebalance:
        """The rebalance with its causes and doubts; ``dense``: others begin within the time that a join takes."""
        self._returns.begin(each)
        found = self._missing.found(each, before)
        gone = [self._witnessed(departure) for departure in each.departures if self._was_in(departure, before, place)]
        moves: list[tuple[float, Departure | str]] = [
            *((departure.at, departure) for departure in gone),
            *((at, member) for member, at in each.joined.items()),
        ]
        joins = self._epochs.raised_by(each.generation) if _is_dated_by_clients(each) else ()
        for at, moved in sorted(moves, key=lambda move: move[0]):
            if isinstance(moved, Departure):
                left = self._left(moved)
                found.append((at, in_doubt(left) if joins else left))
                self._returns.absent.add(moved)
            else:
                came = self._came(moved, each, place)
                if _is_dated_by_clients(each) and self._epochs.knows(moved):
                    is_it = [join.member for join in joins] == [moved]
                    came = came if is_it else [] if joins else [in_doubt(one) for one in came]
                elif (dense and _is_dated_by_clients(each)) or self._returns.may_have_come_before(moved, each):
                    came = [in_doubt(one) for one in came]
                found += [(at, one) for one in came]
        found += [(each.at, one) for one in self._raised(joins, each)]
        if each.trigger == "rejoin":
            found.append((each.at, self._rejoined(each, before)))
        elif each.consumer_protocol and each.at_broker:
            found += self._changes.of(each, before, self._returns.follows)
        if not found:
            found += [(each.at, cause) for cause in self._from_clients(each, before)]
        if not found:
            found.append((each.at, Doubt(_ANY, (), each.events[:2], self._would_decide(each))))
        ordered = [one for _, one in sorted(found, key=lambda known: known[0])]
        if each.consumer_protocol and each.at_broker and not self._is_next(each, before):
            ordered = [in_doubt(one) for one in ordered]
        self._returns.end(each, place)
        causes, doubts = _together(ordered)
        return replace(each, causes=causes, doubts=doubts)

    def _is_next(self, each: Rebalance, before: Rebalance | None) -> bool:
        """Whether the broker's line of the epoch before is there, or it is the group's first: else what is told since
        may have raised one of which no line is there."""
        if before is None:
            return each.generation in {1, 2}
        return self._returns.follows and before.at_broker

    def _raised(self, joins: Sequence[Join], each: Rebalance) -> list[Cause | Doubt]:
        """Of a client's epoch: the join that raised it, or one of several."""
        causes = tuple(dict.fromkeys(STATES.get(join.before, JOINED) for join in joins))
        if not joins or (len(joins) == 1 and joins[0].member in each.joined):
            return []
        if len(joins) == 1 and causes != (AFTER_POLL,):
            return [Cause(causes[0], (joins[0].member,), each.events[:2])]
        if len(causes) > 1 or causes == (AFTER_POLL,):  # one that stood still is late with its polls, too
            causes = tuple(dict.fromkeys((*causes, AFTER_FENCING)))
            return [Doubt(causes, tuple(join.member for join in joins), each.events[:2], "the broker's log")]
        processes = [self._processes.of_member.get(join.member) for join in joins]
        names = [process[1] if process else join.member for process, join in zip(processes, joins, strict=True)]
        return [Cause(causes[0], (), each.events[:2], f"of one of {joined(names)}")]

    def _would_decide(self, each: Rebalance) -> str:
        return "the logs of the clients" if each.at_broker else "the broker's log, or those of the other members"

    def _was_in(self, departure: Departure, before: Rebalance | None, place: int) -> bool:
        """A member that the group had removed already, and that missed a rebalance, may still say that it leaves."""
        by_broker = any(event.stream.role == "broker" for event in departure.events)
        if by_broker and departure.how == "session":
            return True  # of a static member the broker does not print the id that its next process was given
        if not by_broker and self._returns.missed(departure.process, place):
            return False
        known = before.after if before else None
        return known is None or any(departure.member in {name, client_of(name)} for name in known)

    def _left(self, departure: Departure) -> Cause | Doubt:
        if departure.how == "unknown":
            who = f"the log of {client_of(departure.member)}"
            return Doubt(("member_left", "poll_interval_exceeded"), (departure.member,), departure.events, who)
        if departure.unplaced:
            who = "the broker's log: it may be the cause of the rebalance before, which is not in these logs"
            return Doubt((_HOW.get(departure.how, "member_left"),), (departure.member,), departure.events, who)
        if departure.how == LOST:
            may = (_HOW["poll"], "session_timeout", "rebalance_timeout")
            return Doubt(may, (departure.member,), departure.events, "the broker's log")
        behind = "exception" if departure.exception else ""
        return Cause(_HOW[departure.how], (departure.member,), departure.events, departure.exception, behind)

    def _witnessed(self, departure: Departure) -> Departure:
        """A client that was too slow and says that it had lost its place, too, may have stood still: it notices both
        when it runs again, and was removed before. So may one whose log ends then. The broker's log tells which it was.
        """
        by_broker = any(event.stream.role == "broker" for event in departure.events)
        if departure.how != "poll" or departure.process is None or by_broker:
            return departure
        near = self._lines.between(departure.at - NOTICED_S, departure.at + NOTICED_S)
        lost: list[OfClient] = [event for event in near if isinstance(event, UnknownMember | SessionOver)]
        lost += self._stale.between(departure.at, departure.at + _AT_ONCE_S)  # its timer ran out while it stood still
        has_lost = any(self._processes.of(event) == departure.process for event in lost)
        ends = self._processes.ends(departure.process) <= max(event.at for event in departure.events) + _AT_ONCE_S
        return replace(departure, how=LOST) if has_lost or ends else departure

    def _came(self, member: str, each: Rebalance, place: int) -> list[Cause | Doubt]:
        known = self._returns.why(member, each, place)
        self._returns.back(known)
        lines = tuple(event for event in each.events if _names(event, member)) or each.events[:1]
        lines += known.events
        # Without the broker's log nothing dates the end of the old id's session, which is left to it.
        over: list[Cause | Doubt] = []
        if known.old and not each.at_broker and known.known is None and len(known.candidates) == 1:
            over.append(Cause("session_timeout", (known.old,), lines))
        if len(known.candidates) > 1:
            return [Doubt(known.candidates, (member,), lines, known.would_decide), *over]
        causes: list[Cause | Doubt] = [Cause(known.candidates[0], (member,), lines)]
        return causes + over

    def _rejoined(self, each: Rebalance, before: Rebalance | None) -> Cause | Doubt:
        said = client_reason(each.reason)
        member = each.trigger_members[0] if each.trigger_members else ""
        members = (member,) if member else ()
        own = self._own_lines(each, before, member)
        if any(word in said for word in _GAVE_UP) or any(isinstance(event, SecondRound) for event in own):
            return self._second_round(each, before)
        if (
            (load := self._just_loaded(each, before)) is not None
            or "CoordinatorLoad" in said
            or "NotCoordinator" in said
        ):
            return _after_load(load, members, each)
        resubscribed = tuple(event for event in own if isinstance(event, Subscribed | Resubscribed))
        if any(word in said for word in _OTHER_TOPICS) or resubscribed:
            return self._topics.resubscribed(each, before, members, resubscribed)
        changed = next((event for event in own if isinstance(event, MetadataChanged)), None)
        if changed is not None or any(word in said for word in _MORE_PARTITIONS):
            return self._topics.changed(each, before, changed)
        lost = tuple(event for event in own if isinstance(event, UnknownMember | SessionOver))
        if "UNKNOWN_MEMBER" in said or lost:
            return Cause("member_rejoined_after_fencing", members, (*each.events[:1], *lost[:2]))
        who = f"the log of {client_of(member)}" if member else "the clients' logs"
        may = (UNCHANGED, "subscription_changed", "partitions_added", "topic_matched_pattern", DELETED)
        # Of a client that gives no reasons, the broker prints the second round of a cooperative rebalance likewise.
        return Doubt(may if said else (*may, SECOND), members, each.events[:1], who)

    def _own_lines(self, each: Rebalance, before: Rebalance | None, member: str) -> list[Event]:
        since = before.over if before else each.at - 30
        lines = self._lines.between(since, max(each.at, each.over) + 0.5)
        return [
            event
            for event in lines
            if isinstance(event, OfClient)
            and self._is_of(event, member)
            and (event.at <= each.at + 0.5 or not event.place.sure)
        ]

    def _is_of(self, event: OfClient, member: str) -> bool:
        process = self._processes.of_member.get(member)
        if process is not None:
            return self._processes.of(event) == process
        return bool(member) and event.client == client_of(member)

    def _just_loaded(self, each: Rebalance, before: Rebalance | None) -> Load | None:
        since = max(before.over if before else float("-inf"), each.at - AFTER_LOAD_S)
        return next((load for load in reversed(self._setting.loads) if since < load.at <= each.at), None)

    def _second_round(self, each: Rebalance, before: Rebalance | None) -> Cause:
        # Where the rebalance before is missing, it is not known whose partitions are given up.
        is_known = before is not None and self._returns.follows and (each.at_broker or not before.doubts)
        known = before.members if before is not None and is_known else ()
        return Cause(SECOND, known, each.events[:2])

    def _from_clients(self, each: Rebalance, before: Rebalance | None) -> list[Cause | Doubt]:
        """No line of the coordinator says what began it: what the clients said and did before."""
        if each.at_broker:
            return []
        joined = each.stabilized if each.stabilized is not None else each.over
        notes = [note for note in each.notes if note.at < joined]  # later ones lead to the next rebalance
        if each.generation == 1:
            return [Cause(JOINED, (), each.events[:2])]
        if before is not None and before.generation is not None and not self._returns.follows:
            return []  # what they said may be about a generation between, of which no line is there
        if any(isinstance(note, SecondRound) for note in notes):
            # A member gives up partitions without a round of its own where the group's others speak the new protocol.
            # Whether they do, a single member's log does not tell.
            return [] if _joined_again(before) or len(each.seen) == 1 else [self._second_round(each, before)]
        since = before.over if before else each.at - AFTER_LOAD_S
        gone = tuple(event for event in self._gone.between(since, each.at) if "coordinator unavailable" in event.why)
        loading = tuple(note for note in notes if isinstance(note, Loading))
        elsewhere = tuple(note for note in notes if isinstance(note, NotCoordinator))
        if elsewhere:
            return [Cause("coordinator_moved", (), (*each.events[:1], *elsewhere[:2]))]
        if loading or gone:
            lines = (*each.events[:1], *loading[:2], *gone[:2])
            return [Doubt(("coordinator_restart", "coordinator_moved"), (), lines, "the brokers' logs")]
        changed = next((note for note in notes if isinstance(note, MetadataChanged)), None)
        if changed is not None:
            return [self._topics.changed(each, before, changed)]
        resubscribed = tuple(
            event for event in self._lines.between(since, each.at + 0.5) if isinstance(event, Subscribed | Resubscribed)
        )
        if resubscribed and before is not None:
            members = tuple(name for name in each.seen if any(self._is_of(event, name) for event in resubscribed))[:1]
            if not self._returns.present.keys() >= set(members):
                return []  # perhaps another process, the lines of whose start are missing
            return [self._topics.resubscribed(each, before, members, resubscribed)]
        return []


def _joined_again(rebalance: Rebalance | None) -> bool:
    """Whether a member has joined one generation twice: so it is where the coordinator lets members of the classic
    protocol into a group of the consumer protocol."""
    joins = Counter(event.member for event in (rebalance.events if rebalance else ()) if isinstance(event, Joined))
    return any(count > 1 for member, count in joins.items() if member)


def _is_dated_by_clients(each: Rebalance) -> bool:
    """Whether it is an epoch of the consumer protocol of which no broker's line tells."""
    return each.consumer_protocol and not each.at_broker


def in_doubt(one: Cause | Doubt) -> Doubt:
    """A cause as the first candidate of a doubt, where it is not known which lines belong together. So a client of the
    consumer protocol may hear of the epoch before the one that it raised, and of an epoch of the broker's the line may
    be missing: which of two it was, only all lines of the broker's log tell."""
    if isinstance(one, Doubt):
        return one
    return Doubt(tuple(dict.fromkeys((one.name, *_ANY))), one.members, one.events, "the broker's log")


def _after_load(load: Load | None, members: tuple[str, ...], each: Rebalance) -> Cause | Doubt:
    lines = (*each.events[:1], *([load.event] if load else []))
    if load is None or load.moved is None:
        return Doubt(("coordinator_restart", "coordinator_moved"), members, lines, "the logs of all brokers")
    return Cause("coordinator_moved" if load.moved else "coordinator_restart", members if load.moved else (), lines)


def client_reason(text: str) -> str:
    """What the client gave as its reason, "" where it gave none."""
    match = _CLIENT_REASON.search(text)
    said = (match.group(1) if match else "").strip().removesuffix(".")
    return "" if said == "not provided" else said


def _names(event: Event, member: str) -> bool:
    named = getattr(event, "member", "") or getattr(event, "leader", "")
    return named == member or (isinstance(event, Preparing) and member in event.reason)


def _together(found: Sequence[Cause | Doubt]) -> tuple[tuple[Cause, ...], tuple[Doubt, ...]]:
    """Members of one cause told together, in the order of the first of them."""
    causes: dict[tuple[str, str, str], Cause] = {}
    members: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    events: dict[tuple[str, str, str], dict[Event, None]] = defaultdict(dict)
    doubts: dict[tuple[tuple[str, ...], str], Doubt] = {}
    for one in found:
        if isinstance(one, Cause):
            key = (one.name, one.detail, one.behind)
            causes.setdefault(key, one)
            members[key].update(dict.fromkeys(one.members))
            events[key].update(dict.fromkeys(one.events))
        else:
            doubts[(one.candidates, ",".join(one.members))] = one
    together = [replace(one, members=tuple(members[key]), events=tuple(events[key])) for key, one in causes.items()]
    return tuple(together), tuple(doubts.values())
