"""Why nobody handled what waited in a queue: nobody owned it, its owner stood still, or all were busy with old ones."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from math import inf
from operator import attrgetter, itemgetter
from typing import NamedTuple

from compare.documents.comparison import After
from compare.running.doings import JOIN_SENT, Doings, Pauses, what_keeps
from compare.running.given_again import held
from compare.running.no_progress import Stall
from compare.running.open_ends import event_before, why_never_owned, why_open
from compare.running.outages import BrokersDown, what_ended
from compare.running.production import ProductionHistory, Span, clipped, without
from compare.running.reason_kinds import (
    AGAIN,
    AWAY,
    BUSY,
    DOWN,
    LOCKED,
    NO_SETTING,
    NOT_LATEST,
    PAUSED,
    PAUSED_CODE,
    REBALANCING,
    REFUSED,
    STUCK,
    UNKNOWN,
    UNNOTICED,
    UNOWNED,
    WAITS,
)
from compare.running.reasons import Reason, in_common
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Delivered, Stage, StandsStill, Transition
from protocols.timeline import Timeline
from protocols.timeline.ownership import Gap, Interval
from protocols.timeline.rebalances import Rebalance
from protocols.timeline.trace import queue_name

_AT, _BEGAN = itemgetter(0), attrgetter("began")

PULL_FAILED = "pull failed"
"""How the state machine of a RocketMQ process queue names an answer that is an error."""

LISTED_TWICE, LISTED_MS = "lists members twice", 150_000.0
"""What a RocketMQ broker that was frozen does, and for how long it matters: the channel's 120 s, the scan's 10 s and
the next pass of every member, 20 s."""

UNREAD, FOLLOWING_MS = "nothing is read", 1_000.0
"""What a stage ends of which consumers only learn by a time-out, and how soon they handle records then."""

STILL_A_MEMBER = "nobody gets the partitions, as the coordinator waits for a process that is gone,"
"""Where another process of the member has begun to join meanwhile: the group rebalances, and waits for the old one
until its session runs out (spec kafka 2.6)."""

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
        doings: Doings,
        *,
        links_break: bool,
        down: BrokersDown,
        without_readers: Mapping[tuple[str, str], Sequence[Span]],
        candidates: str,
    ) -> None:
        """``links_break``: whether anything happens in the run that makes links or brokers fail. ``without_readers``:
        group and topic to when no member of the group runs that reads it. ``candidates``: what may keep an owner, told
        where no fact says what did."""
        self._timeline, self._production, self._pauses = timeline, production, pauses
        self._doings, self._links_break, self._down_times = doings, links_break, down
        self._without_readers, self._candidates = without_readers, candidates
        stalled = {(stall.read.reader, stall.read.queue) for stall in stalls}
        self._beliefs: dict[tuple[str, Queue], list[Interval]] = {key: [] for key in stalled}
        self._gaps: dict[tuple[str, Queue], list[Gap]] = {key: [] for key in stalled}
        for belief in timeline.takers:
            if (belief.group, belief.queue) in stalled:
                self._beliefs[belief.group, belief.queue].append(belief)
        for gap in timeline.gaps:
            if (gap.group, gap.queue) in stalled:
                self._gaps[gap.group, gap.queue].append(gap)
        self._standing = list(timeline.told(StandsStill)) if stalls else []
        self._stages = list(timeline.told(Stage))
        self._rebalances: dict[str, list[Rebalance]] = {}
        for rebalance in timeline.rebalances:
            self._rebalances.setdefault(rebalance.group, []).append(rebalance)
        self._joins = self._steps(JOIN_SENT)
        self._failed_pulls = self._steps(PULL_FAILED)

    def _steps(self, event: str) -> list[tuple[Time, str]]:
        """When state machines took an edge of this event, and whose they were."""
        return [(now, fact.of) for now, fact in self._timeline.told(Transition) if fact.event == event]

    def reason(self, stall: Stall) -> Reason:
        """The first that explains more than half of it, or else what explains most of it, weighted with the
        milliseconds that it lasted; where nothing does, what may."""
        found = [
            *self._nobody_runs(stall),
            *self._no_member(stall.read.reader, stall.read.queue, stall.since, stall.until),
            *self._waits(stall),
            *self._fetch_waits(stall),
            *self._down(stall),
            *self._paused(stall),
            *self._stuck(stall),
            *self._ended(stall),
            *self._put_out(stall),
            *self._gap(stall),
            *self._never_owned(stall),
            *([*self._busy(stall)] if stall.read.reader in self._timeline.without_owners else []),
            *starmap(Explained, held(self._timeline, *stall)),
            *self._all_busy(stall),
            *self._again(stall),
            *self._refused(stall),
            *self._busy(stall),
        ]
        mostly = (each for each in found if each.covers >= stall.lasted / 2)
        best = next(mostly, None) or max(found, key=lambda each: each.covers, default=None)
        if best is None or best.covers < stall.lasted * LEAST_PART:
            return Reason(UNKNOWN, stall.lasted, event_before(self._timeline, stall.since), self._candidates)
        return best.reason._replace(weight=stall.lasted)

    def unowned(self, gap: Gap, lived: Time, after: Sequence[After]) -> Reason:
        """Why a queue had no owner for a while of which it existed for ``lived`` milliseconds; ``after``: what came of
        each event."""
        until = self._timeline.end if gap.until is None else gap.until
        found = self._why_unowned(gap, until)._replace(weight=lived)
        keeps = what_keeps(after, gap.since, until, unowned=True)
        return found._replace(kind=UNOWNED, text=keeps, settings=()) if keeps else found

    def _no_member(self, group: str, queue: Queue, since: Time, until: Time) -> Iterator[Explained]:
        """No member runs that reads the topic until one is back: it makes no difference when that is noticed."""
        for ended, back in self._without_readers.get((group, queue.topic), ()):
            covers = in_common(ended, back, since, until)
            if covers and back < self._timeline.end:
                event, text = event_before(self._timeline, ended), f"no member of {group} runs that reads {queue.topic}"
                settings = ("restarts of the members",)
                yield Explained(covers, Reason(AWAY, 0.0, event, text, lasted=back - ended, settings=settings))

    def _waits(self, stall: Stall) -> Iterator[Explained]:
        """Producers wait for the acknowledgement of what they have sent, and nobody can read it before."""
        for since, until in clipped(self._production[stall.read.queue].held, 0.0, self._timeline.end):
            covers = in_common(since, until, stall.since, stall.until)
            if covers:
                stage = what_ended(self._stages, since, until, stall.read.queue.topic)
                event = event_before(self._timeline, since)
                names = () if stage is None else (stage.setting or NO_SETTING,)
                text = None if stage is None else f"{stage.until} until {stage.what}"
                yield Explained(
                    covers, Reason(WAITS, 0.0, event, text, lasted=until - since, alike=text, settings=names)
                )

    def _fetch_waits(self, stall: Stall) -> Iterator[Explained]:
        """Consumers of Kafka wait for a frozen leader's answer, and read again when they have found the next leader."""
        for at, stage in self._stages:
            if stage.until.startswith(UNREAD) and stall.until - FOLLOWING_MS < at <= stall.until + FOLLOWING_MS:
                event, text = event_before(self._timeline, stall.since), f"{stage.until} until {stage.what}"
                reason = Reason(WAITS, 0.0, event, text, lasted=stall.lasted, alike=text, settings=(stage.setting,))
                yield Explained(stall.lasted, reason)

    def _nobody_runs(self, stall: Stall) -> Iterator[Explained]:
        for since, until, text in self._down_times.together:
            covers = in_common(since, until, stall.since, stall.until)
            if covers:
                yield Explained(covers, Reason(DOWN, 0.0, text, lasted=until - since, settings=(NO_SETTING,)))

    def _down(self, stall: Stall) -> Iterator[Explained]:
        broker = stall.read.queue.broker
        silences = self._production[stall.read.queue].silences(stall.since, stall.until)
        covers = sum(end - start for start, end in silences)
        if covers:
            at, down = silences[0][0], self._down_times
            event = down.why(broker, at) or event_before(self._timeline, at)
            yield Explained(covers, Reason(DOWN, 0.0, event, broker or None, settings=down.settings(broker, at)))

    def _paused(self, stall: Stall) -> Iterator[Explained]:
        end = self._timeline.end
        for belief in self._beliefs[stall.read.reader, stall.read.queue]:
            until = end if belief.until is None else belief.until
            for pause in self._pauses.get(belief.member, ()):
                covers = in_common(max(belief.since, pause.since), min(until, pause.until), stall.since, stall.until)
                if covers:
                    event = self._latest_event(pause.since, belief.member)
                    kind = PAUSED_CODE if pause.of_code else PAUSED
                    yield Explained(covers, Reason(kind, 0.0, event, members=(belief.member,), lasted=covers))

    def _stuck(self, stall: Stall) -> Iterator[Explained]:
        """The owner's code has come to a record that it cannot handle; it goes on when it handles the next one."""
        for belief in self._beliefs[stall.read.reader, stall.read.queue]:
            for at, fact in self._standing:
                if fact.member == belief.member and fact.group == belief.group:
                    goes_on = (begin for begin in self._begins(fact, stall) if begin > at)
                    until = min(next(goes_on, self._timeline.end), belief.until or self._timeline.end)
                    covers = in_common(max(at, belief.since), until, stall.since, stall.until)
                    text = f"record {fact.offset} of {queue_name(fact.queue)}"
                    if covers:
                        event = event_before(self._timeline, at)
                        yield Explained(covers, Reason(STUCK, 0.0, event, text, (fact.member,), covers, alike=text))

    def _ended(self, stall: Stall) -> Iterator[Explained]:
        """Where no queue has an owner: the only one who was to take records of it has ended, and the group does not
        know yet. A new process of the member is another member there."""
        permissions = self._beliefs[stall.read.reader, stall.read.queue]
        end = self._timeline.end
        for permitted in permissions if stall.read.reader in self._timeline.without_owners else ():
            until = permitted.until or end
            gone = self._timeline.causes.first_end(permitted.member, permitted.since, min(until, stall.until))
            others = [each for each in permissions if each.member != permitted.member]
            if gone is None or any(each.since <= gone < (each.until or end) for each in others):
                continue
            until = min([until, *(each.since for each in permissions if each.since > gone)])
            covers = in_common(gone, until, stall.since, stall.until)
            if covers:
                event, member = self._latest_event(gone, permitted.member), permitted.member
                text = f"the group permits nobody but {member} to take records"
                yield Explained(covers, Reason(AWAY, 0.0, event, text, (member,), min(until, stall.until) - gone))

    def _put_out(self, stall: Stall) -> Iterator[Explained]:
        """Where no queue has an owner: nobody may take records of it since clients have exceeded a limit of time."""
        without_owners = stall.read.reader in self._timeline.without_owners
        permissions = self._beliefs[stall.read.reader, stall.read.queue] if without_owners else []
        spans = sorted((each.since, each.until or self._timeline.end) for each in permissions)
        nobody = list(without((stall.since, stall.until), spans))
        members = tuple(sorted({each.member for each in permissions}))
        limit = self._doings.exceeded(members, 0.0, nobody[-1][0]) if nobody else None
        if limit is not None:
            covers = sum(end - start for start, end in nobody)
            text = f"no member may take records, as {limit.why} than {limit.setting},"
            event, settings = event_before(self._timeline, stall.since), self._doings.of_limit(limit)
            yield Explained(covers, Reason(AWAY, 0.0, event, text, members, covers, alike=text, settings=settings))

    def _anybody(self, stall: Stall) -> tuple[str, ...]:
        """Where nobody is permitted more than others: who ever took records of the topic, sorted."""
        key, end = (stall.read.reader, stall.read.queue), self._timeline.end
        permitted = (
            each for each in self._beliefs[key] if in_common(each.since, each.until or end, stall.since, stall.until)
        )
        if stall.read.reader not in self._timeline.without_owners or any(permitted):
            return ()
        taken = (each for each in self._timeline.given if each.group == key[0] and each.queue.topic == key[1].topic)
        return tuple(sorted({each.member for each in taken}))

    def _all_busy(self, stall: Stall) -> Iterator[Explained]:
        """Where any member may take records of the queue: all who ever did handle records of others meanwhile."""
        takers, (read, since, until) = self._anybody(stall), stall
        handles = [self._doings.handles(read.reader, each, since, until, read.queue) for each in takers]
        covers = min(handles, default=0.0)
        if covers:
            event = event_before(self._timeline, since)
            yield Explained(covers, Reason(BUSY, 0.0, event, members=takers, lasted=covers))

    def _begins(self, fact: StandsStill, stall: Stall) -> Iterator[Time]:
        """When the member began to handle anything; of the queue itself, where other queues of it go on."""
        for delivery in self._timeline.counted_deliveries:
            if delivery.member == fact.member and (stall.read.queue != fact.queue or delivery.queue == fact.queue):
                yield delivery.since

    def _gap(self, stall: Stall) -> Iterator[Explained]:
        end = self._timeline.end
        for gap in self._gaps[stall.read.reader, stall.read.queue]:
            until = end if gap.until is None else gap.until
            covers = in_common(gap.since, until, stall.since, stall.until)
            if covers:
                yield Explained(covers, self._why_unowned(gap, until))

    def _why_unowned(self, gap: Gap, until: Time) -> Reason:
        """What took most of the time: until somebody began to rebalance, or that rebalance."""
        begun = self._rebalances.get(gap.group, ())
        place = bisect_right(begun, until, key=_BEGAN)
        latest = begun[place - 1] if place else None
        lasted = until - gap.since
        for at, stage in self._stages:
            if LISTED_TWICE in stage.what and at <= gap.since < at + LISTED_MS:
                event = event_before(self._timeline, at)
                return Reason(UNOWNED, 0.0, event, stage.what, lasted=lasted, settings=("channelExpiredTimeout",))
        if gap.until is None:
            return why_open(self._timeline, gap)
        for nobody in self._no_member(gap.group, gap.queue, gap.since, until):
            if nobody.covers >= lasted / 2:
                return nobody.reason
        for since, returned, text in self._down_times.of.get(gap.queue.broker, ()):
            if in_common(since, returned, gap.since, until) >= lasted / 2:
                settings = self._down_times.settings(gap.queue.broker, max(since, gap.since))
                return Reason(DOWN, 0.0, text, gap.queue.broker, lasted=lasted, settings=settings)
        if latest is not None and self._doings.waits_for_session(gap.group, max(latest.began, gap.since), until):
            of_member = self._latest_event(gap.since, gap.before)
            return Reason(AWAY, 0.0, of_member or latest.cause.event.text, STILL_A_MEMBER, lasted=lasted)
        over = latest is None or (latest.ended is not None and latest.ended < gap.since)
        if latest is None or over or latest.cause.event.at > gap.since + lasted / 2:
            # Nobody else takes it: the owner itself comes back, as a static member does, or the last one of a group.
            event = self._latest_event(gap.since, gap.before)
            if event is None:
                return Reason(UNOWNED, 0.0, event_before(self._timeline, gap.since), lasted=lasted)
            return Reason(AWAY, 0.0, event, members=(gap.before,), lasted=lasted)
        event = latest.cause.event.text
        waited = latest.began - gap.since
        # A lock that is refused once others have noticed at last is not what took the time.
        tries = latest.triggers[:1] if waited >= lasted / 2 else latest.triggers
        if any("a lock was refused" in trigger for trigger in tries):
            return Reason(LOCKED, 0.0, event, lasted=lasted)
        if waited >= lasted / 2:
            return Reason(UNNOTICED, 0.0, event, latest.trigger, lasted=waited, settings=_of_trigger(latest, waited))
        since = max(latest.began, gap.since)
        slow = self._last_to_join(latest, until)
        busy = self._doings.busy(latest.group, slow[0], since, until) if slow else ""
        return Reason(
            REBALANCING,
            0.0,
            event,
            busy or None,
            slow,
            until - since,
            settings=("max.poll.records", "max.poll.interval.ms") if busy else (),
        )

    def _last_to_join(self, rebalance: Rebalance, until: Time) -> tuple[str, ...]:
        """Whose JoinGroup the coordinator waited for longest, if that was most of the rebalance."""
        ended = until if rebalance.ended is None else rebalance.ended
        half = rebalance.began + (ended - rebalance.began) / 2
        at, member = self._joins[bisect_right(self._joins, ended, key=_AT) - 1] if self._joins else (-inf, "")
        return (member,) if half <= at <= ended else ()

    def _never_owned(self, stall: Stall) -> Iterator[Explained]:
        beliefs = self._beliefs[stall.read.reader, stall.read.queue]
        first = min((belief.since for belief in beliefs), default=self._timeline.end)
        covers = in_common(0.0, first, stall.since, stall.until)
        if covers and stall.read.reader not in self._timeline.without_owners:
            yield Explained(covers, why_never_owned(self._timeline, stall.read, first if beliefs else None))

    def _again(self, stall: Stall) -> Iterator[Explained]:
        """Members handled old records of the queue meanwhile."""
        of_queue: Sequence[Delivered] = self._timeline.reading.get((stall.read.reader, stall.read.queue), ())
        _, since, until = stall
        during = [each for each in of_queue if each.since < until and since < each.until and each.since < each.until]
        covers = sum(in_common(each.since, each.until, stall.since, stall.until) for each in during)
        if covers:
            count = sum(each.end - each.first for each in during)
            members = tuple(sorted({each.member for each in during}))
            limit = self._doings.exceeded(members, 0.0, until)
            settings = () if limit is None else self._doings.of_limit(limit)
            event = event_before(self._timeline, since)
            reason = Reason(AGAIN, 0.0, event, members=members, records=count, settings=settings)
            yield Explained(min(covers, stall.lasted), reason)

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
            event = event_before(self._timeline, stall.since)
            yield Explained(lasted, Reason(REFUSED, 0.0, event, why, members, lasted))

    def _busy(self, stall: Stall) -> Iterator[Explained]:
        """The owner handles records of its other queues meanwhile."""
        for belief in self._beliefs[stall.read.reader, stall.read.queue]:
            since, until = max(belief.since, stall.since), min(belief.until or self._timeline.end, stall.until)
            if since < until:
                covers = self._doings.handles(belief.group, belief.member, since, until, stall.read.queue)
                event = event_before(self._timeline, stall.since)
                yield Explained(covers, Reason(BUSY, 0.0, event, members=(belief.member,), lasted=covers))

    def _latest_event(self, at: Time, member: str) -> str | None:
        """The latest event until this time that is about the member."""
        until = (each for each in self._timeline.causes.happenings if each.at <= at)
        return next((each.text for each in reversed([*until]) if member in each.members), None)


def _of_trigger(rebalance: Rebalance, waited: Time) -> tuple[str, ...]:
    """What decides when a late rebalance begins, by what began it; nothing where that is a session that ran out."""
    trigger = rebalance.trigger
    if "rejoined with other" in trigger:
        return ("max.poll.records", "partition.assignment.strategy")
    if rebalance.members and waited < 30_000.0:
        return ("rocketmq.client.rebalance.minInterval", "rocketmq.client.rebalance.waitInterval")
    return ()
