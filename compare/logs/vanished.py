"""Members of which no broker's line says that they are gone: they are in a rebalance no more, and their own lines say
at most that they lost their place.
"""

from collections import defaultdict
from collections.abc import Sequence

from compare.logs.client_events import (
    Joined,
    Joining,
    OfClient,
    PollTimeout,
    SessionOver,
    ToldToRejoin,
    UnknownMember,
)
from compare.logs.departures import NO_POLL_TIMER
from compare.logs.events import Event
from compare.logs.identity import Process, Processes, client_of
from compare.logs.model import Cause, Departure, Doubt, Ordered, Rebalance
from compare.logs.returns import LOST, Returns

AFTER_LOAD_S = 120.0
"""A rejoin so soon after the coordinator was loaded comes from its restart."""

NOTICED_S = 5.0
"""What a client that stood still notices when it runs again stands so close together."""

Found = list[tuple[float, Cause | Doubt]]


class Missing:
    """``lines``: those that say why a client joins again."""

    def __init__(self, events: Sequence[Event], lines: Ordered[Event], processes: Processes, returns: Returns) -> None:
        self._lines, self._processes, self._returns = lines, processes, returns
        self._slow = Ordered(event for event in events if isinstance(event, PollTimeout))
        joining: dict[Process, list[OfClient]] = defaultdict(list)
        for event in events:
            if isinstance(event, Joining | ToldToRejoin | Joined):
                joining[processes.of(event)].append(event)
        self._joining = {process: Ordered(own) for process, own in joining.items()}
        late = ((processes.of(event), event) for event in self._slow.events if event.place.late)
        self._slow_last = {process: event.at for process, event in late}  # told with the next poll

    def found(self, each: Rebalance, before: Rebalance | None) -> Found:
        """Without the broker's log: who is no more among the members, though nobody said so."""
        if each.at_broker or before is None:
            return []
        told = {departure.member for departure in each.departures}
        back = {self._processes.of_member.get(name) for name in each.joined}
        named = {client_of(name) for name in each.joined}
        latest = {self._processes.of_member.get(name): name for name in self._returns.present}
        missing = [
            name
            for name in list(self._returns.present)
            if name not in each.seen and name not in told and name not in (each.listed or ())
        ]
        found: Found = []
        for name in missing:
            process = self._processes.of_member.get(name)
            if (process is not None and (process in back or latest[process] != name)) or client_of(name) in named:
                continue  # it is in this rebalance under another id, or was in one before
            lost = self._lost_place(name, each)
            # A session may go on at another broker, so that only a refusal tells that it is over.
            refused = [event.at for event in lost if isinstance(event, UnknownMember)]
            is_next = self._returns.follows or (each.generation is None and min(refused, default=0.0) > each.over)
            is_next = is_next and not self._was_joining(process, each, min(refused, default=0.0))
            library = self._processes.library(process) if process is not None else ""
            said = library in NO_POLL_TIMER or any(isinstance(event, SessionOver) for event in lost)
            if refused and said and each.seen and is_next and not self._was_slow(lost[0]):
                self._returns.vanished(Departure(name, each.at, "session", lost, process))
                found.append((each.at, Cause("session_timeout", (name,), lost)))
            elif lost or (each.listed is not None and before.after is not None and name in before.after):
                self._returns.vanished(Departure(name, each.at, LOST if lost else "unknown", lost, process))
                known = ("session_timeout", "rebalance_timeout") if lost else ("session_timeout", "member_left")
                is_told = process is not None and self._slow_last.get(process, each.at) <= each.at
                may = known if is_told else (*known, "poll_interval_exceeded")
                found.append((each.at, Doubt(may, (name,), each.events[:2], "the broker's log")))
        return found

    def _was_joining(self, process: Process | None, each: Rebalance, until: float) -> bool:
        """Whether the last that a process did before it was refused was to ask to join again: it may have been in the
        rebalance without a line that says so, or with one that it printed later."""
        last = self._joining[process].latest(until) if process in self._joining else None
        return last is not None and (not isinstance(last, Joined) or last.at > each.at)

    def _was_slow(self, lost: OfClient) -> bool:
        """Whether the client says that it polled too late, too: the group may have gone on without it."""
        near = self._slow.between(lost.at - NOTICED_S, lost.at + NOTICED_S)
        return any(self._processes.of(event) == self._processes.of(lost) for event in near)

    def _lost_place(self, member: str, each: Rebalance) -> tuple[OfClient, ...]:
        """Lines in which the member's process says that it lost its place, after it was in the group."""
        process = self._processes.of_member.get(member)
        if process is None:
            return ()
        own = self._lines.between(self._returns.present[member], each.over + AFTER_LOAD_S)
        lost = [event for event in own if isinstance(event, UnknownMember | SessionOver)]
        lost = [event for event in lost if self._processes.of(event) == process]
        asked = {event.generation for event in lost if isinstance(event, UnknownMember) and (event.generation or 0) > 0}
        # Asked for a later generation than the last that is known, it was in the group meanwhile.
        return () if asked and self._returns.generation_of(process) not in asked else tuple(lost[:2])
