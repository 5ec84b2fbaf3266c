"""Observes a simulation and makes a timeline of the facts.

Why nodes report facts and keep no statistics: the models stay as small as the protocols, both systems are measured by
the same code, and a new figure needs no change of a model. Why ownership is followed as the facts come in, and not
afterwards: an invariant that the model breaks ends the run at the moment at which it is broken, where it can be seen
why; and only changes are kept, so that an hour of a quiet group costs as little as a minute of it.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import CALL
from protocols.facts import Acquired, Available, Committed, Ended, Granted, Owns, RebalanceEnded, Renewed, Transition
from protocols.scenario.events import Event
from protocols.scenario.topology import ProcessPeers
from protocols.timeline.causes import Call, Causes
from protocols.timeline.fact_log import FactLog
from protocols.timeline.invariants import Invariants, MayOwn
from protocols.timeline.lifetimes import Lifetimes
from protocols.timeline.ownership import Beliefs, Double, Gap, Interval, OwnershipView, Pause
from protocols.timeline.records import Given, Records
from protocols.timeline.timeline import Timeline
from protocols.timeline.trace import HandledEvent, Sent, Trace

T = TypeVar("T", Interval, Gap, Double, Given)


class Recorder:
    """A `protocols.engine.simulation.Observer`. Its cost follows the number of facts, never the number of records.

    ``lives``: queues that do not exist all the time (`lifetimes`); ``may_own``: who may own what (`may_own_in`);
    ``uncounted``: prefixes of topics that no figure counts; ``peers``: who lives in one process with whom; ``reads``:
    whether a group has to do with a topic (`reads_in`); ``broadcasting``: groups in which every member reads every
    queue, ``without_owners``: those whose records are given out one by one: no figure of sharing counts either. Raises
    `InvariantError` where the model breaks one.
    """

    def __init__(
        self,
        *,
        lives: Lifetimes | None = None,
        may_own: MayOwn | None = None,
        uncounted: tuple[str, ...] = (),
        peers: ProcessPeers | None = None,
        reads: Callable[[str, str], bool] | None = None,
        broadcasting: frozenset[str] = frozenset(),
        without_owners: frozenset[str] = frozenset(),
    ) -> None:
        self._broadcasting, self._without_owners = broadcasting, without_owners
        self._peers, self._reads = peers, reads
        self._lives: Lifetimes = lives or {}
        self._uncounted = uncounted
        self._facts = FactLog()
        self._calls: list[Call] = []
        self._trace: Trace | None = None
        self._lost: Counter[type[Message]] = Counter()
        self._believed: list[Interval] = []
        self._granted: list[Interval] = []
        self._gaps: list[Gap] = []
        self._doubles: list[Double] = []
        self._pauses: list[Pause] = []
        self._empty: dict[tuple[str, str], Time] = {}
        self._beliefs = Beliefs(self._lives, uncounted, self._believed, self._gaps, self._doubles, broadcasting)
        self._grants = OwnershipView(self._granted)
        self._invariants = Invariants(may_own)
        self._given: list[Given] = []
        self._records = Records(self._lives, self._given)
        self._checks: Mapping[type, Callable[[Time, Any], None]] = {
            Acquired: self._records.acquired,
            Renewed: self._records.renewed,
            Available: self._records.available,
            Ended: self._records.ended,
            Committed: self._records.committed,
            RebalanceEnded: self._invariants.ended,
            Transition: self._invariants.transition,
        }

    def learn(self, may_own: MayOwn, peers: ProcessPeers, reads: Callable[[str, str], bool]) -> None:
        """The scenario has gone on: there are members that were not known before."""
        self._invariants.may_own, self._peers, self._reads = may_own, peers, reads

    # The simulation's side.

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        self._facts.add(now, node, fact, root, cause)
        if isinstance(fact, Owns):
            self._owns(now, fact)
        elif isinstance(fact, Granted):
            self._grants.change(now, *fact)
        else:
            check = self._checks.get(type(fact))
            if check is not None:
                check(now, fact)

    def created(self, number: int, due: Time, kind: int, node: str, what: object, cause: int) -> None:
        if kind == CALL:
            self._calls.append(Call(number, due, str(what), cause))
            if self._trace is None:
                return
        self._tracing().add(HandledEvent(due, kind, node, what, number, cause))

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        self._tracing().add(Sent(now, arrives, sender, to, message, number, cause, len(self._facts)))

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None:
        if lost is not None:
            self._lost[type(lost)] += 1

    # The reader's side.

    def timeline(
        self,
        end: Time,
        events: Mapping[int, Event | None] | None = None,
        messages: Mapping[type[Message], int] | None = None,
    ) -> Timeline:
        """What was heard until ``end`` (milliseconds), when the run was over.

        ``events``: number of each call to its event (`protocols.scenario.running.Run.calls`); ``messages``: type
        to how many were sent (`protocols.engine.simulation.Simulation.messages`). The recorder may go on afterwards.
        """
        causes = Causes(self._calls, events, self._peers, self._reads)
        pauses = [pause for pause in self._pauses if not causes.ended_between(pause.member, pause.since, pause.until)]
        return Timeline(
            end=end,
            causes=causes,
            facts=self._facts.copy(),
            beliefs=tuple(_ordered([*self._believed, *self._beliefs.view.open()])),
            grants=tuple(_ordered([*self._granted, *self._grants.open()])),
            gaps=tuple(_ordered([*self._gaps, *self._beliefs.open_gaps()])),
            doubles=tuple(_ordered([*self._doubles, *self._beliefs.open_doubles()])),
            ownership=self._beliefs.figures(end),
            pauses=tuple(pauses),
            given=tuple(_ordered([*self._given, *self._records.hidden()])),
            messages=_by_name(messages or {}),
            lost=_by_name(self._lost),
            trace=self._trace,
            lives=self._lives,
            uncounted=self._uncounted,
            broadcasting=self._broadcasting,
            without_owners=self._without_owners,
        )

    def _tracing(self) -> Trace:
        """The trace, begun with the first event that only a tracing simulation reports (calls are always reported)."""
        if self._trace is None:
            self._trace = Trace()
            for call in self._calls:
                self._trace.add(HandledEvent(call.at, CALL, "", call.label, call.number, call.cause))
        return self._trace

    def _owns(self, now: Time, fact: Owns) -> None:
        self._invariants.owns(now, fact)
        changed = self._beliefs.change(now, *fact)
        key = fact.group, fact.member
        if fact.queues:
            since = self._empty.pop(key, None)
            if since is not None and now > since:
                self._pauses.append(Pause(*key, since, now))
        elif changed:
            self._empty[key] = now


def _ordered(found: list[T]) -> list[T]:
    """Intervals by their beginnings; equal ones in the order in which they were observed."""
    return sorted(found, key=attrgetter("since"))


def _by_name(counted: Mapping[type[Message], int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for kind in sorted(counted, key=lambda each: each.__name__):
        found[kind.__name__] = found.get(kind.__name__, 0) + counted[kind]
    return found
