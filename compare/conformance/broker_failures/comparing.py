"""Recordings of brokers that fail, of real clusters, played through the model: what producers and consumers had of it.

A recording's own fields give the scenario: cluster, rates, groups, settings, and what the harness did to which server
when. It runs with `recordings.RUNS` seeds, which also decide where the servers' clocks stand. Figures in seconds must
lie in the range of the runs, widened by `SHARE` and `NOISE_S`; of a recording that a busy machine disturbed only the
order of its stages counts, as far as they lie apart by more than that. What must not happen (records refused, lost or
handled twice, callbacks) is compared as it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from compare.conformance.cases import Difference, Measure
from compare.conformance.recordings import outside, within
from compare.running.outages import unread, unsent
from compare.running.production import ProductionHistory, productions
from compare.running.run_variant import RunResult, run_variant
from compare.running.variants import Variant
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Callback, Delivered, Stage
from protocols.scenario.jitter import Beginning
from protocols.scenario.model import Scenario
from protocols.timeline.deliveries import positions, redelivered

NOISE_S: Final = 1.5
SHARE: Final = 0.25
"""A recorded figure may lie outside of the runs' range by so much time, and by such a share of the limit."""

ITS, OTHERS = "its", "others"
"""Queues that the server of the event led, and all the others."""


class Happened(NamedTuple):
    """What came of it. ``stages``: name to seconds after the event, where they happened; ``longest``: figure to
    seconds; ``counts``: what must be equal."""

    stages: Mapping[str, float]
    longest: Mapping[str, float | None]
    counts: Mapping[str, int]


class Plan(NamedTuple):
    """A recording's ``scenario``, and what to look at in its runs: queue to whether the server of the event led it, as
    ``its``, from ``since`` (milliseconds) on."""

    name: str
    scenario: Scenario
    its: frozenset[Queue]
    since: Time
    disturbed: bool
    noise: Mapping[str, float]
    """Figure to what it was before the event, in seconds: that is the machine's."""


def result_of(plan: Plan, seed: int) -> RunResult:
    """The run of this seed."""
    part = plan.scenario.systems[0]
    return run_variant(Variant(plan.scenario, part, seed, Beginning.of(plan.scenario, seed)), priced=False)


def happened_in(plan: Plan, result: RunResult, stages: Callable[[Stage], str | None]) -> Happened:
    """What came of it in a run. ``stages``: what a recording calls a stage, None for those that it does not tell of."""
    timeline, histories = result.timeline, productions(result)
    end, deliveries = timeline.end, positions(timeline.deliveries)
    found: dict[str, float] = {}
    for now, stage in timeline.told(Stage):
        name = stages(stage) if now >= plan.since else None
        if name is not None:
            found.setdefault(name, (now - plan.since) / 1000)
    longest: dict[str, float | None] = {AGE: 0.0}
    for whose in (ITS, OTHERS):
        queues = [queue for queue in histories if (queue in plan.its) == (whose == ITS)]
        sent = [unsent(histories[queue], plan.since, end) for queue in queues]
        _note(f"{WITHOUT_SEND}: {whose}", sent, plan.since, longest, found)
        of_queues = [(histories[queue], each) for (_, queue), each in deliveries.items() if queue in queues]
        read = [unread(each, history, plan.since, end) for history, each in of_queues]
        _note(f"{WITHOUT_READ}: {whose}", read, plan.since, longest, found)
        ages = [_age(each, history, plan.since) / 1000 for history, each in of_queues]
        longest[AGE] = max([longest[AGE] or 0.0, *ages])
    called = sum(now >= plan.since for now, _ in timeline.told(Callback))
    counts = {
        "refused": sum(each.refused(0.0, end) for each in histories.values()),
        "handled twice": redelivered(timeline.deliveries, since=plan.since),
        "callbacks after the event": called,
    }
    return Happened(found, longest, counts)


WITHOUT_SEND = "longest without an acknowledged send, s"
WITHOUT_READ = "longest without a handled record, s"
AGE = "largest age of a record, s"


def _note(
    name: str,
    spans: Sequence[tuple[Time, Time]],
    since: Time,
    longest: dict[str, float | None],
    stages: dict[str, float],
) -> None:
    longest[name] = max([(end - start) / 1000 for start, end in spans], default=None)
    if spans:
        stages[f"end of {name}"] = (max(spans, key=lambda span: span[1] - span[0])[1] - since) / 1000


def _age(deliveries: Sequence[Delivered], history: ProductionHistory, since: Time) -> Time:
    """The largest age of the first record of a delivery; within one records do not get older."""
    begun = [each for each in deliveries if each.since >= since and each.end > each.first]
    return max([each.since - history.arrival(each.first, each.since) for each in begun], default=0.0)


def compared(plan: Plan, real: Happened, runs: Sequence[Happened]) -> tuple[list[Difference], list[Measure]]:
    """The recording beside the runs of its scenario."""
    if plan.disturbed:
        ordered = [_in_order(plan.name, *pair, real, runs) for pair in _apart(real.stages)]
        return [
            Difference(plan.name, each.quantity, each.real, each.model) for each in ordered if not each.passed
        ], ordered
    counts = [
        Measure(
            plan.name,
            name,
            count,
            sorted({run.counts[name] for run in runs}),
            None,
            all(run.counts[name] == count for run in runs),
        )
        for name, count in real.counts.items()
        if name in runs[0].counts
    ]
    figures = {**{name: at for name, at in real.stages.items() if not name.startswith("end of ")}, **real.longest}
    ranges = []
    for name, recorded in figures.items():
        found = [each for run in runs if (each := {**run.stages, **run.longest}.get(name)) is not None]
        if recorded is None and not found:
            continue
        above = plan.noise.get(name, 0.0)
        ranges.append(within(plan.name, name, recorded, found, NOISE_S, share=SHARE, above=above))
    return outside([*counts, *ranges]), [*counts, *ranges]


def _apart(stages: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Stages of which the second came clearly later."""
    ordered = sorted(stages, key=lambda name: stages[name])
    for at, name in enumerate(ordered):
        for later in ordered[at + 1 :]:
            if stages[later] - stages[name] > NOISE_S:
                yield name, later


def _in_order(case: str, first: str, then: str, real: Happened, runs: Sequence[Happened]) -> Measure:
    pairs = [(run.stages[first], run.stages[then]) for run in runs if first in run.stages and then in run.stages]
    passed = any(one <= other + NOISE_S for one, other in pairs)
    model = [list(pair) for pair in pairs[:1]]
    return Measure(case, f"{first} before {then}", [real.stages[first], real.stages[then]], model, None, passed)
