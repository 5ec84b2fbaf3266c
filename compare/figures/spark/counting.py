"""`fairness` on Spark: it brings together what belongs to a group, and the kernel of every engine counts.

Snapshots on Spark: it distributes the groups when writing, and schedules the files when reading. Groups that are at
hand as Python values become tables; the figures have the same bytes as those of every other engine.
"""

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
from pyspark.sql.types import DataType, DoubleType, LongType, StringType, StructField, StructType

from compare.figures.coded import CodedRows, Layout, layout_of
from compare.figures.local import coded_fairness, records
from compare.figures.metrics import COUNTS, NAMES
from compare.figures.of_groups import GroupFigures, GroupLoads, load_of, overloaded_group, unit_of
from compare.figures.parts import (
    Part,
    kept_columns,
    keys_of,
    pairs,
    part_fairness,
    snapshot_columns,
    write_coded_part,
    write_part,
)
from compare.figures.shapes import MOST
from compare.figures.spark.exchange import Coding, Finish, of_files, of_frames, texts_of_records
from compare.figures.spark.sessions import progress, session, user_errors
from compare.figures.spark.sources import Source, files_of, frames, named, schema_of, session_of
from protocols.errors import UserError


def fairness(
    ownership: Source,
    members: Source,
    *,
    weight: str | None = None,
    with_retry: bool = False,
    per_topic: bool = False,
) -> DataFrame:
    """The figures of every group, computed when an action asks for them.

    ``ownership``: one row per queue and owner with the columns ``run`` (optional), ``group``, ``topic``, ``broker``
    (optional), ``queue`` (or ``number``, ``partition``), ``owner`` (null: nobody's), ``weight`` (optional).
    ``members``: one row per member with ``run`` (if ownership has it), ``group``, ``member``. An owner is a member
    whether listed or not. ``weight`` names another column to weigh by; integers are exact, decimals are counted in
    millionths, null makes the figures of load null.

    Returns one row per group: ``run``, ``group``, counts (bigint) and the other figures (double, null where
    undefined). ``per_topic`` adds the column ``topic`` and one row per topic of a group; ``topic`` is null in the rows
    of whole groups. ``%RETRY%`` topics count only ``with_retry``.

    Paths, and DataFrames as ``read.parquet`` returns them, are the fast way: tasks read Parquet themselves, two
    million rows and less in a single one, and files of a snapshot (`write_snapshot`) each by itself.

    Raises `UserError` here and now for what the schema shows: a path that cannot be read, a column that is missing or
    of another type (`figures.shapes`). What only rows show fails the job when an action runs it, in Spark's
    exception with one sentence that names column and group: null instead of a queue, a topic, a group or a run;
    numbers that are negative, NaN, or 2^62 and more; weights of one member that add up to as much; queues listed twice
    for one owner.
    """
    files = files_of(ownership, members)
    if files is not None:
        parts = pairs(files.ownership, files.members) if weight is None else None
        if parts is not None:
            return _fairness_of_parts(session_of(ownership, members), parts, with_retry=with_retry, per_topic=per_topic)
        layout = layout_of(files.ownership[0].schema, files.members[0].schema, weight)
        spark = session_of(ownership, members)
        return of_files(spark, files, Coding(layout, with_retry), *_figures(layout, per_topic))
    ownership, members = frames(ownership, members)
    owned_schema, listed_schema = schema_of(ownership), schema_of(members)
    layout = layout_of(owned_schema, listed_schema, weight, records=True)
    coding = Coding(layout, with_retry)
    queue = layout.columns.queue
    return of_frames(
        texts_of_records(ownership, coding.columns(owned_schema, False), queue),
        members.select(*(named(name) for name in coding.columns(listed_schema, True))),
        coding,
        *_figures(layout, per_topic),
    )


def _figures(layout: Layout, per_topic: bool) -> tuple[Finish, StructType]:
    """The last step of the tasks, and the schema of what it gives."""

    def finish(owned: Sequence[CodedRows], listed: Sequence[CodedRows]) -> Iterator[pa.RecordBatch]:
        yield from coded_fairness(owned, listed, layout, per_topic=per_topic).to_batches()

    keys = [(key, from_arrow_type(layout.types[key])) for key in layout.columns.keys]
    return finish, figures_schema(keys, per_topic)


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
        return session_of(other).createDataFrame(table)
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
        spark = session_of(ownership, members)
        return lambda folder: of_files(spark, found, coding, _writer(folder, coding, schema), _PATHS, pieces=pieces)
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


def _fairness_of_parts(spark: SparkSession, parts: Sequence[Part], *, with_retry: bool, per_topic: bool) -> DataFrame:
    """`fairness` of a snapshot: one task per pair of files."""

    def figures(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                table = part_fairness(parts[number], with_retry=with_retry, per_topic=per_topic)
                yield from table.to_batches()

    keys = [(name, from_arrow_type(type)) for name, type in keys_of(parts[0])]
    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(figures, figures_schema(keys, per_topic))


def figures_schema(keys: Iterable[tuple[str, DataType]], per_topic: bool) -> StructType:
    """The key columns, ``topic`` if asked for, counts as bigint, the other figures as double."""
    named = [StructField(name, type) for name, type in keys]
    if per_topic:
        named.append(StructField("topic", StringType()))
    return StructType(named + [StructField(name, LongType() if name in COUNTS else DoubleType()) for name in NAMES])


def figures_on_spark(groups: Sequence[GroupLoads]) -> list[GroupFigures]:
    """As `counted_figures`, errors included, by one Spark job with a progress bar."""
    unit = unit_of(groups)
    _check(groups, unit)
    spark = session()
    ownership, members = _tables(groups, unit)
    figures = fairness(
        spark.createDataFrame(ownership), spark.createDataFrame(members), with_retry=True, per_topic=True
    )
    with progress(spark, f"judging {len(groups)} groups on Spark"), user_errors():
        table = figures.toArrow()
    table = table.sort_by([("group", "ascending"), ("topic", "ascending")])
    found = [GroupFigures({}, {}) for _ in groups]
    keys = zip(table["group"].to_pylist(), table["topic"].to_pylist(), strict=True)
    columns = {name: table[name].to_numpy() for name in NAMES}
    for (group, topic), record in zip(keys, records(columns), strict=True):
        if topic is None:
            found[group].overall.update(record)
        else:
            found[group].topics[topic] = record
    return found


def _check(groups: Sequence[GroupLoads], unit: int) -> None:
    """The errors of the numpy engine, which numbers groups as the caller does."""
    for number, group in enumerate(groups):
        sums = [0] * group.members
        for _, _, owners, weight in group.rows:
            load = load_of(weight, unit)
            for owner in owners:
                sums[owner] += load
        if max(sums, default=0) >= MOST:
            raise overloaded_group(number, unit)


def _tables(groups: Sequence[GroupLoads], unit: int) -> tuple[pa.Table, pa.Table]:
    rows = [
        (number, topic, queue, owner, weight)
        for number, group in enumerate(groups)
        for queue, (topic, _, owners, weight) in enumerate(group.rows)
        for owner in owners or (None,)
    ]
    group, topic, queue, owner, weight = zip(*rows, strict=True) if rows else ((),) * 5
    ownership = pa.table(
        {
            "group": pa.array(group, pa.int64()),
            "topic": pa.array(topic, pa.string()),
            "queue": pa.array(queue, pa.int64()),
            "owner": pa.array(owner, pa.int64()),
            "weight": pa.array(weight, pa.int64() if unit == 1 else pa.float64()),
        }
    )
    listed = [(number, member) for number, group in enumerate(groups) for member in range(group.members) or (None,)]
    numbers, members = zip(*listed, strict=True) if listed else ((), ())
    return ownership, pa.table({"group": pa.array(numbers, pa.int64()), "member": pa.array(members, pa.int64())})
