"""What a step costs: the group lives through it with many seeds, each with starts, clocks and events of its own."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from compare.explaining.harm import Telling, harm
from compare.planning.steps import Route, Settings, Step, WrongOrder
from compare.planning.subject import Fields, Subject
from compare.planning.timetable import Timing, events_of, fields_after
from compare.process_pool import process_pool
from compare.running.checks import has_settled
from compare.running.phases import aftermath
from compare.running.record import run_record
from compare.running.run_variant import RunResult, run_variant
from compare.running.spread import percentile
from compare.running.systems import scenario
from compare.running.variants import Variant
from protocols.cycle_search import no_cycle_search
from protocols.engine.nodes import Time
from protocols.engine.randomness import number_below
from protocols.facts import Noted
from protocols.scenario.jitter import MOST_EVENT_SHIFT, Beginning
from protocols.timeline.deliveries import redelivered

RUNS_AT_ONCE = 2
"""Seeds that a process runs before their costs come back: few, so that all processors are busy to the end."""

MOST_TOLD = 6
"""Lines of the story of a wrong order."""


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a step cost in one run. ``pauses``: milliseconds without an owner, of every queue; the others count the same
    as the figures of `compare`, from the step's first event on. ``settled``: whether every queue had one owner at the
    end, and nothing changed any more."""

    pauses: Sequence[Time]
    moves: int
    redelivered: int
    double_owned: Time
    settle: Time
    settled: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """The same over all seeds: medians, and of pauses and settling the 95th percentile, too; seconds."""

    pause_p50: float
    pause_p95: float
    moves: float
    redelivered: float
    double_owned_queue_s: float
    settle_s: float
    settle_p95: float
    unsettled: int
    """Runs in which the group had not settled at the end."""

    @classmethod
    def of(cls, runs: Sequence[RunCost]) -> "Cost":
        """From at least one run."""
        pauses = sorted(pause for run in runs for pause in run.pauses) or [0.0]
        settles = sorted(run.settle for run in runs)
        return cls(
            percentile(pauses, 50) / 1000,
            percentile(pauses, 95) / 1000,
            median(run.moves for run in runs),
            median(run.redelivered for run in runs),
            median(run.double_owned for run in runs) / 1000,
            percentile(settles, 50) / 1000,
            percentile(settles, 95) / 1000,
            sum(not run.settled for run in runs),
        )


def members_before(subject: Subject, steps: Sequence[Step]) -> dict[str, Fields]:
    """The members once these steps are done, as fields of a scenario."""
    members = {name: dict(fields) for name, fields in subject.members.items()}
    for step in steps:
        for name in step.start:
            members[name] = {field: value for field, value in members[subject.names[0]].items() if field not in _OWN}
        for name, settings in step.settings.items():
            members[name] = fields_after(members[name], settings)
    return members


_OWN = ("instance_id", "process", "client_id")
"""Fields that a new member does not share with the one that it is like."""


def topics_before(subject: Subject, steps: Sequence[Step]) -> dict[str, object]:
    """The topics once these steps are done."""
    return {**subject.topics, **{topic: total for step in steps for topic, total in step.queues.items()}}


def variant_of(
    subject: Subject, done: Sequence[Step], steps: Sequence[Step], timing: Timing, broker: Settings | None = None
) -> Variant:
    """The group that has ``done`` some steps and lives through others, with seed 0.

    Raises `UserError` where the model does not know what a step needs.
    """
    events, end = events_of(subject, steps, timing)
    name = f"{subject.system}:{subject.strategy}"
    made = scenario(
        name=f"plan for {subject.group}",
        brokers=list(subject.brokers),
        topics={topic: {"queues": queues} for topic, queues in topics_before(subject, done).items()},
        group={"name": subject.group, "members": members_before(subject, done)},
        load=dict(subject.load),
        run={"for": end, "latency": subject.latency},
        systems=[{"system": name, "settings": {**subject.settings, **(broker or {})}}],
        events=events,
    )
    return Variant(made, made.systems[0], 0)


def costs_of(
    subject: Subject, route: Route, timing: Timing, seeds: Sequence[int], tell: Callable[[Variant], None]
) -> dict[int, Cost]:
    """Number of the step (from 0 on) to what it costs; steps of which the group notices nothing have no cost."""
    variants = {
        number: variant_of(subject, route.steps[:number], [step], timing)
        for number, step in enumerate(route.steps)
        if step.happens
    }
    packs = [
        (number, variant, seeds[first : first + RUNS_AT_ONCE])
        for number, variant in variants.items()
        for first in range(0, len(seeds), RUNS_AT_ONCE)
    ]
    found: dict[int, list[RunCost]] = {number: [] for number in variants}
    for (number, variant, _), runs in zip(packs, _costs(packs), strict=True):
        found[number] += runs
        for _ in runs:
            tell(variant)
    return {number: Cost.of(runs) for number, runs in found.items()}


def _costs(packs: Sequence[tuple[int, Variant, Sequence[int]]]) -> Iterator[list[RunCost]]:
    workers = min(os.cpu_count() or 1, len(packs))
    if workers <= 1:
        for _, variant, seeds in packs:
            yield run_costs(variant, seeds)
        return
    with process_pool(workers) as executor:
        waiting = [executor.submit(run_costs, variant, seeds) for _, variant, seeds in packs]
        for each in waiting:
            yield each.result()


def run_costs(variant: Variant, seeds: Sequence[int]) -> list[RunCost]:
    """What the events of a variant cost with each of the seeds."""
    found = []
    for seed in seeds:
        with no_cycle_search():
            found.append(_cost(run_variant(at_another_time(variant, seed))))
    return found


def at_another_time(variant: Variant, seed: int) -> Variant:
    """The variant with this seed: members start, servers' clocks tick, and the whole step begins at other times. The
    times between the events of the step are those of the plan."""
    written = variant.scenario
    shift = float(number_below(int(MOST_EVENT_SHIFT) + 1, seed, "plan"))
    events = tuple(event.model_copy(update={"at": event.at + shift}) for event in written.events)
    run = written.run.model_copy(update={"for_": written.run.for_ + shift})
    moved = written.model_copy(update={"events": events, "run": run})
    return replace(variant, scenario=moved, seed=seed, beginning=Beginning.of(written, seed))


def _cost(result: RunResult) -> RunCost:
    timeline, begin = result.timeline, result.variant.scenario.events[0].at
    after = aftermath(timeline, begin)
    pauses = {queue: 0.0 for _, queue in result.ending.expected()}
    for gap, lasted in after.gaps:
        pauses[gap.queue] = pauses.get(gap.queue, 0.0) + lasted
    return RunCost(
        list(pauses.values()),
        after.moves,
        redelivered(timeline.deliveries_by_reader(), timeline.lives, since=begin),
        sum(lasted for _, lasted in after.doubles),
        timeline.settle,
        has_settled(result),
    )


def story_of(subject: Subject, wrong: WrongOrder, timing: Timing) -> str:
    """What happens in a wrong order, simulated with one seed: errors that members end with, and what hurts."""
    variant = variant_of(subject, (), wrong.steps, timing, wrong.broker)
    result = run_variant(variant)
    record = run_record(result)
    thrown = [
        f"{each.now / 1000:.0f} s: {each.fact.text}"
        for each in result.timeline.facts
        if isinstance(each.fact, Noted) and " throws: " in each.fact.text
    ]
    return "\n".join([*thrown[:MOST_TOLD], *(each.text for each in harm(Telling(record, None)))])
