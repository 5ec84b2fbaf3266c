"""What is wrong with tables: what the schema shows at the call, what only rows show in the job, in one sentence."""

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from compare import spark
from compare.auditing.group_figures import figures_of
from compare.figures import GroupLoads, counted_figures
from compare.figures.local import table_fairness
from protocols import UserError
from tests.compare.figures.spark.spark_fixture import session

__all__ = ["session"]

LIMIT = 4611686018427387904
"""2^62."""

ROW = {"run": 7, "group": "the group", "topic": "A", "broker": "b", "queue": 3, "owner": "c1", "weight": 1}
MEMBER = {"run": 7, "group": "the group", "member": "c1"}
HERE = ", run '7', group 'the group'"
TYPES = {
    "run": pa.int64(),
    "group": pa.string(),
    "topic": pa.string(),
    "broker": pa.string(),
    "queue": pa.int64(),
    "owner": pa.string(),
    "member": pa.string(),
    "weight": pa.int64(),
}

BAD_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "null group": ({"group": None}, "a group is null in column 'group' of ownership, run '7': expected its name"),
    "null run": ({"run": None}, "a run is null in column 'run' of ownership: expected its name"),
    "null topic": ({"topic": None}, f"a topic is null in column 'topic' of ownership{HERE}: expected its name"),
    "null queue": ({"queue": None}, f"a queue is null in column 'queue' of ownership{HERE}: expected its name"),
    "queue below 0": ({"queue": -1}, f"a queue is negative in column 'queue' of ownership{HERE}: expected 0 or more"),
    "queue beyond 2^62": (
        {"queue": LIMIT},
        f"a queue is {LIMIT} or more in column 'queue' of ownership{HERE}: expected less",
    ),
    "weight below 0": (
        {"weight": -1},
        f"a weight is negative in column 'weight' of ownership{HERE}: expected 0 or more",
    ),
    "decimal below 0": (
        {"weight": -0.5},
        f"a weight is negative in column 'weight' of ownership{HERE}: expected 0 or more",
    ),
    "exact decimal below 0": (
        {"weight": Decimal("-0.5")},
        f"a weight is negative in column 'weight' of ownership{HERE}: expected 0 or more",
    ),
    "weight of a queue without owner": (
        {"weight": -1, "owner": None},
        f"a weight is negative in column 'weight' of ownership{HERE}: expected 0 or more",
    ),
    "NaN": ({"weight": math.nan}, f"a weight is NaN in column 'weight' of ownership{HERE}: expected 0 or more"),
    "infinite": (
        {"weight": math.inf},
        f"a weight is {LIMIT // 10**6} or more in column 'weight' of ownership{HERE}: expected less",
    ),
    "weight beyond 2^62": (
        {"weight": LIMIT},
        f"a weight is {LIMIT} or more in column 'weight' of ownership{HERE}: expected less",
    ),
    "a name of two lines": (
        {"group": "the\ngroup", "topic": None},
        f"a topic is null in column 'topic' of ownership{HERE}: expected its name",
    ),
}


def table(rows: list[dict[str, Any]], **types: pa.DataType) -> pa.Table:
    weights = [row["weight"] for row in rows if "weight" in row]
    if any(isinstance(weight, Decimal) for weight in weights):
        types["weight"] = pa.decimal128(20, 3)
        rows = [{**row, "weight": Decimal(row["weight"])} for row in rows]
    elif any(isinstance(weight, float) for weight in weights):
        types["weight"] = pa.float64()
    names = list(rows[0])
    return pa.Table.from_pylist(rows, pa.schema([(name, {**TYPES, **types}[name]) for name in names]))


@pytest.fixture(params=["true", "false"])
def ansi(session: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    usual = session.conf.get("spark.sql.ansi.enabled")
    session.conf.set("spark.sql.ansi.enabled", request.param)
    yield request.param
    session.conf.set("spark.sql.ansi.enabled", usual)


def assert_refused(
    session: SparkSession, ownership: pa.Table, members: pa.Table, expected: str, folder: Path, job: bool = True
) -> None:
    """By numpy and as a snapshot with a `UserError`, by the user's own action (``job``) in Spark's exception."""
    with pytest.raises(UserError) as local:
        table_fairness(ownership, members)
    assert str(local.value) == expected
    with pytest.raises(UserError) as written:
        spark.write_snapshot(ownership, members, folder)
    assert str(written.value) == expected
    if job:
        fairness = spark.fairness(session.createDataFrame(ownership), session.createDataFrame(members))
        with pytest.raises(PySparkException) as failed:
            fairness.collect()
        assert expected in str(failed.value)


@pytest.mark.parametrize("jobs", [("null group", "NaN"), pytest.param(tuple(BAD_ROWS), marks=pytest.mark.slow)])
def test_bad_row_fails_with_column_and_group(
    subtests: pytest.Subtests, session: SparkSession, tmp_path: Path, jobs: tuple[str, ...]
) -> None:
    for fault, (changes, expected) in BAD_ROWS.items():
        with subtests.test(fault):
            rows = table([{**ROW, "run": 6, "group": "another"}, {**ROW, **changes}])
            assert_refused(session, rows, table([MEMBER]), expected, tmp_path, job=fault in jobs)


CAST = ("exact decimal below 0", "infinite")
"""Faults that Spark may find itself where ANSI is on."""


@pytest.mark.parametrize("fault", CAST)
def test_cast_that_ansi_would_refuse_fails_with_column_and_group(
    session: SparkSession, tmp_path: Path, fault: str
) -> None:
    changes, expected = BAD_ROWS[fault]
    assert session.conf.get("spark.sql.ansi.enabled") == "true", "as for the bad rows above"
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert_refused(session, table([{**ROW, **changes}]), table([MEMBER]), expected, tmp_path)
    finally:
        session.conf.set("spark.sql.ansi.enabled", "true")


@pytest.mark.parametrize("key", ["run", "group"])
def test_null_among_members_fails(session: SparkSession, tmp_path: Path, key: str) -> None:
    expected = {
        "run": "a run is null in column 'run' of members: expected its name",
        "group": "a group is null in column 'group' of members, run '7': expected its name",
    }[key]
    assert_refused(session, table([ROW]), table([MEMBER, {**MEMBER, key: None}]), expected, tmp_path)


def test_sums_of_weights_beyond_int64_fail(session: SparkSession, ansi: str) -> None:
    expected = f"a member carries weights that add up to {LIMIT} or more in column 'weight' of ownership{HERE}"
    members = table([MEMBER])
    # Each row is fine. Spark adds up queues 0 to 2 itself, the kernel queues 0, 64 and 128.
    near, apart = (
        table([{**ROW, "queue": step * number, "weight": LIMIT - 1} for number in range(3)]) for step in (1, 64)
    )
    for ownership in (near, apart):
        with pytest.raises(UserError, match=expected):
            table_fairness(ownership, members)
    with pytest.raises(PySparkException, match=expected):
        spark.fairness(session.createDataFrame(near), session.createDataFrame(members)).collect()


def test_queues_without_owner_weigh_on_nobody(session: SparkSession) -> None:
    rows = [{**ROW, "queue": number, "owner": None, "weight": LIMIT - 1} for number in range(3)]
    ownership, members = table(rows), table([MEMBER])
    expected = table_fairness(ownership, members)
    assert expected["max"].to_pylist() == [0.0]
    found = spark.fairness(session.createDataFrame(ownership), session.createDataFrame(members)).toArrow()
    assert found.cast(expected.schema).equals(expected)


def test_queue_listed_twice_names_the_group(session: SparkSession, tmp_path: Path) -> None:
    expected = f"a queue is listed twice for one owner in column 'queue' of ownership{HERE}: expected one row for each"
    others = [{**ROW, "group": "another", "queue": number} for number in range(5)]
    members = table([MEMBER])
    for rows in ([*others, ROW, ROW], [*others, ROW, {**ROW, "owner": "c2"}, {**ROW, "owner": "c2"}]):
        with pytest.raises(UserError, match=expected):
            table_fairness(table(rows), members)
        with pytest.raises(UserError, match=expected):
            spark.write_snapshot(table(rows), members, tmp_path)
    with pytest.raises(PySparkException, match=expected):
        spark.fairness(session.createDataFrame(table(rows)), session.createDataFrame(members)).collect()


def test_other_names_of_columns_are_told(session: SparkSession) -> None:
    named = table([ROW]).rename_columns(["run", "group", "topic", "broker", "partition", "owner", "records.behind"])
    frame, listed = session.createDataFrame(named), session.createDataFrame(table([MEMBER]))
    assert spark.fairness(frame, listed, weight="records.behind").collect()[0]["max"] == 1.0
    bad = frame.withColumn("records.behind", F.lit(-1))
    with pytest.raises(PySparkException, match=r"negative in column 'records\.behind'"):
        spark.fairness(bad, listed, weight="records.behind").collect()
    with pytest.raises(PySparkException, match="a queue is negative in column 'partition'"):
        spark.fairness(frame.withColumn("partition", F.lit(-1)), listed).collect()


SCHEMAS: dict[str, tuple[dict[str, Any], str]] = {
    "fractional queue": ({"queue": pa.float64()}, "column 'queue' of ownership holds double, expected integers or"),
    "exact fractional queue": ({"queue": pa.decimal128(9, 1)}, r"column 'queue' of ownership holds decimal128\(9, 1\)"),
    "queue of yes and no": ({"queue": pa.bool_()}, "column 'queue' of ownership holds bool"),
    "fractional topic": ({"topic": pa.float64()}, "column 'topic' of ownership holds double, expected texts"),
    "fractional broker": ({"broker": pa.float64()}, "column 'broker' of ownership holds double"),
    "fractional owner": ({"owner": pa.float64()}, "column 'owner' of ownership holds double"),
    "owners of another type": (
        {"owner": pa.int64()},
        "'owner' of ownership holds int64, 'member' of members string: expected the same type",
    ),
    "groups of another type": ({"group": pa.int64()}, "expected the same type"),
    "weights of text": ({"weight": pa.string()}, "column 'weight' of ownership holds string, expected numbers"),
    "groups of lists": ({"group": pa.list_(pa.int64())}, "column 'group' of ownership holds list"),
}


def test_wrong_type_is_refused_at_the_call(subtests: pytest.Subtests, session: SparkSession, tmp_path: Path) -> None:
    for fault in SCHEMAS:
        with subtests.test(fault=fault):
            types, expected = SCHEMAS[fault]
            ownership = pa.Table.from_pylist([], pa.schema([(name, {**TYPES, **types}[name]) for name in ROW]))
            members = table([MEMBER])
            with pytest.raises(UserError, match=expected):
                table_fairness(ownership, members)
            frames = session.createDataFrame(ownership), session.createDataFrame(members)
            with pytest.raises(UserError, match=expected):
                spark.fairness(*frames)
            with pytest.raises(UserError, match=expected):
                spark.write_snapshot(ownership, members, tmp_path)


def test_wrong_columns_are_refused_at_the_call(session: SparkSession) -> None:
    frame, listed = session.createDataFrame(table([ROW])), session.createDataFrame(table([MEMBER]))
    with pytest.raises(UserError, match="ownership has 2 columns 'topic', expected one"):
        spark.fairness(frame.select("*", F.col("topic")), listed)
    with pytest.raises(UserError, match="members has no column 'run'"):
        spark.fairness(frame, listed.drop("run"))
    # Members of several runs would be taken for those of one.
    with pytest.raises(UserError, match="members has a column 'run' and ownership has none"):
        spark.fairness(frame.drop("run"), listed)
    with pytest.raises(UserError, match="ownership has no column queue or number or partition"):
        spark.fairness(frame.drop("queue"), listed)
    wrong: Any = 5
    with pytest.raises(UserError, match="members is 5, expected a Spark DataFrame or the path"):
        spark.fairness(frame, wrong)
    with pytest.raises(UserError, match="files is 0, expected 1 or more"):
        spark.write_snapshot(frame, listed, "somewhere", files=0)
    with pytest.raises(UserError, match="ownership is 5, expected a Spark DataFrame, a path of Parquet or an Arrow"):
        spark.write_snapshot(wrong, listed, "somewhere")


def test_path_that_cannot_be_read_is_refused_at_the_call(session: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table([ROW]), tmp_path / "ownership.parquet")
    (tmp_path / "text.parquet").write_text("this is no Parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"members .*missing\.parquet cannot be read as Parquet: .*does not exist"):
        spark.fairness(tmp_path / "ownership.parquet", tmp_path / "missing.parquet")
    for name in ("text.parquet", "empty"):
        with pytest.raises(UserError, match=f"ownership .*{name} cannot be read as Parquet: ") as refused:
            spark.fairness(tmp_path / name, tmp_path / "ownership.parquet")
        assert "\n" not in str(refused.value)
    with pytest.raises(UserError, match="ownership nowhere://a cannot be read as Parquet"):
        spark.fairness("nowhere://a", "nowhere://b")


def test_queues_may_be_texts_and_records(session: SparkSession) -> None:
    ownership, members = table([ROW, {**ROW, "broker": None}, {**ROW, "queue": 4, "broker": None}]), table([MEMBER])
    expected = table_fairness(ownership, members)
    assert expected["queues"].to_pylist() == [3]
    texts = ownership.set_column(4, "queue", ownership["queue"].cast(pa.string()))
    assert table_fairness(texts, members).equals(expected)
    listed = session.createDataFrame(members)
    frame = session.createDataFrame(ownership)
    for queue in (F.col("queue").cast("string"), F.struct("queue")):
        found = spark.fairness(frame.withColumn("queue", queue), listed).toArrow()
        assert found.cast(expected.schema).equals(expected)


def test_topics_may_be_integers(session: SparkSession, tmp_path: Path) -> None:
    ownership, members = table([ROW, {**ROW, "topic": "B", "owner": "c2"}]), table([MEMBER])
    expected = table_fairness(ownership, members)
    numbers = ownership.set_column(2, "topic", pa.array([1, 2], pa.int32()))
    assert table_fairness(numbers, members).equals(expected)
    found = spark.fairness(session.createDataFrame(numbers), session.createDataFrame(members)).toArrow()
    assert found.cast(expected.schema).equals(expected)
    with pytest.raises(UserError, match="column 'topic' of ownership holds int32, a snapshot expects texts"):
        spark.write_snapshot(numbers, members, tmp_path)


def test_engines_refuse_groups_at_hand_with_the_same_error(session: SparkSession) -> None:
    heavy = GroupLoads(2, [("A", number, (1,), LIMIT - 1) for number in range(2)])
    errors = []
    for engine in ("local", "spark"):
        with pytest.raises(UserError) as refused:
            figures_of([GroupLoads(1, []), heavy], engine=engine)
        errors.append(str(refused.value))
    assert errors == [f"the weights of one member of group 2 add up to {LIMIT} or more, expected less"] * 2
    shared = GroupLoads(1, [("A", 0, (0, 0), 1)])
    # What only the job finds is a UserError, too: it is we who run it.
    with pytest.raises(UserError, match="a queue is listed twice for one owner"):
        figures_of([shared], engine="spark")


def test_total_of_a_group_may_pass_int64(session: SparkSession) -> None:
    groups = [GroupLoads(8, [("A", number, (number,), 2**61) for number in range(8)])]
    assert figures_of(groups, engine="spark") == counted_figures(groups)
    assert counted_figures(groups)[0].overall["mean"] == 2.0**61
