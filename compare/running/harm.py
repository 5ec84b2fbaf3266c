"""Why records are never handled: the group begins behind them, or commits past them, or the user's code cannot handle
them; or nobody could write them.

Why records still wait at the end: more come than the members can handle, or the group does not come to rest.

What hurts in a run, as the document has it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import rocketmq_selfbalance.cluster as rocketmq
from compare.documents.comparison import After, HarmRecord, ReasonRecord, Record
from compare.formatting import amount, many
from compare.running.disorder import why_out_of_order
from compare.running.doings import Doings
from compare.running.given_again import why_given_again, why_given_up
from compare.running.no_progress import Stall, pauses_of, stalls
from compare.running.open_ends import event_before, never_owned
from compare.running.outages import BrokersDown, what_ended
from compare.running.phases import Phase
from compare.running.production import ProductionHistory, Span, clipped, poison_of
from compare.running.reason_kinds import (
    BEGINS_BEHIND,
    COMMITTED_PAST,
    DOWN,
    EXPECTED,
    FULL_CACHE,
    HELD,
    HOT_QUEUE,
    NEVER_OWNED,
    NO_SETTING,
    NUMBER_OF_MEMBERS,
    OPEN,
    OVERLOAD,
    PASSED_OVER,
    RESTLESS,
    SLOW_START,
    STALLED,
    UNKNOWN,
    UNOWNED,
    WAITS,
    WAITS_ELSEWHERE,
)
from compare.running.reasons import Reason, Telling, members_text
from compare.running.repeated import why_repeated, why_two_owners
from compare.running.run_variant import RunResult, records_per_second
from compare.running.setting_values import family_of, most_given
from compare.running.stalls import WhyStalled
from compare.running.unrest import lasting, why_never, why_unsettled
from compare.running.work import Passed, ReadQueue, Work, broadcasting_reads, hidden_of, work_of
from protocols import Queue
from protocols.facts import Ended, Position, Stage
from protocols.scenario.events import BrokerEvent, Disconnect, Network
from protocols.scenario.topology import ProcessPeers, Topology, listed_members
from protocols.timeline import Timeline
from protocols.timeline.deliveries import handled_more_than_once
from protocols.timeline.lifetimes import time_existing
from protocols.timeline.order import OutOfOrder
from protocols.timeline.trace import queue_name


def why_skipped(
    result: RunResult, passed: tuple[Passed, ...], production: Mapping[Queue, ProductionHistory]
) -> Iterator[Reason]:
    """A reason for every stretch of records that was passed over, weighted with how many there are."""
    timeline, most = result.timeline, most_given(result.variant)
    begun: dict[tuple[str, Queue], list[tuple[float, str, Position]]] = {}
    for now, fact in timeline.told(Position) if passed else ():
        reader = f"{fact.group}/{fact.member}" if fact.group in timeline.broadcasting else fact.group
        begun.setdefault((reader, fact.queue), []).append((now, fact.member, fact))
    given_up: list[tuple[Ended, int]] = []
    for each in passed:
        count = each.end - each.first
        if isinstance(each.fact, Ended):
            given_up.append((each.fact, count))
        elif each.fact is not None:
            why, who = each.fact.why, each.fact.member
            event = event_before(timeline, timeline.end)
            yield Reason(PASSED_OVER, count, event, why, (who,), records=count, alike=why)
        if each.fact is not None:
            continue
        key = each.read.reader, each.read.queue
        found = next(((at, who, fact) for at, who, fact in begun.get(key, ()) if fact.offset >= each.end), None)
        if found is None:
            yield Reason(COMMITTED_PAST, count, event_before(timeline, timeline.end), records=count)
            continue
        at, who, fact = found
        waited = at - production[each.read.queue].arrival(each.first, at)
        event = event_before(timeline, at)
        yield Reason(BEGINS_BEHIND, count, event, fact.why, (who,), waited, count, alike=fact.why)
    yield from why_given_up(timeline, given_up, most)


def why_refused(
    timeline: Timeline, reads: list[ReadQueue], production: Mapping[Queue, ProductionHistory], down: BrokersDown
) -> Iterator[Reason]:
    """A reason for every queue whose records were refused for a while."""
    stages = list(timeline.told(Stage))
    for read in reads:
        history = production.get(read.queue)
        if history is None:
            continue
        at_once: list[tuple[float, float]] = []
        for start, end, _ in history.refusals:
            # How many are refused may change while it lasts.
            since = at_once.pop()[0] if at_once and at_once[-1][1] == start else max(read.since, start)
            at_once.append((since, min(end, timeline.end)))
        for start, end in (*at_once, *clipped(history.given_up, read.since, timeline.end)):
            refused = history.refused(start, end)
            if refused:
                event, stage = event_before(timeline, start), what_ended(stages, start, end, read.queue.topic)
                nobody = next((each for each in down.together if each.since <= start < each.until), None)
                if nobody is not None:
                    lasted = nobody.until - nobody.since
                    text, names = nobody.text, (NO_SETTING,)
                    yield Reason(DOWN, refused, text, None, (), lasted, refused, alike=text, settings=names)
                elif stage is None:
                    broker, event = read.queue.broker, down.why(read.queue.broker, start) or event
                    change = down.settings(broker, start)
                    yield Reason(DOWN, refused, event, broker or None, (), end - start, refused, settings=change)
                else:
                    text = f"{stage.until} until {stage.what}"
                    names = (stage.setting or NO_SETTING,)
                    yield Reason(WAITS, refused, event, text, (), end - start, refused, alike=text, settings=names)


def why_waiting(
    result: RunResult,
    of_groups: tuple[Sequence[ReadQueue], Work],
    production: Mapping[Queue, ProductionHistory],
    *,
    unrest: Sequence[Reason],
    stalled: bool,
) -> Iterator[Reason]:
    """Groups that get more than they can handle; queues that get more than their one reader can; else
    records that members were given, unrest, or just that time was lost, or that many records came at once."""
    (reads, work), last, found = of_groups, event_before(result.timeline, result.timeline.end), False
    waiting = work.waiting
    capacity = records_per_second(result.variant, result.ending.members)
    at_first = records_per_second(result.variant, listed_members(result.variant.scenario))
    for group in result.ending.groups:
        members = {key: capacity[key] for key in result.ending.members if key.group == group}
        rates = {read.queue: production[read.queue].rate_at_end for read in reads if read.reader == group}
        coming, possible = sum(rates.values()), sum(members.values())
        # Who could not keep up from the beginning needs no event for it.
        event = last if coming <= sum(each for key, each in at_first.items() if key.group == group) else None
        if not members:
            found = True
            yield _without_members(result, group, Reason(UNOWNED, waiting, last))
            continue
        if coming > possible:
            found = True
            text = f"{amount(coming)} records per second come and the members of {group} can handle {amount(possible)}"
            yield Reason(OVERLOAD, waiting, event, text=f"{text}: they never catch up", alike=group)
            continue
        most = max(members.values(), default=0.0)
        for queue, rate in rates.items():
            if rate > most and group not in result.timeline.without_owners:
                found = True
                comes_to = f"{amount(rate)} records per second come to {queue_name(queue)}"
                text = f"{comes_to} and one member can handle {amount(most)}"
                yield Reason(HOT_QUEUE, rate, text=f"{text}: it never catches up", alike=queue)
        # While ownership does not come to rest, who has too much at the end has it for a moment.
        for key, possible in () if unrest else members.items():
            owned = result.timeline.owned.get((group, key.member), ())
            comes = [rates[queue] for queue in owned if queue in rates and rates[queue] <= most]
            if sum(comes) > possible:
                found = True
                name = result.ending.names[key]
                text = f"{name} handles {amount(possible)}/s and gets {amount(sum(comes))}/s: it never catches up"
                yield Reason(OVERLOAD, sum(comes), text=text, members=(name,), alike=key)
    if not found:
        having = hidden_of(result.timeline, work.waits)
        hidden = sum(having.values())
        if hidden:
            names = tuple(sorted(having))
            given = "was given it" if hidden == 1 else f"{'was' if len(names) == 1 else 'were'} given them"
            text = f"{many(hidden, 'record')} {'is' if hidden == 1 else 'are'} hidden, as {members_text(names)} {given}"
            yield Reason(HELD, hidden, last, text, names, records=hidden)
        if hidden < waiting:
            never = never_owned(result.timeline, reads)
            if never:
                yield never[0]._replace(weight=waiting - hidden)
            else:
                yield _behind(result, waiting - hidden, unrest, stalled=stalled)


def _behind(result: RunResult, waiting: int, unrest: Sequence[Reason], *, stalled: bool) -> Reason:
    """Why records wait that the members could handle, by what has happened before."""
    last = event_before(result.timeline, result.timeline.end)
    if unrest:
        most = max(unrest, key=lambda each: each.weight)
        times = sum((each.kind, each.alike) == (most.kind, most.alike) for each in unrest)
        return most._replace(weight=waiting, times=times)
    if stalled:
        return Reason(STALLED, waiting, last, "the time without progress")
    wrote = [event for event in result.variant.scenario.events if event.writes_records]
    if wrote:
        return Reason(STALLED, waiting, wrote[-1].describe(), wrote[-1].describe())
    return Reason(UNKNOWN, waiting, last, FULL_CACHE if result.timeline.without_owners else SLOW_START)


def _kept(reason: Reason, last: After) -> Reason:
    """Of queues that never had an owner by the end: what keeps the members from taking them, where that is known."""
    if reason.kind != NEVER_OWNED or not last["why_unowned"]:
        return reason
    return reason._replace(kind=UNOWNED, text="; and ".join(last["why_unowned"]), settings=())


def _without_members(result: RunResult, group: str, reason: Reason) -> Reason:
    """The reason, where the group has members at the end; else that it has none, if nobody takes its queues."""
    there = result.ending.groups.get(group)
    if reason.kind not in (UNOWNED, OPEN) or there is None or len(there.members):
        return reason
    return reason._replace(kind=UNOWNED, text=f"group {group} has no members", settings=(NUMBER_OF_MEMBERS,))


def _when_nobody_reads(phases: Sequence[Phase]) -> dict[tuple[str, str], list[Span]]:
    """Group and topic to when no member of the group reads it, after one did."""
    found: dict[tuple[str, str], list[Span]] = {}
    read: set[tuple[str, str]] = set()
    for phase in phases:
        groups = phase.then.groups.items()
        now = {(name, topic) for name, group in groups for each in group.members for topic in each.subscription}
        for key in sorted(read - now):
            spans = found.setdefault(key, [])
            if spans and spans[-1][1] == phase.at:
                spans[-1] = spans[-1][0], phase.until
            else:
                spans.append((phase.at, phase.until))
        read |= now
    return found


MOST_EXPLAINED = 200
"""Stalls for which reasons are looked for: the longest ones."""


def harm_of(
    result: RunResult,
    production: Mapping[Queue, ProductionHistory],
    of_groups: tuple[list[ReadQueue], Work],
    disorder: OutOfOrder,
    settled: bool,
    after: Sequence[After],
    phases: Sequence[Phase],
) -> HarmRecord:
    """All of it; times in seconds. ``production`` and ``disorder``: of the run; ``of_groups``: the queues that groups
    share, and the work there; ``settled``: whether it ended so, which its checks say; ``after``: what came of each
    event, with what keeps queues without an owner or with several; ``phases``: between events, who is there."""
    timeline, scenario, last = result.timeline, result.variant.scenario, after[-1]
    pauses = pauses_of(scenario.events, ProcessPeers.of(Topology.of(scenario)).in_process)
    down = BrokersDown.during(scenario, timeline.end)
    doings, documents = Doings(timeline, pauses, down), Telling.of(result.variant).documents
    because: dict[str, list[ReasonRecord]] = {}
    harm_record: HarmRecord = {
        "work": None,
        "no_progress_queue_s": None,
        "longest_stall_s": None,
        "stalled_queues": None,
        "settled": settled,
        "because": because,
    }
    shared, _ = of_groups
    stalled = stalls(timeline, shared, production, pauses) if production else []
    longest = sorted(stalled, key=lambda each: -each.lasted)[:MOST_EXPLAINED]
    explain = WhyStalled(
        timeline,
        production,
        pauses,
        longest,
        doings,
        links_break=any(isinstance(event, Network | Disconnect | BrokerEvent) for event in scenario.events),
        down=down,
        without_readers=_when_nobody_reads(phases),
        candidates=WAITS_ELSEWHERE if family_of(result.variant) == rocketmq.SIMPLE else SLOW_START,
    )
    found = _of_reading(result, explain, doings, longest, disorder, after)
    if production:
        found |= _of_work(result, production, harm_record, of_groups, doings, down, last, stalled=bool(stalled))
        if shared:
            harm_record["no_progress_queue_s"] = sum(each.lasted for each in stalled) / 1000
            harm_record["longest_stall_s"] = max((each.lasted for each in stalled), default=0.0) / 1000
            harm_record["stalled_queues"] = len({each.read for each in stalled})
    because.update((harm, told) for harm, reasons in found.items() if (told := documents(reasons)))
    if not settled:
        because["unsettled"] = documents(why_unsettled(timeline, doings)) or (
            lasting(because, last) or documents([why_never(timeline, last, shared)])
        )
    return harm_record


def _of_reading(
    result: RunResult,
    explain: WhyStalled,
    doings: Doings,
    longest: Sequence[Stall],
    disorder: OutOfOrder,
    after: Sequence[After],
) -> dict[str, Iterable[Reason]]:
    """The reasons of how queues were owned and read."""
    timeline, last = result.timeline, after[-1]
    gaps = [
        (gap, time_existing(timeline.lives, gap.queue, gap.since, timeline.end if gap.until is None else gap.until))
        for gap in timeline.gaps
    ]
    return {
        "unowned": (
            _without_members(result, gap.group, explain.unowned(gap, lived, after)) for gap, lived in gaps if lived
        ),
        "two_owners": why_two_owners(timeline, doings, after),
        "redelivered": _why_redelivered(timeline, doings, after) if timeline.redelivered else (),
        "given_again": why_given_again(timeline),
        "no_progress": (
            _without_members(result, stall.read.reader, _kept(explain.reason(stall), last)) for stall in longest
        ),
        "out_of_order": why_out_of_order(timeline, disorder),
    }


def _why_redelivered(timeline: Timeline, doings: Doings, after: Sequence[After]) -> Iterator[Reason]:
    if timeline.without_owners:
        return why_given_again(timeline, handled_more_than_once(timeline.deliveries_by_reader, timeline.lives))
    return why_repeated(timeline, doings, after)


def _of_work(
    result: RunResult,
    production: Mapping[Queue, ProductionHistory],
    harm_record: HarmRecord,
    of_groups: tuple[list[ReadQueue], Work],
    doings: Doings,
    down: BrokersDown,
    last: After,
    *,
    stalled: bool,
) -> dict[str, Iterable[Reason]]:
    """The reasons of what was not handled, or not written; the record is told of the work."""
    timeline = result.timeline
    shared, work = of_groups
    passed = (*work.passed, *work_of(timeline, broadcasting_reads(timeline), production).passed)
    skipped = sum(each.end - each.first for each in passed)
    poison = poison_of(result)
    given_up = sum((each.read.queue, each.first) in poison for each in passed)
    harm_record["work"] = {
        "written": work.written,
        "handled": work.handled,
        "waiting": work.waiting,
        "skipped": skipped,
        "refused": work.refused,
        "lost": work.refused + skipped - given_up,
    }
    found: dict[str, Iterable[Reason]] = {"skipped": why_skipped(result, passed, production)}
    if work.refused:
        found["refused"] = why_refused(timeline, shared, production, down)
    if work.waiting:
        unrest = (
            ()
            if harm_record["settled"]
            else [*why_unsettled(timeline, doings), Reason(RESTLESS, 0.0, event_before(timeline, timeline.end))]
        )
        why = why_waiting(result, of_groups, production, unrest=unrest, stalled=stalled)
        found["waiting"] = (_kept(each, last) for each in why)
    return found


EXPECTATIONS: Mapping[str, str] = {
    "settles_within": "unsettled",
    "longest_gap": "unowned",
    "double_owned_queue_s": "two_owners",
    "redelivered": "redelivered",
    "in_order": "out_of_order",
    "longest_stall": "no_progress",
    "skipped": "skipped",
    "waiting": "waiting",
}
"""What a scenario may expect to the harm that breaks it."""


def add_failed(result: RunResult, record: Record) -> None:
    """The reasons of the expectations that failed: those of the harm, or what was found instead."""
    because, timeline = record["harm"]["because"], result.timeline
    event = event_before(timeline, timeline.end)
    for check in record["checks"]:
        if check["demanded"] and not check["held"]:
            why = Reason(EXPECTED, 1.0, event, check["why"])
            found = because.get(EXPECTATIONS.get(check["name"], ""))
            because[check["name"]] = found or Telling.of(result.variant).documents([why])
