"""Snapshots on Spark: it distributes the groups when writing, and schedules the files when reading."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StringType, StructField, StructType

from compare.measure.figures.parts import Part, keys_of, part_fairness, recognised, snapshot_columns, write_part
from compare.measure.spark.failures import user_errors
from compare.measure.spark.faults import named
from compare.measure.spark.schemas import figures_schema
from compare.measure.spark.sessions import session
from compare.measure.spark.sources import schema_of
from protocols.errors import UserError

__all__ = ["Snapshot", "fairness_of_parts", "recognised", "write_snapshot"]

ROWS_PER_FILE = 1_000_000
"""Rows of ownership per file: about a second of one core."""

_UNFINISHED = ".equipoise.part"
"""The folder inside of a snapshot's in which it is written; hidden, so that nobody reads it as a table."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The two paths to hand to `fairness`."""

    ownership: str
    members: str


def write_snapshot(
    ownership: DataFrame | pa.Table,
    members: DataFrame | pa.Table,
    folder: str | PathLike[str],
    *,
    files: int | None = None,
) -> Snapshot:
    """Write both tables (columns as in `fairness`) as a snapshot and return its paths.

    Arrow tables are written here and now, DataFrames by Spark. ``files`` is the number of pairs of files, by default
    one per million rows of ownership. Raises `UserError` if ``folder`` is there and not empty, for a column that is
    missing or of another type, and for rows that `fairness` fails on. In a local folder both tables appear when all of
    their files are written; an interrupted run leaves none.
    """
    if files is not None and files < 1:
        raise UserError(f"files is {files}, expected 1 or more")
    kept = snapshot_columns(_schema(ownership, "ownership"), _schema(members, "members"))
    with _appearing(fspath(folder)) as (target, written), user_errors():
        at_hand = isinstance(ownership, pa.Table) and isinstance(members, pa.Table)
        if at_hand and (files == 1 or (files is None and ownership.num_rows <= ROWS_PER_FILE)):
            write_part(written, ownership, members)
        else:
            _write(_frame(ownership, members), _frame(members, ownership), kept.keys, written, files)
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


def _schema(table: object, what: str) -> pa.Schema:
    if isinstance(table, pa.Table):
        return table.schema
    if isinstance(table, DataFrame):
        return schema_of(table)
    raise UserError(f"{what} is {table!r:.60}, expected a Spark DataFrame or an Arrow table")


def _frame(table: DataFrame | pa.Table, other: DataFrame | pa.Table) -> DataFrame:
    if isinstance(table, DataFrame):
        return table
    spark = other.sparkSession if isinstance(other, DataFrame) else session()
    return spark.createDataFrame(table)


def _write(ownership: DataFrame, members: DataFrame, keys: Sequence[str], target: str, files: int | None) -> None:
    if files is None:
        files = max(1, -(-ownership.count() // ROWS_PER_FILE))
    listed = members.select(*keys, named("member").alias("owner"))
    both = ownership.withColumn("__listed", F.lit(False)).unionByName(
        listed.withColumn("__listed", F.lit(True)), allowMissingColumns=True
    )
    schema = StructType([StructField("ownership", StringType()), StructField("members", StringType())])
    written = both.repartition(files, *keys).mapInArrow(_writer(target), schema).toArrow()
    if not written.num_rows:
        raise UserError("no group to write, expected at least one")


def _writer(folder: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = list(batches)
        if not received:
            return
        table = pa.Table.from_batches(received)
        is_listed = table["__listed"]
        table = table.drop_columns(["__listed"])
        ownership = table.filter(pa.compute.invert(is_listed))
        keys = [name for name in ("run", "group") if name in table.column_names]
        members = table.filter(is_listed).select([*keys, "owner"]).rename_columns([*keys, "member"])
        part = write_part(folder, ownership, members)
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
