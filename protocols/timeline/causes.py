"""From an effect back to what began it: an event of the scenario, or the clock alone.

A fact carries the number of the call that began it (`protocols.engine.simulation`). Where that is the clock
(a session that ran out, a poll that found new queues), the cause is the latest event before it that was about the
member in question, or about no member at all. Where it is known whether somebody saw other topics, only events that
change topics can be the cause, or only others.

A chain of causes may also have gone round with a heartbeat for long: an event that has explained one rebalance explains
another only if nothing newer does (`CauseAttribution`).
"""

from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.engine.simulation import CLOCK
from protocols.scenario.events import Event, MemberChange
from protocols.scenario.scaling import AUTOSCALER, LOOKS
from protocols.scenario.topology import ProcessPeers

BEGINNING = "the scenario begins"


class Call(NamedTuple):
    """A call that somebody has put in the simulation: an event of the scenario, or what an event has yet to do (end a
    hang, mend the network). ``cause`` is the number of what was being handled when it was put there."""

    number: int
    at: Time
    label: str
    cause: int


class Happening(NamedTuple):
    """Something that the scenario lets happen. ``root`` is the number of its call; ``members`` are those whom it is
    about, none for topics, brokers and the network; ``follows`` is the happening that it belongs to, if it is not an
    event of its own; ``can_rebalance`` is False for what never makes a group rebalance; ``acts_late`` is True for
    what may do so much later (a crash, a hang), as long as nothing else happens to the member; ``of_topics`` is True
    for what changes topics, their queues or who reads them, ``of_offsets`` for a reset of offsets; ``topics`` are those
    that come, go or get other queues."""

    at: Time
    text: str
    members: tuple[str, ...]
    root: int
    follows: "Happening | None" = None
    can_rebalance: bool = True
    acts_late: bool = False
    of_topics: bool = False
    of_offsets: bool = False
    topics: tuple[str, ...] = ()

    @property
    def event(self) -> "Happening":
        """The event of the scenario that it belongs to; itself, where it is one."""
        found = self
        while found.follows is not None:
            found = found.follows
        return found


class Effect(NamedTuple):
    """What is to be explained, at ``at``, begun by the call ``root``. ``by``: the member who brought it about, if
    one did; ``of_topics``: whether by seeing other topics than before, None where that is not known; ``by_members``:
    whether members rebalance by themselves, who may give up a queue whose offset is reset; to a coordinator a reset is
    nothing. ``group`` is the one that rebalances; ``member``, where members rebalance by themselves: which."""

    at: Time
    root: int = CLOCK
    by: str | None = None
    of_topics: bool | None = None
    by_members: bool = True
    group: str | None = None
    member: str | None = None


_STARTS = (MemberChange.JOINS, MemberChange.RESTARTS)

_BEGINNING = Happening(0.0, BEGINNING, (), 0)


class Causes:
    """All that happens in a run, in order, and the question what caused an effect.

    ``calls``: every call of the run. ``events``: number of a call to its event, None for the beginning
    (`protocols.scenario.running`); without it calls are known by their labels only. ``peers``: who shares
    whose fate; without it every member is for itself, and may hear of everything. ``reads``: whether a group has to do
    with a topic (`protocols.timeline.invariants.reads_in`); without it all have with all.
    """

    def __init__(
        self,
        calls: Iterable[Call],
        events: Mapping[int, Event | None] | None = None,
        peers: ProcessPeers | None = None,
        reads: Callable[[str, str], bool] | None = None,
    ) -> None:
        in_process = {} if peers is None else peers.in_process
        self._reads = reads
        self._informed = {} if peers is None else peers.informed
        self._by_root: dict[int, Happening] = {}
        for call in calls:
            if call.label == LOOKS:
                continue  # an autoscaler that looks does nothing; what it lets happen are events of their own
            event = (events or {}).get(call.number)
            follows = None if event is not None else self._by_root.get(call.cause)
            members = (follows.members if follows else ()) if event is None else _affected_members(event, in_process)
            text = call.label if event is None else event.describe()
            if follows is not None and not text:
                self._by_root[call.number] = follows
            else:
                self._by_root[call.number] = Happening(
                    call.at,
                    text or BEGINNING,
                    members,
                    call.number,
                    follows,
                    can_rebalance=not call.label.startswith(f"{AUTOSCALER}: ")
                    if event is None
                    else event.can_rebalance,
                    acts_late=event is not None and event.acts_late,
                    of_topics=event is not None and event.changes_topics,
                    of_offsets=event is not None and event.resets_offsets,
                    topics=() if event is None else tuple(event.queue_changes()),
                )
        self.happenings: Sequence[Happening] = sorted(
            dict.fromkeys(self._by_root.values()), key=lambda each: (each.at, each.root)
        )
        """In the order in which they happen."""
        self._ends: dict[str, list[Time]] = {}
        for event in (events or {}).values():
            if event is not None and event.member_change in (MemberChange.ENDS, MemberChange.RESTARTS):
                for name in _affected_members(event, in_process):
                    self._ends.setdefault(name, []).append(event.at)
        self.away: dict[str, list[tuple[Time, Time]]] = {}
        """Member to the times from an end of its process to the next start; infinite where none follows."""
        known = [event for event in (events or {}).values() if event is not None]
        for event in sorted(known, key=lambda each: each.at):
            for name in _affected_members(event, in_process):
                times = self.away.setdefault(name, [])
                if event.member_change is MemberChange.ENDS and not (times and times[-1][1] == inf):
                    times.append((event.at, inf))
                elif event.member_change in _STARTS and times and times[-1][1] == inf:
                    times[-1] = times[-1][0], event.at
        at = [event.at for event in known]
        if events is None:
            at = [happening.at for happening in self.happenings if happening.follows is None]
        self.last_event = max(at, default=0.0)
        """Milliseconds; 0 where nothing happens after the beginning."""

    def first_end(self, member: str, since: Time, until: Time) -> Time | None:
        """When a member's process first came to an end in this time, both ends included."""
        return min((at for at in self._ends.get(member, ()) if since <= at <= until), default=None)

    def ended_between(self, member: str, since: Time, until: Time) -> bool:
        """Whether a member's process came to an end in this time, both ends included."""
        return self.first_end(member, since, until) is not None

    def of(self, effect: Effect) -> Happening:
        began = self._by_root.get(effect.root)
        if began is not None and (began.of_topics or not effect.of_topics):
            return began
        found = self.latest(effect) if effect.root == CLOCK or began is not None else None
        return found or began or _BEGINNING

    def latest(self, effect: Effect, since: Time = 0.0, spent: Container[Happening] = ()) -> Happening | None:
        """The latest happening from ``since`` to the effect that may have brought it about, or what acts late on its
        member from before. None where all such are ``spent``."""
        by = effect.by
        found = about = None
        for happening in self.happenings:
            if happening.at > effect.at:
                break
            if by is not None and by in happening.members:
                about = happening
            elif by is not None and happening.members:
                continue
            if (
                happening.at >= since
                and happening not in spent
                and _can_cause(happening, effect)
                and self._reaches(happening, effect)
            ):
                found = happening
        late = about is not None and about.acts_late and about not in spent and _can_cause(about, effect)
        return about if found is None and late else found

    def _reaches(self, happening: Happening, effect: Effect) -> bool:
        """Whether the group reads a topic that changed, and whether the member to whom the effect befell may have heard
        of what happened to others."""
        befell, group = effect.member, effect.group
        if happening.topics and group is not None and self._reads is not None:
            return any(self._reads(group, topic) for topic in happening.topics)
        if befell is None or not happening.members:
            return True
        return any(befell in self._informed.get(name, (befell,)) for name in happening.members)


class CauseAttribution:
    """Causes of one effect after the other, each with whom it affects (a group, or a member of one)."""

    def __init__(self, causes: Causes) -> None:
        self._causes = causes
        self._spent: dict[Hashable, set[Happening]] = {}
        self._previous: dict[Hashable, Happening] = {}

    def cause(self, whom: Hashable, effect: Effect) -> Happening:
        """What caused this effect. What explained an earlier one, or is older than what did, has gone round with a
        heartbeat: then it is the latest event since that explains none yet, or what acts late; without any, the effect
        is the aftermath of the previous one."""
        found = self._causes.of(effect)
        spent = self._spent.setdefault(whom, set())
        previous = self._previous.get(whom)
        if previous is not None:
            # Other topics may be seen long after they changed, whatever else has happened meanwhile.
            late = found.of_topics if effect.of_topics else found.acts_late and effect.by in found.members
            if found in spent or (found.at < previous.at and not late):
                since = 0.0 if effect.of_topics else previous.at
                found = self._causes.latest(effect, since, spent) or previous
        spent.add(found)
        self._previous[whom] = found
        return found


def _can_cause(happening: Happening, effect: Effect) -> bool:
    """Whether a happening is of a kind that leads to such an effect later, when a clock has begun it."""
    if effect.of_topics is not None and happening.of_topics != effect.of_topics:
        return False
    return happening.can_rebalance and (effect.by_members or not happening.of_offsets)


def _affected_members(event: Event, in_process: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Whom an event is about: the members that it names, and where it strikes a whole process, all who live in that."""
    # Brokers are in no process of a member: what befalls them alone befalls everybody.
    found = [each for name in event.processes() for each in in_process.get(name, ())]
    for name in event.members():
        found += in_process.get(name, (name,)) if event.strikes_process() else (name,)
    return tuple(dict.fromkeys(found))
