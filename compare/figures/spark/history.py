"""Records of a history (`compare.figures.histories`) on Spark, which hands out files as bytes and brings each group's
rows together. What a file says, and what is counted, is told by the functions that do it without Spark."""

import zlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from compare.figures.spark.exchange import together
from compare.figures.spark.sessions import progress, user_errors

Reader = Callable[[str, pa.Buffer, Sequence[str] | None], pa.Table]
"""A file's path, its bytes, and the columns that are wanted (None: all that count) to the rows of its snapshots."""

Counter = Callable[[pa.Table, pa.Table], Sequence[str]]
"""Rows of whole groups, and the polls of all files, to one text for each group."""

_POLLS = ["cluster", "ms", "every_s"]
_BYTES_PER_PIECE = 4 << 20
"""Of files: some 500,000 rows, which a task counts at once."""


def paths_below(spark: SparkSession, address: str) -> list[str]:
    """The Parquet files below an address that Spark reaches; none is read."""
    return [row.path for row in _files(spark, [address]).select("path").collect()]


def history(spark: SparkSession, files: Sequence[str], read: Reader, count: Counter) -> list[str]:
    """What ``count`` makes of all groups, in any order, computed now, with a progress bar where standard error is a
    terminal. A file that cannot be read fails the job."""
    found = _files(spark, files)

    def polls_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for path, content in _contents(batches):
            rows = read(path, content, _POLLS).group_by(_POLLS).aggregate([])
            yield from rows.select(_POLLS).to_batches()

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for path, content in _contents(batches):
            yield from _pieces(read(path, content, None), pieces)

    with progress(spark, "reading snapshots"), user_errors():
        polls = found.mapInArrow(polls_of, "cluster string, ms long, every_s double").toArrow()
        pieces = 1 + sum(row.length for row in found.select("length").collect()) // _BYTES_PER_PIECE

        def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            tables = [pa.ipc.open_stream(rows.as_buffer()).read_all() for batch in batches for rows in batch["rows"]]
            if tables:
                yield pa.record_batch({"told": pa.array(count(pa.concat_tables(tables), polls), pa.string())})

        moved = together(found.mapInArrow(cut, "piece int, rows binary"), pieces)
        texts: list[str] = moved.mapInArrow(counted, "told string").toArrow()["told"].to_pylist()
    return texts


def _files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    reader = spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet")
    return reader.option("recursiveFileLookup", "true").load(list(paths))


def _contents(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.Buffer]]:
    for batch in batches:
        for path, content in zip(batch["path"], batch["content"], strict=True):
            yield path.as_py(), content.as_buffer()


def _pieces(rows: pa.Table, pieces: int) -> Iterator[pa.RecordBatch]:
    """The rows as compressed streams, those of one group in the same piece whatever file they come from."""
    if not rows.num_rows:
        return  # a poll that found no group
    group = rows["group"].combine_chunks().dictionary_encode()
    names = group.dictionary.to_pylist()
    piece = np.array([zlib.crc32((name or "").encode()) % pieces for name in names], dtype=np.int32)
    of_row = piece[pc.fill_null(group.indices, 0).to_numpy()]
    order = np.argsort(of_row, kind="stable")
    numbers, starts = np.unique(of_row[order], return_index=True)
    rows = rows.take(pa.array(order))
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    for number, start, end in zip(numbers.tolist(), starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema, options=options) as stream:
            stream.write_table(rows.slice(start, end - start))
        yield pa.record_batch(
            {"piece": pa.array([number], pa.int32()), "rows": pa.array([sink.getvalue().to_pybytes()])}
        )
