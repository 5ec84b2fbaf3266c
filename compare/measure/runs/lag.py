"""How far behind the groups of a run fell, and how long it took them to catch up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.measure.runs.production_history import ProductionHistory, productions
from compare.scenarios.run_variant import RunResult
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.timeline.deliveries import Delivery, positions
from protocols.timeline.lag import Lag, lag_over_time
from protocols.timeline.timeline import Timeline

SAMPLES = 120
"""How often the lag is taken, evenly over the run, for the figures; beside that when a queue got an owner again."""


@dataclass(frozen=True, slots=True)
class LagPeak:
    """``peak``: the most records that waited at once, over all queues, at the time ``at``. ``drain``: until all that
    waited then had been handled; None where it had not been at the end. Times in milliseconds."""

    peak: int
    at: Time
    drain: Time | None


def lag_of(result: RunResult, production: Mapping[Queue, ProductionHistory], times: Sequence[Time]) -> list[Lag]:
    """The lag of every queue that is read, at each of the times (ascending) at which the queue exists."""
    lives = result.timeline.lives
    # What was handled before a queue was made anew is of other records.
    deliveries = [
        each
        for each in _of_sharing_groups(result.timeline)
        if each.queue in production and each.until > production[each.queue].since
    ]
    return [
        each
        for each in lag_over_time(deliveries, production, times)
        if each.queue not in lives or any(start <= each.at < end for start, end in lives[each.queue])
    ]


def _of_sharing_groups(timeline: Timeline) -> list[Delivery]:
    """Where a group is broadcasting, each member has a position of its own in every queue: the group has no lag."""
    return [each for each in timeline.counted_progress() if each.group not in timeline.broadcasting]


def lag_peak(result: RunResult) -> LagPeak | None:
    """The peak from the first event on (what waits while the group begins is the same for all) and the way back; None
    without load, or where nobody read anything."""
    production = productions(result)
    timeline = result.timeline
    first = min((event.at for event in result.variant.scenario.events), default=0.0)
    ends = (gap.until for gap in timeline.gaps if gap.until is not None and gap.until >= first)
    lasts = max(0.0, timeline.end - first)
    times = sorted({*(first + lasts * number / SAMPLES for number in range(SAMPLES + 1)), *ends})
    waiting: dict[Time, int] = {}
    for each in lag_of(result, production, times):
        waiting[each.at] = waiting.get(each.at, 0) + each.records
    if not waiting:
        return None
    at = max(waiting, key=lambda time: (waiting[time], -time))
    return LagPeak(waiting[at], at, _drain(result, production, at))


def _drain(result: RunResult, production: Mapping[Queue, ProductionHistory], peak: Time) -> Time | None:
    """Milliseconds from the peak until what had been written by then was handled, in every queue that there still is
    at the end."""
    timeline = result.timeline
    latest = peak
    for (_, queue), deliveries in positions(_of_sharing_groups(timeline)).items():
        lives = timeline.lives.get(queue)
        if queue not in production or (lives and not any(start <= peak and timeline.end < end for start, end in lives)):
            continue
        reached = _reached(deliveries, production[queue].end_offset(peak))
        if reached is None:
            return None
        latest = max(latest, reached)
    return latest - peak


def _reached(deliveries: Sequence[Delivery], offset: int) -> Time | None:
    """When any member had come so far first."""
    if offset == 0:
        return 0.0
    found = [
        each.since + (each.until - each.since) * max(0.0, (offset - each.first) / (each.end - each.first))
        for each in deliveries
        if each.end >= offset and each.end > each.first
    ]
    return min(found, default=None)
