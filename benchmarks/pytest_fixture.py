"""What a test with a fixture waits for: a group of three forms, one joins and one crashes, and all has settled.

Made anew each time, as a fixture is: the group, its brokers, its clock. Virtual time passes to the end: with Kafka the
session of the crashed member, 45 s, is in it.

python -m benchmarks.pytest_fixture [--rounds N]
"""

import time
from collections.abc import Callable
from statistics import median

import click
from tabulate import tabulate

from compare.testing import Clock, Group

MOST_MS = 5.0
"""Milliseconds for join, crash and settle that must not be exceeded."""


def lived(group: Group) -> None:
    """Two members settle; one joins, and when all has settled one crashes."""
    group.settle()
    group.join("c3").settle()
    group.crash("c2").settle()
    assert len(group.owners()) == 2


def timed(make: Callable[[], Group], rounds: int) -> tuple[list[float], list[float]]:
    """CPU milliseconds to make a group, and for it to live."""
    making, living = [], []
    for _ in range(rounds):
        begin = time.process_time()
        group = make()
        made = time.process_time()
        lived(group)
        making.append((made - begin) * 1000)
        living.append((time.process_time() - made) * 1000)
    return making, living


@click.command()
@click.option("--rounds", default=200, show_default=True)
def main(rounds: int) -> None:
    """Join, crash and settle of a group of three."""
    rows = []
    for system, strategy in (("kafka", "range"), ("kafka", "cooperative-sticky"), ("rocketmq", "AVG")):
        kind = system

        def make(kind: str = kind, strategy: str = strategy) -> Group:
            return Group(kind, Clock())(members=["c1", "c2"], strategy=strategy, produce=0)

        timed(make, 3)
        making, living = timed(make, rounds)
        row = [f"{value:.2f}" for value in (median(making), median(living), min(living))]
        rows.append([f"{system}:{strategy}", *row, f"{MOST_MS:.0f}"])
    headers = ["group", "made (CPU ms)", "join, crash, settle (CPU ms)", "the best", "must be below"]
    print(tabulate(rows, headers=headers))


if __name__ == "__main__":
    main()
