"""How fair the groups of a run are, all members of all groups together.

What each event led to, as the document has it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Union, cast, get_args, get_origin, get_type_hints

from compare.catalogues import UNCOUNTED
from compare.documents.audit import OptimumRecord
from compare.documents.comparison import After, AfterRecord, Fairness, N
from compare.figures import GroupLoads, counted_figures
from compare.figures.definitions import jain_of
from compare.optima import Optimum, optimum
from compare.running.ages import Ages, handled_per_s
from compare.running.phases import NeverOwned, Outcome, Phase, Waiting, outcomes
from compare.running.run_variant import Reasons, RunResult, reasons
from protocols import Allocation
from protocols.engine.nodes import Time
from protocols.scenario.events.base import described
from protocols.scenario.model import Scenario
from protocols.timeline import Timeline


def combined_fairness_at_each(moments: Sequence[Sequence[Allocation]]) -> list[Fairness]:
    """The fairness figures of all members of all groups at each moment, as `compare.fairness` has them for one group;
    ``topics`` holds the same per topic. Counted at once."""
    counted = counted_figures([_loads(allocations) for allocations in moments])
    return [cast("Fairness", {**figures.overall, "topics": figures.topics}) for figures in counted]


def _loads(allocations: Sequence[Allocation]) -> GroupLoads:
    rows = []
    members = 0
    for number, allocation in enumerate(allocations):
        position = {member: members + at for at, member in enumerate(allocation)}
        read = {topic for member in allocation.group.members for topic in member.subscription}
        for queue, owners in allocation.owners.items():
            if (owners or queue.topic in read) and not queue.topic.startswith(UNCOUNTED):
                rows.append((queue.topic, (number, queue), tuple(position[owner] for owner in owners), 1))
        members += len(allocation)
    return GroupLoads(members, rows)


def not_shared(figures: Mapping[str, object]) -> dict[str, object]:
    """Figures of groups that share no queues (`Timeline.not_shared`): how many members and queues there are; what would
    say how they are shared is None, of the whole and of every topic."""
    kept = {name: value if name in ("members", "queues") else None for name, value in figures.items()}
    if isinstance(topics := figures.get("topics"), Mapping):
        kept["topics"] = {topic: not_shared(of_topic) for topic, of_topic in topics.items()}
    return kept


def combined_optimum(allocations: Sequence[Allocation]) -> OptimumRecord:
    """The fairest that the subscriptions allow, all groups together."""
    found = [optimum(allocation.group, allocation) for allocation in allocations]
    of_members = [each for each in found if len(each.allocation)]
    if len(of_members) == 1:
        return _fairness_record(of_members[0])
    loads = [len(queues) for member in of_members for queues in member.allocation.values()]
    return {
        "max": max(loads, default=None),
        "min": min(loads, default=None),
        "idle_members": loads.count(0) if loads else None,
        "jain": jain_of(loads) if loads else None,
        "moves": sum(member.moves or 0 for member in of_members),
    }


def _fairness_record(found: Optimum) -> OptimumRecord:
    return {
        "max": found.max,
        "min": found.min,
        "idle_members": found.idle_members,
        "jain": found.jain,
        "moves": found.moves,
    }


NOT_SHARED = tuple(
    name for name, hint in get_type_hints(AfterRecord).items() if get_origin(hint) is Union and N in get_args(hint)
)
"""What an event leads to where queues are shared, by its type; None where no group shares queues."""


def event_outcomes(result: RunResult, phases: Sequence[Phase], ages: Sequence[Ages]) -> list[After]:
    """One record for the beginning and one for every time at which events happen; times in seconds. ``ages``: of the
    records that were handled in each phase.

    Fairness and optimum are those just before the next event. ``fewest_moves``: how many queues must change their
    owner, from where they were before the events, for the fairest sharing after them. ``moves`` are at least as many
    where that sharing was reached. Groups that share no queues are left out (`Timeline.not_shared`); where there are no
    others, every figure of sharing is None.
    """
    timeline = result.timeline
    found = list(outcomes(timeline, phases))
    counted = _counted_groups(timeline, result.variant.scenario)
    allocations = [[each.phase.then.allocation(group, each.after) for group in counted] for each in found]
    fairness = combined_fairness_at_each(allocations)
    optima = [combined_optimum(allocation) for allocation in allocations]
    never_owned = NeverOwned(timeline)
    records = [
        _record(
            outcome,
            ages[at],
            fairness[at],
            optima[at],
            0 if at == 0 else _fewest_moves(outcome, counted),
            never_owned.waiting(outcome.phase),
            _why(result, outcome.phase, zip(counted, allocations[at], strict=True)),
        )
        for at, outcome in enumerate(found)
    ]
    if set(counted) <= timeline.not_shared:
        for record in records:
            blank = {"fairness": not_shared(record["fairness"]), "optimum": not_shared(record["optimum"])}
            cast("dict[str, object]", record).update(dict.fromkeys(NOT_SHARED) | blank)
            if set(counted) <= timeline.without_owners:
                record["settle_s"] = None
    return records


def _counted_groups(timeline: Timeline, scenario: Scenario) -> list[str]:
    """The groups of which figures of sharing tell: those that share; all, where none does."""
    return [group for group in scenario.groups if group not in timeline.not_shared] or list(scenario.groups)


def _why(result: RunResult, phase: Phase, allocations: Iterable[tuple[str, Allocation]]) -> Reasons:
    """What keeps queues without an owner, or with several, when the moment ends."""
    sharing = [(group, each) for group, each in allocations if group not in result.timeline.not_shared]
    return reasons(result.variant, phase.then, sharing)


def _record(
    outcome: Outcome,
    ages: Ages,
    fairness: Fairness,
    optimum_then: OptimumRecord,
    fewest_moves: int,
    waiting: Waiting,
    why: Reasons,
) -> After:
    phase = outcome.phase
    return {
        "at_s": _s(phase.at),
        "until_s": _s(phase.until),
        "events": described(phase.events),
        "kinds": [type(event).__name__ for event in phase.events],
        "fairness": fairness,
        "optimum": optimum_then,
        "rebalances": outcome.rebalances,
        "moves": outcome.moves,
        "fewest_moves": fewest_moves,
        "paused_queues": len({(gap.group, gap.queue) for gap, _ in outcome.gaps}),
        "unowned_queue_s": _s(sum(lasted for _, lasted in outcome.gaps)),
        "longest_gap_s": _s(max((lasted for _, lasted in outcome.gaps), default=0.0)),
        "shared_queues": len({(double.group, double.queue) for double, _ in outcome.doubles}),
        "double_owned_queue_s": _s(sum(lasted for _, lasted in outcome.doubles)),
        "settle_s": _s(outcome.settle),
        "record_age_ms": ages.document(),
        "handled_per_s": handled_per_s(ages, phase.until - phase.at),
        "never_owned_queues": waiting.queues,
        "never_owned_s": _s(waiting.longest),
        "why_unowned": list(why.unowned),
        "why_shared": list(why.shared),
    }


def _fewest_moves(outcome: Outcome, groups: Sequence[str]) -> int:
    """Queues of these groups that have, or had, an owner and get another one on the shortest way to the fairest
    sharing.

    A queue that nobody has at the moment may go back to who had it last without a move, as the figure ``moves`` has it.
    """
    then = outcome.phase.then
    has = {(group, queue) for (group, _), queues in outcome.before.items() for queue in queues}
    before = dict(outcome.before)
    for (group, queue), member in outcome.latest.items():
        if (group, queue) not in has:
            before[group, member] = (*before.get((group, member), ()), queue)
    count = 0
    for group in groups:
        if len(then.groups[group].members):
            found = optimum(then.groups[group], then.allocation(group, before))
            count += found.moves or 0
            count += sum((group, queue) in outcome.latest for queue, _ in found.newly_owned)
    return count


def _s(time: Time) -> float:
    return time / 1000
