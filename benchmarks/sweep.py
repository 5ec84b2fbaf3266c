"""`equipoise sweep`: a million group-variants of four strategies; full simulations on one processor and two; what Spark
costs around them.

`python -m benchmarks.sweep [--groups 1000000] [--runs 300]`. All are measured in one session. CPU seconds count JVM and
Python. ``--groups``: so many group-variants, once.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from tabulate import tabulate

from benchmarks.process_tree import cpu_seconds
from compare.figures.spark.sessions import session
from compare.sweeping.folder import Part, opened, parts_of
from compare.sweeping.grid import Sweep
from compare.sweeping.reading import read_text
from compare.sweeping.running import run_parts, table_of

GROUPS = """
name: benchmark
kind: allocations
members: 1..64
topics: [1, 4, 16]
queues: 1..{queues}
subscriptions: [equal, skewed, disjoint, nested]
events: [none, join, leave, grow]
systems: [kafka:range, kafka:roundrobin, rocketmq:AVG, rocketmq:AVG_BY_CIRCLE]
"""
PER_QUEUE = 64 * 3 * 4 * 4
"""Group-variants of each variant for each number of queues."""
RUNS = """
name: benchmark
kind: simulations
members: 8
topics: 2
queues: 16
events: crash
systems: [kafka:range, kafka:cooperative-sticky, rocketmq:AVG]
seeds: 0..{last}
produce: 5/s
"""
MOST_S = 240.0
"""Seconds that a million group-variants may take on two processors."""
TWO_CORES, OVERHEAD = 1.6, 1.1


Took: TypeAlias = tuple[int, float, float]


def swept(sweep: Sweep, parts: Sequence[Part], tasks: int | None = None, engine: str = "spark") -> Took:
    """Rows, seconds and CPU seconds of these parts in a new folder."""
    with tempfile.TemporaryDirectory(prefix="equipoise-bench-") as folder:
        finished = opened(Path(folder), sweep, parts)
        cpu, wall = cpu_seconds(), time.perf_counter()
        run_parts(sweep, finished, lambda done: None, engine, tasks)
        return finished.rows, time.perf_counter() - wall, cpu_seconds() - cpu


def groups(rows: int) -> None:
    """So many group-variants of the four strategies, and the optimum of each group."""
    sweep = read_text(GROUPS.format(queues=max(1, round(rows / PER_QUEUE / 4)))).sweep
    optimum = len(sweep.systems) - 1
    parts = parts_of(sweep)
    told = []
    for name, chosen in (
        ("four strategies", [part for part in parts if part.variant < optimum]),
        ("their optimum", [part for part in parts if part.variant == optimum]),
    ):
        found, wall, cpu = swept(sweep, chosen)
        told.append((name, len(chosen), found, wall, cpu, 1e6 * cpu / found))
    print(tabulate(told, headers=["", "parts", "rows", "wall s", "CPU s", "us of CPU per row"], floatfmt=",.1f"))
    per_million = told[0][3] * 1e6 / told[0][2]
    print(f"a million group-variants: {per_million:.0f} s (at most {MOST_S:.0f})", flush=True)


def simulations(runs: int) -> None:
    """The same runs without Spark, in one task after the other, and on all processors."""
    sweep = read_text(RUNS.format(last=max(1, runs // 3) - 1)).sweep
    parts = parts_of(sweep)

    def plain() -> Took:
        cpu, wall = cpu_seconds(), time.perf_counter()
        rows = sum(table_of(sweep, part).num_rows for part in parts)
        return rows, time.perf_counter() - wall, cpu_seconds() - cpu

    swept(sweep, parts[:2])  # Workers have imported everything.
    jobs: dict[str, Callable[[], Took]] = {
        "without Spark": plain,
        "Spark, one task": lambda: swept(sweep, parts, 1),
        "Spark, a task for each part": lambda: swept(sweep, parts),
        "processes": lambda: swept(sweep, parts, engine="local"),
    }
    told = [(name, *job()) for name, job in jobs.items()]
    print(f"{len(parts)} parts of {told[0][3] / len(parts):.1f} CPU s")
    print(tabulate(told, headers=["", "runs", "wall s", "CPU s"], floatfmt=".2f", intfmt=","))
    one, two = told[1][2], told[2][2]
    print(f"two processors {one / two:.2f} times one (at least {TWO_CORES})")
    print(f"CPU with Spark {told[2][3] / told[0][3]:.2f} times without (at most {OVERHEAD})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--groups", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args()
    session()
    if options.groups:
        groups(options.groups)
    if options.runs:
        simulations(options.runs)


if __name__ == "__main__":
    main()
