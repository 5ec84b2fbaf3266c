"""Files of snapshots on Spark: what a file says is told by the functions that do it without Spark. Tasks open local
files themselves; of others Spark hands out the bytes."""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from compare.figures.spark.sessions import progress, user_errors

T = TypeVar("T")

_TASKS_PER_PROCESSOR = 4


def paths_below(spark: SparkSession, address: str) -> list[str]:
    """The Parquet files below an address that Spark reaches; none is read."""
    return [row.path for row in _files(spark, [address]).select("path").collect()]


def over_files(
    spark: SparkSession,
    files: Sequence[str],
    job: Callable[[Iterator[tuple[str, str | pa.BufferReader]]], Iterable[T]],
    *,
    is_local: bool,
) -> list[T]:
    """What ``job`` makes of the files (path, and path or content), of some at a time and in any order, computed now,
    with a progress bar where standard error is a terminal. A file that cannot be read fails the job."""
    tasks = _of_equal_size(files, _TASKS_PER_PROCESSOR * spark.sparkContext.defaultParallelism) if is_local else []

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        some = ((file, file) for batch in batches for task in batch["id"].to_pylist() for file in tasks[task])
        for each in job(some if is_local else _contents(batches)):
            yield pa.record_batch({"told": pa.array([pickle.dumps(each)], pa.binary())})

    with progress(spark, "reading snapshots"), user_errors():
        places = spark.range(0, len(tasks), 1, max(1, len(tasks)))
        found = places if is_local else _files(spark, files).select("path", "content")
        told = found.mapInArrow(run, "told binary").toArrow()["told"]
    return [pickle.loads(each.as_buffer()) for each in told]


def _of_equal_size(files: Sequence[str], most: int) -> list[list[str]]:
    """Neighbours together, in up to ``most`` lists of about as many bytes."""
    until = list(accumulate(map(os.path.getsize, files)))
    lists = groupby(zip(files, until, strict=True), lambda each: most * each[1] // (until[-1] + 1))
    return [[file for file, _ in of_list] for _, of_list in lists]


def _files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    reader = spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet")
    return reader.option("recursiveFileLookup", "true").load(list(paths))


def _contents(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.BufferReader]]:
    for batch in batches:
        for path, content in zip(batch["path"], batch["content"], strict=True):
            yield path.as_py(), pa.BufferReader(content.as_buffer())
