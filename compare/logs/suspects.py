"""What was behind a session that ended: the member, its broker, or the network between them.

A member that a broker expires is not always at fault. What is certain: the controller took the coordinator or another
broker for gone without a shutdown, and the member's session ran out then (`broker_down` where that broker was started
anew, `broker_paused` where it was not), and the member noticed; or the member went on sending without an answer while
the broker answered others (`network_cut`); or the broker refused it (`authorization_failed`, `authentication_failed`);
or it is a static member that had closed, of which its broker hears nothing (`static_member_closed`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from compare.logs.client_events import (
    CoordinatorGone,
    DeniedTopic,
    Joined,
    NotCoordinator,
    OfClient,
    SessionOver,
    Unanswered,
    Unauthenticated,
    UnknownMember,
)
from compare.logs.coordinators import Outage
from compare.logs.events import Event
from compare.logs.happenings import NOT_AUTHENTICATED, NOT_AUTHORIZED, is_refused
from compare.logs.identity import Process, Processes, client_of
from compare.logs.model import Cause, Ordered, Rebalance
from compare.logs.returns import AFTER_FENCING, NEW_ID

_AFTER_OUTAGE_S = 60.0
"""Members that lost their coordinator are expired at most so long after it, or another broker, is there again."""

_AROUND_S = 30.0
"""A client notices so long before or after the broker expires it."""

_REFUSED_S = 60.0
"""A session ends at most so long after its last heartbeat that was taken; longer ones are not told of."""

_ONE_HEARTBEAT_MS = 500
"""Requests that were sent so long one after another were sent by a process that ran."""

STATIC_CLOSED = "static_member_closed"

_Line = TypeVar("_Line", bound=OfClient)

_TELL = frozenset({"session_timeout", NEW_ID, AFTER_FENCING})


def with_suspects(
    rebalances: Sequence[Rebalance],
    events: Sequence[Event],
    outages: Sequence[Outage],
    processes: Processes,
) -> list[Rebalance]:
    """The rebalances with what was behind the sessions that ended, where that is certain."""
    bench = _Bench(events, outages, processes)
    found: list[Rebalance] = []
    for each in rebalances:
        causes = tuple(part for cause in each.causes for part in bench.split(cause, each))
        found.append(replace(each, causes=causes))
    return found


class _Bench:
    def __init__(self, events: Sequence[Event], outages: Sequence[Outage], processes: Processes) -> None:
        self._outages = outages
        self._processes = processes
        own = [event for event in events if isinstance(event, OfClient) and event.place.sure]
        self._lost = Ordered(event for event in own if isinstance(event, SessionOver))
        self._denied = Ordered(
            event
            for event in own
            if isinstance(event, Joined) or (is_refused(event) and not isinstance(event, DeniedTopic))
        )
        self._unanswered = Ordered(event for event in own if isinstance(event, Unanswered))
        self._noticed = Ordered(
            event for event in own if isinstance(event, SessionOver | CoordinatorGone | UnknownMember | NotCoordinator)
        )
        self._group = list(dict.fromkeys(processes.of(event) for event in own if isinstance(event, Joined)))
        self._cut: set[Process] = set()

    def split(self, cause: Cause, each: Rebalance) -> list[Cause]:
        """The cause, with those members apart for whom it is certain what was behind."""
        if cause.name not in _TELL or cause.behind or not each.at_broker:
            return [cause]
        behind = {name: self._behind(cause, name, each) for name in cause.members}
        found: list[Cause] = []
        for word in dict.fromkeys(behind.values()):
            members = tuple(name for name in cause.members if behind[name] == word)
            found.append(replace(cause, members=members, behind=word))
        return found or [cause]

    def _behind(self, cause: Cause, member: str, each: Rebalance) -> str:
        process = self._processes.of_member.get(member)
        if process is None:
            process = self._processes.of_client(each.group, client_of(member), each.at)
        if process is None:
            return ""
        for outage in self._outages:
            until = (outage.ended or outage.begun) + _AFTER_OUTAGE_S
            if outage.died is not None and outage.begun < each.over and each.at < until:
                noticed = self._noticed.between(outage.begun - _AROUND_S, each.over)
                if self._by(process, noticed):
                    return "broker_down" if outage.died else "broker_paused"
        if cause.name == "session_timeout" and (refused := self._refused(process, each)):
            return refused
        is_over = cause.name == "session_timeout" and self._processes.has_ended(process, each.over)
        if is_over and self._processes.is_static(process):
            return STATIC_CLOSED
        if cause.name == AFTER_FENCING:
            return "network_cut" if process in self._cut else ""
        if self._was_cut(process, each):
            self._cut.add(process)
            return "network_cut"
        return ""

    def _refused(self, process: Process, each: Rebalance) -> str:
        """By what the broker refused the process, the last that its lines tell before its session ended."""
        near = self._by(process, self._denied.between(each.at - _REFUSED_S, each.over + 1.0))
        if not near or isinstance(near[-1], Joined):
            return ""
        return NOT_AUTHENTICATED if isinstance(near[-1], Unauthenticated) else NOT_AUTHORIZED

    def _by(self, process: Process, events: Sequence[_Line]) -> list[_Line]:
        return [event for event in events if self._processes.of(event) == process]

    def _was_cut(self, process: Process, each: Rebalance) -> bool:
        """Whether the process went on sending and had no answer, while the broker answered another of the group: one
        that stood still sends nothing, and a broker that stands still answers nobody."""
        lost = self._lost.between(each.at - _AROUND_S, each.at + 1.0)
        own = self._by(process, lost)
        if not own or len(own) != len(lost):
            return False
        at = own[0].at
        waits = [
            event.elapsed for event in self._by(process, self._unanswered.between(at - 1.0, at + 5.0)) if event.elapsed
        ]
        if not waits or max(waits) - min(waits) < _ONE_HEARTBEAT_MS:
            return False
        begun = at - max(waits) / 1000
        return any(
            other != process and self._processes.begins(other) < begun and self._processes.ends(other) > at
            for other in self._group
        )
