"""Snapshots on Spark: it distributes the groups when writing, and schedules the files when reading."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StringType, StructField, StructType

from compare.figures.coded import CodedRows, layout_of
from compare.figures.parts import (
    Part,
    kept_columns,
    keys_of,
    part_fairness,
    snapshot_columns,
    write_coded_part,
    write_part,
)
from compare.figures.spark.exchange import Coding, Finish, of_files, of_frames
from compare.figures.spark.failures import user_errors
from compare.figures.spark.schemas import figures_schema
from compare.figures.spark.sessions import session
from compare.figures.spark.sources import Source, files_of, frames, named, schema_of
from protocols.errors import UserError

__all__ = ["Snapshot", "fairness_of_parts", "write_snapshot"]

ROWS_PER_FILE = 1_000_000
"""Rows of ownership per file: about a second of one core."""

Written: TypeAlias = Source | pa.Table
"""A DataFrame, the path of Parquet, or a table at hand."""

_PATHS = StructType([StructField("ownership", StringType()), StructField("members", StringType())])

_UNFINISHED = ".equipoise.part"
"""The folder inside of a snapshot's in which it is written; hidden, so that nobody reads it as a table."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The two paths to hand to `fairness`."""

    ownership: str
    members: str


def write_snapshot(
    ownership: Written, members: Written, folder: str | PathLike[str], *, files: int | None = None
) -> Snapshot:
    """Write both tables (columns as in `fairness`) as a snapshot and return its paths.

    Arrow tables are written here and now, the Parquet of paths and DataFrames by Spark; paths are the fast way.
    ``files`` is the number of pairs of files, by default one per million rows of ownership. Raises `UserError` if
    ``folder`` is there and not empty, for a path that cannot be read, for a column that is missing or of another type,
    and for rows that `fairness` fails on. In a local folder both tables appear when all of their files are written; an
    interrupted run leaves none.
    """
    if files is not None and files < 1:
        raise UserError(f"files is {files}, expected 1 or more")
    if isinstance(ownership, pa.Table) and isinstance(members, pa.Table):
        snapshot_columns(ownership.schema, members.schema)
        if files == 1 or (files is None and ownership.num_rows <= ROWS_PER_FILE):
            with _appearing(fspath(folder)) as (target, written):
                write_part(written, ownership, members)
            return Snapshot(f"{target}/ownership", f"{target}/members")
    write = _writing(_source("ownership", ownership, members), _source("members", members, ownership), files)
    with _appearing(fspath(folder)) as (target, written), user_errors():
        if not write(written).toArrow().num_rows:
            raise UserError("no group to write, expected at least one")
    return Snapshot(f"{target}/ownership", f"{target}/members")


@contextmanager
def _appearing(target: str) -> Iterator[tuple[str, str]]:
    """Where the snapshot is to be, and where to write it; other file systems than the local one are written to in
    place, as not all of them can rename a folder."""
    if "://" in target:
        yield target, target
        return
    place = Path(target).resolve()
    unfinished = place / _UNFINISHED
    if unfinished.is_dir():
        shutil.rmtree(unfinished)
    if place.exists() and any(place.iterdir()):
        raise UserError(f"{target} is not empty, expected a new folder for the snapshot")
    is_new = not place.exists()
    unfinished.mkdir(parents=True)
    try:
        yield str(place), str(unfinished)
        for table in sorted(unfinished.iterdir()):
            table.rename(place / table.name)
        unfinished.rmdir()
    except BaseException:
        shutil.rmtree(place if is_new else unfinished, ignore_errors=True)
        raise


def _source(what: str, table: object, other: object) -> Source:
    if isinstance(table, pa.Table):
        spark = other.sparkSession if isinstance(other, DataFrame) else session()
        return spark.createDataFrame(table)
    if isinstance(table, DataFrame | str | PathLike):
        return table
    raise UserError(f"{what} is {table!r:.60}, expected a Spark DataFrame, a path of Parquet or an Arrow table")


def _writing(ownership: Source, members: Source, files: int | None) -> Callable[[str], DataFrame]:
    """The job that writes into a folder and returns the paths of the files."""
    found = files_of(ownership, members)
    if found is not None:
        coding, schema = _coding(found.ownership[0].schema, found.members[0].schema)
        rows = sum(sum(file.rows) for file in found.ownership)
        pieces = files or max(1, -(-rows // ROWS_PER_FILE))
        return lambda folder: of_files(session(), found, coding, _writer(folder, coding, schema), _PATHS, pieces=pieces)
    owned, listed = frames(ownership, members)
    coding, schema = _coding(schema_of(owned), schema_of(listed))
    listed = listed.select(*(named(name) for name in coding.columns(schema_of(listed), True)))

    def write(folder: str) -> DataFrame:
        pieces = files or max(1, -(-owned.count() // ROWS_PER_FILE))
        return of_frames(owned, listed, coding, _writer(folder, coding, schema), _PATHS, pieces=pieces)

    return write


def _coding(ownership: pa.Schema, members: pa.Schema) -> tuple[Coding, pa.Schema]:
    """How both tables are coded, and the schema of ownership as it is written."""
    columns = snapshot_columns(ownership, members)
    return Coding(layout_of(ownership, members), True, kept_columns(ownership, columns)), ownership.remove_metadata()


def _writer(folder: str, coding: Coding, schema: pa.Schema) -> Finish:
    def write(owned: Sequence[CodedRows], listed: Sequence[CodedRows]) -> Iterator[pa.RecordBatch]:
        part = write_coded_part(folder, owned, listed, coding.layout, schema)
        yield pa.RecordBatch.from_pydict({"ownership": [part.ownership], "members": [part.members]})

    return write


def fairness_of_parts(spark: SparkSession, parts: Sequence[Part], *, with_retry: bool, per_topic: bool) -> DataFrame:
    """`fairness` of a snapshot: one task per pair of files."""

    def figures(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                table = part_fairness(parts[number], with_retry=with_retry, per_topic=per_topic)
                yield from table.to_batches()

    keys = [(name, from_arrow_type(type)) for name, type in keys_of(parts[0])]
    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(figures, figures_schema(keys, per_topic))
