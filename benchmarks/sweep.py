"""`equipoise sweep`: closed forms in native columns beside the strategies in Python; full simulations on one
processor and two; what Spark costs around them.

`python -m benchmarks.sweep [--cells 20000] [--events none,join,leave,grow] [--runs 300] [--large 10000000]`. All
are measured in one warmed session. CPU seconds count JVM and Python. ``--large``: so many group-variants in native
columns, once (0: none).
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tabulate import tabulate

from benchmarks.process_tree import cpu_seconds
from compare.measure.spark.sessions import session
from compare.sweeping import parts as cutting
from compare.sweeping.folder import opened
from compare.sweeping.grid import Sweep
from compare.sweeping.parts import Part, parts_of
from compare.sweeping.reading import read_text
from compare.sweeping.rows import table_of
from compare.sweeping.running import run_parts

GROUPS = """
name: benchmark
kind: allocations
members: 1..64
topics: [1, 4, 16]
queues: 1..{queues}
events: [{event}]
systems: [kafka:range, kafka:roundrobin, rocketmq:AVG, rocketmq:AVG_BY_CIRCLE]
loads: {loads}
"""
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
SAMPLED = 8
AT_LEAST = {"false": 15.0, "true": 5.0}
TWO_CORES, OVERHEAD = 1.6, 1.1


def swept(sweep: Sweep, parts: Sequence[Part], tasks: int | None = None) -> tuple[int, float, float]:
    """Rows, seconds and CPU seconds of these parts in a new folder."""
    with tempfile.TemporaryDirectory(prefix="equipoise-bench-") as folder:
        opened(Path(folder), sweep, parts)
        cpu, wall = cpu_seconds(), time.perf_counter()
        finished = run_parts(sweep, parts, Path(folder), lambda done: None, tasks)
        took = time.perf_counter() - wall, cpu_seconds() - cpu
        return sum(each["rows"] for each in finished.records.values()), *took


def without_optimum(sweep: Sweep, native: bool) -> list[Part]:
    """The parts of the strategies, all in native columns or all in Python."""
    before, cutting.NATIVE_FROM = cutting.NATIVE_FROM, 1 if native else sweep.cells + 1
    try:
        return [part for part in parts_of(sweep) if part.variant < len(sweep.systems) - 1]
    finally:
        cutting.NATIVE_FROM = before


def closed_forms(cells: int, events: Sequence[str]) -> None:
    """Rows per CPU second in native columns (once before: warm), and of a sample of the same rows in Python:
    `SAMPLED` parts, evenly spread over the grid, of some seconds of work each."""
    told = []
    for event in events:
        for loads in ("true", "false"):
            queues = max(1, cells // (64 * 3))
            sweep = read_text(GROUPS.format(queues=queues, event=event, loads=loads)).sweep
            swept(sweep, without_optimum(sweep, True))
            rates = []
            for native in (False, True):
                parts = without_optimum(sweep, native)
                rows, wall, cpu = swept(sweep, parts if native else parts[:: max(1, len(parts) // SAMPLED)])
                rates.append(rows / cpu)
                told.append((event, loads, "native" if native else "Python", rows, wall, cpu, rows / cpu))
            told[-1] = (*told[-1], rates[1] / rates[0], AT_LEAST[loads])
            print(f"{event}, loads {loads}: {rates[1] / rates[0]:.1f} times", flush=True)
    heads = ["event", "loads", "computed", "rows", "wall s", "CPU s", "rows per CPU s", "times Python", "at least"]
    print(tabulate(told, headers=heads, floatfmt=",.1f", intfmt=","), flush=True)


def large(rows: int) -> None:
    """A tenth and all of so many group-variants in native columns."""
    told = []
    for many in (rows // 10, rows):
        sweep = read_text(GROUPS.format(queues=max(1, many // (64 * 3 * 4)), event="join", loads="false")).sweep
        found, wall, cpu = swept(sweep, without_optimum(sweep, True))
        told.append((found, wall, cpu, 1e6 * cpu / found))
    heads = ["rows", "wall s", "CPU s", "us of CPU per row"]
    print(tabulate(told, headers=heads, floatfmt=",.1f", intfmt=","), flush=True)


def simulations(runs: int) -> None:
    """The same runs without Spark, in one task after the other, and on all processors."""
    sweep = read_text(RUNS.format(last=max(1, runs // 3) - 1)).sweep
    parts = parts_of(sweep)

    def plain() -> tuple[int, float, float]:
        cpu, wall = cpu_seconds(), time.perf_counter()
        rows = sum(table_of(sweep, part).num_rows for part in parts)
        return rows, time.perf_counter() - wall, cpu_seconds() - cpu

    swept(sweep, parts[:2])  # Workers have imported everything.
    jobs: dict[str, Callable[[], tuple[int, float, float]]] = {
        "without Spark": plain,
        "Spark, one task": lambda: swept(sweep, parts, 1),
        "Spark, a task for each part": lambda: swept(sweep, parts),
    }
    told = [(name, *job()) for name, job in jobs.items()]
    print(f"{len(parts)} parts of {told[0][3] / len(parts):.1f} CPU s")
    print(tabulate(told, headers=["", "runs", "wall s", "CPU s"], floatfmt=".2f", intfmt=","))
    one, two = told[1][2], told[2][2]
    print(f"two processors {one / two:.2f} times one (at least {TWO_CORES})")
    print(f"CPU with Spark {told[2][3] / told[0][3]:.2f} times without (at most {OVERHEAD})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--events", default="none,join,leave,grow")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--large", type=int, default=10_000_000)
    options = parser.parse_args()
    session()
    closed_forms(options.cells, options.events.split(","))
    if options.large:
        large(options.large)
    simulations(options.runs)


if __name__ == "__main__":
    main()
