"""A sweep on Spark: the bytes of every other engine, and tasks that fail are tried again; the summary has Spark's own
digits."""

import os
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from compare.figures.spark.sessions import for_each, user_errors
from compare.sweeping.document import document
from compare.sweeping.reading import read_text
from tests.compare.figures.spark.spark_fixture import session
from tests.compare.sweeping.test_sweep import GRID, RUNS, files_of, run, small_parts

__all__ = ["session", "small_parts"]

NAMES = ("event_settle_s", "event_unowned_queue_s", "event_longest_gap_s", "event_moves")


@pytest.mark.usefixtures("session", "small_parts")
def test_the_same_bytes_with_and_without_spark(tmp_path: Path) -> None:
    sweep = read_text(GRID).sweep
    run(sweep, tmp_path / "here", 1)
    run(sweep, tmp_path / "there", 3, "spark")
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")


def test_percentiles_are_those_of_spark(session: SparkSession, tmp_path: Path) -> None:
    sweep = read_text(RUNS.replace("0..2", "0..4")).sweep
    finished = run(sweep, tmp_path, 1)
    rows = session.read.option("basePath", str(tmp_path / "rows")).parquet(str(tmp_path / "rows"))
    percentiles = [F.percentile(name, [0.5, 0.05, 0.95]).alias(name) for name in NAMES]
    counted = {
        (row["variant"], row["event"]): row for row in rows.groupBy("variant", "event").agg(*percentiles).collect()
    }
    for record in document(sweep, tmp_path, finished)["summary"]:
        for name in NAMES:
            told = [record[f"{name}_{word}"] for word in ("median", "p5", "p95")]
            assert counted[record["variant"], record["event"]][name] == told


def test_a_task_that_fails_is_tried_again(session: SparkSession, tmp_path: Path) -> None:
    def fails_once(part: int) -> None:
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0:
            os._exit(1)
        (tmp_path / str(part)).write_text("done")

    for_each(session, fails_once, [3, 5], 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3", "5"]


def test_an_interruption_that_breaks_the_connection_with_the_jvm_stays_one() -> None:
    """What PySpark asks of the JVM on its way out fails then, and must not be told as an error of Spark."""

    def stopped() -> None:
        try:
            raise KeyboardInterrupt("SIGTERM")
        finally:
            raise Py4JNetworkError("Error while receiving")

    with pytest.raises(KeyboardInterrupt, match="SIGTERM"), user_errors():
        stopped()
    with pytest.raises(Py4JNetworkError), user_errors():
        raise Py4JNetworkError("Answer from Java side is empty")
