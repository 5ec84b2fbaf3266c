"""From an effect back to what began it: an event of the scenario, or the clock alone.

What a node tells carries the number of the call that began it (see `protocols.simulation`). Where that is the clock
(a session that ran out, a poll that found new queues), the cause is the latest event before it that was about the
member in question, or about no member at all.

A chain of causes may also have gone round with a heartbeat for long: an event that has explained one rebalance explains
another only if nothing newer does (`Explaining`).
"""

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from protocols.nodes import Time
from protocols.scenario.lives import MEMBER_EVENTS
from protocols.scenario.model import Commit, Crash, Event, Hang, Leave, Produce, Restart, StopPolling, Subscribe
from protocols.scenario.telling import in_words
from protocols.simulation import CLOCK

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
    event of its own; ``stirs`` is False for what never makes a group share anew; ``lingers`` is True for what may do so
    much later (a crash, a hang), as long as nothing else happens to the member."""

    at: Time
    text: str
    members: tuple[str, ...]
    root: int
    follows: "Happening | None" = None
    stirs: bool = True
    lingers: bool = False


_BEGINNING = Happening(0.0, BEGINNING, (), 0)


class Causes:
    """All that happens in a run, in order, and the question what caused an effect.

    ``calls``: every call of the run. ``events``: number of a call to its event, None for the beginning
    (`protocols.scenario.running`); without it calls are known by their labels only.
    """

    __slots__ = ("_by_root", "_ends", "happenings", "last_event")

    def __init__(self, calls: Iterable[Call], events: Mapping[int, Event | None] | None = None) -> None:
        self._by_root: dict[int, Happening] = {}
        for call in calls:
            event = (events or {}).get(call.number)
            follows = self._by_root.get(call.cause)
            members = (follows.members if follows else ()) if event is None else _members(event)
            text = call.label if event is None else in_words(event)
            if follows is not None and not text:
                self._by_root[call.number] = follows
            else:
                self._by_root[call.number] = Happening(
                    call.at,
                    text or BEGINNING,
                    members,
                    call.number,
                    follows,
                    stirs=not isinstance(event, Commit | Produce),
                    lingers=isinstance(event, Crash | Hang | StopPolling),
                )
        self.happenings: Sequence[Happening] = sorted(
            dict.fromkeys(self._by_root.values()), key=lambda each: (each.at, each.root)
        )
        """In the order in which they happen."""
        self._ends = [
            (event.at, name)
            for event in (events or {}).values()
            if isinstance(event, Crash | Leave | Restart)
            for name in _members(event)
        ]
        at = [event.at for event in (events or {}).values() if event is not None]
        if events is None:
            at = [each.at for each in self.happenings if each.follows is None]
        self.last_event = max(at, default=0.0)
        """Milliseconds; 0 where nothing happens after the beginning."""

    def ended_between(self, member: str, since: Time, until: Time) -> bool:
        """Whether a member's process came to an end in this time, both ends included."""
        return any(name == member and since <= at <= until for at, name in self._ends)

    def of(self, now: Time, root: int, by: str | None = None) -> Happening:
        """What caused an effect that was told now. ``by``: the member who brought it about, if one did."""
        if root in self._by_root:
            return self._by_root[root]
        found = self.latest(now, by) if root == CLOCK else None
        return _BEGINNING if found is None else found

    def latest(
        self, now: Time, by: str | None, since: Time = 0.0, spent: Container[Happening] = ()
    ) -> Happening | None:
        """The latest happening from ``since`` to now that may have made ``by`` share anew (None: anybody), or what
        lingers about ``by`` from before. None where all such are ``spent``."""
        found = about = None
        for each in self.happenings:
            if each.at > now:
                break
            if by is not None and by in each.members:
                about = each
            elif by is not None and each.members:
                continue
            if each.at >= since and each.stirs and each not in spent:
                found = each
        lingering = about is not None and about.lingers and about not in spent
        return about if found is None and lingering else found


class Explaining:
    """Causes of one effect after the other, each told with whom it befalls (a group, or a member of one)."""

    __slots__ = ("_causes", "_previous", "_spent")

    def __init__(self, causes: Causes) -> None:
        self._causes = causes
        self._spent: dict[Hashable, set[Happening]] = {}
        self._previous: dict[Hashable, Happening] = {}

    def cause(self, whom: Hashable, now: Time, root: int, by: str | None) -> Happening:
        """What caused this effect. What explained an earlier one, or is older than what did, has gone round with a
        heartbeat: then it is the latest event since that explains none yet, or what lingers; without any, the effect is
        the aftermath of the previous one."""
        found = self._causes.of(now, root, by)
        spent = self._spent.setdefault(whom, set())
        previous = self._previous.get(whom)
        if previous is not None:
            lingers = found.lingers and by in found.members
            if found in spent or (found.at < previous.at and not lingers):
                found = self._causes.latest(now, by, previous.at, spent) or previous
        spent.add(found)
        self._previous[whom] = found
        return found


def _members(event: Event) -> tuple[str, ...]:
    if isinstance(event, Subscribe):
        return tuple(event.subscribe)
    for kind, name in MEMBER_EVENTS.items():
        if isinstance(event, kind):
            return (getattr(event, name),)
    return ()
