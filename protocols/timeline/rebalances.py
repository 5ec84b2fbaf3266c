"""Rebalances: who caused each, how it went, and whom it kept waiting for how long.

Why the systems are counted differently: Kafka's coordinator begins and ends a rebalance, so each generation is one.
RocketMQ has no coordinator. Every member rebalances for itself, every 20 seconds and whenever a broker notifies it, and
mostly finds nothing new. To count each pass would give a calm group three rebalances a minute and member. So passes
that change nothing are left out, and the passes of all members that go back to one cause are one rebalance: the number
of rebalances then means the same in both systems, how often the group was disturbed.

Pauses and gaps are told by other facts than rebalances are. Each goes to the latest rebalance of its group that had
begun when it came to an end: no later one can have given the queue to its next owner.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from protocols.engine.nodes import Time
from protocols.facts import RebalanceBegan, RebalanceEnded
from protocols.timeline.causes import CauseAttribution, Causes, Effect, Happening
from protocols.timeline.fact_log import FactLog
from protocols.timeline.ownership import Gap, Pause
from protocols.timeline.trace import ObservedFact


@dataclass(frozen=True, slots=True)
class Rebalance:
    """One rebalance of a group: by its coordinator (Kafka), or by each member for itself, for one cause
    (RocketMQ, ZooKeeper: ``members`` are those whose queues changed).

    ``began`` and ``ended`` in milliseconds; ``ended`` is None where it was still going on at the end of the run.
    ``triggers`` say in words why it began, the first first; ``by`` is the member who caused it, ``cause`` the event.
    ``paused``: member to milliseconds without any queue in between; ``queue_gaps``: milliseconds without an owner,
    added up over queues, that came to an end with this rebalance.
    """

    group: str
    generation: int | None
    began: Time
    ended: Time | None
    triggers: tuple[str, ...]
    by: str | None
    cause: Happening
    changed: bool
    members: tuple[str, ...] = ()
    paused: Mapping[str, Time] = field(default_factory=dict)
    queue_gaps: Time = 0.0
    facts: tuple[ObservedFact, ...] = ()
    """The facts that it was made from: where it began, where it ended."""

    @property
    def trigger(self) -> str:
        """Why it began, in a few words."""
        return self.triggers[0] if self.triggers else ""


def rebalances(
    facts: FactLog, causes: Causes, gaps: Sequence[Gap] = (), pauses: Sequence[Pause] = ()
) -> list[Rebalance]:
    """The rebalances of a run in the order of their beginnings; members' passes that changed nothing are left out."""
    attribution = CauseAttribution(causes)
    by_coordinator: list[Rebalance] = []
    open_now: dict[tuple[str, str | None], list[ObservedFact]] = {}
    passes: dict[tuple[str, Happening], list[tuple[ObservedFact, list[ObservedFact]]]] = {}
    for observed in facts.of_kinds(RebalanceBegan, RebalanceEnded):
        fact = observed.fact
        if isinstance(fact, RebalanceBegan):
            open_now.setdefault((fact.group, fact.member), []).append(observed)
        else:
            begun = open_now.pop((fact.group, fact.member), [])
            if fact.member is None:
                by_coordinator.append(_rebalance([*begun, observed], attribution))
            elif fact.changed:
                by, of_topics = (begun[0].fact.by, begun[0].fact.of_topics) if begun else (None, None)
                effect = Effect(observed.now, observed.root, by, of_topics, group=fact.group, member=fact.member)
                cause = attribution.cause((fact.group, fact.member), effect)
                passes.setdefault((fact.group, cause), []).append((observed, begun))
    unfinished = [_rebalance(begun, attribution) for (_, member), begun in open_now.items() if member is None and begun]
    by_members = [_of_passes(group, cause, each) for (group, cause), each in passes.items()]
    found = sorted([*by_coordinator, *unfinished, *by_members], key=lambda rebalance: rebalance.began)
    return _with_waiting(found, gaps, pauses)


def completed(found: Iterable[Rebalance]) -> int:
    """The figure: generations completed by a coordinator, and distinct causes after which a member's queues changed."""
    return sum(each.ended is not None for each in found)


def unfinished_since(facts: FactLog) -> dict[str, Time]:
    """Group to when a rebalance by its coordinator began that had not ended when the run did."""
    times: dict[str, Time] = {}
    for now, _, fact, _, _ in facts.of_kinds(RebalanceBegan, RebalanceEnded):
        if fact.member is not None:
            continue
        if isinstance(fact, RebalanceBegan):
            times.setdefault(fact.group, now)
        else:
            times.pop(fact.group, None)
    return times


def _rebalance(facts: Sequence[ObservedFact], attribution: CauseAttribution) -> Rebalance:
    first, last = facts[0], facts[-1]
    begun = [fact.fact for fact in facts if isinstance(fact.fact, RebalanceBegan)]
    end = last.fact if isinstance(last.fact, RebalanceEnded) else None
    by = next((each.by for each in begun if each.by is not None), None)
    effect = Effect(
        first.now, first.root, by, begun[0].of_topics if begun else None, by_members=False, group=first.fact.group
    )
    return Rebalance(
        group=first.fact.group,
        generation=last.fact.generation,
        began=first.now,
        ended=None if end is None else last.now,
        triggers=tuple(dict.fromkeys(each.trigger for each in begun)),
        by=by,
        cause=attribution.cause(first.fact.group, effect),
        changed=end is not None and end.changed,
        facts=tuple(facts),
    )


def _of_passes(group: str, cause: Happening, passes: Sequence[tuple[ObservedFact, list[ObservedFact]]]) -> Rebalance:
    begun = [each for _, each_begun in passes for each in each_begun]
    ended = [observed for observed, _ in passes]
    return Rebalance(
        group=group,
        generation=None,
        began=min(each.now for each in (*begun, *ended)),
        ended=max(each.now for each in ended),
        triggers=tuple(dict.fromkeys(each.fact.trigger for each in begun)),
        by=next((each.fact.by for each in begun if each.fact.by is not None), None),
        cause=cause,
        changed=True,
        members=tuple(dict.fromkeys(each.fact.member for each in ended)),
        facts=tuple(sorted((*begun, *ended), key=lambda each: each.now)),
    )


def _with_waiting(found: list[Rebalance], gaps: Sequence[Gap], pauses: Sequence[Pause]) -> list[Rebalance]:
    """Each pause and gap belongs to the latest rebalance of its group that had begun when it came to an end."""
    began: dict[str, list[tuple[Time, int]]] = {}
    for at, each in enumerate(found):
        began.setdefault(each.group, []).append((each.began, at))

    def latest(group: str, now: Time) -> int | None:
        of_group = began.get(group, [])
        before = bisect_right(of_group, (now, len(found)))
        return of_group[before - 1][1] if before else None

    paused: list[dict[str, Time]] = [{} for _ in found]
    waited = [0.0] * len(found)
    for pause in pauses:
        at_pause = latest(pause.group, pause.until)
        if at_pause is not None:
            paused[at_pause][pause.member] = paused[at_pause].get(pause.member, 0.0) + pause.until - pause.since
    for gap in gaps:
        at_gap = None if gap.until is None else latest(gap.group, gap.until)
        if at_gap is not None and gap.until is not None:
            waited[at_gap] += gap.until - gap.since
    return [
        replace(each, paused=dict(sorted(paused[at].items())), queue_gaps=waited[at]) for at, each in enumerate(found)
    ]
