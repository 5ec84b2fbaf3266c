"""Why records are never handled: the group begins behind them, or commits past them, or the user's code cannot handle
them; or nobody could write them."""

from collections.abc import Iterator, Mapping

from compare.measure.runs.harm.readers import ReadQueue
from compare.measure.runs.harm.reasons import Reason
from compare.measure.runs.harm.work import Passed
from compare.measure.runs.production_history import ProductionHistory
from protocols import Queue
from protocols.facts import Position
from protocols.timeline import Timeline

BEGINS_BEHIND, COMMITTED_PAST, PASSED_OVER, NO_BROKER = "begins behind", "committed past", "passed over", "no broker"
"""Kinds of reasons, see `compare.documents.comparison.ReasonRecord`."""


def why_skipped(
    timeline: Timeline, passed: tuple[Passed, ...], production: Mapping[Queue, ProductionHistory]
) -> Iterator[Reason]:
    """A reason for every stretch of records that was passed over, weighted with how many there are."""
    begun: dict[tuple[str, Queue], list[tuple[float, str, Position]]] = {}
    for observed in timeline.facts if passed else ():
        fact = observed.fact
        if type(fact) is Position:
            broadcasting = fact.group in timeline.broadcasting
            reader = f"{fact.group}/{fact.member}" if broadcasting else fact.group
            begun.setdefault((reader, fact.queue), []).append((observed.now, fact.member, fact))
    for each in passed:
        count = each.end - each.first
        if each.fact is not None:
            why, who = each.fact.why, each.fact.member
            yield Reason(PASSED_OVER, count, None, why, (who,), records=count, alike=why)
            continue
        key = each.read.reader, each.read.queue
        found = next(((at, who, fact) for at, who, fact in begun.get(key, ()) if fact.offset >= each.end), None)
        if found is None:
            yield Reason(COMMITTED_PAST, count, records=count)
            continue
        at, who, fact = found
        waited = at - production[each.read.queue].arrival(each.first, at)
        event = _event_before(timeline, at)
        yield Reason(BEGINS_BEHIND, count, event, fact.why, (who,), waited, count, alike=(event, fact.why))


def why_refused(
    timeline: Timeline, reads: list[ReadQueue], production: Mapping[Queue, ProductionHistory]
) -> Iterator[Reason]:
    """A reason for every queue to which nothing could be written for a while."""
    for read in reads:
        history = production.get(read.queue)
        if history is None:
            continue
        for start, end in history.silences(read.since, timeline.end):
            refused = history.refused(start, end)
            if refused:
                event = _event_before(timeline, start)
                yield Reason(
                    NO_BROKER, refused, event, read.queue.broker or None, (), end - start, refused, alike=event
                )


def _event_before(timeline: Timeline, at: float) -> str | None:
    before = [each for each in timeline.causes.happenings if each.at <= at and each.follows is None]
    return before[-1].text if before else None
