"""The tries, run over the seeds of the comparison: the given variants first, whose runs there are already; then single
changes of the best of them and other strategies; then pairs of the changes that paid.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from itertools import zip_longest

from compare.advising import tries
from compare.advising.choosing import Measured, advice, unbeaten
from compare.advising.tries import Try
from compare.documents.comparison import AdviceRecord
from compare.figures import Figure
from compare.running.runs import MeasuredRun, Plan, RunOrder, run_all
from compare.running.variants import Variant
from protocols.errors import UserError
from protocols.scenario.model import Scenario, split_system

TRIES = 24
"""So many beside the given variants, where nobody says another number."""

BASES = 3
"""So many of the given variants of a system are changed."""


def seeds_of(plan: Plan) -> list[int]:
    """The seeds over which a plan's variants are compared. Raises `UserError` where there is only one."""
    first = plan.variants[0].seed
    if plan.beside:
        return list(range(first + 1, first + plan.beside + 1))
    seeds = list(dict.fromkeys(variant.seed for variant in plan.variants))
    if len(seeds) < 2:
        raise UserError("--advise compares over several seeds: expected --seeds of at least 2, or none")
    return seeds


Progress = Callable[[int], AbstractContextManager[Callable[[Variant], None]]]
"""Of so many runs: hands out what is told of each finished one."""


def advise(plan: Plan, runs: Sequence[MeasuredRun], progress: Progress, processes: int | None = None) -> AdviceRecord:
    """What to choose when. ``runs``: those of the plan, which says how many tries there may be beside them."""
    most = plan.tries
    seeds = seeds_of(plan)
    given = {variant.label: variant for variant in reversed(plan.variants)}
    of_label: dict[str, dict[int, Mapping[str, Figure]]] = {label: {} for label in given}
    for run in runs:
        if run.beside == (plan.beside > 0):
            of_label[run.variant.label][run.variant.seed] = run.figures
    found = [
        Measured(tries.as_given(given[label]), [of_label[label][seed] for seed in seeds])
        for label in dict.fromkeys(variant.label for variant in plan.variants)
    ]

    def measured(chosen: Sequence[Try]) -> list[Measured]:
        orders = [
            RunOrder(tries.with_seed(each, seed), whole=False, full=plan.full, jitter=plan.jitter or plan.beside > 0)
            for each in chosen
            for seed in seeds
        ]
        with progress(len(orders)) as tell, closing(run_all(orders, tell, processes)) as finished:
            figures = [run.figures for run in finished]
        size = len(seeds)
        return [Measured(each, figures[at * size : (at + 1) * size]) for at, each in enumerate(chosen)]

    singles = _first_round(plan.scenario, found)
    first = most - most // 3
    found += measured(singles[:first])
    best = [found[at].tried for at in unbeaten(found)]
    pairs = _new(tries.double_changes(plan.scenario, best), found)
    found += measured([*pairs, *singles[first:]][: most - len(singles[:first])])
    return advice(found, tries.NOT_TRIED)


def _first_round(scenario: Scenario, given: Sequence[Measured]) -> list[Try]:
    """Other strategies, and single changes of the best given variants of each system, taken in turn."""
    order = [*unbeaten(given), *range(len(given))]
    bases: dict[str, list[Try]] = {}
    for at in dict.fromkeys(order):
        of_system = bases.setdefault(split_system(given[at].tried.system)[0], [])
        if len(of_system) < BASES:
            of_system.append(given[at].tried)
    listed = [tries.strategies(scenario, [each.tried.variant for each in given])]
    listed += [tries.single_changes(scenario, base) for of_system in bases.values() for base in of_system]
    in_turn = [each for row in zip_longest(*listed) for each in row if each is not None]
    return _new(in_turn, given)


def _new(chosen: Sequence[Try], known: Sequence[Measured]) -> list[Try]:
    """Those that have not been tried, each once."""
    seen = {_what(each.tried) for each in known}
    found = []
    for each in chosen:
        if _what(each) not in seen:
            seen.add(_what(each))
            found.append(each)
    return found


def _what(tried: Try) -> str:
    """What is run, whatever it is called."""
    part = tried.variant.part
    return repr((part.system, sorted(part.settings.items(), key=str), tried.settings.get(tries.THREADS)))
