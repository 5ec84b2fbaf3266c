"""`equipoise plan` for 20 members: CPU time of a plan's costs, and of one run of each step.

python -m benchmarks.plan [--seeds N]

With --seeds 0 only single runs are measured: their CPU time tells something also where other jobs run beside them.
"""

import time
from collections.abc import Sequence

import click
from tabulate import tabulate

from compare.planning import simulating
from compare.planning.routes import route
from compare.planning.subject import of_scenario
from compare.planning.target import parse
from compare.planning.timetable import Timing
from compare.scenarios.reading import scenario
from compare.scenarios.variants import Variant

MOST_S = 20
"""Wall seconds that the costs of a plan of five steps with 50 seeds may take."""

CASES = (
    ("kafka:range", "cooperative-sticky"),
    ("kafka:range", "uniform"),
    ("kafka:uniform", "sticky"),
    ("rocketmq:AVG", "AVG_BY_CIRCLE"),
)


ROUNDS = 4
"""The best of so many counts, for each step."""

RUNS = 5 * 50
"""Of five steps with 50 seeds."""


def measured(today: str, target: str, seeds: int) -> Sequence[object]:
    """A row of the table: runs, CPU of one run here and of five steps, wall of all on all processors."""
    group = {"name": "billing", "members": {"c1..c20": ["orders"]}}
    made = scenario(
        name="plan", topics={"orders": 40}, group=group, load={"produce": "10/s"}, run={"for": "3min"}, systems=[today]
    )
    subject = of_scenario(made, None, "", None)
    way = route(subject, parse(target))
    variants = [
        simulating.variant_of(subject, way.steps[:number], [step], Timing())
        for number, step in enumerate(way.steps)
        if step.happens
    ]
    one = sum(map(best_of, variants)) / len(variants)
    alone = today, target, seeds * len(variants), one, one * RUNS
    if not seeds:
        return *alone, None, None
    begun = time.perf_counter()
    simulating.costs_of(subject, way, Timing(), range(seeds), lambda variant: None)
    wall = time.perf_counter() - begun
    return *alone, wall, wall / len(variants) * 5


def best_of(variant: Variant) -> float:
    """CPU seconds of a run, the first one left out."""
    simulating.run_costs(variant, [0])
    took = []
    for _ in range(ROUNDS):
        start = time.process_time()
        simulating.run_costs(variant, [1])
        took.append(time.process_time() - start)
    return min(took)


@click.command()
@click.option("--seeds", default=50, show_default=True)
def main(seeds: int) -> None:
    """Print the table."""
    rows = [measured(today, target, seeds) for today, target in CASES]
    print(f"20 members, 40 queues, 10 records per second and queue, {seeds} seeds (five steps: at most {MOST_S} s)")
    headers = ("from", "to", "runs", "CPU s of a run", f"CPU s of {RUNS}", "wall s", "wall s of five such steps")
    print(tabulate(rows, headers=headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()
