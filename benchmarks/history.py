"""`equipoise history` on a month of snapshots of 5,000 groups, 10.8 million rows, by both engines.

Peer: DuckDB in the same run, and the answers are compared (hours unfair, idle and in a storm, moves, rebalances,
members that come and go, means, topics that pile up). Budget: 1.5 times DuckDB's CPU, warm.

`python -m benchmarks.history [--groups 5000] [--days 30] [--every 1200] [--rounds 2] [--data DIR]`. CPU seconds count
JVM and Python; "cold" includes the start of Spark. ``--data`` keeps the snapshots, or takes those that are there.
"""

import argparse
import operator
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import cast

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tabulate import tabulate

from benchmarks.process_tree import cpu_seconds, peak_memory
from compare.figures.history_parts import Unfair
from compare.figures.metrics import COUNTS, LOADS
from compare.history import counted, selected
from compare.snapshots import TOPIC_COUNTS, TOPIC_LOADS, compact, day_of, snapshot_schema, write_snapshot_file

START = 1_795_305_600.0
"""2026-11-22 00:00:00 UTC."""
CLUSTER = "month"
_DAY_S = 86_400
_CHANGES = 0.02
"""Part of the groups that change from one poll to the next."""
_TOPICS = 3

Ints = npt.NDArray[np.int64]


def generate(folder: Path, groups: int = 5000, days: int = 30, every_s: float = 1200.0, seed: int = 1) -> int:
    """Write the snapshots of all polls and return their number of rows: ``groups`` times ``days * 86400 / every_s``.

    Groups have 1 to 12 members and 1 to 3 topics of 4 to 16 queues. Each poll, one group in 50 gets other loads:
    members come or leave and queues move, sometimes in several polls in a row. Owners are left out, as between changes.
    Days that are over are one file each.
    """
    draw = np.random.default_rng(seed)
    state = _State(draw, groups)
    polls = int(days * _DAY_S / every_s)
    for number in range(polls):
        table = state.poll(draw, START + number * every_s, every_s, number == 0)
        write_snapshot_file(folder, CLUSTER, START + number * every_s, table)
        if number and not number * every_s % _DAY_S:
            compact(folder, CLUSTER, day_of(START + number * every_s))
    return polls * groups


class _State:
    """The groups between two polls: loads of the members of each topic, as one array of groups x topics x members."""

    _MOST = 12

    def __init__(self, draw: np.random.Generator, groups: int) -> None:
        self.groups = groups
        self.members = draw.integers(1, self._MOST + 1, groups)
        self.topics = draw.integers(1, _TOPICS + 1, groups)
        self.queues = draw.integers(4, 17, (groups, _TOPICS)) * (np.arange(_TOPICS) < self.topics[:, None])
        self.tilt = draw.random(groups) ** 4
        self.loads = np.zeros((groups, _TOPICS, self._MOST), dtype=np.int64)
        self.restless = np.zeros(groups, dtype=bool)
        self.incarnation = np.zeros(groups, dtype=np.int64)
        self._share(draw, np.arange(groups))
        self.names = pa.array([f"group-{number:05d}" for number in range(groups)])
        self.strategies = pa.array(["range", "sticky", "uniform", None]).take(pa.array(draw.integers(0, 4, groups)))
        self.topic_names = pa.array(
            [f"topic-{number:05d}-{topic}" for number in range(groups) for topic in range(_TOPICS)]
        )

    def _share(self, draw: np.random.Generator, chosen: Ints) -> None:
        """Deal the queues of these groups out: evenly, more on the first members where the group is tilted."""
        at = np.arange(self._MOST)
        is_member = at < self.members[chosen][:, None]
        weight = np.where(is_member, 1.0 + self.tilt[chosen][:, None] * draw.random((len(chosen), self._MOST)) * 3, 0.0)
        share = weight / weight.sum(axis=1, keepdims=True)
        wanted = np.cumsum(self.queues[chosen][:, :, None] * share[:, None, :], axis=2)
        self.loads[chosen] = np.diff(np.rint(wanted).astype(np.int64), axis=2, prepend=0)

    def poll(self, draw: np.random.Generator, at: float, every_s: float, is_first: bool) -> pa.Table:
        """The next snapshot."""
        changing = (draw.random(self.groups) < _CHANGES) | (self.restless & (draw.random(self.groups) < 0.5))
        chosen = np.flatnonzero(changing) if not is_first else np.zeros(0, dtype=np.int64)
        self.restless = changing
        before, earlier = self.loads.sum(axis=1), self.members.copy()
        step = draw.integers(-1, 2, len(chosen))
        self.members[chosen] = np.clip(self.members[chosen] + step, 1, self._MOST)
        self._share(draw, chosen)
        moves = np.abs(self.loads.sum(axis=1) - before).sum(axis=1) // 2
        joined, left = self._names_of(self.members > earlier, 1), self._names_of(self.members < earlier, 0)
        self.incarnation[self.members > earlier] += 1
        return self._table(draw, at, every_s, None if is_first else moves, joined, left)

    def _names_of(self, which: npt.NDArray[np.bool_], offset: int) -> pa.Array:
        """One member's id for each of these groups, none for the others."""
        chosen = np.flatnonzero(which)
        ids = [f"member-{group}-{self.incarnation[group] + offset}" for group in chosen]
        return _lists(which.astype(np.int64), pa.array(ids, pa.string()))

    def _table(
        self, draw: np.random.Generator, at: float, every_s: float, moves: Ints | None, joined: pa.Array, left: pa.Array
    ) -> pa.Table:
        loads, members = self.loads.sum(axis=1), self.members
        is_member = np.arange(self._MOST) < members[:, None]
        figures = _figures(loads, is_member, members)
        queues = loads.sum(axis=1)
        fair = -(-queues // members)
        above = np.maximum(loads - fair[:, None], 0).sum(axis=1)
        lag = draw.integers(0, 1000, self.groups)
        count = self.groups
        columns: dict[str, pa.Array] = {
            "at": pa.array(np.full(count, round(at * 1000)), pa.int64()).cast(pa.timestamp("ms", "UTC")),
            "every_s": pa.array(np.full(count, every_s)),
            "system": pa.array(["kafka"] * count),
            "group": self.names,
            "mode": pa.array(["shared"] * count),
            "kind": pa.array(["plain"] * count),
            "state": pa.array(["Stable"] * count),
            "strategy": self.strategies,
            "partial": pa.array(np.zeros(count, dtype=bool)),
            **{name: pa.array(figures[name]) for name in (*COUNTS, *LOADS)},
            "lag": pa.array(lag),
            "score": pa.array(
                100 - 25.0 * (1 - fair / np.maximum(loads.max(axis=1), 1)) - 25.0 * figures["idle_share"]
            ),
            "distance": pa.array(above),
            "optimum_max": pa.array(fair),
            "moves": pa.nulls(count, pa.int64()) if moves is None else pa.array(moves),
            "rebalances": pa.nulls(count, pa.int64()) if moves is None else pa.array((moves > 0) * 3),
            "joined": pa.nulls(count, pa.list_(pa.string())) if moves is None else joined,
            "left": pa.nulls(count, pa.list_(pa.string())) if moves is None else left,
            "topics": self._topics(is_member, lag),
        }
        schema = snapshot_schema()
        columns |= {name: pa.nulls(count, schema.field(name).type) for name in schema.names if name not in columns}
        return pa.table([columns[name] for name in schema.names], schema=schema)

    def _topics(self, is_member: npt.NDArray[np.bool_], lag: Ints) -> pa.Array:
        there = np.arange(_TOPICS) < self.topics[:, None]
        flat = there.ravel()
        loads = self.loads.reshape(-1, self._MOST)[flat]
        members = np.repeat(self.members, self.topics)
        figures = _figures(loads, np.repeat(is_member, self.topics, axis=0), members)
        arrays = [
            self.topic_names.filter(pa.array(flat)),
            *(pa.array(figures[name]) for name in (*TOPIC_COUNTS, *TOPIC_LOADS)),
            pa.array(np.repeat(lag // self.topics, self.topics)),
        ]
        kind = snapshot_schema().field("topics").type.value_type
        return _lists(self.topics, pa.StructArray.from_arrays(arrays, fields=list(kind)))


def _lists(sizes: Ints, values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.concatenate(([0], np.cumsum(sizes))), pa.int32()), values)


def _figures(
    loads: Ints, is_member: npt.NDArray[np.bool_], members: Ints
) -> dict[str, npt.NDArray[np.int64] | npt.NDArray[np.float64]]:
    """Figures good enough to be counted: members are never doubly owned, pile_up is drawn from the spread."""
    total, squares = loads.sum(axis=1), (loads * loads).sum(axis=1)
    high = loads.max(axis=1)
    low = np.where(is_member, loads, 1 << 40).min(axis=1)
    idle = ((loads == 0) & is_member).sum(axis=1)
    mean = total / members
    some = np.maximum(total, 1)
    deviation = np.maximum(members * squares - total * total, 0)
    cv = np.sqrt(deviation) / some
    return {
        "members": members,
        "idle_members": idle,
        "queues": total,
        "unowned_queues": (total % 97 == 0).astype(np.int64),
        "double_owned_queues": np.zeros(len(total), dtype=np.int64),
        "min": low.astype(np.float64),
        "max": high.astype(np.float64),
        "mean": mean,
        "spread": (high - low).astype(np.float64),
        "idle_share": idle / members,
        "cv": cv,
        "jain": np.where(squares > 0, total * total / np.maximum(members * squares, 1), 1.0),
        "gini": cv / 2,
        "theil": cv * cv / 2,
        "max_over_mean": high * members / some,
        "pile_up": np.where(high - low > 1, np.minimum(cv, 1.0), 0.0),
    }


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
select cluster, system, "group", ms // 86400000 as day, count(*) as snapshots, sum(stands)::bigint as ms,
  sum(case when distance > 0 then stands else 0 end)::bigint as unfair,
  sum(case when distance is null then stands else 0 end)::bigint as unknown,
  sum(case when idle_members > 0 then stands else 0 end)::bigint as idle,
  sum(case when unowned_queues > 0 then stands else 0 end)::bigint as unowned,
  sum(case when double_owned_queues > 0 then stands else 0 end)::bigint as double_owned,
  sum(case when in_an_hour >= 5 then stands else 0 end)::bigint as storm, max(in_an_hour) as most,
  sum(moves)::bigint as moves, sum(seen)::bigint as rebalances,
  sum(len(joined))::bigint as joined, sum(len("left"))::bigint as left_,
  sum(round_even(score * 1000000, 0)::bigint * stands)::hugeint as score_sum,
  sum(case when score is not null then stands else 0 end)::bigint as score_ms,
  sum(round_even(max_over_mean * 10000, 0)::bigint * stands)::hugeint as ratio_sum,
  sum(case when max_over_mean is not null then stands else 0 end)::bigint as ratio_ms,
  sum(lag * stands)::hugeint as lag_sum, sum(case when lag is not null then stands else 0 end)::bigint as lag_ms,
  min(score) as score_min, max(max_over_mean) as max_over_mean_max, max(distance) as distance_max, max(lag) as lag_max,
  max_by(score, ms) as score_last, max_by(lag, ms) as lag_last, max(ms) as last_ms
from (
  select *, sum(seen) over (
    partition by cluster, system, "group" order by ms range between 3599999 preceding and current row) as in_an_hour
  from (
    select *, coalesce(rebalances, (coalesce(moves, 0) > 0 or coalesce(len(joined), 0) > 0
      or coalesce(len("left"), 0) > 0)::int) as seen from rows))
join polls using (cluster, ms) group by all
"""

_TIMES = ("ms", "unfair", "unknown", "idle", "unowned", "double_owned", "storm")
_MEANS = ("score_sum", "score_ms", "ratio_sum", "ratio_ms", "lag_sum", "lag_ms")
_SUMS = ("snapshots", *_TIMES, "moves", "rebalances", "joined", "left_", *_MEANS)
_GROUPS = f"""
select cluster, system, "group", {", ".join(f"sum({name})::hugeint as {name}" for name in _SUMS)},
  max(most) as rebalances_in_an_hour, min(score_min) as score_min, max(max_over_mean_max) as max_over_mean_max,
  max(distance_max) as distance_max, max(lag_max) as lag_max, max_by(score_last, last_ms) as score_last,
  max_by(lag_last, last_ms) as lag_last, count(*) as days
from ({_DAYS}) group by all
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

_TOPICS_SQL = """
with uneven as (
  select cluster, system, "group", stands, unnest(list_filter(topics, lambda t: t.max > t.min)) as topic
  from rows join polls using (cluster, ms) where distance > 0 and pile_up > 0)
select cluster, system, "group", topic.topic as topic, sum(stands)::bigint as ms,
  max(topic.max_over_mean) as max_over_mean_max, max(topic.lag) as lag_max
from uneven group by all
"""


Key = tuple[str, str]
Answers = dict[Key, dict[str, object]]
"""Cluster and group to figures, under the names of the history's records; ``topics`` to hours; ``days``: how many."""

_HOUR_MS = 3_600_000


def by_duckdb(folder: Path) -> Answers:
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        connection.execute(_ROWS.format(root=folder / "snapshots"))
        groups, members, topics = (
            connection.sql(query).to_arrow_table().to_pylist() for query in (_GROUPS, _MEMBERS, _TOPICS_SQL)
        )
    found: Answers = {}
    for row in groups:
        sums = {name: int(row[name] or 0) for name in _SUMS}
        hours = {"": "ms"} | {
            f"_{name}": name for name in ("unfair", "unknown", "idle", "unowned", "double_owned", "storm")
        }
        found[row["cluster"], row["group"]] = {
            **{f"hours{name}": sums[of] / _HOUR_MS for name, of in hours.items()},
            **{name: sums[name] for name in ("snapshots", "moves", "rebalances", "joined")},
            "left": sums["left_"],
            "score": sums["score_sum"] / (sums["score_ms"] * 1_000_000),
            "max_over_mean": sums["ratio_sum"] / (sums["ratio_ms"] * 10_000),
            "lag": sums["lag_sum"] / sums["lag_ms"],
            **{name: row[name] for name in ("score_min", "max_over_mean_max", "distance_max", "lag_max", "days")},
            **{name: row[name] for name in ("score_last", "lag_last", "rebalances_in_an_hour")},
            **dict.fromkeys(("members_came", "members_left", "come_and_go"), 0),
            "topics": {},
        }
    for row in members:
        told = {"members_came": row["came"], "members_left": row["left_"], "come_and_go": row["come_and_go"]}
        found[row["cluster"], row["group"]] |= told
    for row in topics:
        cast(dict[str, float], found[row["cluster"], row["group"]]["topics"])[row["topic"]] = row["ms"] / _HOUR_MS
    return found


AT_MOST = 1.5


def by_us(folder: Path, engine: str) -> Answers:
    records, _ = counted(
        selected(str(folder), None, None, ()), Unfair("distance", operator.gt, 0), (), engine, (), (None, None)
    )
    return {
        (record["cluster"], record["group"]): {
            **record,
            "days": len(record["days"]),
            "topics": {topic["topic"]: topic["hours"] for topic in record["topics"]},
        }
        for record in records
    }


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
    jobs: dict[str, Callable[[Path], Answers]] = {
        "DuckDB": by_duckdb,
        "Equipoise, local": partial(by_us, engine="local"),
        # Last: what its workers have used is lost where they end while something else is measured.
        "Equipoise, Spark": partial(by_us, engine="spark"),
    }
    measured, answers = [], {}
    for name, job in jobs.items():
        for number in range(rounds + 1):
            with peak_memory() as peak:
                cpu, wall = cpu_seconds(), time.perf_counter()
                answers[name] = job(folder)
                took = cpu_seconds() - cpu, time.perf_counter() - wall
            measured.append((name, "warm" if number else "cold", *took, peak.bytes / 2**30))
            print(*measured[-1], flush=True)
    rows = [cast(int, group["snapshots"]) for group in answers["DuckDB"].values()]
    for name in list(jobs)[1:]:
        compare_answers(answers["DuckDB"], answers[name])
    best = {(name, how): min(each[2:] for each in measured if each[:2] == (name, how)) for name, how, *_ in measured}
    table = [(name, how, *best[name, how], best[name, how][0] / best["DuckDB", how][0]) for name, how in best]
    print(f"\n{sum(rows):,} rows of snapshots of {len(rows):,} groups; at most {AT_MOST:g} times DuckDB")
    print(
        tabulate(table, ["", "", "CPU s", "wall s", "memory GB", "CPU, DuckDB = 1"], floatfmt=".2f", tablefmt="github")
    )


def compare_answers(theirs: Answers, ours: Answers) -> None:
    """AssertionError where a number that both have differs."""
    assert theirs.keys() == ours.keys()
    for key, group in theirs.items():
        for name, value in group.items():
            assert ours[key][name] == value, (key, name, value, ours[key][name])


if __name__ == "__main__":
    main()
