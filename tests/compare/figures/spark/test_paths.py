"""Parquet from paths: by one task or many the bytes of the numpy engine, and the figures of the definition."""

import datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from compare import spark
from compare.figures import GroupLoads
from compare.figures.local import table_fairness
from compare.figures.spark import exchange
from compare.figures.spark.sources import files_of
from protocols import UserError
from tests.compare.figures.figure_groups import groups, recognised, tables
from tests.compare.figures.spark.spark_fixture import session
from tests.compare.figures.spark.test_spark import many_groups, shuffled, sorted_table
from tests.compare.figures.textbook import textbook_figures

__all__ = ["session"]


@pytest.fixture
def many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are cut and moved as large ones are."""
    monkeypatch.setattr(exchange, "ROWS_OF_ONE_TASK", 0)
    monkeypatch.setattr(exchange, "ROWS_PER_TASK", 700)
    monkeypatch.setattr(exchange, "ROWS_PER_PIECE", 900)


def written(folder: Path, ownership: pa.Table, members: pa.Table, files: int = 2, row_group: int = 500) -> Path:
    for name, table in (("ownership", shuffled(ownership, 5)), ("members", shuffled(members, 6))):
        (folder / name).mkdir(parents=True)
        step = -(-len(table) // files) or 1
        for at in range(0, max(len(table), 1), step):
            pq.write_table(table.slice(at, step), folder / name / f"{at}.parquet", row_group_size=row_group)
    return folder


def assert_figures(folder: Path, ownership: pa.Table, members: pa.Table, **options: Any) -> None:
    expected = table_fairness(ownership, members, per_topic=True, **options)
    found = spark.fairness(folder / "ownership", folder / "members", per_topic=True, **options)
    keys = [(name, "ascending") for name in ("run", "group", "topic") if name in expected.column_names]
    assert found.toArrow().sort_by(keys).cast(expected.schema).equals(expected)


def is_moved(folder: Path) -> bool:
    found = spark.fairness(folder / "ownership", folder / "members")
    return "Exchange" in found._jdf.queryExecution().executedPlan().toString()


@pytest.mark.parametrize(
    "kind", ["some unknown", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("ones", "lags", "rates"))]
)
def test_many_tasks_give_the_bytes_of_numpy(session: SparkSession, tmp_path: Path, many_tasks: None, kind: str) -> None:
    ownership, members = tables(many_groups(kind))
    folder = written(tmp_path, ownership, members)
    for with_retry in (True, False):
        assert_figures(folder, ownership, members, with_retry=with_retry)
    assert is_moved(folder)


def test_small_files_take_one_task_and_nothing_is_moved(session: SparkSession, tmp_path: Path) -> None:
    ownership, members = tables(many_groups("lags"))
    folder = written(tmp_path, ownership, members)
    assert_figures(folder, ownership, members)
    assert not is_moved(folder)
    assert spark.fairness(folder / "ownership", folder / "members").rdd.getNumPartitions() == 1


@settings(max_examples=3, deadline=None)
@given(st.lists(groups("lags"), max_size=4))
def test_paths_give_the_figures_of_the_definition(session: SparkSession, listed: list[GroupLoads]) -> None:
    with TemporaryDirectory() as folder:
        there = written(Path(folder), *tables(listed), row_group=3)
        found = spark.fairness(there / "ownership", there / "members").orderBy("run", "group").toArrow().to_pylist()
    assert len(found) == len(listed)
    for row, group in zip(found, listed, strict=True):
        for name, value in textbook_figures(group).overall.items():
            assert row[name] == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)), name


def changed(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def unusual() -> dict[str, tuple[pa.Table, pa.Table]]:
    ownership, members = tables(many_groups("lags"))
    number = np.arange(len(ownership))
    weights = pa.array(
        [None if at % 50 == 0 else Decimal(at) / 8 for at in range(len(ownership))], pa.decimal128(20, 3)
    )
    unique = pc.binary_join_element_wise(
        ownership["run"].cast(pa.string()), ownership["group"], ownership["owner"], "a name that nobody else has"
    )
    named = pc.binary_join_element_wise(members["run"].cast(pa.string()), members["group"], members["member"], "/")
    days = pa.array([datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]).take
    return {
        "decimal and null weights": (changed(ownership, "weight", weights), members),
        "queues as texts": (changed(ownership, "queue", ownership["queue"].cast(pa.string())), members),
        "keys over 64 bits": (changed(ownership, "queue", pa.array(number.astype(np.int64) << 45)), members),
        "unique names": (changed(ownership, "owner", unique), changed(members, "member", named)),
        "integers as owners": (
            changed(ownership, "owner", pc.replace_substring(ownership["owner"], "member ", "").cast(pa.int32())),
            changed(members, "member", pc.replace_substring(members["member"], "member ", "").cast(pa.int64())),
        ),
        "days as runs": tuple(  # type: ignore[dict-item]
            changed(table, "run", days(pc.min_element_wise(table["run"], 1))).filter(pc.less(table["run"], 2))
            for table in (ownership, members)
        ),
        "without runs, brokers and weights": (
            ownership.drop_columns(["run", "broker", "weight"]).filter(pc.equal(ownership["run"], 3)),
            members.drop_columns(["run"]).filter(pc.equal(members["run"], 3)),
        ),
        "no rows": (ownership.slice(0, 0), members.slice(0, 0)),
    }


def test_unusual_columns(subtests: pytest.Subtests, session: SparkSession, tmp_path: Path, many_tasks: None) -> None:
    for case, (ownership, members) in unusual().items():
        with subtests.test(case):
            assert_figures(written(tmp_path / case, ownership, members), ownership, members)


def test_random_weights_and_one_huge_group(session: SparkSession, tmp_path: Path, many_tasks: None) -> None:
    draw = np.random.default_rng(3)
    size = 20_000
    owner = draw.integers(0, 5_000, size)
    ownership = pa.table(
        {
            "group": ["all"] * size,
            "topic": pa.array(draw.integers(0, 3, size)),
            "queue": pa.array(np.arange(size)),
            "owner": pa.array(owner, mask=owner < 40),
            "weight": pa.array(draw.random(size)),
        }
    )
    members = pa.table({"group": ["all"] * 5_500, "member": np.arange(5_500)})
    folder = written(tmp_path, ownership, members, row_group=5_000)
    assert_figures(folder, ownership, members)


def test_snapshot_from_paths_is_that_of_tables(session: SparkSession, tmp_path: Path) -> None:
    ownership, members = tables(many_groups("lags"))
    ownership = ownership.append_column("note", pa.array([f"row {at}" for at in range(len(ownership))]))
    folder = written(tmp_path / "any", ownership, members)
    by_table = spark.write_snapshot(ownership, members, tmp_path / "table")
    by_path = spark.write_snapshot(folder / "ownership", folder / "members", tmp_path / "path")
    by_frame = spark.write_snapshot(
        session.read.parquet(str(folder / "ownership")), session.createDataFrame(members), tmp_path / "frame", files=1
    )
    files = [
        {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*.parquet")}
        for root in (tmp_path / "table", tmp_path / "path", tmp_path / "frame")
    ]
    assert list(files[0]) == list(files[1])
    assert files[0] == files[1] == files[2]
    several = spark.write_snapshot(folder / "ownership", folder / "members", tmp_path / "several", files=3)
    expected = table_fairness(ownership, members)
    for snapshot in (by_table, by_path, by_frame, several):
        parts = recognised(snapshot.ownership, snapshot.members)
        assert parts is not None
        assert len(parts) == (3 if snapshot is several else 1)
        found = spark.fairness(snapshot.ownership, snapshot.members).toArrow()
        assert sorted_table(found, expected).equals(expected)
        kept = pq.read_table(snapshot.ownership).select(ownership.column_names)
        assert kept.schema.equals(ownership.schema)
        assert sorted(kept["note"].to_pylist()) == sorted(ownership["note"].to_pylist())


def test_what_arrow_cannot_read_alike_is_read_by_spark(session: SparkSession, tmp_path: Path) -> None:
    ownership, members = tables(many_groups("ones"))
    expected = table_fairness(ownership, members)
    folder = written(tmp_path / "plain", ownership, members)
    # Folders that stand for a column, a pattern, and columns that differ between files.
    pq.write_to_dataset(ownership, tmp_path / "runs" / "ownership", partition_cols=["run"])
    pq.write_to_dataset(members, tmp_path / "runs" / "members", partition_cols=["run"])
    narrow = written(tmp_path / "narrow", changed(ownership, "run", ownership["run"].cast(pa.uint8())), members)
    for paths in (
        (tmp_path / "runs" / "ownership", tmp_path / "runs" / "members"),
        (f"{folder}/owner*", f"{folder}/members"),
        (f"file:{folder}/ownership", f"file://{folder}/members"),
        (narrow / "ownership", narrow / "members"),
    ):
        found = spark.fairness(*paths).toArrow()
        assert sorted_table(found, expected).equals(expected)


def test_a_bad_row_fails_with_the_sentence_of_the_other_engines(session: SparkSession, tmp_path: Path) -> None:
    ownership, members = tables([GroupLoads(1, [("A", 0, (0,), 1)])])
    both = pa.concat_tables([ownership, ownership])
    folder = written(tmp_path, both, members, files=1)
    with pytest.raises(UserError) as local:
        table_fairness(both, members)
    with pytest.raises(PySparkException) as failed:
        spark.fairness(folder / "ownership", folder / "members").collect()
    assert str(local.value) in str(failed.value)
    with pytest.raises(UserError, match="listed twice for one owner"):
        spark.write_snapshot(folder / "ownership", folder / "members", tmp_path / "snapshot")
    assert not (tmp_path / "snapshot").exists()


def test_frames_that_are_files_are_read_as_files_and_others_as_frames(session: SparkSession, tmp_path: Path) -> None:
    ownership, members = tables(many_groups("ones"))
    written(tmp_path, ownership, members)
    own, listed = (session.read.parquet(str(tmp_path / name)) for name in ("ownership", "members"))
    found = files_of(own, listed)
    assert found is not None
    assert sum(sum(file.rows) for file in found.ownership) == ownership.num_rows
    expected = table_fairness(ownership, members)
    assert sorted_table(spark.fairness(own, listed).toArrow(), expected).equals(expected)
    some = own.where("queue > 0")
    other_columns = session.read.schema(own.select("group", "topic").schema).parquet(str(tmp_path / "ownership"))
    for frame in (some, own.withColumnRenamed("weight", "load"), own.limit(10), other_columns):
        assert files_of(frame, listed) is None
    kept = pc.greater(ownership["queue"], 0)
    expected = table_fairness(ownership.filter(kept), members)
    assert sorted_table(spark.fairness(some, listed).toArrow(), expected).equals(expected)
