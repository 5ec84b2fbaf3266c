"""Many runs over the processors of the machine; results come in the order of the plan, whoever is done first."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from compare.documents.comparison import Record
from compare.figures import Figure
from compare.measure.runs.phases import Phase, at_other_times, phases_of
from compare.measure.runs.record import run_record
from compare.measure.runs.spread import spread_figures
from compare.process_pool import process_pool
from compare.scenarios.run_variant import run_variant
from compare.scenarios.systems import system_of
from compare.scenarios.variants import Variant, jittered

MOST_AT_ONCE = 8
"""Runs of a variant that one process makes before its results come back."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run: its record in the document (None where nobody needs all of it), its figures, what it failed of all that
    is demanded (see `failures`), and what the report draws of it, where one is wanted. ``scenario``: its order's."""

    variant: Variant
    record: Record | None
    figures: dict[str, Figure]
    failed: tuple[tuple[str, str], ...]
    chart_data: dict[str, object] | None
    scenario: int = 0


@dataclass(frozen=True, slots=True)
class RunOrder:
    """A variant to run. ``whole``: with its record, not just its figures; ``with_chart_data``: the report draws it;
    ``jitter``: start times and event times depend on the seed; ``scenario``: number of the scenario, where there are
    several."""

    variant: Variant
    whole: bool
    with_chart_data: bool = False
    full: bool = False
    jitter: bool = False
    scenario: int = 0


def run_all(
    orders: Sequence[RunOrder], tell: Callable[[Variant], None], processes: int | None = None
) -> Generator[MeasuredRun, None, None]:
    """Run them all; `UserError` where a variant cannot run. ``processes``: at most so many, else as many as there are
    processors; one runs them here. ``tell`` hears of each run when its result is there.

    After Ctrl-C those that other processes have finished follow, whatever is missing between them, before
    `KeyboardInterrupt` goes on.
    """
    packs = list(_packs(orders))
    workers = min(processes or os.cpu_count() or 1, len(packs))
    if workers <= 1:
        for pack in packs:
            for order in pack:
                tell(order.variant)
                yield from _run_pack([order])
        return
    with process_pool(workers) as executor:
        waiting = deque(executor.submit(_run_pack, pack) for pack in packs)
        try:
            while waiting:
                found = waiting[0].result()
                waiting.popleft()
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
    for _, alike in groupby(orders, key=lambda each: (each.variant.scenario.name, each.variant.label)):
        rest = list(alike)
        while rest:
            # What the report draws is long to make: for itself.
            size = 1 if rest[0].with_chart_data else MOST_AT_ONCE
            yield rest[:size]
            rest = rest[size:]


def _run_pack(pack: Sequence[RunOrder]) -> list[MeasuredRun]:
    first = pack[0].variant
    phases = phases_of(first.scenario, system_of(first.part.system).numbering)
    return [_run(order, phases) for order in pack]


def _run(order: RunOrder, phases: Sequence[Phase]) -> MeasuredRun:
    variant = order.variant
    if order.jitter:
        variant = jittered(variant)
        phases = at_other_times(phases, variant.scenario)
    result = run_variant(variant, full=order.full)
    record = run_record(result, phases)
    chart_data = None
    if order.with_chart_data:
        from compare.comparison.report.chart_data import chart_data_of

        chart_data = chart_data_of(result, phases)
    whole = record if order.whole else None
    return MeasuredRun(
        order.variant, whole, spread_figures(record), failures(record), chart_data, scenario=order.scenario
    )


def failures(record: Record) -> tuple[tuple[str, str], ...]:
    """What a record failed of all that is demanded: name of the check, and why."""
    return tuple((check["name"], check["why"]) for check in record["checks"] if check["demanded"] and not check["held"])
