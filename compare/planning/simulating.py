"""A step as events of a scenario (who stops and starts when, with which settings), and what it costs: the group lives
through it with many seeds, each with starts, clocks and events of its own.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

from compare.catalogues import ROCKETMQ_CLASSES, SERVER_NAMES
from compare.documents.comparison import Record
from compare.planning.routes import STRATEGY
from compare.planning.subject import Fields, Route, Settings, Step, Subject, WrongOrder, own_settings_of
from compare.process_pool import process_pool, worked
from compare.reading.client_libraries import ASSIGNORS, INSTANCE, PROTOCOL, REMOTE
from compare.running.checks import has_settled
from compare.running.phases import aftermath
from compare.running.record import run_record
from compare.running.run_variant import RunResult, run_variant
from compare.running.spread import percentile
from compare.running.systems import scenario
from compare.running.variants import Variant
from protocols.engine.nodes import Time
from protocols.engine.randomness import number_below
from protocols.engine.simulation import no_cycle_search
from protocols.facts import Noted
from protocols.scenario.jitter import MOST_EVENT_SHIFT, Beginning
from protocols.timeline.deliveries import redelivered

_OF_STRATEGIES = {java: name for name, java in ROCKETMQ_CLASSES.items()}
_OF_SERVER = {real: name for name, real in SERVER_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds: from the restart of one wave to that of the next, and how long a restarted member is away."""

    gap: Time = 20_000.0
    downtime: Time = 5_000.0


WARM_UP: Time = 60_000.0
"""Milliseconds that the group lives before the step begins: both systems have settled by then."""


def events_of(subject: Subject, steps: Sequence[Step], timing: Timing) -> tuple[list[Fields], Time]:
    """The events of these steps, one step after another, and when the simulation ends (milliseconds)."""
    events: list[Fields] = []
    at = WARM_UP
    for step in steps:
        waves = list(_waves(subject, step, timing))
        for wave in waves:
            events += [{**event, "at": at + offset} for offset, event in wave]
            at += timing.gap
        at += step.watch
    return events, at


def _waves(subject: Subject, step: Step, timing: Timing) -> Iterator[list[tuple[Time, Fields]]]:
    """What happens in each wave of a step, with its time after the wave's beginning."""
    for members in step.restart:
        ends: list[tuple[Time, Fields]] = [(0.0, {"leave": name}) for name in members]
        starts = [(timing.downtime, {"join": name, **as_event(step.settings.get(name, {}))}) for name in members]
        yield [*ends, *starts]
    if step.start:
        like = subject.names[0]
        yield [(0.0, {"join": name, "like": like, **as_event(step.settings.get(name, {}))}) for name in step.start]
    if step.queues:
        yield [(0.0, {"queues": dict(step.queues)})]


def as_event(settings: Settings) -> Fields:
    """Changed settings as the fields of an event that starts a member: what a scenario has a field for is one."""
    fields: Fields = {}
    strategy = _strategy(settings)
    if strategy:
        fields["strategy"] = strategy
    if settings.get(INSTANCE) is not None:
        fields["instance_id"] = settings[INSTANCE]
    rest = {name: value for name, value in settings.items() if name not in _FIELDS}
    return {**fields, "settings": rest} if rest else fields


_FIELDS = (ASSIGNORS, PROTOCOL, REMOTE, STRATEGY, INSTANCE)


def _strategy(settings: Settings) -> str:
    """What a scenario calls the assignors or the strategy that these settings choose; empty: as before."""
    if settings.get(STRATEGY) is not None:
        return _OF_STRATEGIES[str(settings[STRATEGY])]
    if settings.get(REMOTE) is not None:
        return _OF_SERVER[str(settings[REMOTE])]
    return str(settings.get(ASSIGNORS) or "")


def fields_after(fields: Mapping[str, object], settings: Settings) -> Fields:
    """A member's fields once it has restarted with these settings."""
    event = as_event(settings)
    changes = event.pop("settings", {})
    assert isinstance(changes, Mapping)
    kept = {name: value for name, value in {**own_settings_of(fields), **changes}.items() if value is not None}
    made = {**{name: value for name, value in fields.items() if name != "settings"}, **event}
    return {**made, "settings": kept} if kept else made


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


def variant_of(
    subject: Subject, done: Sequence[Step], steps: Sequence[Step], timing: Timing, broker: Settings | None = None
) -> Variant:
    """The group that has ``done`` some steps and lives through others, with seed 0.

    Raises `UserError` where the model does not know what a step needs.
    """
    events, end = events_of(subject, steps, timing)
    name = f"{subject.system}:{subject.strategy}"
    topics = {**subject.topics, **{topic: total for step in done for topic, total in step.queues.items()}}
    made = scenario(
        name=f"plan for {subject.group}",
        brokers=list(subject.brokers),
        topics={topic: {"queues": queues} for topic, queues in topics.items()},
        group={"name": subject.group, "members": members_before(subject, done)},
        load=dict(subject.load),
        versions=dict(subject.versions),
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
    with process_pool(workers, partial(_costs_numbered, packs)) as executor:
        waiting = [executor.submit(worked, number) for number in range(len(packs))]
        for each in waiting:
            yield each.result()


def _costs_numbered(packs: Sequence[tuple[int, Variant, Sequence[int]]], number: int) -> list[RunCost]:
    _, variant, seeds = packs[number]
    return run_costs(variant, seeds)


def run_costs(variant: Variant, seeds: Sequence[int]) -> list[RunCost]:
    """What the events of a variant cost with each of the seeds."""
    found = []
    for seed in seeds:
        with no_cycle_search():
            found.append(_cost(run_variant(at_another_time(variant, seed), priced=False)))
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


def runs_of_steps(subject: Subject, route: Route, timing: Timing, most_queues: int) -> dict[int, RunResult]:
    """Number of each step (from 1 on) that the group notices to its run with the first seed; without those in which the
    group has more than so many queues."""
    return {
        number: run_variant(
            at_another_time(variant_of(subject, route.steps[: number - 1], [step], timing), 0), priced=False
        )
        for number, step in enumerate(route.steps, 1)
        if step.happens
        and sum(step.queues.get(topic, subject.queue_count(topic)) for topic in subject.topics) <= most_queues
    }


def _cost(result: RunResult) -> RunCost:
    timeline, begin = result.timeline, result.variant.scenario.events[0].at
    after = aftermath(timeline, begin)
    pauses = {queue: 0.0 for _, queue in result.ending.expected()}
    for gap, lasted in after.gaps:
        pauses[gap.queue] = pauses.get(gap.queue, 0.0) + lasted
    return RunCost(
        list(pauses.values()),
        after.moves,
        redelivered(timeline.deliveries_by_reader, timeline.lives, since=begin),
        sum(lasted for _, lasted in after.doubles),
        timeline.settle,
        has_settled(result),
    )


def story_of(subject: Subject, wrong: WrongOrder, timing: Timing, hurting: Callable[[Record], Iterable[str]]) -> str:
    """What happens in a wrong order, simulated with one seed: errors that members end with, and what hurts, in the
    sentences that ``hurting`` makes of the run's record."""
    variant = variant_of(subject, (), wrong.steps, timing, wrong.broker)
    result = run_variant(variant)
    thrown = [
        f"{now / 1000:.0f} s: {noted.text}." for now, noted in result.timeline.told(Noted) if " throws: " in noted.text
    ]
    return "\n".join([*thrown[:MOST_TOLD], *hurting(run_record(result))])
