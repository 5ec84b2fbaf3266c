"""What a comparison is to run, and the runs themselves over the processors of the machine.

A plan is a scenario with its variants and seeds: the run as written, and jittered ones beside it, because one run
may lie far from the rest. Results come in the order of the plan, whoever is done first, so that output never depends
on the number of processes. After Ctrl-C there is a document of the scenarios whose runs are finished.
"""

import os
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from compare.documents.comparison import Record
from compare.figures import Figure
from compare.process_pool import process_pool, worked
from compare.running.phases import Phase, at_other_times, phases_of
from compare.running.reached import Clock, Reached
from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.spread import spread_figures
from compare.running.systems import system_of
from compare.running.variants import Variant, jittered, variants_of
from protocols.errors import UserError
from protocols.scenario.fields import duration_text
from protocols.scenario.jitter import event_windows, start_window
from protocols.scenario.model import Scenario

MOST_AT_ONCE = 8
"""Runs of a variant that one process makes before its results come back."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run: its record in the document (None where nobody needs all of it), its figures, what it failed of all that
    is demanded (see `failures`), and what the report draws of it, where one is wanted. ``scenario``, ``beside``: its
    order's."""

    variant: Variant
    record: Record | None
    figures: dict[str, Figure]
    failed: tuple[tuple[str, str], ...]
    chart_data: dict[str, object] | None
    scenario: int = 0
    beside: bool = False


@dataclass(frozen=True, slots=True)
class RunOrder:
    """A variant to run. ``whole``: with its record, not just its figures; ``with_chart_data``: the report draws it;
    ``jitter``: start times and event times depend on the seed; ``scenario``: number of the scenario, where there are
    several; ``beside``: one of the seeds that stand beside the run as written, and say how much chance decides."""

    variant: Variant
    whole: bool
    with_chart_data: bool = False
    full: bool = False
    jitter: bool = False
    scenario: int = 0
    beside: bool = False


def run_all(
    orders: Sequence[RunOrder],
    tell: Callable[[Variant], None],
    processes: int | None = None,
    reached: Reached | None = None,
) -> Generator[MeasuredRun, None, None]:
    """Run them all; `UserError` where a variant cannot run. ``processes``: at most so many, else as many as there are
    processors; one runs them here. ``tell`` hears of each run when its result is there. ``reached``: with room for as
    many packs as there are orders, tells meanwhile how far the others are.

    After Ctrl-C those that other processes have finished follow, whatever is missing between them, before
    `KeyboardInterrupt` goes on.
    """
    packs = list(_packs(orders))
    workers = min(processes or os.cpu_count() or 1, len(packs))
    if workers <= 1:
        for number, order in enumerate(order for pack in packs for order in pack):
            (run,) = _run_pack([order], number, reached)
            if reached is not None:
                reached.is_done(number)
            tell(order.variant)
            yield run
        return
    with process_pool(workers, partial(_run_numbered, packs, reached)) as executor:
        waiting = deque(executor.submit(worked, number) for number in range(len(packs)))
        try:
            for number in range(len(packs)):
                found = waiting[0].result()
                waiting.popleft()
                if reached is not None:
                    reached.is_done(number)
                for run in found:
                    tell(run.variant)
                    yield run
        except KeyboardInterrupt:
            for future in waiting:
                if future.done() and future.exception() is None:
                    yield from future.result()
            raise


def _packs(orders: Sequence[RunOrder]) -> Iterator[list[RunOrder]]:
    """Runs that belong together, so that what is equal for all seeds is made once."""
    for _, alike in groupby(orders, key=lambda order: (order.variant.scenario.name, order.variant.label)):
        rest = list(alike)
        while rest:
            # What the report draws is long to make: for itself.
            size = 1 if rest[0].with_chart_data else MOST_AT_ONCE
            yield rest[:size]
            rest = rest[size:]


def _run_numbered(packs: Sequence[Sequence[RunOrder]], reached: Reached | None, number: int) -> list[MeasuredRun]:
    return _run_pack(packs[number], number, reached)


def _run_pack(pack: Sequence[RunOrder], number: int, reached: Reached | None) -> list[MeasuredRun]:
    first = pack[0].variant
    phases = phases_of(first.scenario, system_of(first.part.system).numbering)
    if reached is None:
        return [_run(order, phases) for order in pack]
    with reached.following(number) as begins:
        return [_run(order, phases, begins) for order in pack]


def _run(order: RunOrder, phases: Sequence[Phase], begins: Callable[[Clock], None] | None = None) -> MeasuredRun:
    variant = order.variant
    if order.jitter:
        variant = jittered(variant)
        phases = at_other_times(phases, variant.scenario)
    result = run_variant(variant, full=order.full, begins=begins)
    if result.made:
        phases = phases_of(result.variant.scenario, system_of(variant.part.system).numbering, result.made)
    record = run_record(result, phases)
    chart_data = None
    if order.with_chart_data:
        from compare.running.chart_data import chart_data_of

        chart_data = chart_data_of(result, phases)
    whole = record if order.whole else None
    return MeasuredRun(
        order.variant, whole, spread_figures(record), failures(record), chart_data, order.scenario, order.beside
    )


def failures(record: Record) -> tuple[tuple[str, str], ...]:
    """What a record failed of all that is demanded: name of the check, and why."""
    return tuple((check["name"], check["why"]) for check in record["checks"] if check["demanded"] and not check["held"])


SEEDS_BESIDE = 5
"""So many runs with other seeds stand beside the run as written, where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class SeedChoice:
    """The options about seeds. ``given``: those named, none: the scenario's; ``many``: so many from the first one on;
    ``varying``: whether start times and event times depend on the seed, None: where there are several seeds."""

    given: tuple[int, ...] = ()
    many: int | None = None
    varying: bool | None = None

    def of(self, scenario: Scenario) -> Sequence[int]:
        """The seeds of a scenario's variants; none stands for the scenario's own."""
        if self.many is None:
            return self.given
        first = self.given[0] if self.given else scenario.run.seed
        return range(first, first + self.many)

    @property
    def beside(self) -> int:
        """How many runs with the next seeds stand beside each run as written."""
        return SEEDS_BESIDE if self.many is None and self.varying is None and len(set(self.given)) < 2 else 0

    @property
    def jitter(self) -> bool:
        """Whether start times and event times depend on the seed."""
        if self.varying is not None:
            return self.varying
        return (len(set(self.given)) if self.many is None else self.many) > 1


@dataclass(frozen=True, slots=True)
class Plan:
    """A scenario, the file that it is from, and its variants, each with every seed. ``jitter``: start times and event
    times depend on the seed; ``full``: no quiet time is skipped; ``beside``: so many jittered runs with the next seeds
    beside each; ``tries``: so many variants more may be run with the same seeds (`compare.advising`)."""

    path: str
    scenario: Scenario
    variants: Sequence[Variant]
    jitter: bool = False
    full: bool = False
    beside: int = 0
    tries: int = 0

    @classmethod
    def of(cls, path: str, scenario: Scenario, systems: Sequence[str], seeds: SeedChoice, full: bool) -> "Plan":
        """`UserError` for a system that there is not."""
        variants = variants_of(scenario, systems, seeds.of(scenario))
        return cls(path, scenario, variants, seeds.jitter, full, seeds.beside)

    def lived(self, variant: Variant) -> Variant:
        """The variant as it is run."""
        return jittered(variant) if self.jitter else variant

    def of_labels(self, labels: Collection[str]) -> "Plan":
        """Only the variants with these labels."""
        return replace(self, variants=[variant for variant in self.variants if variant.label in labels])

    @property
    def runs(self) -> int:
        """How many there are to make, at most."""
        seeds = self.beside or len({variant.seed for variant in self.variants})
        return len(self.variants) * (1 + self.beside) + self.tries * seeds

    def asked(self) -> Mapping[str, int]:
        """Label to the number of its runs, of which its figures tell."""
        return Counter(variant.label for variant in self.variants for _ in range(self.beside or 1))

    def orders(self, number: int, every: bool, with_chart_data: bool) -> list[RunOrder]:
        """What is to be run of scenario ``number``: ``every`` run with its whole record, else the first of each
        variant, which has charts, too. The runs as written come first."""
        written = [
            RunOrder(
                variant,
                whole=every or first,
                with_chart_data=with_chart_data and first,
                full=self.full,
                jitter=self.jitter,
                scenario=number,
            )
            for variant, first in _with_first(self.variants)
        ]
        return written + [
            RunOrder(
                replace(variant, seed=variant.seed + count),
                whole=False,
                full=self.full,
                jitter=True,
                scenario=number,
                beside=True,
            )
            for variant in self.variants
            for count in range(1, self.beside + 1)
        ]

    @contextmanager
    def naming(self) -> Iterator[None]:
        """What a variant finds wrong with the scenario is told with its file."""
        try:
            yield
        except UserError as error:
            raise UserError(f"{self.path}: {error}") from None


def _with_first(variants: Sequence[Variant]) -> Iterator[tuple[Variant, bool]]:
    """Each variant, and whether it is the first with its label."""
    seen: set[str] = set()
    for variant in variants:
        yield variant, variant.label not in seen
        seen.add(variant.label)


def variation(scenario: Scenario) -> str:
    """What varies from seed to seed: a sentence without its end, about the scenario as written."""
    starts = duration_text(start_window(scenario))
    events = max(event_windows(scenario).values())
    if not events:
        return f"start times vary by up to {starts} with the seed"
    return f"start times vary by up to {starts} and event times by up to {duration_text(events)} with the seed"
