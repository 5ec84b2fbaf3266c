"""Files of snapshots on Spark, which hands them out as bytes: what a file says is told by the functions that do it
without Spark."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from compare.figures.spark.sessions import progress, user_errors

T = TypeVar("T")


def paths_below(spark: SparkSession, address: str) -> list[str]:
    """The Parquet files below an address that Spark reaches; none is read."""
    return [row.path for row in _files(spark, [address]).select("path").collect()]


def over_files(
    spark: SparkSession, files: Sequence[str], job: Callable[[Iterator[tuple[str, pa.BufferReader]]], Iterable[T]]
) -> list[T]:
    """What ``job`` makes of the files (path and content), of some at a time and in any order, computed now, with a
    progress bar where standard error is a terminal. A file that cannot be read fails the job."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for each in job(_contents(batches)):
            yield pa.record_batch({"told": pa.array([pickle.dumps(each)], pa.binary())})

    with progress(spark, "reading snapshots"), user_errors():
        told = _files(spark, files).select("path", "content").mapInArrow(run, "told binary").toArrow()["told"]
    return [pickle.loads(each.as_buffer()) for each in told]


def _files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    reader = spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet")
    return reader.option("recursiveFileLookup", "true").load(list(paths))


def _contents(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.BufferReader]]:
    for batch in batches:
        for path, content in zip(batch["path"], batch["content"], strict=True):
            yield path.as_py(), pa.BufferReader(content.as_buffer())
