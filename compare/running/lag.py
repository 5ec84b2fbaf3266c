"""How far behind the groups of a run fell, and how long it took them to catch up."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import add, mul, or_
from typing import NamedTuple

from compare.running.production import ProductionHistory
from compare.running.run_variant import RunResult
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Delivered
from protocols.timeline.deliveries import all_handled, lag_over_time, when
from protocols.timeline.timeline import Timeline

SAMPLES = 120
"""How often the lag is taken, evenly over the run, for the figures; beside that when it may turn: an event happens or
is over, a queue gets an owner again, records that waited for an acknowledgement can be read."""


@dataclass(frozen=True, slots=True)
class LagPeak:
    """``peak``: the most records that waited at once, over all queues, at the time ``at``. ``drain``: until all that
    waited then had been handled; None where it had not been at the end. Times in milliseconds."""

    peak: int
    at: Time
    drain: Time | None


class Lag(NamedTuple):
    """``records`` of a queue that a group has not handled at ``at`` (milliseconds)."""

    at: Time
    group: str
    queue: Queue
    records: int


def lag_of(result: RunResult, production: Mapping[Queue, ProductionHistory], times: Sequence[Time]) -> list[Lag]:
    """The lag of every queue that is read, at each of the times (ascending) at which the queue exists."""
    return [
        Lag(at, group, queue, records)
        for group, queue, lags in _lags(result, production, times)
        for at, records, there in zip(times, lags, _there(result, queue, times), strict=True)
        if there
    ]


def waiting_at(
    result: RunResult, production: Mapping[Queue, ProductionHistory], times: Sequence[Time]
) -> dict[Time, int]:
    """The lag of all queues together, at each of the times (ascending) at which there is any."""
    together, any_there = [0] * len(times), [False] * len(times)
    for _, queue, lags in _lags(result, production, times):
        there = _there(result, queue, times)
        if not all(there):
            lags = list(map(mul, lags, there))
        together = list(map(add, together, lags))
        any_there = list(map(or_, any_there, there))
    return dict(compress(zip(times, together, strict=True), any_there))


def _lags(
    result: RunResult, production: Mapping[Queue, ProductionHistory], times: Sequence[Time]
) -> Iterator[tuple[str, Queue, list[int]]]:
    # What was handled before a queue was made anew is of other records.
    deliveries = {
        (group, queue): [each for each in of_queue if each.until > production[queue].since]
        for (group, queue), of_queue in _of_reading_groups(result.timeline)
        if queue in production
    }
    return lag_over_time(deliveries, production, times, result.timeline.without_owners)


def _there(result: RunResult, queue: Queue, times: Sequence[Time]) -> Sequence[bool]:
    lives = result.timeline.lives.get(queue)
    if lives is None:
        return [True] * len(times)
    return [any(start <= at < end for start, end in lives) for at in times]


def _of_reading_groups(timeline: Timeline) -> list[tuple[tuple[str, Queue], Sequence[Delivered]]]:
    """Where a group is broadcasting, each member has a position of its own in every queue: the group has no lag."""
    return [each for each in timeline.progress.items() if each[0][0] not in timeline.broadcasting]


def lag_peak(result: RunResult, production: Mapping[Queue, ProductionHistory]) -> LagPeak | None:
    """The peak from the first event on (what waits while the group begins is the same for all) and the way back; None
    without load, or where nobody read anything."""
    timeline, events = result.timeline, result.variant.scenario.events
    first = min((event.at for event in events), default=0.0)
    lasts = max(0.0, timeline.end - first)
    turns = (
        *(gap.until for gap in timeline.gaps if gap.until is not None),
        *(at for event in events for at in (event.at, event.at + event.lasts())),
        *(until for history in production.values() for _, until in history.held),
    )
    evenly = (first + lasts * number / SAMPLES for number in range(SAMPLES + 1))
    times = sorted({*evenly, *(at for at in turns if first <= at <= timeline.end)})
    waiting = waiting_at(result, production, times)
    if not waiting:
        return None
    at = max(waiting, key=lambda time: (waiting[time], -time))
    return LagPeak(waiting[at], at, _drain(result, production, at))


def _drain(result: RunResult, production: Mapping[Queue, ProductionHistory], peak: Time) -> Time | None:
    """Milliseconds from the peak until what had been written by then was handled, in every queue that there still is
    at the end."""
    timeline = result.timeline
    latest = peak
    for (group, queue), deliveries in _of_reading_groups(timeline):
        lives = timeline.lives.get(queue)
        if queue not in production or (lives and not any(start <= peak and timeline.end < end for start, end in lives)):
            continue
        reached = (all_handled if group in timeline.without_owners else _reached)(
            deliveries, production[queue].end_offset(peak)
        )
        if reached is None:
            return None
        latest = max(latest, reached)
    return latest - peak


def _reached(deliveries: Sequence[Delivered], offset: int) -> Time | None:
    """When any member had come so far first."""
    if offset == 0:
        return 0.0
    found = [when(each, offset) for each in deliveries if each.end >= offset and each.end > each.first]
    return min(found, default=None)
