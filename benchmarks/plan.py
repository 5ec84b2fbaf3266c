"""`equipoise plan` for 20 members: CPU time of a plan's costs, and of one run of each step.

python -m benchmarks.plan [--seeds N]
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

MOST_S = 20
"""Wall seconds that the costs of a plan of five steps with 50 seeds may take."""

CASES = (
    ("kafka:range", "cooperative-sticky"),
    ("kafka:range", "uniform"),
    ("kafka:uniform", "sticky"),
    ("rocketmq:AVG", "AVG_BY_CIRCLE"),
)


def measured(today: str, target: str, seeds: int) -> Sequence[object]:
    """A row of the table: runs, CPU of one run here, wall of all on all processors."""
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
    for variant in variants:
        simulating.run_costs(variant, [0])
    start = time.process_time()
    for variant in variants:
        simulating.run_costs(variant, [1, 2, 3])
    one = (time.process_time() - start) / (3 * len(variants))
    begun = time.perf_counter()
    simulating.costs_of(subject, way, Timing(), range(seeds), lambda variant: None)
    wall = time.perf_counter() - begun
    return today, target, seeds * len(variants), one, wall, wall / len(variants) * 5


@click.command()
@click.option("--seeds", default=50, show_default=True)
def main(seeds: int) -> None:
    """Print the table."""
    rows = [measured(today, target, seeds) for today, target in CASES]
    print(f"20 members, 40 queues, 10 records per second and queue, {seeds} seeds (five steps: at most {MOST_S} s)")
    headers = ("from", "to", "runs", "CPU s of a run", "wall s", "wall s of five such steps")
    print(tabulate(rows, headers=headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()
