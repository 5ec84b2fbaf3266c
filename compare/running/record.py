"""A variant's result: the record of the design, made of its timeline.

Why one record: tables, report, verdict, checks, baseline, sweep and the JSON of `equipoise compare` all speak of the
same run, and would differ in the last digit if each computed its figures for itself. Here each figure is computed
once, unrounded, in seconds; who shows it rounds it, and says it in words by `compare.figures.metrics`.

Why a figure may be None: a run that ended too early, a group that shares nothing, or a system without the thing that
is asked for has no value, and 0 would be a claim.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import cast

from compare.documents.comparison import (
    CausedRecord,
    CauseRecord,
    IntervalRecord,
    LagRecord,
    Record,
    ScaleRecord,
    TwoOwnersRecord,
)
from compare.documents.shared_delivery import SharedDeliveryRecord
from compare.running.ages import ages_of, handled_per_s
from compare.running.checks import checks_of, properties_of, settled
from compare.running.doings import Pause
from compare.running.event_outcomes import NOT_SHARED, event_outcomes
from compare.running.harm import add_failed, harm_of
from compare.running.lag import lag_peak
from compare.running.no_progress import pauses_of
from compare.running.outages import outages_of
from compare.running.phases import Phase, phases_of
from compare.running.production import ProductionHistory, keys_of, productions
from compare.running.run_variant import RunResult, capacity_at_start
from compare.running.systems import system_of
from compare.running.traffic import traffic_of
from compare.running.untold import NO_OWNERS, untold
from compare.running.work import shared_work
from protocols import Queue, queue_key
from protocols.engine.nodes import Time
from protocols.engine.simulation import no_cycle_search
from protocols.scenario.events import BrokerEvent
from protocols.scenario.topology import MemberKey, ProcessPeers, Topology
from protocols.timeline.lifetimes import time_existing
from protocols.timeline.order import out_of_order
from protocols.timeline.ownership import Interval as Belief
from protocols.timeline.rebalances import Rebalance
from protocols.timeline.records import hidden_over_time, redeliveries
from protocols.timeline.story import causal_chain
from protocols.timeline.timeline import Timeline

MOST_STEPS = 240
"""Points of hidden records over time; each is the most of its piece of the run."""


def shared_delivery_of(timeline: Timeline) -> SharedDeliveryRecord | None:
    """How often records that are given out one by one (share groups, POP) were given, how many at once, how they ended;
    None where every group shares queues, or is broadcasting."""
    if not timeline.without_owners:
        return None
    times, ended = timeline.times_given, timeline.ended_how
    over_time = _over_time(timeline)
    return {
        "groups": sorted(timeline.without_owners),
        "why_no_owners": NO_OWNERS,
        "redeliveries": redeliveries(times),
        "attempts": {
            "max": max((each.attempt for each in timeline.given), default=0),
            "records": {str(often): records for often, records in times.items()},
        },
        "hidden": {"max": max((records for _, records in over_time), default=0), "over_time": over_time},
        "ended": {
            "acknowledged": ended.get("acknowledged", 0),
            "archived": ended.get("archived", 0),
            "dead_letters": ended.get("dead letter", 0),
            "skipped": ended.get("skipped", 0),
        },
    }


def _over_time(timeline: Timeline) -> list[tuple[float, int]]:
    """Seconds of the run to the most records that were hidden in the piece of it that ends then."""
    if timeline.end <= 0:
        return []
    most = [0] * MOST_STEPS
    hidden, reached = 0, 0
    for at, records in hidden_over_time(timeline.given):
        place = min(MOST_STEPS - 1, int(at * MOST_STEPS / timeline.end))
        for passed in range(reached, place + 1):
            most[passed] = max(most[passed], hidden)
        most[place] = max(most[place], records)
        hidden, reached = records, place
    for passed in range(reached, MOST_STEPS):
        most[passed] = max(most[passed], hidden)
    return [(ceil(timeline.end * (at + 1) / MOST_STEPS) / 1000, records) for at, records in enumerate(most)]


@no_cycle_search()
def run_record(result: RunResult, phases: Sequence[Phase] = ()) -> Record:
    """The variant as in the document of `equipoise compare`; times in seconds, nothing rounded.

    ``phases`` are the scenario's, where the caller has them already.
    """
    timeline, ending = result.timeline, result.ending
    cut = phases or _phases(result)
    production = productions(result)
    of_groups = shared_work(timeline, cut, production)
    ages = ages_of(result, production, cut, of_groups[1].waits)
    after = event_outcomes(result, cut, ages.phases)
    disorder = out_of_order(timeline.deliveries_by_reader, timeline.lives, keys_of(result, production))
    measured = properties_of(result)
    record: Record = {
        "label": result.variant.label,
        "system": result.variant.part.system,
        "seed": result.variant.seed,
        "jitter": result.variant.jitter,
        "broadcasting": sorted(timeline.broadcasting),
        "capacity_per_s": capacity_at_start(result.variant),
        "owners": {
            ending.names[key]: [list(queue) for queue in timeline.owned.get((key.group, key.member), ())]
            for key in ending.members
            if key.group not in timeline.without_owners
        },
        "fairness": after[-1]["fairness"],
        "optimum": after[-1]["optimum"],
        "rebalances": timeline.rebalance_count,
        "caused": _caused(timeline),
        "moves": timeline.ownership.moves,
        "fewest_moves": sum(each["fewest_moves"] or 0 for each in after),
        "unowned_queue_s": _s(timeline.ownership.unowned),
        "double_owned_queue_s": _s(timeline.ownership.double_owned),
        "two_owners": _two_owners(result),
        "longest_gap_s": _s(timeline.ownership.longest_gap),
        "redelivered": timeline.redelivered,
        "out_of_order": {"queue": disorder.queue, "key": disorder.key},
        "record_age_ms": ages.document(),
        "handled_per_s": handled_per_s(ages.every, timeline.end),
        "burst": timeline.burst,
        "messages": dict(timeline.messages),
        "lost_messages": dict(timeline.lost),
        "traffic": traffic_of(result.traffic, after, result.variant.scenario.events),
        "shared_delivery": shared_delivery_of(timeline),
        "settle_s": _s(timeline.settle),
        "lag": _lag(result, production),
        "harm": harm_of(result, production, of_groups, disorder, settled(measured), after, cut),
        "after": after,
        "checks": [],
        "untold": [],
        "causes": [_cause(timeline, rebalance) for rebalance in timeline.rebalances],
        "timeline": _intervals(timeline, ending.names),
    }
    _add_events(result, production, record)
    _blank(record)
    record["checks"] = [check.document() for check in checks_of(result, measured, record)]
    add_failed(result, record)
    record["untold"] = untold(record)
    return record


def _add_events(result: RunResult, production: Mapping[Queue, ProductionHistory], record: Record) -> None:
    """What only some scenarios have: servers that fail, autoscalers."""
    if any(isinstance(event, BrokerEvent) for event in result.variant.scenario.events):
        record["outages"] = outages_of(result, production)
    if result.variant.scenario.scale:
        record["scale"] = _decisions(result)


def _blank(record: Record) -> None:
    """Make figures of sharing None, of a run in which no group shares queues."""
    if record["after"][-1]["moves"] is not None:
        return
    cast("dict[str, object]", record).update((name, None) for name in NOT_SHARED if name in record)
    record["two_owners"] = {"believed_queue_s": None, "reading_queue_s": None}
    if record["after"][-1]["settle_s"] is None:
        record["settle_s"] = None


def _phases(result: RunResult) -> Sequence[Phase]:
    return phases_of(result.variant.scenario, system_of(result.variant.part.system).numbering, result.made)


def _decisions(result: RunResult) -> list[ScaleRecord]:
    return [
        {"at_s": _s(each.at), "group": each.group, "lag": each.lag, "from": each.before, "to": each.after}
        for each in result.decisions
    ]


def _caused(timeline: Timeline) -> list[CausedRecord]:
    """Who caused the rebalances that came to an end, and how many each; in the order of the causes."""
    counted = Counter(
        (rebalance.cause.at, rebalance.cause.text) for rebalance in timeline.rebalances if rebalance.ended is not None
    )
    return [{"cause": text, "at_s": _s(at), "rebalances": count} for (at, text), count in sorted(counted.items())]


def _lag(result: RunResult, production: Mapping[Queue, ProductionHistory]) -> LagRecord | None:
    found = lag_peak(result, production)
    if found is None:
        return None
    return {"peak": found.peak, "peak_s": _s(found.at), "drain_s": None if found.drain is None else _s(found.drain)}


def _cause(timeline: Timeline, rebalance: Rebalance) -> CauseRecord:
    return {
        "group": rebalance.group,
        "generation": rebalance.generation,
        "began_s": _s(rebalance.began),
        "ended_s": None if rebalance.ended is None else _s(rebalance.ended),
        "trigger": rebalance.trigger,
        "by": rebalance.by,
        "cause": rebalance.cause.text,
        "cause_s": _s(rebalance.cause.at),
        "changed": rebalance.changed,
        "paused_s": {member: _s(lasted) for member, lasted in rebalance.paused.items()},
        "queue_gaps_s": _s(rebalance.queue_gaps),
        "chain": [[_s(link.at), link.text] for link in causal_chain(timeline, rebalance)],
    }


def _two_owners(result: RunResult) -> TwoOwnersRecord:
    """Of the time with several owners that in which two of them ran: who stands still reads nothing."""
    timeline, scenario = result.timeline, result.variant.scenario
    pauses = pauses_of(scenario.events, ProcessPeers.of(Topology.of(scenario)).in_process)
    believed: dict[tuple[str, Queue], list[Belief]] = {}
    for belief in timeline.beliefs:
        believed.setdefault((belief.group, belief.queue), []).append(belief)
    reading = 0.0
    for double in timeline.doubles:
        until = timeline.end if double.until is None else double.until
        owners = [each for each in believed[double.group, double.queue] if each.since < until]
        changes = Counter[Time]()
        for owner in owners:
            for since, end in _running(owner, double.since, until, pauses.get(owner.member, ())):
                changes[since] += 1
                changes[end] -= 1
        running = 0
        for at, following in pairwise(sorted(changes)):
            running += changes[at]
            if running > 1:
                reading += time_existing(timeline.lives, double.queue, at, following)
    return {"believed_queue_s": _s(timeline.ownership.double_owned), "reading_queue_s": _s(reading)}


def _running(owner: Belief, since: Time, until: Time, pauses: Sequence[Pause]) -> Iterator[tuple[Time, Time]]:
    """When between two times the owner owned and did not stand still."""
    begin, end = max(owner.since, since), min(until if owner.until is None else owner.until, until)
    for pause, resumed, _ in sorted(pauses):
        if begin < min(pause, end):
            yield begin, min(pause, end)
        begin = max(begin, resumed)
    if begin < end:
        yield begin, end


def _intervals(timeline: Timeline, names: Mapping[MemberKey, str]) -> list[IntervalRecord]:
    """What members believe, by queue and time."""
    ordered = sorted(
        timeline.beliefs, key=lambda belief: (queue_key(belief.queue), belief.since, belief.group, belief.member)
    )
    return [
        {
            "queue": list(each.queue),
            "member": names.get(MemberKey(each.group, each.member), each.member),
            "from_s": _s(each.since),
            "to_s": None if each.until is None else _s(each.until),
            "generation": each.generation,
        }
        for each in ordered
    ]


def _s(time: Time) -> float:
    return time / 1000
