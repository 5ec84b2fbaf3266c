"""All fairness figures of many groups from Parquet: ours on Spark beside DuckDB, polars and just reading.

`python -m benchmarks.fairness [--rows 10m] [--shape usual] [--rounds 2] [--heap 1g] [--only LINE]...`. CPU seconds
count JVM and Python workers; a first round warms everything up and is not counted. Memory is measured in a round of its
own, because looking at all processes costs the driver CPU. "Rows as queues" is less work than the others do: it cannot
tell queues with two owners.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from tabulate import tabulate

from benchmarks.fairness_data import SHAPES, generate
from benchmarks.fairness_peers import by_duckdb, by_polars, read_by_duckdb
from benchmarks.process_tree import cpu_seconds, peak_memory
from compare import spark

_UNITS = {"k": 10**3, "m": 10**6}
_BASE = "DuckDB, any order"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", default="10m", help="rows of ownership, such as 1m, 10m (default), 100m")
    parser.add_argument("--shape", default="usual", choices=SHAPES, help="names, weights and groups")
    parser.add_argument("--rounds", type=int, default=2, help="counted rounds; the best one is shown")
    parser.add_argument("--heap", default="1g", help="the JVM's heap")
    parser.add_argument("--cold", action="store_true", help="no round that warms up; start-up of Spark included")
    parser.add_argument("--no-memory", action="store_true", help="no round that measures memory")
    parser.add_argument("--only", action="append", help="a line of the table to run; repeatable")
    options = parser.parse_args()
    number, unit = options.rows[:-1], options.rows[-1].lower()
    rows = int(number) * _UNITS[unit] if unit in _UNITS else int(options.rows)
    with tempfile.TemporaryDirectory(prefix="equipoise-bench-") as folder:
        _run(Path(folder), rows, options)


def _run(folder: Path, rows: int, options: argparse.Namespace) -> None:
    shuffled, snapshot = folder / "any", folder / "snapshot"
    written = generate(shuffled, rows, options.shape)
    memory = {"spark__driver__memory": options.heap}

    def ours(where: Path) -> int:
        spark.session(**memory)
        return spark.fairness(where / "ownership", where / "members").toArrow().num_rows

    def tables() -> list[DataFrame]:
        session = spark.session(**memory)
        return [session.read.parquet(str(shuffled / name)) for name in ("ownership", "members")]

    def write(*sources: Path | DataFrame) -> int:
        spark.session(**memory)
        shutil.rmtree(snapshot, ignore_errors=True)
        spark.write_snapshot(sources[0], sources[1], snapshot)
        return 0

    jobs: dict[str, Callable[[], int]] = {
        _BASE: lambda: by_duckdb(shuffled),
        "Equipoise, any order": lambda: ours(shuffled),
        "Equipoise, any order, DataFrames": lambda: spark.fairness(*tables()).toArrow().num_rows,
        "write a snapshot from DataFrames": lambda: write(*tables()),
        "write a snapshot": lambda: write(shuffled / "ownership", shuffled / "members"),
        "Equipoise, snapshot": lambda: ours(snapshot),
        "DuckDB, snapshot": lambda: by_duckdb(snapshot),
        "DuckDB, any order, rows as queues": lambda: by_duckdb(shuffled, exact=False),
        "polars, any order": lambda: by_polars(shuffled),
        "DuckDB, just reading, any order": lambda: read_by_duckdb(shuffled),
        "pyarrow, just reading, any order": lambda: pq.read_table(shuffled / "ownership").num_rows,
    }
    chosen = {name: job for name, job in jobs.items() if not options.only or name in options.only}
    measured = {}
    for name, job in chosen.items():
        if not options.cold:
            job()
        cpu, wall = min(_measure(job) for _ in range(options.rounds))
        measured[name] = cpu, wall, float("nan") if options.no_memory else _memory(job)
        print(f"{name}: {cpu:.2f} CPU s", flush=True)
    base = measured.get(_BASE, (float("nan"),))[0]
    table = [
        (name, cpu, wall, written / wall / 1e6, cpu / base, peak / 2**30)
        for name, (cpu, wall, peak) in measured.items()
    ]
    start = "cold" if options.cold else "warm"
    print(f"\n{written:,} rows of ownership ({options.shape}), all figures, {start}, heap {options.heap}")
    headers = ["", "CPU s", "wall s", "million rows/s", "CPU, DuckDB = 1", "memory GB"]
    print(tabulate(table, headers, floatfmt=".2f", tablefmt="github"))


def _measure(job: Callable[[], int]) -> tuple[float, float]:
    """CPU seconds, wall seconds."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    job()
    return cpu_seconds() - cpu, time.perf_counter() - wall


def _memory(job: Callable[[], int]) -> float:
    """Peak memory of all processes, in bytes."""
    with peak_memory() as peak:
        job()
    return peak.bytes


if __name__ == "__main__":
    main()
