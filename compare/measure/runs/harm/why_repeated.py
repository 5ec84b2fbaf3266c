"""Why records were handled more than once: two owners at once, progress that was not committed, offsets set back."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

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


class _Events:
    """The events of a run before any time. What is found depends only on how many events and rebalances there were by
    then, so that it is looked for once, however many records were handled again meanwhile."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        begun = (each.began for each in timeline.rebalances)
        self._times = sorted({*begun, *(each.at for each in timeline.causes.happenings)})
        self._found: dict[tuple[int, str, str | None], str | None] = {}

    def before(self, at: Time, group: str, member: str | None = None) -> str | None:
        """The event that caused the group's latest rebalance before this time, or a later one that is about the member;
        without a rebalance, the first event or a later one that is about the member."""
        key = bisect_right(self._times, at), group, member
        if key not in self._found:
            self._found[key] = self._look_for(at, group, member)
        return self._found[key]

    def _look_for(self, at: Time, group: str, member: str | None) -> str | None:
        rebalances = [each for each in self._timeline.rebalances if each.group == group and each.began <= at]
        events = {each.began: each.cause.event for each in rebalances}
        latest = events[max(events)] if events else None
        for each in self._timeline.causes.happenings:
            about = member in each.members or (latest is None and each.follows is None)
            if about and each.at <= at and (latest is None or each.at >= latest.at):
                latest = each.event
        return None if latest is None else latest.text


def why_repeated(timeline: Timeline) -> Iterator[Reason]:
    """A reason for every stretch of records that were handled again, weighted with how many there were."""
    doubles: dict[tuple[str, Queue], list[Double]] = {}
    for double in timeline.doubles:
        doubles.setdefault((double.group, double.queue), []).append(double)
    back: dict[tuple[str, Queue], list[Commit]] = {}
    for commit in timeline.commits:
        if commit.back:
            back.setdefault((commit.group, commit.queue), []).append(commit)
    events = _Events(timeline)
    for key, of_queue in positions(timeline.deliveries_by_reader()).items():
        known = OffsetSet()
        for each in of_queue:
            again = known.count(each.first, each.end)
            known.add(each.first, each.end)
            if again:
                yield _reason(timeline.end, events, each, again, doubles.get(key, ()), back.get(key, ()))


def _reason(
    end: Time, events: _Events, again: Delivery, count: int, doubles: Iterable[Double], back: Iterable[Commit]
) -> Reason:
    for double in doubles:
        until = end if double.until is None else double.until
        if double.since <= again.until and again.since <= until:
            event = events.before(double.since, double.group)
            lasted = in_common(double.since, until, 0.0, end)
            return Reason(TWO_OWNERS, count, event, None, double.members, lasted, count, alike=event)
    event = events.before(again.since, again.group, again.member)
    for commit in back:
        if commit.at <= again.since and commit.offset <= again.first:
            who = () if commit.member is None else (commit.member,)
            event = events.before(commit.at, commit.group)
            return Reason(SET_BACK, count, event, None, who, None, count, alike=event)
    return Reason(NOT_COMMITTED, count, event, None, (again.member,), None, count, alike=event)
