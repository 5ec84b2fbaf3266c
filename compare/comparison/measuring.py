"""All runs of a comparison, to a document per scenario; after Ctrl-C those that are finished."""

from collections.abc import Callable, Sequence
from contextlib import closing

import click

from compare.comparison.document import Measured, document
from compare.comparison.plan import Plan
from compare.comparison.progress import run_progress
from compare.comparison.runs import MeasuredRun, RunOrder, run_all


def measured(
    plans: Sequence[Plan], orders: Sequence[RunOrder], print_finished: Callable[[Sequence[Measured]], None]
) -> list[Measured]:
    """Each scenario with its runs and its document.

    After Ctrl-C ``print_finished`` gets the scenarios of which runs are finished, if there are any, before
    `KeyboardInterrupt` goes on. A variant without its first run, whose record tables show, is not among them.
    """
    done: list[list[MeasuredRun]] = [[] for _ in plans]
    try:
        with run_progress(len(orders)) as tell, closing(run_all(orders, tell)) as runs:
            for order in orders:
                with plans[order.scenario].naming():
                    run = next(runs)
                done[run.scenario].append(run)
            # The next one does not exist; asking for it lets the processes end.
            next(runs, None)
        return [_measured(plan, of_scenario) for plan, of_scenario in zip(plans, done, strict=True)]
    except KeyboardInterrupt:
        finished = [(plan, told) for plan, runs_ in zip(plans, done, strict=True) if (told := _with_record(runs_))]
        count = sum(len(told) for _, told in finished)
        click.echo(f"interrupted: {count} of {len(orders)} runs are finished", err=True)
        if finished:
            print_finished([_measured(plan, told) for plan, told in finished])
        raise


def _measured(plan: Plan, runs: Sequence[MeasuredRun]) -> Measured:
    return plan.scenario, runs, document(plan.scenario, runs, plan.asked())


def _with_record(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """The runs of those variants of which a whole record is there."""
    there = {run.variant.label for run in runs if run.record is not None}
    return [run for run in runs if run.variant.label in there]
