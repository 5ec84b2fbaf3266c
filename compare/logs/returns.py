"""Why a member is new in a rebalance: it was started, or it was in the group before and is back."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from compare.logs.broker_events import OfMember
from compare.logs.client_events import (
    CoordinatorGone,
    Epoch,
    GivenId,
    Joined,
    Joining,
    Moved,
    OfClient,
    PolledAgain,
    PollTimeout,
    SessionOver,
    Synced,
    ToldToRejoin,
    UnknownMember,
)
from compare.logs.departures import NO_POLL_TIMER, Absent
from compare.logs.events import Event
from compare.logs.identity import LONGEST_JOIN_S, Process, Processes, client_of, has_client_name
from compare.logs.model import Departure, Ordered, Rebalance

K = TypeVar("K", bound=Hashable)
E = TypeVar("E", bound=OfClient)

JOINED = "member_joined"
NEW_ID = "member_rejoined_under_new_id"
AFTER_POLL = "member_rejoined_after_poll_timeout"
AFTER_FENCING = "member_rejoined_after_fencing"

LOST = "lost"
"""How a client left that says that it was too slow, and that it had no place any more."""

_BACK = {"poll": AFTER_POLL, "session": AFTER_FENCING, "not_rejoined": AFTER_FENCING, "clean": JOINED}
STATES = {"UNSUBSCRIBED": JOINED, "STALE": AFTER_POLL, "FENCED": AFTER_FENCING}
"""From which state a member of the consumer protocol joins, and what that is called."""

_NOTICED_S = 30.0
"""A client that lost its place says so at most so long before it joins again."""

_STALE_S = 1.0
_AGAIN_S = 1.0
"""A client that is given an id asks to join with it at once."""
_AT_ONCE_S = 2.0
_SAME_TROUBLE_S = 20.0
"""Clients that lose one coordinator say so within so many seconds of each other."""


@dataclass(frozen=True, slots=True)
class Return:
    """``candidates``: one where it is certain; ``known``: the departure that it ends; ``events``: lines that tell;
    ``old``: the id that the same process had, and whose end nobody told."""

    candidates: tuple[str, ...]
    known: Departure | None = None
    events: tuple[Event, ...] = ()
    would_decide: str = ""
    old: str = ""


class Returns:
    """Who is in the group and who was, as the rebalances are gone through in order."""

    def __init__(self, events: Sequence[Event], processes: Processes) -> None:
        self.absent = Absent()
        self._processes = processes
        self.present: dict[str, float] = {}
        self._present_clients: dict[str, int] = defaultdict(int)
        self._last_in: dict[Process, tuple[int, int | None, float]] = {}
        """Of the last rebalance that a process was in its number, its generation, and when it was over."""
        self._ever: set[str] = set()
        self._vanished: set[str] = set()
        self._complete = False
        self._over = float("-inf")
        self._is_over = True
        self._generation: int | None = None
        self.follows = False
        """Whether the rebalance is that after the one before."""
        self._covered = self._was_complete = False
        """Whether the broker's log tells how both began, and that the first was through."""
        own = [event for event in events if isinstance(event, OfClient) and event.stream.role != "broker"]
        lost = [event for event in own if isinstance(event, UnknownMember | SessionOver)]
        moves = [event for event in own if isinstance(event, Moved)]
        signs = UnknownMember | SessionOver | PolledAgain | PollTimeout | Joining
        self._first_line = {
            event.member: event.at for event in reversed(events) if isinstance(event, OfMember) and event.place.sure
        }
        self._given = {processes.of(event) for event in own if isinstance(event, GivenId)}
        self._joins = _by(processes.of, [event for event in moves if event.after == "JOINING"])
        self._answers = _by(processes.of, [event for event in moves if event.before == "JOINING" != event.after])
        self._signs = _by(processes.of, [event for event in own if isinstance(event, signs)])
        self._asked = _by(processes.of, [event for event in own if isinstance(event, Joining | Synced)])
        self._notices = _by(lambda event: event.client, lost)
        self._troubles = Ordered(event for event in own if isinstance(event, SessionOver | CoordinatorGone))
        self._told = Ordered(event for event in own if isinstance(event, ToldToRejoin))

    def begin(self, each: Rebalance) -> None:
        """The next rebalance; whether all who were ever in the group are known from here on."""
        self.follows = self._generation is not None and each.generation == self._generation + 1
        self._covered = self.follows and self._was_complete and each.trigger != ""
        self._was_complete = each.trigger != "" and each.count is not None
        if each.consumer_protocol:
            self._complete = self._complete or (each.generation in {1, 2} and not self._ever)
        else:
            self._complete = each.at_broker and (each.generation == 1 or (self._complete and self.follows))
        self._generation = each.generation

    def end(self, each: Rebalance, place: int) -> None:
        """The rebalance is over: who is in the group now."""
        self._over, self._is_over = each.over, each.end is not None
        for departure in each.departures:
            self._leave(departure.member)
        self._vanished.difference_update(each.joined, each.seen)
        for member in (*each.joined, *(each.after or ()), *each.seen):
            if member in self._vanished:
                continue
            if member not in self.present and not any(departure.member == member for departure in each.departures):
                self.present[member] = each.over
                self._present_clients[client_of(member)] += 1
            self._ever.add(member)
        known = each.is_known and each.count is not None
        self._was_complete = self._was_complete and known
        self._complete = self._complete and (known or each.consumer_protocol)
        if each.after is not None:
            now = set(each.after)
            for member in [name for name in self.present if name not in now]:
                self._leave(member)
        if each.consumer_protocol and each.generation is None:  # an epoch that nobody heard of is missed by nobody
            self._last_in = {name: (last + 1, known, over) for name, (last, known, over) in self._last_in.items()}
        for member in (*each.seen, *(each.listed or ())):
            process = self._processes.of_member.get(member)
            if process is not None:
                self._last_in[process] = (place, each.generation, each.over)

    def missed(self, process: Process | None, place: int) -> bool:
        """Whether others were in a rebalance since the last one that the process was in."""
        return process in self._last_in and place - self._last_in[process][0] > 1 if process is not None else False

    def generation_of(self, process: Process) -> int | None:
        """The last generation that the process was in."""
        return self._last_in[process][1] if process in self._last_in else None

    def vanished(self, departure: Departure) -> None:
        """A member is gone, though nobody said so."""
        self.absent.add(departure)
        self._vanished.add(departure.member)
        self._leave(departure.member)

    def _leave(self, member: str) -> None:
        if member in self.present:
            del self.present[member]
            self._present_clients[client_of(member)] -= 1

    def why(self, member: str, each: Rebalance, place: int) -> Return:
        """Why a member is new; ``place``: the rebalance's number."""
        process = self._processes.of_member.get(member)
        if not each.at_broker and _may_have_replaced(member, each):
            return Return((JOINED, AFTER_FENCING, AFTER_POLL), None, (), "the broker's log")
        if process is not None:
            if found := self._own_log(member, process, each, place):
                return found
        elif has_client_name(member):
            process = self._processes.of_client(each.group, client_of(member), each.over)
            nameless = process is not None and not self._processes.names_members(process)
            if process is not None and nameless and (found := self._nameless(member, process, each)):
                return found
        same = self.absent.of_member(member)
        if same is not None and has_client_name(member):
            found = Return((_BACK.get(same.how, AFTER_POLL),), same)
        else:
            found = self._by_name(member, each)
        if each.at_broker or self.follows or each.generation == 1 or len(found.candidates) > 1:
            return found
        # It may have come in a rebalance before, of which no line is there.
        may = tuple(dict.fromkeys((*found.candidates, JOINED, AFTER_FENCING, AFTER_POLL)))
        return Return(may, found.known, (), "the broker's log")

    def _own_log(self, member: str, process: Process, each: Rebalance, place: int) -> Return | None:
        """By the lines of the member's own process."""
        known = self.absent.of_process(process)
        if found := self._by_state(member, process, known, each):
            return found
        if known is not None:
            return self._known_to_have_left(member, process, known, each)
        if old := self._processes.had(process, member, self._ever):
            return self._while_there(old, process, each)
        if member in self._ever or not self._started_as(member, process, each):
            return None
        before = self.absent.of_client(member)
        return Return((JOINED,), next((departure for departure in before if departure.process != process), None))

    def may_have_come_before(self, member: str, each: Rebalance) -> bool:
        """Whether the member may have come in a rebalance before, of which no line is there, since its own lines do not
        tell when it was given its id."""
        if each.at_broker or each.consumer_protocol or each.generation in {None, 1} or not self._ever:
            return False
        process = self._processes.of_member.get(member)
        if process is None or process not in self._given:
            return False  # of a version that does not print when it was given one
        given = [note.at for note in each.notes if isinstance(note, GivenId) and note.member == member]
        seen = each.seen.get(member, each.over)
        if not given or seen - given[0] > LONGEST_JOIN_S:
            return True
        own = self._asked[process].between(given[0], seen)
        # It asks to join again, or has been given partitions: it was in a rebalance in between.
        return any(event.at > given[0] + _AGAIN_S if isinstance(event, Joining) else event.at < seen for event in own)

    def _by_state(self, member: str, process: Process, known: Departure | None, each: Rebalance) -> Return | None:
        """A member of the consumer protocol says from which state it joins."""
        until = max(each.over, each.joined[member])
        joins = self._joins[process].between(self._over, until)
        answer = self._answers[process].next(joins[-1].at) if joins else None
        if each.at_broker and (answer is None or not _is_answer(answer, each.joined[member], each)):
            return None  # that is how it came in a rebalance before
        why = STATES.get(joins[-1].before) if joins else None
        if why == AFTER_POLL:  # one that stood still finds its poll timer run out, too
            how, at = known.how if known is not None else "", joins[-1].at
            late = self._signs[process].between(at - _STALE_S, at)
            is_late = any(isinstance(event, PollTimeout) for event in late)
            at_once = not each.at_broker and (is_late or (known is not None and at - known.at <= _STALE_S))
            if how in {"session", "not_rejoined"}:
                return Return((AFTER_FENCING,), known, tuple(joins[-1:]))
            if known is None or how == LOST or at_once:
                return Return((AFTER_POLL, AFTER_FENCING), known, tuple(joins[-1:]), "the broker's log")
        return Return((why,), known, tuple(joins[-1:])) if why is not None else None

    def _known_to_have_left(self, member: str, process: Process, known: Departure, each: Rebalance) -> Return:
        """A process is back that lost its place, where its own lines say that it did: else it may be another one, whose
        start stands in a part of the log that is missing."""
        back = _BACK.get(known.how)
        own = self._signs[process].between(known.at - _NOTICED_S, each.over)
        if known.how == LOST and self._processes.library(process) in NO_POLL_TIMER:
            back = AFTER_FENCING
        if back is None:
            may: tuple[str, ...] = (AFTER_POLL, AFTER_FENCING) if known.how == LOST else (JOINED, AFTER_POLL)
            return Return(may, known, would_decide="the broker's log" if known.how == LOST else self._who(member))
        if back == AFTER_FENCING and all(isinstance(event, Joining) for event in own):
            return Return((back, JOINED), known, would_decide=f"all parts of {self._who(member)}")
        if back == AFTER_FENCING and each.generation is None and own and own[-1].at < self._over:
            # It knew before a rebalance that it is not in: that may be the one in which it came back.
            return Return((back, JOINED, AFTER_POLL), known, would_decide=f"all parts of {self._who(member)}")
        sure = each.at_broker or self._started_as(member, process, each)
        if back == JOINED and not sure:
            return Return((JOINED, AFTER_FENCING, AFTER_POLL), known, would_decide="the broker's log")
        return Return((back,), known)

    def _started_as(self, member: str, process: Process, each: Rebalance) -> bool:
        """Whether the process became this member in the rebalance when it started; others may tell when it came: the
        broker, or those of the generation just before."""
        is_dated = each.at_broker or (self.follows and each.joined[member] > self._over)
        came = each.joined[member]
        let_in = came if each.at_broker else None
        after = self._over - _AT_ONCE_S if self.follows and not each.at_broker else float("-inf")
        return self._processes.started_as(
            process, member, is_dated, let_in, after, lambda event: _is_answer(event, came, each)
        )

    def _while_there(self, old: str, process: Process, each: Rebalance) -> Return:
        """The process has another id though nothing says that its old one was gone before."""
        every = self._recent(process, each.over)
        signs = every[:2]
        if each.at_broker:
            if not signs:
                return Return((NEW_ID, AFTER_FENCING, JOINED), None, (), f"all parts of {self._who(old)}")
            if old in self.present and self._covered:
                return Return((NEW_ID,), None, signs)
            return Return((NEW_ID, AFTER_FENCING), None, (), "the broker's log from before")
        is_aiokafka = self._processes.library(process) == "aiokafka"  # unknown to the group it is if it was slow, too
        if not signs or (is_aiokafka and not any(isinstance(event, SessionOver) for event in every)):
            return Return((NEW_ID, AFTER_FENCING, AFTER_POLL, JOINED), None, signs, "the broker's log")
        _, generation, over = self._last_in.get(process, (0, None, 0.0))
        asked = max((event.generation or 0 for event in every if isinstance(event, UnknownMember)), default=0)
        if asked > (generation or 0):  # its lines tell of a later one than those of joining do
            generation = asked
        elif not asked and self._asked_to_join(process, over, signs[0].at):
            generation = None  # it may have been in a later one, the line about which is missing
        # A refusal that names no generation may be of a later one, about which the lines are missing.
        if generation is None or each.generation is None or (not asked and each.generation - generation > 1):
            return Return((NEW_ID, AFTER_FENCING), None, signs, "the broker's log")
        if each.generation - generation > 1:
            return Return((AFTER_FENCING,), None, signs)
        own = self._signs[process].between(each.at - _SAME_TROUBLE_S, each.over)
        since = max((event.at for event in own if isinstance(event, Joining)), default=each.at)
        told = self._told.between(self._over, since - _AT_ONCE_S) if self._is_over else []
        if any(self._processes.of(event) != process for event in told):
            return Return((AFTER_FENCING,), None, signs, old=old)
        around = self._troubles.between(signs[0].at - _SAME_TROUBLE_S, signs[0].at + _SAME_TROUBLE_S) if signs else []
        if any(self._processes.of(event) != process for event in around):
            return Return((NEW_ID,), None, signs, old=old)
        return Return((NEW_ID, AFTER_FENCING), None, signs, "the broker's log", old)

    def _asked_to_join(self, process: Process, after: float, until: float) -> bool:
        """Whether the process asked to join, or was told to, between."""
        own = self._signs[process].between(after, until)
        told = self._told.between(after, until)
        return any(isinstance(event, Joining) for event in own) or any(self._processes.of(e) == process for e in told)

    def _nameless(self, member: str, process: Process, each: Rebalance) -> Return | None:
        """By the lines of a process of a library that prints no member ids, if it says shortly before that it polls
        again, or that it lost the coordinator and joins anew."""
        recent = self._signs[process].between(each.at - _NOTICED_S, each.over + _AT_ONCE_S)
        known = next(iter(self.absent.of_client(member)), None)
        polls = [event for event in recent if isinstance(event, PolledAgain) or event.place.late]
        if known is not None and known.how == "poll" and any(abs(e.at - each.at) <= 2 * _AT_ONCE_S for e in polls):
            return Return((AFTER_POLL,), known, tuple(polls[:2]))
        lost = [event for event in recent if isinstance(event, SessionOver | UnknownMember)]
        if not lost:
            return None
        if known is not None and known.how in {"session", "not_rejoined"}:
            return Return((AFTER_FENCING,), known, tuple(lost[:2]))
        if known is None and self._covered and self._present_clients[client_of(member)]:
            return Return((NEW_ID,), None, tuple(lost[:2]))
        return None

    def _by_name(self, member: str, each: Rebalance) -> Return:
        """By the names that the broker prints."""
        would = self._who(member)
        if each.generation == 1 and not each.consumer_protocol:
            return Return((JOINED,))
        if not has_client_name(member):
            same = self.absent.of_member(member)
            if same is not None:
                return Return((_BACK.get(same.how, AFTER_POLL), JOINED), same, (), would)
            if self._complete and not self._ever and self._first_line.get(member, each.at) >= each.at - _AT_ONCE_S:
                return Return((JOINED,))
            return Return((JOINED, AFTER_FENCING, AFTER_POLL), None, (), would)
        left = self.absent.of_client(member)
        there = self._present_clients[client_of(member)] > 0 and self._may_be_replaced(member, each)
        if not left and not there and self._complete:
            return Return((JOINED,))
        if left and not there and all(departure.how == "clean" for departure in left):
            return Return((JOINED,), left[0])
        candidates = [JOINED]
        for departure in left:
            candidates.append(_BACK.get(departure.how, AFTER_POLL))
        if there:
            candidates.append(NEW_ID)
        if not left and not there:
            candidates += [AFTER_FENCING, AFTER_POLL]
        noticed = self._noticed(client_of(member), each.at)
        if noticed and left and not there and left[0].how in {"session", "not_rejoined"}:
            return Return((AFTER_FENCING,), left[0], noticed)
        return Return(tuple(dict.fromkeys(candidates)), left[0] if left else None, (), would)

    def _may_be_replaced(self, member: str, each: Rebalance) -> bool:
        """Whether a member of that client id was removed while the new one joined: a rebalance waits for an id that its
        client has dropped, until its session is over."""
        if each.consumer_protocol or not each.at_broker or each.count is None or each.after is None:
            return True  # where the members do not add up, the line that removed it may be missing
        if self._present_clients[client_of(member)] == 1 and not client_of(member).startswith("consumer-"):
            return True  # of an id that only one process has
        removed = (gone for gone in each.departures if gone.how in {"session", "not_rejoined"})
        return any(client_of(gone.member) == client_of(member) for gone in removed)

    def _noticed(self, client: str, at: float) -> tuple[Event, ...]:
        return tuple(self._notices[client].between(at - _NOTICED_S, at + 0.5)[:2])

    def _recent(self, process: Process, until: float) -> tuple[OfClient, ...]:
        recent = self._signs[process].between(until - 2 * _NOTICED_S, until)
        return tuple(event for event in recent if isinstance(event, SessionOver | UnknownMember))

    def _who(self, member: str) -> str:
        name = client_of(member)
        return f"the log of {name}" if has_client_name(member) else "the log of the client that has this member id"

    def back(self, found: Return) -> None:
        """A member is there: whoever it was before is not away any more."""
        if found.known is not None:
            self.absent.is_back(found.known)


def _by(key: Callable[[OfClient], K], events: Sequence[E]) -> dict[K, Ordered[E]]:
    found: dict[K, list[E]] = defaultdict(list)
    for event in events:
        found[key(event)].append(event)
    return defaultdict(lambda: Ordered(()), {each: Ordered(those) for each, those in found.items()})


def _is_answer(event: Event, came: float, each: Rebalance) -> bool:
    """Whether it may be the answer to the join that raised the broker's epoch. It is given the target's epoch, which
    may be some joins behind; who left and is back has raised two by then."""
    if not isinstance(event, Moved | Epoch) or not each.at_broker or not event.place.sure:
        return True
    return event.at >= came - _AT_ONCE_S or event.epoch >= (each.generation or 0) - 1


def _may_have_replaced(member: str, each: Rebalance) -> bool:
    """Whether it is a static member that no other joins with: it may have taken its place back, without a rebalance."""
    own = [event for event in each.events if isinstance(event, Joined | Moved) and event.member == member]
    if not any(event.instance for event in own):
        return False
    others = [event for event in each.events if isinstance(event, Joined) and event.stream is not own[0].stream]
    return not any(abs(event.at - own[0].at) <= _AT_ONCE_S for event in others)
