"""Why nobody handled what waited in a queue: nobody owned it, its owner stood still, or all were busy with old
records."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from compare.measure.runs.harm.reasons import Reason, in_common
from compare.measure.runs.harm.stalls import Pauses, Stall
from compare.measure.runs.production_history import ProductionHistory
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import StandsStill, Transition
from protocols.timeline import Timeline
from protocols.timeline.deliveries import Delivery, positions
from protocols.timeline.fact_descriptions import queue_name
from protocols.timeline.intervals import Gap, Interval
from protocols.timeline.rebalances import Rebalance

DOWN, PAUSED, STUCK, AWAY, UNNOTICED, REBALANCING, UNOWNED, NEVER_OWNED, AGAIN, REFUSED = (
    "no broker",
    "owner stands still",
    "owner stuck",
    "owner away",
    "no owner until noticed",
    "no owner during rebalance",
    "no owner",
    "never owned",
    "handled again",
    "pulls refused",
)
"""Kinds of reasons, see `compare.documents.comparison.ReasonRecord`."""

JOIN_SENT = "join sent"
"""How a Kafka client's state machine names that it asks to join: the coordinator waits for all members to do so."""

NOT_LATEST = "subscription unknown or not latest"
"""Why a RocketMQ broker refuses pulls of a member whose allocation has just changed, or whose group it knows by another
member's topics."""

PULL_FAILED = "pull failed"
"""How the state machine of a RocketMQ process queue names an answer that is an error."""

LEAST_PART = 0.2
"""What explains less of a stall than this part does not explain it."""


class Explained(NamedTuple):
    """A reason, and milliseconds of the stall that it covers."""

    covers: Time
    reason: Reason


class WhyStalled:
    """Answers for every stall of a run."""

    def __init__(
        self,
        timeline: Timeline,
        production: Mapping[Queue, ProductionHistory],
        pauses: Pauses,
        stalls: Sequence[Stall],
        *,
        links_break: bool,
    ) -> None:
        """``links_break``: whether anything happens in the run that makes links or brokers fail."""
        self._timeline, self._production, self._pauses = timeline, production, pauses
        self._links_break = links_break
        stalled = {(each.read.reader, each.read.queue) for each in stalls}
        self._beliefs: dict[tuple[str, Queue], list[Interval]] = {key: [] for key in stalled}
        self._gaps: dict[tuple[str, Queue], list[Gap]] = {key: [] for key in stalled}
        for belief in timeline.beliefs:
            if (belief.group, belief.queue) in stalled:
                self._beliefs[belief.group, belief.queue].append(belief)
        for gap in timeline.gaps:
            if (gap.group, gap.queue) in stalled:
                self._gaps[gap.group, gap.queue].append(gap)
        self._deliveries = positions(timeline.counted_deliveries()) if stalls else {}
        self._standing = [
            (each.now, each.fact) for each in (timeline.facts if stalls else ()) if type(each.fact) is StandsStill
        ]
        self._joins = self._steps(JOIN_SENT)
        self._failed_pulls = self._steps(PULL_FAILED)

    def _steps(self, event: str) -> list[tuple[Time, str]]:
        """When state machines took an edge of this event, and whose they were."""
        return [
            (observed.now, observed.fact.of)
            for observed in self._timeline.facts
            if type(observed.fact) is Transition and observed.fact.event == event
        ]

    def reason(self, stall: Stall) -> Reason | None:
        """The first that explains more than half of it, or else what explains most of it, weighted with the
        milliseconds that it lasted; None where nothing does."""
        found = [
            *self._down(stall),
            *self._paused(stall),
            *self._stuck(stall),
            *self._gap(stall),
            *self._never_owned(stall),
            *self._again(stall),
            *self._refused(stall),
        ]
        mostly = (each for each in found if each.covers >= stall.lasted / 2)
        best = next(mostly, None) or max(found, key=lambda each: each.covers, default=None)
        if best is None or best.covers < stall.lasted * LEAST_PART:
            return None
        return best.reason._replace(weight=stall.lasted)

    def _down(self, stall: Stall) -> Iterator[Explained]:
        silences = self._production[stall.read.queue].silences(stall.since, stall.until)
        covers = sum(end - start for start, end in silences)
        if covers:
            event = next(
                (each.text for each in reversed(self._timeline.causes.happenings) if each.at <= silences[0][0]), None
            )
            yield Explained(covers, Reason(DOWN, 0.0, event, stall.read.queue.broker or None, alike=event))

    def _paused(self, stall: Stall) -> Iterator[Explained]:
        end = self._timeline.end
        for belief in self._beliefs[stall.read.reader, stall.read.queue]:
            until = end if belief.until is None else belief.until
            for start, stop in self._pauses.get(belief.member, ()):
                covers = in_common(max(belief.since, start), min(until, stop), stall.since, stall.until)
                if covers:
                    event = self._latest_event(start, belief.member)
                    yield Explained(
                        covers, Reason(PAUSED, 0.0, event, members=(belief.member,), lasted=covers, alike=event)
                    )

    def _stuck(self, stall: Stall) -> Iterator[Explained]:
        """The owner's code has come to a record that it cannot handle; it goes on when it handles the next one."""
        for belief in self._beliefs[stall.read.reader, stall.read.queue]:
            for at, fact in self._standing:
                if fact.member == belief.member and fact.group == belief.group:
                    goes_on = (each for each in self._begins(fact, stall) if each > at)
                    until = min(next(goes_on, self._timeline.end), belief.until or self._timeline.end)
                    covers = in_common(max(at, belief.since), until, stall.since, stall.until)
                    text = f"record {fact.offset} of {queue_name(fact.queue)}"
                    if covers:
                        yield Explained(covers, Reason(STUCK, 0.0, None, text, (fact.member,), covers, alike=text))

    def _begins(self, fact: StandsStill, stall: Stall) -> Iterator[Time]:
        """When the member began to handle anything; of the queue itself, where other queues of it go on."""
        for each in self._timeline.counted_deliveries():
            if each.member == fact.member and (stall.read.queue != fact.queue or each.queue == fact.queue):
                yield each.since

    def _gap(self, stall: Stall) -> Iterator[Explained]:
        end = self._timeline.end
        for gap in self._gaps[stall.read.reader, stall.read.queue]:
            until = end if gap.until is None else gap.until
            covers = in_common(gap.since, until, stall.since, stall.until)
            if covers:
                yield Explained(covers, self._why_unowned(gap, until))

    def _why_unowned(self, gap: Gap, until: Time) -> Reason:
        """What took most of the time: until somebody began to rebalance, or that rebalance."""
        latest: Rebalance | None = None
        for each in self._timeline.rebalances:
            if each.group == gap.group and each.began <= until:
                latest = each
        lasted = until - gap.since
        if gap.until is None:
            return Reason(UNOWNED, 0.0, lasted=lasted)
        over = latest is None or (latest.ended is not None and latest.ended < gap.since)
        if latest is None or over or latest.cause.event.at > gap.since + lasted / 2:
            # Nobody else takes it: the owner itself comes back, as a static member does, or the last one of a group.
            event = self._latest_event(gap.since, gap.before)
            return Reason(AWAY, 0.0, event, members=(gap.before,), lasted=lasted)
        event = latest.cause.event.text
        waited = latest.began - gap.since
        if waited >= lasted / 2:
            return Reason(UNNOTICED, 0.0, event, latest.trigger, lasted=waited, alike=event)
        slow = self._last_to_join(latest, until)
        return Reason(REBALANCING, 0.0, event, members=slow, lasted=lasted, alike=event)

    def _last_to_join(self, rebalance: Rebalance, until: Time) -> tuple[str, ...]:
        """Whose JoinGroup the coordinator waited for longest, if that was most of the rebalance."""
        ended = until if rebalance.ended is None else rebalance.ended
        half = rebalance.began + (ended - rebalance.began) / 2
        return tuple([member for at, member in self._joins if half <= at <= ended][-1:])

    def _never_owned(self, stall: Stall) -> Iterator[Explained]:
        beliefs = self._beliefs[stall.read.reader, stall.read.queue]
        first = min((each.since for each in beliefs), default=self._timeline.end)
        covers = in_common(0.0, first, stall.since, stall.until)
        if covers:
            yield Explained(covers, Reason(NEVER_OWNED, 0.0, lasted=covers))

    def _again(self, stall: Stall) -> Iterator[Explained]:
        """Members handled old records of the queue meanwhile."""
        of_queue: Sequence[Delivery] = self._deliveries.get((stall.read.reader, stall.read.queue), ())
        during = [each for each in of_queue if in_common(each.since, each.until, stall.since, stall.until)]
        covers = sum(in_common(each.since, each.until, stall.since, stall.until) for each in during)
        if covers:
            count = sum(each.end - each.first for each in during)
            members = tuple(sorted({each.member for each in during}))
            yield Explained(min(covers, stall.lasted), Reason(AGAIN, 0.0, members=members, records=count))

    def _refused(self, stall: Stall) -> Iterator[Explained]:
        """Pulls of the queue fail: where no link and no broker does, because the broker does not know the member's
        subscription, or not the latest one (spec rocketmq 2.10), which comes with a heartbeat."""
        name = queue_name(stall.read.queue)
        failed = [
            (at, of) for at, of in self._failed_pulls if stall.since <= at <= stall.until and of.endswith(f" {name}")
        ]
        if failed:
            members = tuple(sorted({of.removesuffix(f" {name}") for _, of in failed}))
            lasted = stall.until - failed[0][0]
            why = None if self._links_break else NOT_LATEST
            yield Explained(lasted, Reason(REFUSED, 0.0, None, why, members, lasted))

    def _latest_event(self, at: Time, member: str) -> str | None:
        """The latest event until this time that is about the member."""
        about = [each.text for each in self._timeline.causes.happenings if each.at <= at and member in each.members]
        return about[-1] if about else None
