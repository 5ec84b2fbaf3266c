"""Why records were handled more than once: two owners at once, progress that was not committed, offsets set back.

Why records are never handled: the group begins behind them, or commits past them, or the user's code cannot handle
them; or nobody could write them.

Why a group goes on rebalancing: limits of time that its members exceed again and again.

Why records still wait at the end: more come than the members can handle, or the group does not come to rest.

What hurts in a run, as the document has it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from compare.documents.comparison import HarmRecord, ReasonRecord, WorkRecord
from compare.running.checks import is_behind
from compare.running.phases import Phase
from compare.running.production import ProductionHistory
from compare.running.run_variant import RunResult, records_per_second
from compare.running.stalls import Reason, WhyStalled, in_common, most_important, pauses_of, stalls
from compare.running.work import Passed, ReadQueue, broadcasting_reads, shared_reads, work_of
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Position, TimedOut
from protocols.offsets import OffsetSet
from protocols.scenario.events import BrokerEvent, Disconnect, Network
from protocols.scenario.topology import ProcessPeers, Topology
from protocols.timeline import Timeline
from protocols.timeline.deliveries import Delivery, positions
from protocols.timeline.order import OutOfOrder
from protocols.timeline.ownership import Double
from protocols.timeline.properties import FEWEST_CHANGES
from protocols.timeline.timeline import Commit
from protocols.timeline.trace import queue_name

TWO_OWNERS, SET_BACK, NOT_COMMITTED = "two owners", "offsets set back", "not committed"
"""Kinds of reasons, see `compare.documents.comparison.ReasonRecord`."""


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


AT_ONCE, LATER, OVERLAPPING = "several threads", "handled again later", "several members"
"""Kinds of reasons, see `compare.documents.comparison.ReasonRecord`."""


def why_out_of_order(timeline: Timeline, found: OutOfOrder) -> Iterator[Reason]:
    """Records that were handled again, and those that began together in several threads, or with several members."""
    if found.again:
        yield Reason(LATER, found.again, records=found.again)
    if found.queue > found.again:
        parallel = {each.member for each in timeline.deliveries if each.at_once > 1 and each.end > each.first + 1}
        kind, members = (AT_ONCE, tuple(sorted(parallel))) if parallel else (OVERLAPPING, ())
        yield Reason(kind, found.queue - found.again, members=members, records=found.queue - found.again)


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
    before = [happening for happening in timeline.causes.happenings if happening.at <= at and happening.follows is None]
    return before[-1].text if before else None


TIME_LIMIT, SESSION, REBALANCES = "time limit", "session timed out", "rebalances"
"""Kinds of reasons, see `compare.documents.comparison.ReasonRecord`."""


def why_unsettled(timeline: Timeline) -> Iterator[Reason]:
    """A reason for every rebalance after the last event: the limit that a client exceeded before, a session that ran
    out, or just what began it. Fewer than `FEWEST_CHANGES` are no reason: then something else keeps queues from having
    one owner."""
    last_event = max(
        (happening.at for happening in timeline.causes.happenings if happening.at <= timeline.end), default=0.0
    )
    limits = [(each.now, each.fact) for each in timeline.facts if type(each.fact) is TimedOut and each.now > last_event]
    for _, fact in limits:
        yield Reason(
            TIME_LIMIT,
            2.0,
            fact.then,
            f"{fact.why} than {fact.setting}",
            (fact.member,),
            fact.limit,
            alike=(fact.then, fact.setting),
        )
    exceeded = [(at, fact.group, fact.member) for at, fact in limits]
    later = [rebalance for rebalance in timeline.rebalances if rebalance.began > last_event]
    for each in later if len(later) >= FEWEST_CHANGES else ():
        if _follows(exceeded, each.began, each.group, each.by):
            continue
        kind = SESSION if each.trigger.startswith("session of") else REBALANCES
        members = () if each.by is None else (each.by,)
        text = None if kind == SESSION else each.trigger
        yield Reason(kind, 1.0, None, text, members, alike=kind)


def _follows(exceeded: list[tuple[Time, str, str]], at: Time, group: str, by: str | None) -> bool:
    """Whether the member who brought the rebalance about had exceeded a limit before: it left, and joins again."""
    return any(when <= at and (group, by) == (of, member) for when, of, member in exceeded)


OVERLOAD, HOT_QUEUE, RESTLESS, STALLED = "overload", "hot queue", "no rest", "stalled before"
"""Kinds of reasons, see `compare.documents.comparison.ReasonRecord`."""


def why_waiting(
    result: RunResult,
    reads: Sequence[ReadQueue],
    production: Mapping[Queue, ProductionHistory],
    *,
    waiting: int,
    settled: bool,
) -> Iterator[Reason]:
    """Groups that get more than they can handle; queues that get more than their one reader can; else
    unrest, or just that time was lost."""
    capacity = records_per_second(result.variant, result.ending)
    found = False
    for group in result.ending.groups:
        members = {key: capacity[key] for key in result.ending.members if key.group == group}
        rates = {read.queue: production[read.queue].rate for read in reads if read.reader == group}
        coming, possible = sum(rates.values()), sum(members.values())
        if coming > possible:
            found = True
            text = f"{coming:g} records per second come and the members of {group} can handle {possible:g}"
            yield Reason(OVERLOAD, waiting, text=f"{text}: they never catch up", alike=group)
            continue
        most = max(members.values(), default=0.0)
        for queue, rate in rates.items():
            if rate > most:
                found = True
                text = f"{rate:g} records per second come to {queue_name(queue)} and one member can handle {most:g}"
                yield Reason(HOT_QUEUE, rate, text=f"{text}: it never catches up", alike=queue)
        for key, possible in members.items():
            owned = result.timeline.owned.get((group, key.member), ())
            comes = [rates[queue] for queue in owned if queue in rates and rates[queue] <= most]
            if sum(comes) > possible:
                found = True
                name = result.ending.names[key]
                text = f"{name} handles {possible:g}/s and gets {sum(comes):g}/s: it never catches up"
                yield Reason(OVERLOAD, sum(comes), text=text, members=(name,), alike=key)
    if not found:
        yield Reason(STALLED if settled else RESTLESS, waiting)


MOST_EXPLAINED = 200
"""Stalls for which reasons are looked for: the longest ones."""


def harm_of(
    result: RunResult,
    phases: Sequence[Phase],
    production: Mapping[Queue, ProductionHistory],
    disorder: OutOfOrder,
    settled: bool,
) -> HarmRecord:
    """All of it; times in seconds. ``production`` and ``disorder``: of the run; ``settled``: whether it ended so, which
    its checks say."""
    timeline, scenario = result.timeline, result.variant.scenario
    because: dict[str, list[ReasonRecord]] = {}
    harm_record: HarmRecord = {
        "work": None,
        "no_progress_queue_s": None,
        "longest_stall_s": None,
        "stalled_queues": None,
        "settled": settled,
        "because": because,
    }
    if not settled:
        because["unsettled"] = _documents(why_unsettled(timeline))
    if timeline.redelivered:
        because["redelivered"] = _documents(why_repeated(timeline))
    if disorder.queue:
        because["out_of_order"] = _documents(why_out_of_order(timeline, disorder))
    if not production:
        return harm_record
    shared, alone = shared_reads(timeline, phases), broadcasting_reads(timeline)
    work = work_of(timeline, shared, production)
    passed = (*work.passed, *work_of(timeline, alone, production).passed)
    skipped = sum(each.end - each.first for each in passed)
    counted: WorkRecord = {
        "written": work.written,
        "handled": work.handled,
        "waiting": work.waiting,
        "skipped": skipped,
        "refused": work.refused,
        "lost": work.refused + skipped,
    }
    harm_record["work"] = counted
    if passed:
        because["skipped"] = _documents(why_skipped(timeline, passed, production))
    if work.refused:
        because["refused"] = _documents(why_refused(timeline, shared, production))
    if is_behind(counted):
        because["waiting"] = _documents(why_waiting(result, shared, production, waiting=work.waiting, settled=settled))
    if shared:
        pauses = pauses_of(scenario.events, ProcessPeers.of(Topology.of(scenario)).in_process)
        stalled = stalls(timeline, shared, production, pauses)
        harm_record["no_progress_queue_s"] = sum(each.lasted for each in stalled) / 1000
        harm_record["longest_stall_s"] = max((each.lasted for each in stalled), default=0.0) / 1000
        harm_record["stalled_queues"] = len({each.read for each in stalled})
        if stalled:
            longest = sorted(stalled, key=lambda each: -each.lasted)[:MOST_EXPLAINED]
            breaks = any(isinstance(event, Network | Disconnect | BrokerEvent) for event in scenario.events)
            explain = WhyStalled(timeline, production, pauses, longest, links_break=breaks)
            reasons = [reason for each in longest if (reason := explain.reason(each)) is not None]
            because["no_progress"] = _documents(reasons)
    return harm_record


def _documents(reasons: Iterable[Reason]) -> list[ReasonRecord]:
    return [each.document() for each in most_important(reasons)]
