"""Rows of whole groups brought together: tasks code and cut them, Spark moves the pieces as bytes, tasks finish them.

The first tasks read Parquet files by Arrow, or take the batches that Spark hands over. They make numbers of all names,
cut the rows by a hash of run and group (`figures.merging`) and hand on a few pieces, each some megabytes, instead of
millions of rows. Where there is little to read one task does it all, and nothing is moved.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from compare.figures.coded import CodedRows, Layout, coded_members, coded_ownership
from compare.figures.merging import cut, packed, unpacked
from compare.figures.parquet_files import in_tasks, read
from compare.figures.shapes import kind_of
from compare.figures.spark.sources import Files, named

ROWS_PER_TASK = 1_500_000
"""Rows of Parquet that a task reads and cuts, about: a second of one core."""

ROWS_OF_ONE_TASK = 2_000_000
"""Up to so many rows of ownership one task reads and finishes."""

ROWS_PER_PIECE = 640_000
"""Rows of ownership that a task finishes, about, unless one group has more."""

_ROWS_OF_FRAMES = 1_000_000
"""Rows that a task takes from Spark before it cuts them."""

_FEWEST_PIECES = 64
"""Pieces of DataFrames, of which nobody knows how large they are: Spark puts small ones together."""

_BYTES_AT_ONCE = 32 << 20

_PIECES = "piece int, listed boolean, rows binary"

Finish: TypeAlias = Callable[[Sequence[CodedRows], Sequence[CodedRows]], Iterable[pa.RecordBatch]]
"""Gets rows of ownership and of members, all of the same whole groups."""

_Step: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class Coding:
    """How tables become coded rows (`coded_ownership`)."""

    layout: Layout
    with_retry: bool
    keep: tuple[str, ...] = ()

    def coded(self, table: pa.Table, is_listed: bool) -> Iterator[tuple[bool, CodedRows]]:
        """The rows, each with the answer to the question: are they rows of members?"""
        if is_listed:
            yield True, coded_members(table, self.layout)
            return
        owned, owners = coded_ownership(table, self.layout, with_retry=self.with_retry, keep=self.keep)
        yield False, owned
        if owners is not None:
            yield True, owners

    def columns(self, schema: pa.Schema, is_listed: bool) -> list[str]:
        columns = self.layout.columns
        if is_listed:
            return [*columns.keys, "member"]
        wanted = [*columns.keys, "topic", "broker", columns.queue, "owner", *self.keep]
        if columns.weight is not None:
            wanted.append(columns.weight)
        return [name for name in dict.fromkeys(wanted) if name in schema.names]


def of_files(
    spark: SparkSession, files: Files, coding: Coding, finish: Finish, schema: StructType, *, pieces: int | None = None
) -> DataFrame:
    """What ``finish`` makes of the files' groups; ``pieces``: into how many parts to divide them."""
    tasks = [(False, task) for task in in_tasks(files.ownership, ROWS_PER_TASK)]
    tasks += [(True, task) for task in in_tasks(files.members, ROWS_PER_TASK)]
    schemas = files.ownership[0].schema, files.members[0].schema
    wanted = [coding.columns(each, bool(at)) for at, each in enumerate(schemas)]
    names = {*coding.layout.columns.keys, "topic", "broker", "owner", "member"}
    texts = [
        [name for name in columns if name in names and kind_of(each.field(name).type) == "text"]
        for each, columns in zip(schemas, wanted, strict=True)
    ]

    def rows_of(number: int) -> Iterator[tuple[bool, CodedRows]]:
        is_listed, task = tasks[number]
        for table in read(task, wanted[is_listed], texts[is_listed]):
            yield from coding.coded(table, is_listed)

    rows = sum(sum(file.rows) for file in files.ownership)
    if pieces == 1 or (pieces is None and rows <= ROWS_OF_ONE_TASK):

        def everything(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _ in batches:
                yield from _finished((row for number in range(len(tasks)) for row in rows_of(number)), finish)

        return spark.range(0, 1, 1, 1).mapInArrow(everything, schema)
    number_of_pieces = pieces or -(-rows // ROWS_PER_PIECE)

    def begin(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                for is_listed, coded in rows_of(number):
                    yield from _pieces(coded, is_listed, number_of_pieces)

    cut_rows = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(begin, _PIECES)
    return together(cut_rows, number_of_pieces).mapInArrow(_ending(finish), schema)


def of_frames(
    ownership: DataFrame,
    members: DataFrame,
    coding: Coding,
    finish: Finish,
    schema: StructType,
    *,
    pieces: int | None = None,
) -> DataFrame:
    """The same of DataFrames."""
    spark = ownership.sparkSession
    number_of_pieces = pieces or max(_FEWEST_PIECES, int(spark.conf.get("spark.sql.shuffle.partitions") or 0))
    cut_rows = [
        # Spark takes a dot in the name of a column that it hands over for that of a record's field.
        frame.toDF(*(f"c{at}" for at in range(len(frame.columns)))).mapInArrow(
            _beginning(coding, frame.columns, is_listed, number_of_pieces), _PIECES
        )
        for frame, is_listed in ((ownership, False), (members, True))
    ]
    both = cut_rows[0].union(cut_rows[1])
    moved = both.repartition(F.col("piece")) if pieces is None else together(both, pieces)
    return moved.mapInArrow(_ending(finish), schema)


def texts_of_records(frame: DataFrame, columns: Sequence[str], queue: str) -> DataFrame:
    """The columns, a queue that is a record as text."""
    is_record = isinstance(frame.schema[queue].dataType, StructType)
    return frame.select(
        *((F.to_json(named(name)) if name == queue and is_record else named(name)).alias(name) for name in columns)
    )


def together(rows: DataFrame, pieces: int) -> DataFrame:
    """One partition for each piece; before Spark 4.1 some partitions get several, and others none."""
    if hasattr(rows, "repartitionById"):
        return rows.repartitionById(pieces, F.col("piece"))
    return rows.repartition(pieces, F.col("piece"))


def _beginning(coding: Coding, columns: Sequence[str], is_listed: bool, pieces: int) -> _Step:
    def begin(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _tables(batches):
            for owners_only, coded in coding.coded(table.rename_columns(list(columns)), is_listed):
                yield from _pieces(coded, owners_only, pieces)

    return begin


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS_OF_FRAMES:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def _pieces(rows: CodedRows, is_listed: bool, pieces: int) -> Iterator[pa.RecordBatch]:
    numbers: list[int] = []
    data: list[pa.Buffer] = []
    for number, piece in cut(rows, pieces):
        numbers.append(number)
        data.append(packed(piece))
        if sum(buffer.size for buffer in data) >= _BYTES_AT_ONCE:
            yield _batch(numbers, data, is_listed)
            numbers, data = [], []
    if data:
        yield _batch(numbers, data, is_listed)


def _batch(numbers: Sequence[int], data: Sequence[pa.Buffer], is_listed: bool) -> pa.RecordBatch:
    columns = {
        "piece": pa.array(numbers, pa.int32()),
        "listed": pa.array([is_listed] * len(data)),
        "rows": pa.array([buffer.to_pybytes() for buffer in data], pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)


def _ending(finish: Finish) -> _Step:
    def end(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pieces = (
            (listed, unpacked(rows.as_buffer()))
            for batch in batches
            for listed, rows in zip(batch["listed"].to_pylist(), batch["rows"], strict=True)
        )
        yield from _finished(pieces, finish)

    return end


def _finished(rows: Iterable[tuple[bool, CodedRows]], finish: Finish) -> Iterator[pa.RecordBatch]:
    owned: list[CodedRows] = []
    listed: list[CodedRows] = []
    for is_listed, each in rows:
        (listed if is_listed else owned).append(each)
    if owned or listed:
        yield from finish(owned, listed)
