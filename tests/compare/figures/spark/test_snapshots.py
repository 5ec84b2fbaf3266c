"""Snapshots: whole groups per file, recognised by what the files say, and the same bytes without a shuffle."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from compare import spark
from compare.figures import GroupLoads
from compare.figures.local import table_fairness
from compare.figures.parts import recognised, write_part
from compare.figures.spark import snapshots
from protocols import UserError
from tests.compare.figures.figure_groups import tables
from tests.compare.figures.spark.spark_fixture import session
from tests.compare.figures.spark.test_spark import many_groups, shuffled, sorted_table

__all__ = ["session"]


@pytest.mark.parametrize(
    ("kind", "with_retry"),
    [
        ("rates", True),
        ("some unknown", False),
        pytest.param("ones", True, marks=pytest.mark.slow),
        pytest.param("lags", False, marks=pytest.mark.slow),
    ],
)
def test_snapshot_gives_the_bytes_of_numpy(session: SparkSession, tmp_path: Path, kind: str, with_retry: bool) -> None:
    ownership, members = tables(many_groups(kind))
    expected = table_fairness(ownership, members, with_retry=with_retry, per_topic=True)
    frames = (session.createDataFrame(shuffled(table, 1)) for table in (ownership, members))
    written = spark.write_snapshot(*frames, tmp_path / "snapshot", files=3)
    assert recognised(written.ownership, written.members) is not None
    found = spark.fairness(written.ownership, written.members, with_retry=with_retry, per_topic=True)
    assert "Exchange" not in found._jdf.queryExecution().executedPlan().toString()
    assert sorted_table(found.toArrow(), expected).equals(expected)
    # To everybody else the files are ordinary tables.
    others = spark.fairness(
        session.read.parquet(written.ownership), session.read.parquet(written.members), with_retry=with_retry
    ).toArrow()
    expected = table_fairness(ownership, members, with_retry=with_retry)
    assert sorted_table(others, expected).equals(expected)


def test_small_snapshot_is_written_without_spark(tmp_path: Path) -> None:
    ownership, members = tables(many_groups("ones"))
    written = spark.write_snapshot(ownership, members, tmp_path)
    names = pq.read_schema(next(Path(written.ownership).iterdir())).names
    assert names[: len(ownership.column_names)] == ownership.column_names


def test_an_interrupted_snapshot_leaves_nothing_and_may_be_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ownership, members = tables(many_groups("ones"))
    there, new = tmp_path / "there", tmp_path / "new"
    there.mkdir()

    def half(folder: str, *_: object) -> None:
        (Path(folder) / "ownership").mkdir(parents=True)
        (Path(folder) / "ownership" / "part-1.parquet").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as changed:
        changed.setattr(snapshots, "write_part", half)
        for folder in (there, new):
            with pytest.raises(KeyboardInterrupt):
                spark.write_snapshot(ownership, members, folder)
    assert list(tmp_path.rglob("*")) == [there]
    # What a killed run leaves is its own folder, which the next one removes.
    (there / ".equipoise.part" / "ownership").mkdir(parents=True)
    written = spark.write_snapshot(ownership, members, there)
    assert sorted(each.name for each in there.iterdir()) == ["members", "ownership"]
    assert recognised(written.ownership, written.members) is not None


def test_files_are_recognised_by_content_not_by_name(tmp_path: Path) -> None:
    ownership, members = tables(many_groups("ones"))
    part = write_part(str(tmp_path), ownership, members)
    pq.write_table(ownership, tmp_path / "other.parquet")
    renamed = Path(part.ownership).rename(tmp_path / "renamed.bin")
    assert recognised(str(renamed), part.members) is not None
    assert recognised(str(tmp_path / "other.parquet"), part.members) is None
    assert recognised(str(tmp_path / "missing"), part.members) is None


def test_files_of_two_snapshots_are_not_mixed(tmp_path: Path) -> None:
    one = write_part(str(tmp_path / "one"), *tables(many_groups("ones")))
    two = write_part(str(tmp_path / "two"), *tables(many_groups("lags")))
    assert recognised(one.ownership, two.members) is None


def test_bad_input_for_a_snapshot_is_named(tmp_path: Path) -> None:
    ownership, members = tables([GroupLoads(1, [("A", 0, (0,), 1)])])
    (tmp_path / "something").touch()
    with pytest.raises(UserError, match="is not empty"):
        spark.write_snapshot(ownership, members, tmp_path)
    with pytest.raises(UserError, match="ownership has no column 'owner'"):
        spark.write_snapshot(ownership.drop_columns(["owner"]), members, tmp_path / "new")
