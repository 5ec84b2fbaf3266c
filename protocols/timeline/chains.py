"""The chain of causes behind a rebalance: from what the scenario let happen to the last effect, in words."""

from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.engine.simulation import CALL
from protocols.timeline.fact_descriptions import describe_fact
from protocols.timeline.observed import ObservedFact
from protocols.timeline.rebalances import Rebalance
from protocols.timeline.timeline import Timeline
from protocols.timeline.trace import HandledEvent, Sent, describe_step

LONGEST = 40
"""Steps that a chain names; of a longer one the middle is left out, and that is said."""


class ChainStep(NamedTuple):
    """One step of a chain, at a time in milliseconds."""

    at: Time
    text: str


def causal_chain(timeline: Timeline, rebalance: Rebalance) -> list[ChainStep]:
    """From the first event to the last effect, in the order of time. With a trace, every message and timer on the way
    is named."""
    before = [rebalance.cause]
    while before[-1].follows is not None:
        before.append(before[-1].follows)
    first = rebalance.cause.at
    observed = list(rebalance.facts)
    last = _last_effect(timeline, rebalance)
    if last is not None and last not in observed:
        observed.append(last)
    # Steps of equal time: what led to a fact comes before it.
    links = [(each.at, 0, ChainStep(each.at, each.text)) for each in reversed(before)]
    links += [(step.at, 1, ChainStep(step.at, describe_step(step))) for step in _steps(timeline, observed, first)]
    links += [(each.now, 2, ChainStep(each.now, describe_fact(each.fact))) for each in observed]
    ordered = [link for _, _, link in sorted(links, key=lambda each: each[:2])]
    if len(ordered) <= LONGEST:
        return ordered
    half = LONGEST // 2
    left_out = ChainStep(ordered[half].at, f"... {len(ordered) - 2 * half} more steps ...")
    return [*ordered[:half], left_out, *ordered[-half:]]


def _steps(timeline: Timeline, observed: list[ObservedFact], since: Time) -> list[Sent | HandledEvent]:
    """All that led to these facts, from the trace, not before ``since``; calls of the scenario are known already."""
    found: dict[int, Sent | HandledEvent] = {}
    for each in observed if timeline.trace is not None else ():
        assert timeline.trace is not None
        for step in timeline.trace.back(each.cause):
            if step.number in found or step.at < since:
                break
            if not isinstance(step, HandledEvent) or step.kind != CALL:
                found[step.number] = step
    return [found[number] for number in sorted(found)]


def _last_effect(timeline: Timeline, rebalance: Rebalance) -> ObservedFact | None:
    """The last belief that was stated in the rebalance's generation; members that rebalance by themselves
    report their own ends."""
    if rebalance.generation is None or rebalance.ended is None:
        return None
    last = timeline.last_of_generation.get((rebalance.group, rebalance.generation))
    return last if last is not None and last.now >= rebalance.began else None
