"""What hurts in a run, as the document has it."""

from collections.abc import Iterable, Sequence

from compare.documents.comparison import HarmRecord, ReasonRecord, WorkRecord
from compare.measure.runs.completeness import is_behind
from compare.measure.runs.harm.readers import broadcasting_reads, shared_reads
from compare.measure.runs.harm.reasons import Reason, most_important
from compare.measure.runs.harm.stalls import pauses_of, stalls
from compare.measure.runs.harm.why_repeated import why_repeated
from compare.measure.runs.harm.why_stalled import WhyStalled
from compare.measure.runs.harm.why_unread import why_refused, why_skipped
from compare.measure.runs.harm.why_unsettled import why_unsettled
from compare.measure.runs.harm.why_waiting import why_waiting
from compare.measure.runs.harm.work import work_of
from compare.measure.runs.phases import Phase
from compare.measure.runs.production_history import productions
from compare.scenarios.run_variant import RunResult
from protocols.scenario.events import BrokerEvent, Disconnect, Network
from protocols.scenario.process_peers import ProcessPeers
from protocols.scenario.topology import Topology

MOST_EXPLAINED = 200
"""Stalls for which reasons are looked for: the longest ones."""


def harm_of(result: RunResult, phases: Sequence[Phase], settled: bool) -> HarmRecord:
    """All of it; times in seconds. ``settled``: whether the run ended so, which its checks say."""
    timeline, scenario = result.timeline, result.variant.scenario
    production = productions(result)
    because: dict[str, list[ReasonRecord]] = {}
    found: HarmRecord = {
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
    if not production:
        return found
    shared, alone = shared_reads(timeline, phases), broadcasting_reads(timeline)
    work = work_of(timeline, shared, production)
    passed = (*work.passed, *work_of(timeline, alone, production).passed)
    counted: WorkRecord = {
        "written": work.written,
        "handled": work.handled,
        "waiting": work.waiting,
        "skipped": sum(each.end - each.first for each in passed),
        "refused": work.refused,
    }
    found["work"] = counted
    if passed:
        because["skipped"] = _documents(why_skipped(timeline, passed, production))
    if work.refused:
        because["refused"] = _documents(why_refused(timeline, shared, production))
    if is_behind(counted):
        because["waiting"] = _documents(why_waiting(result, shared, production, waiting=work.waiting, settled=settled))
    if shared:
        pauses = pauses_of(scenario.events, ProcessPeers.of(Topology.of(scenario)).in_process)
        stalled = stalls(timeline, shared, production, pauses)
        found["no_progress_queue_s"] = sum(each.lasted for each in stalled) / 1000
        found["longest_stall_s"] = max((each.lasted for each in stalled), default=0.0) / 1000
        found["stalled_queues"] = len({each.read for each in stalled})
        if stalled:
            longest = sorted(stalled, key=lambda each: -each.lasted)[:MOST_EXPLAINED]
            breaks = any(isinstance(event, Network | Disconnect | BrokerEvent) for event in scenario.events)
            explain = WhyStalled(timeline, production, pauses, longest, links_break=breaks)
            reasons = [reason for each in longest if (reason := explain.reason(each)) is not None]
            because["no_progress"] = _documents(reasons)
    return found


def _documents(reasons: Iterable[Reason]) -> list[ReasonRecord]:
    return [each.document() for each in most_important(reasons)]
