"""The lines of one Kafka group reduced to its rebalances: generations of the classic protocol, epochs of the
consumer's. Who came and went is looked for here, why is not.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from compare.logs.broker_events import (
    Added,
    Announced,
    AssignmentReceived,
    EpochBumped,
    EpochJoined,
    Failed,
    Fenced,
    Left,
    OfMember,
    Replaced,
)
from compare.logs.client_events import (
    ClientStarted,
    Epoch,
    GivenId,
    Joined,
    Joining,
    Loading,
    Moved,
    Moves,
    NotCoordinator,
    OfClient,
    SessionOver,
    SharedOut,
    UnknownMember,
)
from compare.logs.drafts import Collector, Draft
from compare.logs.events import Event
from compare.logs.identity import Processes
from compare.logs.model import Departure, Ordered, Rebalance
from compare.logs.unseen import CLOSE_S, begin_epochs, begins_epoch, unseen_generations

_AT_ONCE_S = 0.02
"""The broker begins a rebalance so soon after the line about the member that left."""

_BEFORE_S = 1.0

_MOST_NAMES = 2_000_000
"""So many names all lists of a group's members hold at most: each rebalance has its own, or a group that grows by one
member at a time would need the square of their number."""

_ALONE = (SessionOver, UnknownMember, Loading, NotCoordinator)
"""What a client notices before it joins again: the group's rebalance begins with its join."""


def reduced(
    group: str, events: Ordered[Event], departures: Sequence[Departure], processes: Processes
) -> list[Rebalance]:
    """The group's rebalances in order of time, with who came and went."""
    broker_seen = any(event.stream.role == "broker" for event in events.events)
    collector = Collector(any(isinstance(event, EpochBumped) for event in events.events))
    for event in events.events:
        collector.take(event)
    drafts = sorted(
        (each for each in collector.found if any(event.place.sure for event in each.events)),
        key=lambda each: (each.at, each.generation or 0),
    )
    drafts = [each for place, each in enumerate(drafts) if not _overtaken(each, drafts[max(0, place - 1) : place + 3])]
    drafts, open_ = unseen_generations(drafts, events, departures)
    departures = [replace(each, unplaced=id(each) in open_) for each in departures]
    if not broker_seen:
        begin_epochs(drafts, events)
    _Sharing(drafts, events, departures, processes).share_out()
    _members(drafts, broker_seen)
    return [each.frozen(group) for each in drafts]


def _overtaken(each: Draft, near: Sequence[Draft]) -> bool:
    """Whether a broker began it that was not the coordinator any more: numbers only grow, and a later one is not
    higher, or a client joins an earlier one later."""
    if each.generation is None or each.consumer_protocol or each.stabilized is not None or each.ready is not None:
        return False
    lower = [
        other for other in near if other is not each and (other.generation or each.generation + 1) <= each.generation
    ]
    late = (event.at for other in lower for event in other.events if isinstance(event, Joined))
    return any(other.at > each.at for other in lower) or any(at > each.at + _BEFORE_S for at in late)


class _Sharing:
    """Gives every departure and every new member to the rebalance that it belongs to."""

    def __init__(
        self, drafts: Sequence[Draft], events: Ordered[Event], departures: Sequence[Departure], processes: Processes
    ) -> None:
        self.drafts = drafts
        self.processes = processes
        self.moves = Ordered(event for event in events.events if isinstance(event, Moves))
        self.begins = Ordered(
            event
            for event in events.events
            if event.place.sure
            and (begins_epoch(event) or (isinstance(event, Moves) and not isinstance(event, _ALONE)))
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
        self.follows = True
        """Whether the rebalance is that after the one before."""
        self.own: dict[str, list[OfClient]] = defaultdict(list)
        for event in events.events:
            if isinstance(event, Joined | Moved | Epoch) and event.member:
                self.own[event.member].append(event)

    def share_out(self) -> None:
        """Starts that only clients saw, lines, departures and new members of every rebalance."""
        last = since = float("-inf")
        waiting: list[Departure] = []  # of those who were in a generation before they left
        alone = {(gone.member, gone.at) for each in self.drafts for gone in each.departures}
        for place, each in enumerate(self.drafts):
            through = each.over + 0.5
            after = self.drafts[place + 1] if place + 1 < len(self.drafts) else None
            if each.at_broker:
                through = each.over if each.stabilized is None else each.stabilized
            elif after is not None and after.trigger and after.begun is not None:
                through = min(through, after.begun - _AT_ONCE_S)
            if each.consumer_protocol:
                through = each.at + 0.001 if each.at_broker else each.over + 0.5
            before = self.drafts[place - 1].generation if place else 0
            self.follows = before == (each.generation or 0) - 1 or (not place and each.generation is None)
            is_next = not place or self.follows or each.generation is None  # else the first lines are of one before
            if not each.consumer_protocol and is_next and (each.begun is None or not each.trigger):
                self._begin(each, last, self.drafts[place - 1] if place else None)
            each.notes += self.moves.between(max(last, each.at - CLOSE_S), each.over + 0.5)
            first, past = bisect_right(self.left_at, since), bisect_right(self.left_at, through)
            left = [gone for gone in [*waiting, *self.departures[first:past]] if (gone.member, gone.at) not in alone]
            waiting = [] if each.at_broker else [gone for gone in left if _was_in(gone, each)]
            if not each.departures:
                each.departures = [self._placed(gone, each, place) for gone in left if gone not in waiting]
            each.joined = self._new_members(place, each, since, through)
            self.known |= {*each.joined, *each.seen, *(each.listed or ())}
            self.known -= {gone.member for gone in each.departures}
            last, since = each.over, max(since, through)

    def _placed(self, gone: Departure, each: Draft, place: int) -> Departure:
        """A member that was gone before the broker began the rebalance led to one before, if any is missing."""
        begun = each.begun if each.trigger else None
        if each.consumer_protocol and each.at_broker:
            return gone if self._raised(gone, each, place) else replace(gone, unplaced=True)
        last = self.drafts[place - 1] if place else None
        is_over = last is None or not last.at_broker or last.stabilized is not None  # else it may be that one's
        if not each.at_broker and not each.consumer_protocol and self._may_be_in(gone, each):
            return replace(gone, unplaced=True)
        if (self.follows and is_over) or each.consumer_protocol:
            return gone
        if begun is None:
            return replace(gone, unplaced=each.generation is not None)
        is_others = each.trigger in {"leave", "expire"} and gone.member not in each.trigger_members
        if gone.at > (begun if is_others or gone.how == "not_rejoined" else begun - _BEFORE_S):  # a removal ends one
            return gone
        return replace(gone, unplaced=True)

    def _raised(self, gone: Departure, each: Draft, place: int) -> bool:
        """Whether a member that left raised the broker's epoch, which only one does: the line just before names it, or
        names nobody, and no other epoch is near."""
        notes = [note for note in each.notes if isinstance(note, OfMember)]
        if notes or any(event.stream.role == "broker" for event in gone.events):
            return any(note.member == gone.member and isinstance(note, Left | Failed | Fenced) for note in notes)
        near = (other for other in self.drafts[max(0, place - 1) : place + 2] if other is not each)
        return self.follows and all(abs(other.at - each.at) > _BEFORE_S for other in near)

    def _may_be_in(self, gone: Departure, each: Draft) -> bool:
        """Whether the member may have been in the generation before it left, though no line says that it joined."""
        own = self.processes.events_of.get(gone.process, []) if gone.process else []
        joins = [one for one in own if isinstance(one, Joining | Joined) and one.place.at and one.at < gone.at]
        is_joining = bool(joins) and isinstance(joins[-1], Joining)
        return is_joining or (each.stabilized is not None and gone.at > each.stabilized)

    def _begin(self, each: Draft, last: float, before: Draft | None) -> None:
        """With the first line of a member that was through the rebalance before, whose end another member's clock may
        show earlier."""
        joined = (event for event in (before.events if before else ()) if isinstance(event, Joined))
        through = {(id(event.stream), event.client): event.at for event in joined}
        moves = [
            event
            for event in self.begins.between(last + 0.001, each.over - 0.000_001)
            if event.at > through.get((id(event.stream), getattr(event, "client", "")), last)
        ]
        if moves:
            each.begun = min(each.at, moves[0].at)
            each.events.insert(0, moves[0])

    def _new_members(self, place: int, each: Draft, since: float, through: float) -> dict[str, float]:
        """Those who are new in it, with the times at which they asked to join."""
        named = dict.fromkeys(each.trigger_members, each.at) if each.trigger == "add" else {}
        named |= {note.member: note.at for note in each.notes if isinstance(note, EpochJoined | Replaced)}
        for event in self.new.between(since, through + 0.05):
            assert isinstance(event, Added | Announced | GivenId)
            certain = isinstance(event, Added) or (event.member in self.used and self._is_in(event.member, each))
            if not self.follows and not each.consumer_protocol and not self._joined_now(event, each):
                continue  # it may have come in a rebalance before, of which no line is there
            if certain and event.member not in self.known and self.triggers.get(event.member, place) <= place:
                named.setdefault(event.member, event.at)
        if not each.at_broker:
            named = {**self._first_seen(each, place), **named}
        members = each.listed or (list(each.seen) if not each.at_broker else [])
        known = {*members, *each.trigger_members}
        return {name: at for name, at in named.items() if name and (not members or name in known)}

    def _is_in(self, member: str, each: Draft) -> bool:
        """Whether a member that was given an id joined with it then, as far as its own lines tell."""
        own = [event for event in self.own[member] if isinstance(event, Joined) and event.generation is not None]
        return not own or each.generation is None or own[0].generation == each.generation

    def _joined_now(self, event: Added | Announced | GivenId, each: Draft) -> bool:
        """Whether a member that was given an id then is new in this rebalance, though others are missing before."""
        own = [known for known in self.own[event.member] if isinstance(known, Joined)]
        if own and self.processes.was_in_before(own[0]):
            return False
        told = own[0].generation if own else None
        if not each.trigger or each.begun is None:
            return told is not None and told == each.generation
        return event.at >= each.begun - _BEFORE_S and told in {None, each.generation}

    def _first_seen(self, each: Draft, place: int) -> dict[str, float]:
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
                is_start = place or each.generation == 1 or began <= own[0].at
                if is_start and not self.processes.was_in_before(own[0]):
                    found[member] = at
        return found


def _was_in(gone: Departure, each: Draft) -> bool:
    """Whether the member left a generation that it was in, by its own line or by the leader's."""
    return gone.member in (each.listed or ()) or each.seen.get(gone.member, gone.at) < gone.at


def _used(event: Event) -> Iterable[str]:
    """Member ids in a line that only members have."""
    if isinstance(event, AssignmentReceived):
        return (event.leader,)
    if isinstance(event, SharedOut):
        return event.members
    if isinstance(event, Left | Failed | Joined):
        return (event.member,)
    return ()


def _members(drafts: Sequence[Draft], broker_seen: bool) -> None:
    """Who is in the group before and after, where the logs give it completely and there are not too many to list."""
    most = _MOST_NAMES // max(1, len(drafts))
    known: set[str] | None = None
    last: Draft | None = None
    for each in drafts:
        each.before = None if last is None else last.after
        if each.listed is not None:
            follows = last is not None and last.listed is not None and each.generation == (last.generation or 0) + 1
            if follows and known is not None and not broker_seen:
                for name in each.listed:
                    if name not in known:
                        each.joined.setdefault(name, each.at)
            known = set(each.listed)
        elif each.emptied:
            known = set()
        elif known is not None or each.generation == 1:
            gone = {departure.member for departure in each.departures}
            known = set() if known is None else known
            known -= gone
            known |= each.joined.keys() - gone
            known |= each.seen.keys()
            if each.count is not None and len(known) != each.count:
                known = None
        each.is_known = known is not None
        each.after = None if known is None or len(known) > most else tuple(sorted(known))
        if each.before is None and each.generation == 1:
            each.before = ()
        last = each
