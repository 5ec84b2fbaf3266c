"""All fairness figures of many groups from Parquet, on Spark.

Peers: DuckDB and polars, each as a good user of it would write it, and just reading; in the same run, warm.
Budgets: 1 times DuckDB's CPU from files in any order, 2 for writing a snapshot, 1.2 from DataFrames.

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

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from tabulate import tabulate

from benchmarks.process_tree import cpu_seconds, peak_memory
from compare import spark

ROWS_PER_GROUP = 107
_GROUPS_AT_ONCE = 100_000
_FILES_AT_ONCE = 8
_QUEUES = (4, 8, 16, 32, 64, 90)
_MEMBERS_OF_ONE_GROUP = 1000

SHAPES = ("usual", "unique", "one-group")
"""Few names and weights of 1; member names that no other group has, and random weights; one group that has all rows."""


def generate(folder: Path, rows: int, shape: str = "usual") -> int:
    """Write ``ownership`` and ``members`` below the folder and return the number of rows of ownership; ``shape`` is one
    of `SHAPES`.

    Groups have 1 to 20 members and 1 to 5 topics of 4 to 90 queues on two brokers, each queue a random owner; one in a
    hundred has none, one in a thousand two.
    """
    draw = np.random.default_rng(1)
    for name in ("ownership", "members"):
        (folder / name).mkdir(parents=True)
    if shape == "one-group":
        queues = np.full(2, rows // 2)
        return _write(folder, draw, 0, np.array([_MEMBERS_OF_ONE_GROUP]), np.array([2]), queues, is_unique=False)
    groups, written = max(1, rows // ROWS_PER_GROUP), 0
    for first in range(0, groups, _GROUPS_AT_ONCE):
        size = min(_GROUPS_AT_ONCE, groups - first)
        members, topics = draw.integers(1, 21, size), draw.integers(1, 6, size)
        queues = draw.choice(_QUEUES, int(topics.sum()))
        written += _write(folder, draw, first, members, topics, queues, is_unique=shape == "unique")
    return written


def _write(
    folder: Path,
    draw: np.random.Generator,
    first: int,
    members: np.ndarray,
    topics: np.ndarray,
    queues: np.ndarray,
    *,
    is_unique: bool,
) -> int:
    group, topic = _spread(topics)
    of_topic, number = _spread(queues)
    group, topic = group[of_topic], topic[of_topic]
    owner = (draw.random(len(group)) * members[group]).astype(np.int64)
    owner[draw.random(len(group)) < 0.01] = -1
    twice = np.flatnonzero((draw.random(len(group)) < 0.001) & (owner >= 0) & (members[group] > 1))
    group, topic, number = (np.append(values, values[twice]) for values in (group, topic, number))
    owner = np.append(owner, (owner[twice] + 1) % members[group[twice]])
    weight = draw.integers(0, 1000, len(group)) if is_unique else np.ones(len(group), dtype=np.int64)
    of_group = np.cumsum(members) - members if is_unique else np.zeros(len(members), dtype=np.int64)
    for at, chosen in enumerate(np.array_split(draw.permutation(len(group)), _FILES_AT_ONCE)):
        table = pa.table(
            {
                **_names(first + group[chosen]),
                "topic": _texts("topic", topic[chosen]),
                "broker": _texts("broker", number[chosen] % 2),
                "queue": pa.array(number[chosen] // 2, pa.int32()),
                "owner": _texts(
                    f"member-{first}" if is_unique else "member",
                    np.where(owner < 0, -1, of_group[group] + owner)[chosen],
                ),
                "weight": pa.array(weight[chosen]),
            }
        )
        pq.write_table(table, folder / "ownership" / f"{first + at}.parquet")
    home, member = _spread(members)
    order = draw.permutation(len(home))
    names = _texts(f"member-{first}" if is_unique else "member", (of_group[home] + member)[order])
    listed = pa.table({**_names(first + home[order]), "member": names})
    pq.write_table(listed, folder / "members" / f"{first}.parquet")
    return len(group)


def _spread(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every one of ``sizes[i]`` things its i, and its position among them."""
    whose = np.repeat(np.arange(len(sizes)), sizes)
    return whose, np.arange(len(whose)) - (np.cumsum(sizes) - sizes)[whose]


def _names(group: np.ndarray) -> dict[str, pa.Array]:
    return {"run": pa.array(group // 10), "group": _texts("group", group % 10)}


def _texts(word: str, numbers: np.ndarray) -> pa.Array:
    names = pa.array([f"{word}-{number}" for number in range(int(numbers.max(initial=0)) + 1)])
    return names.take(pa.array(numbers, mask=numbers < 0))


_SQL = """
with own as (select * from read_parquet('{own}/*.parquet') where not starts_with(topic, '%RETRY%')),
everyone as (
  select run, "group", member from read_parquet('{mem}/*.parquet')
  union select run, "group", owner from own where owner is not null),
sizes as (select run, "group", count(*) as n from everyone group by all),
{queues},
per_topic as (
  select run, "group", topic, owner as member, sum(weight)::bigint as x from own where owner is not null group by all),
squares as (
  select run, "group", topic, sum(x)::hugeint as s, sum(x * x)::hugeint as s2 from per_topic group by all),
within_topics as (
  select run, "group", sum(n * s2 - s * s) as deviation, sum(sqrt(n * s2 - s * s)) as roots,
    count_if(n * s2 > s * s) as uneven
  from squares join sizes using (run, "group") group by all),
totals as (select run, "group", member, sum(x)::bigint as x from per_topic group by all),
loads as (
  select run, "group", member, coalesce(x, 0) as x, x is null as idle
  from everyone left join totals using (run, "group", member)),
ranked as (
  select *, row_number() over (partition by run, "group" order by x) as r,
    sum(x) over (partition by run, "group") as total
  from loads),
sums as (
  select run, "group", any_value(n) as n, count_if(idle) as idle, min(x) as low, max(x) as high,
    sum(x)::hugeint as s, sum(x * x)::hugeint as s2, sum(r * x)::hugeint as ranked,
    sum(case when x > 0 then x / total * ln(x * n / total) else 0 end) as theil
  from ranked join sizes using (run, "group") group by all)
select run, "group", n as members, idle as idle_members, queues, unowned as unowned_queues,
  double_owned as double_owned_queues, low as min, high as max, s / n as mean, high - low as spread,
  idle / n as idle_share, sqrt(n * s2 - s * s) / s as cv, s * s / (n * s2) as jain,
  (2 * ranked - (n + 1) * s) / (n * s) as gini, theil, high * n / s as max_over_mean,
  case when uneven > 1 then (n * s2 - s * s - deviation) / (roots * roots - deviation) else 0 end as pile_up
from sums left join queue_counts using (run, "group") left join within_topics using (run, "group")
"""

_EXACT = """owners as (
  select run, "group", topic, broker, queue, count(owner) as owners from own group by all),
queue_counts as (
  select run, "group", count(*) as queues, count_if(owners = 0) as unowned, count_if(owners > 1) as double_owned
  from owners group by all)"""

_ROWS = """queue_counts as (
  select run, "group", count(*) as queues, count(*) - count(owner) as unowned, null as double_owned
  from own group by all)"""


def by_duckdb(folder: Path, *, exact: bool = True) -> int:
    """All figures; without ``exact`` rows stand for queues, which cannot tell queues with several owners."""
    query = _SQL.format(own=folder / "ownership", mem=folder / "members", queues=_EXACT if exact else _ROWS)
    return len(duckdb.sql(query).to_arrow_table())


def read_by_duckdb(folder: Path) -> int:
    """Every column, and nothing else."""
    names = ("run", '"group"', "topic", "broker", "queue", "owner", "weight")
    wanted = ", ".join(f"max({name})" for name in names)
    return len(duckdb.sql(f"select {wanted} from read_parquet('{folder}/ownership/*.parquet')").fetchall())


def by_polars(folder: Path) -> int:
    """All figures, on the streaming engine."""
    keys = ["run", "group"]
    own = pl.scan_parquet(f"{folder}/ownership/*.parquet").filter(~pl.col("topic").str.starts_with("%RETRY%"))
    listed = pl.scan_parquet(f"{folder}/members/*.parquet").select(*keys, "member")
    owned = own.filter(pl.col("owner").is_not_null()).rename({"owner": "member"})
    everyone = pl.concat([listed, owned.select(*keys, "member")]).unique()
    queues = (
        own.group_by(*keys, "topic", "broker", "queue")
        .agg(pl.col("owner").count().alias("owners"))
        .group_by(keys)
        .agg(
            pl.len().alias("queues"),
            (pl.col("owners") == 0).sum().alias("unowned_queues"),
            (pl.col("owners") > 1).sum().alias("double_owned_queues"),
        )
    )
    per_topic = owned.group_by(*keys, "topic", "member").agg(pl.col("weight").sum().alias("x"))
    x, n, total = pl.col("x"), pl.col("members"), pl.col("total")
    squares = per_topic.group_by(*keys, "topic").agg(x.sum().alias("s"), (x * x).sum().alias("s2"))
    totals = per_topic.group_by(*keys, "member").agg(x.sum())
    loads = everyone.join(totals, on=[*keys, "member"], how="left").with_columns(idle=x.is_null(), x=x.fill_null(0))
    share = x / x.sum()
    sums = loads.group_by(keys).agg(
        pl.len().cast(pl.Int64).alias("members"),
        pl.col("idle").sum().alias("idle_members"),
        x.min().alias("min"),
        x.max().alias("max"),
        x.sum().alias("total"),
        (x * x).sum().alias("squares"),
        (x.sort() * pl.int_range(1, pl.len() + 1)).sum().alias("ranked"),
        pl.when(x > 0).then(share * (share * pl.len()).log()).otherwise(0).sum().alias("theil"),
    )
    of_topic = n * pl.col("s2") - pl.col("s") ** 2
    within = (
        squares.join(sums.select(*keys, "members"), on=keys)
        .group_by(keys)
        .agg(of_topic.sum().alias("within"), of_topic.sqrt().sum().alias("roots"), (of_topic > 0).sum().alias("uneven"))
    )
    deviation = n * pl.col("squares") - total**2
    figures = (
        sums.join(queues, on=keys, how="left")
        .join(within, on=keys, how="left")
        .select(
            *keys,
            "members",
            "idle_members",
            "queues",
            "unowned_queues",
            "double_owned_queues",
            "min",
            "max",
            "theil",
            mean=total / n,
            spread=pl.col("max") - pl.col("min"),
            idle_share=pl.col("idle_members") / n,
            cv=deviation.sqrt() / total,
            jain=total**2 / (n * pl.col("squares")),
            gini=(2 * pl.col("ranked") - (n + 1) * total) / (n * total),
            max_over_mean=pl.col("max") * n / total,
            pile_up=pl.when(pl.col("uneven") > 1)
            .then((deviation - pl.col("within")) / (pl.col("roots") ** 2 - pl.col("within")))
            .otherwise(0),
        )
    )
    return figures.collect(engine="streaming").height


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
