"""What was behind a session that ended: the member, its broker, or the network between them.

A member that a broker expires is not always at fault. What is certain: the controller took the coordinator or another
broker for gone without a shutdown, and the member's session ran out then (`broker_down` where that broker was started
anew, `broker_paused` where it was not); or the member was alive and had no answer while the broker went on answering
others (`network_cut`).
"""

from collections.abc import Sequence
from dataclasses import replace

from compare.logs.broker_events import Coordinates, Failed
from compare.logs.client_events import OfClient, SessionOver
from compare.logs.coordinators import Outage
from compare.logs.events import Event, Stream
from compare.logs.identity import Process, Processes
from compare.logs.model import Cause, Ordered, Rebalance
from compare.logs.returns import AFTER_FENCING, NEW_ID

_AFTER_OUTAGE_S = 60.0
"""Members that lost their coordinator are expired at most so long after it, or another broker, is there again."""

_AROUND_S = 30.0
"""A client notices so long before or after the broker expires it."""

_TELL = frozenset({"session_timeout", NEW_ID, AFTER_FENCING})


def with_suspects(
    rebalances: Sequence[Rebalance],
    events: Sequence[Event],
    outages: Sequence[Outage],
    brokers: Sequence[Stream],
    processes: Processes,
) -> list[Rebalance]:
    """The rebalances with what was behind the sessions that ended, where that is certain."""
    bench = _Bench(events, outages, brokers, processes)
    found: list[Rebalance] = []
    for each in rebalances:
        causes = tuple(part for cause in each.causes for part in bench.split(cause, each))
        found.append(replace(each, causes=causes))
    return found


class _Bench:
    def __init__(
        self, events: Sequence[Event], outages: Sequence[Outage], brokers: Sequence[Stream], processes: Processes
    ) -> None:
        self._outages = outages
        self._processes = processes
        self._lost = Ordered(event for event in events if isinstance(event, SessionOver))
        self._alive = Ordered(event for event in events if isinstance(event, OfClient) and event.place.sure)
        self._answers = Ordered(
            event for event in events if isinstance(event, Coordinates) and not isinstance(event, Failed)
        )
        self._brokers = len(brokers)
        self._cut: set[Process] = set()

    def split(self, cause: Cause, each: Rebalance) -> list[Cause]:
        """The cause, with those members apart for whom it is certain what was behind."""
        if cause.name not in _TELL or cause.behind or not each.at_broker:
            return [cause]
        if outage := self._outage(each):
            behind = "broker_down" if outage.died else "broker_paused"
            return [replace(cause, behind=behind, events=(*cause.events, *outage.events))]
        cut = tuple(name for name in cause.members if self._was_cut(cause, name, each))
        rest = tuple(name for name in cause.members if name not in cut)
        found = [replace(cause, members=cut, behind="network_cut")] if cut else []
        return found + ([replace(cause, members=rest)] if rest or not cut else [])

    def _outage(self, each: Rebalance) -> Outage | None:
        """A broker that was gone just before, of which it is known whether it was started anew."""
        return next(
            (
                outage
                for outage in self._outages
                if outage.died is not None
                and outage.begun < each.over
                and each.at < (outage.ended or outage.begun) + _AFTER_OUTAGE_S
            ),
            None,
        )

    def _was_cut(self, cause: Cause, member: str, each: Rebalance) -> bool:
        """Whether the member's process was alive without an answer while the only broker went on with others."""
        process = self._processes.of_member.get(member) or self._processes.of_client(each.group, member, each.at)
        if process is None or self._brokers != 1:
            return False
        if cause.name == AFTER_FENCING:
            return process in self._cut
        lost = [event for event in self._near(self._lost, each) if self._processes.of(event) == process]
        if not lost or any(self._processes.of(event) != process for event in self._near(self._lost, each)):
            return False
        silence = lost[0].at
        alive = [event for event in self._alive.between(silence, silence + _AROUND_S) if self._processes.of(event) == process]
        others = self._answers.between(silence - _AROUND_S, each.over)
        early = lost[0].at <= each.at + 1.0
        if early and others and any(event.at > silence for event in alive) and self._others_fine(process, silence):
            self._cut.add(process)
            return True
        return False

    def _near(self, lines: Ordered[SessionOver], each: Rebalance) -> list[SessionOver]:
        return lines.between(each.at - _AROUND_S, each.over + _AROUND_S)

    def _others_fine(self, process: Process, at: float) -> bool:
        """Whether another process of the group was served at the time."""
        around = self._alive.between(at - _AROUND_S, at + _AROUND_S)
        return any(self._processes.of(event) != process for event in around)
