"""What `equipoise history` asks of snapshots, by DuckDB, as a good user of it would write it."""

from pathlib import Path

import duckdb
import pyarrow as pa

_ROWS = """
create or replace view rows as
select *, epoch_ms("at") as ms from read_parquet('{root}/**/*.parquet', hive_partitioning = true);
create or replace temp table polls as
select cluster, ms, case when next is null then every else least(next - ms, 2 * every) end as stands
from (
  select *, lead(ms) over (partition by cluster order by ms) as next
  from (select cluster, ms, max(round(every_s * 1000))::bigint as every from rows group by all));
create or replace temp table changed as
select cluster, system, "group", ms, moves, joined, "left" from rows
where moves > 0 or len(joined) > 0 or len("left") > 0;
"""

_DAYS = """
select cluster, system, "group", ms // 86400000 as day, count(*) as snapshots,
  min(ms) as first_ms, max(ms) as last_ms, sum(stands)::bigint as ms,
  sum(case when distance > 0 then stands else 0 end)::bigint as unfair_ms,
  sum(case when distance is null then stands else 0 end)::bigint as unknown_ms,
  sum(case when idle_members > 0 then stands else 0 end)::bigint as idle_ms,
  sum(case when unowned_queues > 0 then stands else 0 end)::bigint as unowned_ms,
  sum(case when double_owned_queues > 0 then stands else 0 end)::bigint as double_owned_ms,
  sum(moves)::bigint as moves, sum(len(joined))::bigint as joined, sum(len("left"))::bigint as left_,
  sum(round_even(score * 1000000, 0)::bigint * stands)::hugeint as score_sum,
  sum(case when score is not null then stands else 0 end)::bigint as score_ms,
  sum(round_even(max_over_mean * 10000, 0)::bigint * stands)::hugeint as max_over_mean_sum,
  sum(case when max_over_mean is not null then stands else 0 end)::bigint as max_over_mean_ms,
  sum(lag * stands)::hugeint as lag_sum, sum(case when lag is not null then stands else 0 end)::bigint as lag_ms,
  min(score) as score_min, max(max_over_mean) as max_over_mean_max, max(distance) as distance_max, max(lag) as lag_max,
  max_by(score, ms) as score_last, max_by(lag, ms) as lag_last
from rows join polls using (cluster, ms) group by all
"""

_GROUPS = f"""
with days as ({_DAYS})
select cluster, system, "group", sum(snapshots)::bigint as snapshots, sum(ms)::bigint as ms,
  sum(unfair_ms)::bigint as unfair_ms, sum(unknown_ms)::bigint as unknown_ms, sum(idle_ms)::bigint as idle_ms,
  sum(unowned_ms)::bigint as unowned_ms, sum(double_owned_ms)::bigint as double_owned_ms, sum(moves)::bigint as moves,
  sum(joined)::bigint as joined, sum(left_)::bigint as left_, sum(score_sum)::bigint as score_sum,
  sum(score_ms)::bigint as score_ms, sum(max_over_mean_sum)::bigint as max_over_mean_sum,
  sum(max_over_mean_ms)::bigint as max_over_mean_ms, sum(lag_sum)::bigint as lag_sum, sum(lag_ms)::bigint as lag_ms,
  min(first_ms) as first_ms, max(days.last_ms) as last_ms, min(score_min) as score_min,
  max(max_over_mean_max) as max_over_mean_max, max(distance_max) as distance_max, max(lag_max) as lag_max,
  max_by(score_last, days.last_ms) as score_last, max_by(lag_last, days.last_ms) as lag_last,
  regr_slope(round(score_sum / score_ms), day) as slope,
  list({{'day': day, 'ms': ms, 'unfair_ms': unfair_ms, 'idle_ms': idle_ms, 'moves': moves, 'score_sum': score_sum,
    'score_ms': score_ms, 'lag_sum': lag_sum, 'lag_ms': lag_ms, 'lag_max': lag_max}} order by day) as days
from days group by all
"""

_REBALANCES = """
with begun as (
  select *, case when ms - lag(ms) over w <= 120000 then 0 else 1 end as begins from changed
  window w as (partition by cluster, system, "group" order by ms)),
numbered as (select *, sum(begins) over (partition by cluster, system, "group" order by ms) as number from begun),
sessions as (
  select cluster, system, "group", number, min(ms) as since, max(ms) - min(ms) as took, sum(moves)::bigint as moves
  from numbered group by all)
select cluster, system, "group", since // 86400000 as day, count(*) as rebalances, max(took) as longest_ms,
  max(moves) as most_moves
from sessions group by all
"""

_MEMBERS = """
with each as (
  select cluster, system, "group", member, bool_or(came) as came, bool_or(not came) as gone from (
    select cluster, system, "group", unnest(joined) as member, true as came from changed
    union all select cluster, system, "group", unnest("left"), false from changed)
  group by all)
select cluster, system, "group", count_if(came) as came, count_if(gone) as left_, count_if(came and gone) as come_and_go
from each group by all
"""

_TOPICS = """
with uneven as (
  select cluster, system, "group", stands, unnest(list_filter(topics, lambda t: t.max > t.min)) as topic
  from rows join polls using (cluster, ms) where distance > 0 and pile_up > 0)
select cluster, system, "group", topic.topic as topic, sum(stands)::bigint as ms,
  max(topic.max_over_mean) as max_over_mean_max, max(topic.lag) as lag_max
from uneven group by all
"""


def by_duckdb(folder: Path) -> dict[str, pa.Table]:
    """The tables of `compare.measure.spark.history.HistoryTables`, by name."""
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        connection.execute(_ROWS.format(root=folder / "snapshots"))
        queries = {"groups": _GROUPS, "rebalances": _REBALANCES, "members": _MEMBERS, "topics": _TOPICS}
        return {name: connection.sql(query).to_arrow_table() for name, query in queries.items()}
