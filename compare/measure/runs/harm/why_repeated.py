"""Why records were handled more than once: two owners at once, progress that was not committed, offsets set back."""

from collections.abc import Iterable, Iterator, Mapping

from compare.measure.runs.harm.reasons import Reason, in_common
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.offsets import OffsetSet
from protocols.timeline import Timeline
from protocols.timeline.commits import Commit
from protocols.timeline.deliveries import Delivery, positions
from protocols.timeline.intervals import Double

TWO_OWNERS, SET_BACK, NOT_COMMITTED = "two owners", "offsets set back", "not committed"
"""Kinds of reasons, see `compare.documents.comparison.ReasonRecord`."""


def why_repeated(timeline: Timeline) -> Iterator[Reason]:
    """A reason for every stretch of records that were handled again, weighted with how many there were."""
    doubles: dict[tuple[str, Queue], list[Double]] = {}
    for double in timeline.doubles:
        doubles.setdefault((double.group, double.queue), []).append(double)
    back: dict[tuple[str, Queue], list[Commit]] = {}
    for commit in timeline.commits:
        if commit.back:
            back.setdefault((commit.group, commit.queue), []).append(commit)
    for key, of_queue in positions(timeline.deliveries_by_reader()).items():
        known = OffsetSet()
        for each in of_queue:
            again = known.count(each.first, each.end)
            known.add(each.first, each.end)
            if again:
                yield _reason(timeline, each, again, doubles.get(key, ()), back.get(key, ()))


def _reason(
    timeline: Timeline, again: Delivery, count: int, doubles: Iterable[Double], back: Iterable[Commit]
) -> Reason:
    end = timeline.end
    for double in doubles:
        until = end if double.until is None else double.until
        if double.since <= again.until and again.since <= until:
            event = _event_before(timeline, double.since, double.group)
            lasted = in_common(double.since, until, 0.0, end)
            return Reason(TWO_OWNERS, count, event, None, double.members, lasted, count, alike=event)
    event = _event_before(timeline, again.since, again.group)
    for commit in back:
        if commit.at <= again.since and commit.offset <= again.first:
            who = () if commit.member is None else (commit.member,)
            event = _event_before(timeline, commit.at, commit.group)
            return Reason(SET_BACK, count, event, None, who, None, count, alike=event)
    return Reason(NOT_COMMITTED, count, event, None, (again.member,), None, count, alike=event)


def _event_before(timeline: Timeline, at: Time, group: str) -> str | None:
    """The event that caused the group's latest rebalance before this time; without any, the latest event."""
    latest: Mapping[Time, str] = {
        each.began: each.cause.event.text for each in timeline.rebalances if each.group == group and each.began <= at
    }
    events = {each.at: each.text for each in timeline.causes.happenings if each.follows is None and each.at <= at}
    found = latest or events
    return found[max(found)] if found else None
