"""`equipoise history` on a month of snapshots of 5,000 groups, 10.8 million rows: Spark beside DuckDB.

`python -m benchmarks.history [--groups 5000] [--days 30] [--every 1200] [--rounds 2] [--data DIR]`. Both answer the
same questions (hours unfair and idle, moves, rebalances put together from changes, members that come and go, trends,
topics that pile up), and their answers are compared. CPU seconds count JVM and Python; "cold" includes the start of
Spark. ``--data`` keeps the snapshots, or takes those that are there.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
from tabulate import tabulate

from benchmarks.history_data import generate
from benchmarks.history_peer import by_duckdb
from benchmarks.process_tree import cpu_seconds, peak_memory
from compare.measure.spark.history import KEYS, Unfair, history, read_snapshots
from compare.measure.spark.sessions import session

AT_MOST = 4.0


def by_spark(folder: Path) -> dict[str, pa.Table]:
    """The tables of `history`, by name."""
    found = history(read_snapshots(session(), str(folder / "snapshots"), None), Unfair("distance", ">", 0), 120.0)
    return {name: getattr(found, name) for name in ("groups", "rebalances", "members", "topics")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--groups", type=int, default=5000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--every", type=float, default=1200.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="equipoise-bench-")))
        if not (folder / "snapshots").is_dir():
            generate(folder, options.groups, options.days, options.every)
        _run(folder, options.rounds)


def _run(folder: Path, rounds: int) -> None:
    jobs: dict[str, Callable[[Path], dict[str, pa.Table]]] = {"DuckDB": by_duckdb, "Equipoise": by_spark}
    measured, answers = [], {}
    for name, job in jobs.items():
        for number in range(rounds + 1):
            with peak_memory() as peak:
                cpu, wall = cpu_seconds(), time.perf_counter()
                answers[name] = job(folder)
                took = cpu_seconds() - cpu, time.perf_counter() - wall
            measured.append((name, "warm" if number else "cold", *took, peak.bytes / 2**30))
            print(*measured[-1], flush=True)
    rows = answers["Equipoise"]["groups"]["snapshots"].to_pylist()
    compare_answers(answers["DuckDB"], answers["Equipoise"])
    best = {(name, how): min(each[2:] for each in measured if each[:2] == (name, how)) for name, how, *_ in measured}
    table = [(name, how, *best[name, how], best[name, how][0] / best["DuckDB", how][0]) for name, how in best]
    print(f"\n{sum(rows):,} rows of snapshots of {len(rows):,} groups; at most {AT_MOST:g} times DuckDB")
    print(
        tabulate(table, ["", "", "CPU s", "wall s", "memory GB", "CPU, DuckDB = 1"], floatfmt=".2f", tablefmt="github")
    )


def compare_answers(theirs: dict[str, pa.Table], ours: dict[str, pa.Table]) -> None:
    """AssertionError where a number that both have differs."""
    for name, table in theirs.items():
        order = [(key, "ascending") for key in (*KEYS, "day", "topic") if key in table.column_names]
        left, right = table.sort_by(order), ours[name].sort_by(order)
        for column in left.column_names:
            mine = column.removesuffix("_")
            if mine == "slope":
                continue
            one, other = left[column].to_pylist(), right[mine].to_pylist()
            assert one == other, (name, column, next((a, b) for a, b in zip(one, other, strict=True) if a != b))


if __name__ == "__main__":
    main()
