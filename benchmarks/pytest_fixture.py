"""What a test with a fixture waits for: a group of three forms, one joins and one crashes, and all has settled.

Made anew each time, as a fixture is: the group, its brokers, its clock. Virtual time passes to the end: with Kafka the
session of the crashed member, 45 s, is in it. Beside it the same test with real consumers, which takes the time that it
takes: confluent-kafka on its mock cluster, and on a broker of Kafka 4.1.0 from its Maven jars (skipped with a word
where they cannot be had).

python -m benchmarks.pytest_fixture [--rounds N] [--real-rounds N]
"""

import time
from collections.abc import Callable
from statistics import median

import click
from tabulate import tabulate

from benchmarks.real_group import BROKER_SESSION_MS, MOCK_SESSION_MS, on_broker, on_mock
from compare.testing import Clock, Group
from tests.slow.java import UnavailableError

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


def beside_real_consumers(fixture_s: float, rounds: int) -> None:
    """The same test with real consumers, in seconds on the wall, and how many times the fixture's."""
    rows: list[list[str]] = [["the fixture, kafka:range", f"{fixture_s:.4f}", "1", ""]]

    def row(name: str, seconds: list[float], note: str) -> list[str]:
        return [name, f"{median(seconds):.2f}", f"{median(seconds) / fixture_s:,.0f}", note]

    session = f"session {MOCK_SESSION_MS / 1000:.0f} s, no initial delay"
    rows.append(row("confluent-kafka on its mock cluster", on_mock(rounds), session))
    try:
        up, seconds = on_broker(rounds)
    except UnavailableError as error:
        print(f"no broker: {error}")
    else:
        note = f"session {BROKER_SESSION_MS / 1000:.0f} s, initial delay 0.5 s; {up:.0f} s until it is up"
        rows.append(row("confluent-kafka on a broker of Kafka 4.1.0", seconds, note))
    print(tabulate(rows, headers=["join, crash, settle", "wall s", "times the fixture", ""], disable_numparse=True))


@click.command()
@click.option("--rounds", default=200, show_default=True)
@click.option("--real-rounds", default=3, show_default=True, help="Rounds with real consumers; 0: none.")
def main(rounds: int, real_rounds: int) -> None:
    """Join, crash and settle of a group of three."""
    fixture_s = 0.0
    rows = []
    for system, strategy in (("kafka", "range"), ("kafka", "cooperative-sticky"), ("rocketmq", "AVG")):
        kind = system

        def make(kind: str = kind, strategy: str = strategy) -> Group:
            return Group(kind, Clock())(members=["c1", "c2"], strategy=strategy, produce=0)

        timed(make, 3)
        making, living = timed(make, rounds)
        row = [f"{value:.2f}" for value in (median(making), median(living), min(living))]
        fixture_s = fixture_s or (median(making) + median(living)) / 1000
        rows.append([f"{system}:{strategy}", *row, f"{MOST_MS:.0f}"])
    headers = ["group", "made (CPU ms)", "join, crash, settle (CPU ms)", "the best", "must be below"]
    print(tabulate(rows, headers=headers))
    if real_rounds:
        print()
        beside_real_consumers(fixture_s, real_rounds)


if __name__ == "__main__":
    main()
