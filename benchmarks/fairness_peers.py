"""The same figures by DuckDB and polars, as a good user of each would write them."""

from pathlib import Path

import duckdb
import polars as pl

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
