"""Many runs over the processors of the machine; results come in the order of the plan, whoever is done first."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from compare.documents.comparison import Record
from compare.figures import Figure
from compare.processes import side_by_side
from compare.scenarios.figures import result
from compare.scenarios.living import live
from compare.scenarios.moments import Moment, moments_of
from compare.scenarios.spread import figures_of
from compare.scenarios.systems import system_of
from compare.scenarios.variants import Chosen

MOST_AT_ONCE = 8
"""Runs of a variant that one process makes before its results come back."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its record in the document (None where nobody needs all of it), its figures, what it failed of all that
    is demanded (see `failures`), and what the report draws of it, where one is wanted."""

    chosen: Chosen
    record: Record | None
    figures: dict[str, Figure]
    failed: tuple[tuple[str, str], ...]
    drawn: dict[str, object] | None


@dataclass(frozen=True, slots=True)
class Order:
    """A variant to run. ``whole``: its record is needed, not just its figures; ``drawn``: the report shows it."""

    chosen: Chosen
    whole: bool
    drawn: bool = False
    full: bool = False


def run_all(
    orders: Sequence[Order], tell: Callable[[Chosen], None], processes: int | None = None
) -> Generator[Run, None, None]:
    """Run them all; `UserError` where a variant cannot run. ``processes``: at most so many, else as many as there are
    processors; one runs them here. ``tell`` hears of each run when its result is there."""
    packs = list(_packs(orders))
    workers = min(processes or os.cpu_count() or 1, len(packs))
    if workers <= 1:
        for pack in packs:
            for order in pack:
                tell(order.chosen)
                yield from _run_pack([order])
        return
    with side_by_side(workers) as executor:
        for future in [executor.submit(_run_pack, pack) for pack in packs]:
            for run in future.result():
                tell(run.chosen)
                yield run


def _packs(orders: Sequence[Order]) -> Iterator[list[Order]]:
    """Runs that belong together, so that what is equal for all seeds is made once."""
    for _, alike in groupby(orders, key=lambda each: (each.chosen.scenario.name, each.chosen.label)):
        rest = list(alike)
        while rest:
            # What the report draws is long to make: for itself.
            size = 1 if rest[0].drawn else MOST_AT_ONCE
            yield rest[:size]
            rest = rest[size:]


def _run_pack(pack: Sequence[Order]) -> list[Run]:
    first = pack[0].chosen
    moments = moments_of(first.scenario, system_of(first.part.system).numbering)
    return [_run(order, moments) for order in pack]


def _run(order: Order, moments: Sequence[Moment]) -> Run:
    lived = live(order.chosen, full=order.full)
    record = result(lived, moments)
    drawn = None
    if order.drawn:
        from compare.scenarios.report.drawn import drawn_variant

        drawn = drawn_variant(lived, moments)
    return Run(order.chosen, record if order.whole else None, figures_of(record), failures(record), drawn)


def failures(record: Record) -> tuple[tuple[str, str], ...]:
    """What a record failed of all that is demanded: name of the check, and why."""
    return tuple((check["name"], check["why"]) for check in record["checks"] if check["demanded"] and not check["held"])
