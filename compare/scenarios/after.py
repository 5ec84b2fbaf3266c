"""What each event led to, as the document has it."""

from collections.abc import Sequence
from typing import Any

from compare.best import optimum
from compare.scenarios.fairness import best, together_at_each
from compare.scenarios.moments import Moment, Outcome, outcomes
from protocols.nodes import Time
from protocols.scenario.telling import in_words
from protocols.timeline import Timeline


def after_events(timeline: Timeline, moments: Sequence[Moment]) -> list[dict[str, Any]]:
    """One record for the beginning and one for every time at which events happen; times in seconds.

    Fairness and optimum are those just before the next event. ``fewest_moves``: how many queues had to change their
    owner, from where they were before the events, for the fairest sharing after them.
    """
    found = list(outcomes(timeline, moments))
    allocations = [
        [each.moment.then.allocation(group, each.after) for group in each.moment.then.groups] for each in found
    ]
    fairness = together_at_each(allocations)
    return [
        _record(outcome, fairness[at], best(allocations[at]), 0 if at == 0 else _fewest_moves(outcome))
        for at, outcome in enumerate(found)
    ]


def _record(
    outcome: Outcome, fairness: dict[str, Any], optimum_then: dict[str, Any], fewest_moves: int
) -> dict[str, Any]:
    moment = outcome.moment
    return {
        "at_s": _s(moment.at),
        "until_s": _s(moment.until),
        "events": [in_words(event) for event in moment.events],
        "kinds": [type(event).__name__ for event in moment.events],
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
    }


def _fewest_moves(outcome: Outcome) -> int:
    """Queues that have, or had, an owner and get another one on the shortest way to the fairest sharing."""
    then = outcome.moment.then
    count = 0
    for group in then.groups:
        if len(then.groups[group].members):
            found = optimum(then.groups[group], then.allocation(group, outcome.before))
            count += found.moves or 0
            count += sum((group, queue) in outcome.ever for queue, _ in found.newly_owned)
    return count


def _s(time: Time) -> float:
    return time / 1000
