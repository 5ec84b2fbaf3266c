"""Why records were handled more than once: two owners at once, progress that was not committed, offsets set back.

Why queues had two owners at once.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from compare.documents.comparison import After
from compare.running.doings import Doings, Why, what_keeps
from compare.running.reason_kinds import NOT_COMMITTED, PAUSED_OWNER, SET_BACK, TWO_OWNERS
from compare.running.reasons import Reason, in_common
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Delivered
from protocols.offsets import OffsetSet
from protocols.timeline import Timeline
from protocols.timeline.lifetimes import time_existing
from protocols.timeline.ownership import Double
from protocols.timeline.timeline import Commit

NOT_SAID = "the run does not say what kept the earlier owner; candidates: an answer on its way, the network"

MEMBERS_DIFFER = ("client id, subscription and strategy of the members",)
"""What keeps members that share for themselves from agreeing."""


_AT = attrgetter("at")

_ON_ITS_WAY_MS: Time = 1000.0
"""The last commit of an earlier owner reaches its broker within so long."""


class _Events:
    """The events of a run before any time. What is found depends only on how many events and rebalances there were by
    then, so that it is looked for once, however many records were handled again meanwhile."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        begun = (rebalance.began for rebalance in timeline.rebalances)
        self._times = sorted({*begun, *(happening.at for happening in timeline.causes.happenings)})
        self._found: dict[tuple[int, str, str | None], str | None] = {}

    def before(self, at: Time, group: str, member: str | None = None) -> str | None:
        """The event that caused the group's latest rebalance before this time, or a later one that is about the member;
        without a rebalance, the first event or a later one that is about the member."""
        key = bisect_right(self._times, at), group, member
        if key not in self._found:
            self._found[key] = self._look_for(at, group, member)
        return self._found[key]

    def _look_for(self, at: Time, group: str, member: str | None) -> str | None:
        rebalances = [
            rebalance for rebalance in self._timeline.rebalances if rebalance.group == group and rebalance.began <= at
        ]
        events = {rebalance.began: rebalance.cause.event for rebalance in rebalances}
        latest = events[max(events)] if events else None
        for happening in self._timeline.causes.happenings:
            about = member in happening.members or (latest is None and happening.follows is None)
            if about and happening.at <= at and (latest is None or happening.at >= latest.at):
                latest = happening.event
        return None if latest is None else latest.text


class _Repeats:
    """Reasons of the records of one run that were handled again."""

    def __init__(self, timeline: Timeline, doings: Doings, after: Sequence[After]) -> None:
        self._timeline, self._doings, self._after = timeline, doings, after
        self._events = _Events(timeline)
        self._doubles: dict[tuple[str, Queue], list[Double]] = {}
        for double in timeline.doubles:
            self._doubles.setdefault((double.group, double.queue), []).append(double)
        self._back: dict[tuple[str, Queue], list[Commit]] = {}
        for commit in timeline.commits_back:
            self._back.setdefault((commit.group, commit.queue), []).append(commit)

    def reason(self, count: int, of_queue: Sequence[Delivered], at: int) -> Reason:
        """Of so many records, which the delivery at this place brought again."""
        again = of_queue[at]
        key = again.group, again.queue
        earlier_ones = (of_queue[place] for place in range(at - 1, -1, -1))
        before = next((was for was in earlier_ones if was.first < again.end and again.first < was.end), None)
        for double in self._doubles.get(key, ()):
            until = self._timeline.end if double.until is None else double.until
            if double.since <= again.until and again.since <= until and self._read_too(double, again, before):
                return self.of_double(double)._replace(weight=count, records=count)
        event = self._events.before(again.since, again.group, again.member)
        for commit in self._back.get(key, ()):
            if commit.at <= again.since and commit.offset <= again.first:
                who = () if commit.member is None else (commit.member,)
                earlier = self._events.before(commit.at, commit.group)
                text, settings, _ = self._doings.why_back(commit)
                return Reason(SET_BACK, count, earlier, text or None, who, records=count, settings=settings)
        text, settings, _ = Why() if before is None else self._doings.why_not_committed(again, before)
        return Reason(NOT_COMMITTED, count, event, text or None, (again.member,), records=count, settings=settings)

    def _read_too(self, double: Double, again: Delivered, before: Delivered | None) -> bool:
        """Whether the earlier owner did anything for these records while there were two: it handled them, or committed
        them too late for the other."""
        if before is None or before.until >= double.since:
            return True
        until = (self._timeline.end if double.until is None else double.until) + _ON_ITS_WAY_MS
        commits = self._doings.commits_of(again.group, again.queue)
        during = commits[bisect_left(commits, double.since, key=_AT) : bisect_right(commits, until, key=_AT)]
        return any(commit.member == before.member and commit.taken and commit.offset > again.first for commit in during)

    def of_double(self, double: Double) -> Reason:
        until = self._timeline.end if double.until is None else double.until
        lasted = in_common(double.since, until, 0.0, self._timeline.end)
        event = self._events.before(double.since, double.group)
        standing = what_keeps(self._after, double.since, until, unowned=False)
        why = Why(standing, MEMBERS_DIFFER) if standing else self._doings.why_two(double)
        if not why.text:
            why = Why(NOT_SAID, ("not known",))
        kind = PAUSED_OWNER if why.paused else TWO_OWNERS
        return Reason(kind, lasted, event, why.text, double.members, lasted, settings=why.settings)


def why_repeated(timeline: Timeline, doings: Doings, after: Sequence[After]) -> Iterator[Reason]:
    """A reason for every stretch of records that were handled again, weighted with how many there were."""
    repeats = _Repeats(timeline, doings, after)
    for of_queue in timeline.reading.values():
        known, highest = OffsetSet(), 0
        for at, each in enumerate(of_queue):
            _, _, _, first, end, *_ = each
            if first < highest and (again := known.count(first, end)):
                yield repeats.reason(again, of_queue, at)
            known.add(first, end)
            highest = max(highest, end)


def why_two_owners(timeline: Timeline, doings: Doings, after: Sequence[After]) -> Iterator[Reason]:
    """A reason for every time with several owners, weighted with the milliseconds of it."""
    repeats = _Repeats(timeline, doings, after)
    for double in timeline.doubles:
        until = timeline.end if double.until is None else double.until
        lived = time_existing(timeline.lives, double.queue, double.since, until)
        if lived:
            yield repeats.of_double(double)._replace(weight=lived)
