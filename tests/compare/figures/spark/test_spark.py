"""Spark gives the bytes of the numpy engine, whatever the partitioning, and columns for anyone's own job."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from compare import spark
from compare.auditing.group_figures import figures_of
from compare.figures import FIGURES, GroupLoads, counted_figures
from compare.figures.local import table_fairness
from tests.compare.figures.figure_groups import tables
from tests.compare.figures.spark.spark_fixture import session

__all__ = ["session"]

KEYS = [("run", "ascending"), ("group", "ascending")]


def many_groups(kind: str, count: int = 60) -> list[GroupLoads]:
    """Groups with idle members, queues without owner and with several, more than 64 queues, retry topics."""
    draw = random.Random(f"{kind} {count}")
    weigh = {
        "ones": lambda: 1,
        "lags": lambda: draw.choice([0, 3, 10**6, 2**55]),
        "rates": lambda: draw.choice([0.0, 0.25, draw.random() * 1e4]),
        "some unknown": lambda: draw.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, None]),
    }[kind]
    listed = []
    for _ in range(count):
        members = draw.randrange(7)
        rows = []
        for topic in draw.sample(["A", "B", "C ж", "%RETRY%group"], draw.randrange(5)):
            for number in range(draw.choice([1, 3, 8, 70])):
                owners = draw.sample(range(members), min(members, draw.choice([0, 1, 1, 1, 1, 1, 1, 2, 3])))
                rows.append((topic, number, tuple(owners), weigh()))
        listed.append(GroupLoads(members, rows))
    return listed


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    order = list(range(table.num_rows))
    random.Random(seed).shuffle(order)
    return table.take(pa.array(order, pa.int64()))


def sorted_table(table: pa.Table, like: pa.Table) -> pa.Table:
    keys = KEYS + ([("topic", "ascending")] if "topic" in table.column_names else [])
    return table.sort_by(keys).cast(like.schema)


KINDS = ("ones", "lags", "rates", "some unknown")
PARTITIONS = ((1, True), (2, False), (13, True))
QUICK = {("ones", 1), ("lags", 2), ("rates", 13), ("some unknown", 2)}
"""What `make test` tries; the others are slow."""


@pytest.mark.parametrize(
    ("kind", "partitions", "with_retry"),
    [
        pytest.param(kind, count, retry, marks=[] if (kind, count) in QUICK else pytest.mark.slow)
        for kind in KINDS
        for count, retry in PARTITIONS
    ],
)
def test_every_partitioning_gives_the_bytes_of_numpy(
    session: SparkSession, kind: str, partitions: int, with_retry: bool
) -> None:
    ownership, members = tables(many_groups(kind))
    expected = table_fairness(ownership, members, with_retry=with_retry, per_topic=True)
    found = spark.fairness(
        session.createDataFrame(shuffled(ownership, partitions)).repartition(partitions),
        session.createDataFrame(shuffled(members, partitions)).repartition(partitions),
        with_retry=with_retry,
        per_topic=True,
    ).repartition(partitions)
    assert sorted_table(found.toArrow(), expected).equals(expected)


@settings(max_examples=4, deadline=None)
@given(st.sampled_from(["ones", "lags", "rates", "some unknown"]), st.integers(1, 50))
def test_groups_at_hand_have_the_same_figures_on_both_engines(kind: str, count: int) -> None:
    listed = many_groups(kind, count)
    assert repr(figures_of(listed, engine="spark")) == repr(counted_figures(listed))


def test_no_groups_no_figures(session: SparkSession) -> None:
    assert figures_of([], engine="spark") == []


def test_parquet_paths_and_other_columns(session: SparkSession, tmp_path: Path) -> None:
    ownership, members = tables(many_groups("lags"))
    named = ownership.rename_columns(["run", "group", "topic", "broker", "partition", "owner", "lag"])
    pq.write_table(named, tmp_path / "ownership.parquet")
    pq.write_table(members, tmp_path / "members.parquet")
    expected = table_fairness(ownership, members)
    found = spark.fairness(tmp_path / "ownership.parquet", tmp_path / "members.parquet", weight="lag").toArrow()
    assert sorted_table(found, expected).equals(expected)


def test_without_run_and_weight_columns_queues_weigh_one(session: SparkSession) -> None:
    ownership, members = tables([GroupLoads(2, [("A", 0, (0,), 5), ("A", 1, (0,), 7)])])
    found = spark.fairness(
        session.createDataFrame(ownership.drop_columns(["run", "weight", "broker"])),
        session.createDataFrame(members.drop_columns(["run"])),
    ).collect()
    assert found[0].asDict()["max"] == 2.0
    assert list(found[0].asDict()) == ["group", *FIGURES]


def test_columns_agree_with_the_figures(session: SparkSession) -> None:
    loads = [("even", 3), ("even", 3), ("uneven", 0), ("uneven", 1), ("uneven", 8), ("no load", 0)]
    names = ("cv", "gini", "idle_members", "jain", "max_over_mean", "spread", "theil")
    frame = session.createDataFrame(loads, "name string, load long")
    for partitions in (1, 5):
        found = frame.repartition(partitions).groupBy("name").agg(*(getattr(spark, name)("load") for name in names))
        for row in found.collect():
            mine = [load for name, load in loads if name == row["name"]]
            rows = [("A", at, (at,), load) for at, load in enumerate(mine) if load]
            expected = counted_figures([GroupLoads(len(mine), rows)])[0].overall
            for name in names:
                about = expected[name] if name != "theil" else pytest.approx(expected[name], rel=1e-12)
                assert row[name] == about, name


def test_session_that_is_there_is_used(session: SparkSession) -> None:
    spark.warm_up()
    assert spark.session() is session
